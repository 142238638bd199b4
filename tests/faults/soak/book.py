"""The events of a soak's clients, judged now and then so that hours of it fit into memory."""

import collections
import json
import os
import pathlib
import struct
import threading
from typing import Any

from tests.faults import checks, processes

SETTLED = 60 * 10**9  # An event so old is told by now, even by a client that was stopped.
FAR_OFF = 300 * 10**9
KEPT = 120 * 10**9  # Longer than any belief lasts.


class Book:
    """Threads: add() by any. `file` keeps everything, if it has a name."""

    def __init__(self, file: Any = None) -> None:
        self.file = open(file or os.devnull, "w")
        self.mutex = threading.Lock()
        self.events = []
        self.counts = collections.Counter()
        self.confirmed = collections.Counter()  # Additions, by lock.
        self.started, self.granted, self.wrong = set(), set(), set()
        self.troubles = collections.Counter()  # Errors, by their codes.
        self.takeovers = 0

    def add(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        with self.mutex:
            self.file.write(json.dumps(event) + "\n")
            self.counts[kind] += 1
            if kind == "start":
                self._begin(event)
            if kind == "error":
                self.troubles[event["code"]] += 1
                if "unknown" not in event["code"]:
                    return  # Of the others, one may say what became of a break.
            if kind == "grant":
                self.granted.add(event["process"])
            self.events.append(event)
            if kind == "write":
                self.counts[event["outcome"]] += 1
                self.confirmed[event["lock"]] += event["outcome"] == "ok"

    def _begin(self, event: dict[str, Any]) -> None:
        self.started.add(event["process"])
        if abs(event["at"] - processes.now()) > FAR_OFF:
            self.wrong.add(f"{event['process']} tells the time by another clock")

    def judge(self, now: Any, end: bool = False) -> Any:
        with self.mutex:
            told = sorted(self.events, key=lambda event: event["at"])
        self.wrong.update(checks.soak.overlaps(
            [event for event in told if end or event["at"] < now - SETTLED]))
        self.wrong.update(checks.soak.written_twice(told))
        forgotten = [event for event in told if end or event["at"] < now - KEPT]
        self.takeovers += checks.soak.takeovers(forgotten)
        with self.mutex:
            self.events = [event for event in self.events if not end and event["at"] >= now - KEPT]
        return told

    def judge_numbers(self, told: Any, folder: pathlib.Path, locks: Any) -> None:
        for lock in locks:
            file = folder / lock
            content = file.read_bytes() if file.exists() else b""
            final = struct.unpack("<qq", content or bytes(16))[1]
            self.wrong.update(checks.soak.lost_numbers(told, lock, self.confirmed[lock], final))

    def listen(self, client: Any, output: Any) -> None:
        """Takes down what a client says, until it ends. The last line may be cut off if a SIGKILL
        did that."""
        unreadable = None
        for line in output:
            if unreadable is not None:
                self._reject(client, unreadable)
            try:
                unreadable = None
                self.add(json.loads(line))
            except json.JSONDecodeError:
                unreadable = line
        if unreadable is not None and not client.killed:
            self._reject(client, unreadable)

    def _reject(self, client: Any, line: Any) -> None:
        with self.mutex:
            self.wrong.add(f"{client.name} said what cannot be read: {line!r}")
