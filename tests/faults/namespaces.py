"""Linux namespaces that are held by nothing but open files: when this process is gone, so are
they, with their links, rules and mounts. There is nothing to sweep up after it."""

import contextlib
import errno
import os
import pathlib
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

from tests.faults import processes
from tests.faults.processes import LIBC, checked
from tools.servers.children import Missing

NET = 0x40000000
MOUNT = 0x00020000
_PRIVATE_RECURSIVE = (1 << 18) | (1 << 14)
_HOME = os.open("/proc/thread-self/ns/net", os.O_RDONLY)


def new_network() -> Any:
    """An open file that is a network namespace with its loopback up. Needs root."""
    checked(LIBC.unshare(NET))
    try:
        made = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    finally:
        checked(LIBC.setns(_HOME, NET))
    run_in(made, "ip", "link", "set", "lo", "up")
    return made


def enter(network: Any) -> None:
    checked(LIBC.setns(network, NET))


@contextlib.contextmanager
def entered(network: Any) -> Iterator[Any]:
    """This thread is inside for a while, if there is a network; what it starts stays there."""
    if network is not None:
        enter(network)
    try:
        yield
    finally:
        if network is not None:
            enter(_HOME)


def run_in(network: Any, *command: str, files: Any = ()) -> Any:
    with entered(network):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              pass_fds=files)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def connect_in(network: Any, address: Any, timeout: Any) -> Any:
    """A TCP connection from inside; a socket stays in the namespace that it was made in."""
    with entered(network):
        inside = socket.socket()
    try:
        inside.settimeout(timeout)
        inside.connect(address)
    except BaseException:
        inside.close()
        raise
    return inside


class SmallDisk:
    """A file system of its own at a folder, for those processes that enter it. A process of its
    own keeps it, and the way to it from outside."""

    def __init__(self, folder: pathlib.Path, megabytes: Any) -> None:
        self.folder = str(folder)
        self.options = f"size={megabytes}m".encode()
        try:
            self.keeper = processes.spawn(["tail", "-f", "/dev/null"], self._make)
        except subprocess.SubprocessError:
            raise Missing("no mounts of one's own, which take root") from None
        self.outside = pathlib.Path(f"/proc/{self.keeper.pid}/root{folder}")

    def _make(self) -> None:
        checked(LIBC.unshare(MOUNT))
        checked(LIBC.mount(b"none", b"/", None, _PRIVATE_RECURSIVE, None))
        checked(LIBC.mount(b"tmpfs", self.folder.encode(), b"tmpfs", 0, self.options))

    def enter(self) -> None:
        """For a child, before exec."""
        with open(f"/proc/{self.keeper.pid}/ns/mnt") as mount:
            checked(LIBC.setns(mount.fileno(), MOUNT))

    def fill(self) -> None:
        """Until nothing more fits."""
        with open(self.outside / "filler", "ab", buffering=0) as file:
            for size in (2**20, 2**12):
                try:
                    while file.write(bytes(size)) > 0:
                        pass
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def empty(self) -> None:
        (self.outside / "filler").unlink(missing_ok=True)

    def close(self) -> None:
        processes.kill(self.keeper)
