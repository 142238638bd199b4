"""Linux namespaces that are held by nothing but open files: when this process is gone, so are
they, with their links, rules and mounts. There is nothing to sweep up after it."""

import contextlib
import os
import socket
import subprocess

from processes import LIBC, checked

NET = 0x40000000
MOUNT = 0x00020000
_PRIVATE_RECURSIVE = (1 << 18) | (1 << 14)
_HOME = os.open("/proc/thread-self/ns/net", os.O_RDONLY)


def new_network():
    """An open file that is a network namespace with its loopback up. Needs root."""
    checked(LIBC.unshare(NET))
    try:
        made = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    finally:
        checked(LIBC.setns(_HOME, NET))
    run_in(made, "ip", "link", "set", "lo", "up")
    return made


def enter(network):
    checked(LIBC.setns(network, NET))


@contextlib.contextmanager
def entered(network):
    """This thread is inside for a while, if there is a network; what it starts stays there."""
    if network is not None:
        enter(network)
    try:
        yield
    finally:
        if network is not None:
            enter(_HOME)


def run_in(network, *command, files=()):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          pass_fds=files, preexec_fn=lambda: enter(network))
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def connect_in(network, address, timeout):
    """A TCP connection from inside; a socket stays in the namespace that it was made in."""
    enter(network)
    try:
        inside = socket.socket()
    finally:
        enter(_HOME)
    try:
        inside.settimeout(timeout)
        inside.connect(address)
    except BaseException:
        inside.close()
        raise
    return inside


def new_disk(folder, megabytes):
    """An open file that is a mount namespace with a small disk of its own at `folder`."""
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _disk_child(str(folder), megabytes, ready[1], done[0], done[1])
    os.close(ready[1])
    os.close(done[0])
    said = os.read(ready[0], 200)
    made = os.open(f"/proc/{child}/ns/mnt", os.O_RDONLY) if said == b"ok" else None
    os.close(done[1])
    os.close(ready[0])
    os.waitpid(child, 0)
    if made is None:
        raise OSError(f"no small disk: {said.decode()}")
    return made


def _disk_child(folder, megabytes, ready, done, other_end):
    try:
        os.close(other_end)
        checked(LIBC.unshare(MOUNT))
        checked(LIBC.mount(b"none", b"/", None, _PRIVATE_RECURSIVE, None))
        options = f"size={megabytes}m".encode()
        checked(LIBC.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, options))
        os.write(ready, b"ok")
        os.read(done, 1)
    except OSError as error:
        os.write(ready, str(error).encode()[:199])
    finally:
        os._exit(0)


def enter_mount(mount):
    """For a child, before exec."""
    checked(LIBC.setns(mount, MOUNT))
