"""The balancers of one run: starts them, takes in what they note, stops them."""

import argparse
import ctypes
import json
import os
import pathlib
import selectors
import signal
import subprocess
import time
from typing import Any

PATIENCE = 25  # seconds for one thing to happen that should


class Surprise(Exception):
    """Something that should have happened did not."""


def boot_time() -> Any:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def holds_write_lock(pid: Any) -> bool:
    """Whether the process has locked a file, or a part of one, for writing."""
    with open("/proc/locks") as locks:
        return any(line.split()[3:5] == ["WRITE", str(pid)] for line in locks)


class Balancers:
    """The processes of one run, and everything they have noted so far."""

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path, trouble: Any) -> None:
        self.events = []
        self.processes = {}
        self.folder = folder
        self.pipes = selectors.DefaultSelector()
        self.ledger = open(folder / "ledger.jsonl", "a")
        self.on_event = lambda event: None
        self.why_not = "nobody was tried"
        for number in range(1, options.processes + 1):
            self._start(f"p{number}", options, folder, trouble)

    def _start(self, name: str, options: argparse.Namespace, folder: pathlib.Path, trouble: Any) -> None:
        # A pipe, not a file: what a process noted stays noted, also if it cannot write files.
        pipe = folder / f"{name}.ledger"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self.pipes.register(reader, selectors.EVENT_READ, bytearray())
        uri = options.uri
        if options.planted_bug:
            uri = f"sqlite:{folder}/{name}.db"  # Each its own file: nothing keeps them apart.
        with open(folder / f"{name}.log", "w") as log:
            self.processes[name] = subprocess.Popen(
                [options.balancer, name, trouble.uri(name, uri), folder, pipe,
                 str(options.takeover_ms), str(options.ping_ms)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent)

    def pid(self, name: str) -> Any:
        return self.processes[name].pid

    def note(self, event: dict[str, Any], name: str, fence: int = 0, detail: str = "", pid: int = 0) -> None:
        """An entry of the director's own, about a balancer or about what else has a row."""
        if name in self.processes:
            pid = self.pid(name)
        self._add({"at": boot_time(), "process": name, "pid": pid, "event": event,
                   "fence": fence, "detail": detail})

    def _add(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        self.ledger.write(json.dumps(event) + "\n")
        self.ledger.flush()
        self.on_event(event)

    def listen(self, seconds: float) -> Any:
        """Takes in what the processes note within that time, at most one batch; gives it."""
        before = len(self.events)
        for key, _ in self.pipes.select(max(seconds, 0)):
            key.data.extend(os.read(key.fd, 65536))
            while b"\n" in key.data:
                line, _, rest = bytes(key.data).partition(b"\n")
                key.data[:] = rest
                self._add(json.loads(line))
        return self.events[before:]

    def wait_for(self, what: str, condition: Any, patience: Any = PATIENCE) -> Any:
        """Gives the first event, from now on, for which the condition holds."""
        limit = time.monotonic() + patience
        while time.monotonic() < limit:
            for event in self.listen(min(0.2, limit - time.monotonic())):
                if condition(event):
                    return event
            for name, process in self.processes.items():
                if process.poll() not in (None, 0, -signal.SIGKILL):
                    raise Surprise(f"{name} ended with status {process.returncode}: "
                                   + self._last_words(name))
        raise Surprise(f"waited {patience} s in vain for {what}")

    def stop_in_mid_round(self, name: str) -> bool:
        """Stops the process. If that caught it at a bad moment, lets it go on and gives False."""
        os.kill(self.pid(name), signal.SIGSTOP)
        os.waitpid(self.pid(name), os.WUNTRACED)
        while self.listen(0):
            pass
        latest = next(event for event in reversed(self.events) if event["process"] == name)
        # Stopped in the middle of a write to SQLite it would stand in everybody's way: safe, but
        # nothing would come of it.
        if latest["event"] == "step" and not holds_write_lock(self.pid(name)):
            return True
        self.why_not = (f"{name} was writing to a file" if latest["event"] == "step"
                        else f"{name} noted {latest['event']} last")
        os.kill(self.pid(name), signal.SIGCONT)
        return False

    def _last_words(self, name: str) -> Any:
        lines = (self.folder / f"{name}.log").read_text().splitlines()
        return lines[-1] if lines else "(it said nothing)"

    def listen_for(self, seconds: float) -> None:
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            self.listen(limit - time.monotonic())

    def stop(self) -> None:
        """Lets all finish their round and unlock."""
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        limit = time.monotonic() + PATIENCE
        while any(p.poll() is None for p in self.processes.values()):
            self.listen(0.05)
            if time.monotonic() > limit:
                raise Surprise("a balancer does not stop when told")
        while self.listen(0):
            pass

    def kill(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.ledger.close()
