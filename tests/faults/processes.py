"""Processes that end with this one, and the clock by which everything here is told."""

import ctypes
import os
import signal
import subprocess
import threading
import time

import signals

LIBC = ctypes.CDLL(None, use_errno=True)
PATIENCE = 240  # Seconds for what has to come; a machine under load takes its time.
_STEP = threading.Event()  # Never set: what waits on it waits for time only.


class Missing(Exception):
    """The machine lacks what was asked for."""


class Broken(Exception):
    """The rig itself failed, so that nothing was shown about the locks."""


def now():
    """CLOCK_BOOTTIME in nanoseconds, as in the clients' events."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def pause(seconds):
    """Between two looks, and for as long as a fault is to last."""
    _STEP.wait(max(0, seconds))


def wait_for(what, condition, limit=PATIENCE):
    """What the condition gives, once that is true. One that throws OSError is asked again."""
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
        pause(0.02)


def checked(status):
    if status != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def die_with_parent():
    """What a child of this process does before exec. It follows the thread that forked: only the
    main thread spawns."""
    parent = os.getpid()  # Which may be 1, as in a container.

    def follow():
        LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
    return follow


def spawn(command, enter=None, **options):
    """A process in a session of its own; `enter` runs in it first."""
    assert threading.current_thread() is threading.main_thread()
    follow = die_with_parent()

    def prepare():
        follow()
        if enter:
            enter()

    with signals.held():  # If one comes, the process ends with this one.
        return subprocess.Popen([str(word) for word in command], preexec_fn=prepare,
                                start_new_session=True, stdin=subprocess.DEVNULL, **options)


def output_of(process):
    """Of one that ends by itself."""
    said, _ = process.communicate(timeout=PATIENCE)
    if process.returncode != 0:
        raise Broken(f"{process.args} ended with {process.returncode}")
    return said.strip()


def state(process):
    """As in /proc: R, S, D, T for stopped, Z; nothing if there is no such process."""
    try:
        with open(f"/proc/{process.pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def kill(process):
    if process.poll() is None:
        process.kill()
    process.wait()


def stop(process):
    """SIGSTOP, and waits until it has taken effect."""
    process.send_signal(signal.SIGSTOP)
    wait_for(f"the stop of {process.pid}", lambda: state(process) in ("T", "t", "Z", ""))
    return state(process) in ("T", "t")


def resume(process):
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
