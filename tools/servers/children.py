"""Processes and folders that end with this process, however it ends; waiting for what they do."""

import ctypes
import os
import pathlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 240  # Seconds for what has to come; a machine under load takes its time.


class Missing(Exception):
    """The machine lacks what was asked for."""


class Broken(Exception):
    """A thing that a test needs failed itself, so that nothing was shown."""


def wait_for(what: str, condition: Callable[[], Any], limit: float = PATIENCE) -> Any:
    """The condition's value, once it is true. A condition that throws OSError is asked again."""
    end = time.monotonic() + limit
    while True:
        try:
            found = condition()
            if found:
                return found
        except OSError:
            pass
        if time.monotonic() > end:
            raise Broken(f"{what} did not come in {limit} s")
        time.sleep(0.02)


def die_with_parent(number: int = signal.SIGKILL) -> Callable[[], None]:
    """Gives the function that a child calls before exec, so that it ends with the thread that forked
    it. To be called after a change of user, which would undo it."""
    parent = os.getpid()  # Which may be 1, as in a container.

    def follow() -> None:
        ctypes.CDLL(None).prctl(1, number)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os.kill(os.getpid(), number)
    return follow


SWEPT_TOO = "swept-too"  # The file in a swept folder that names others.


def sweep_too(folder: pathlib.Path, *files: Any) -> None:
    """Has files elsewhere removed with a swept folder."""
    with open(pathlib.Path(folder) / SWEPT_TOO, "a") as list_of_them:
        list_of_them.writelines(f"{file}\n" for file in files)


class SweptFolder:
    """A temporary folder. A process sweeps it up when its standard input ends, which no kind of death
    of this process can prevent. Writers in the folder may take a moment longer."""

    def __init__(self, prefix: Any, directory: Any = None) -> None:
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=directory))
        self.sweeper = subprocess.Popen(
            ["sh", "-c", 'cat >/dev/null; for n in 1 2 3 4 5; do sleep 0.2; xargs -r rm -f <"$0/$1"; '
             'rm -rf "$0" && exit; sleep 1; done', self.path, SWEPT_TOO],
            stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)

    def close(self) -> None:
        self.sweeper.stdin.close()
        self.sweeper.wait()


def run(command: list[Any], environment: dict[str, str]) -> int:
    """In the foreground; gives the exit status, 128 + n after signal n."""
    child = subprocess.Popen(command, env=environment,
                             preexec_fn=die_with_parent(signal.SIGTERM))
    # Ctrl-C reaches the command by itself, being of our process group.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    signal.signal(signal.SIGHUP, lambda *_: child.terminate())
    status = child.wait()
    return status if status >= 0 else 128 - status
