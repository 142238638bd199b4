"""Processes that end with this one, and the clock by which everything here is told."""

import ctypes
import os
import signal
import subprocess
import threading
import time
from typing import Any

from tests.faults import signals
from tools.servers.children import PATIENCE, Broken, die_with_parent, wait_for

LIBC = ctypes.CDLL(None, use_errno=True)
_STEP = threading.Event()  # Never set: what waits on it waits for time only.


def now() -> Any:
    """CLOCK_BOOTTIME in nanoseconds, as in the clients' events."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def pause(seconds: float) -> None:
    """Between two looks, and for as long as a fault is to last."""
    _STEP.wait(max(0, seconds))


def checked(status: Any) -> None:
    if status != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def spawn(command: Any, enter: Any = None, kept: Any = (), **options: Any) -> Any:
    """A process in a session of its own; `enter` runs in it first. The signals `kept` wait until the
    program takes them."""
    assert threading.current_thread() is threading.main_thread()
    follow = die_with_parent()

    def prepare() -> None:
        follow()
        signal.pthread_sigmask(signal.SIG_BLOCK, kept)
        if enter:
            enter()

    with signals.held():  # If one comes, the process ends with this one.
        return subprocess.Popen([str(word) for word in command], preexec_fn=prepare,
                                start_new_session=True, stdin=subprocess.DEVNULL, **options)


def run(command: Any, **options: Any) -> Any:
    """Of one with an end of its own: its status and what it said. It does not outlive this one, nor
    what ends this."""
    process = spawn(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        said, complained = process.communicate()
    except BaseException:
        kill(process)
        raise
    return subprocess.CompletedProcess(command, process.returncode, said, complained)


def output_of(process: subprocess.Popen) -> str:
    """Of one that ends by itself."""
    said, _ = process.communicate(timeout=PATIENCE)
    if process.returncode != 0:
        raise Broken(f"{process.args!r} ended with {process.returncode}")
    return said.strip()


def state(process: subprocess.Popen) -> Any:
    """As in /proc: R, S, D, T for stopped, Z; nothing if there is no such process."""
    try:
        with open(f"/proc/{process.pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def kill(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


def stop(process: subprocess.Popen) -> bool:
    """SIGSTOP, and waits until it has taken effect."""
    process.send_signal(signal.SIGSTOP)
    wait_for(f"the stop of {process.pid}", lambda: state(process) in ("T", "t", "Z", ""))
    return state(process) in ("T", "t")


def resume(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
