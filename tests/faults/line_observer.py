"""The line for a lock, as looks at the store show it again and again."""

import contextlib
import threading
from typing import Any

from tests.faults import processes

EVERY = 0.05  # Seconds.


class Observer:
    """Tells the history of each look: `line`, the tickets in order, each with whose it is. A
    thread."""

    def __init__(self, rig: Any, store: Any, lock: str, remotes: Any) -> None:
        self.history, self.store, self.lock, self.remotes = rig.history, store, lock, remotes
        self._tickets: list[Any] = []
        self._looked = 0  # When the last look began.
        self._problem: Exception = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def look_since(self, since: int) -> None:
        """Until a look is over that began then or later."""
        processes.wait_for("a look at the line", lambda: self._problem or self._looked >= since)

    def names(self) -> list[str]:
        """At the last look, in order."""
        if self._problem:
            raise self._problem
        return [name for _, name in self._tickets]

    def _run(self) -> None:
        try:
            while not self._end.is_set():
                with contextlib.suppress(OSError, processes.Broken):  # The store is in trouble.
                    self._look()
                self._end.wait(EVERY)
        except Exception as problem:
            self._problem = problem

    def _look(self) -> None:
        begun = processes.now()
        names = {remote.id: remote.name for remote in self.remotes.all}
        self._tickets = [(ticket, names.get(process, process))
                         for ticket, process in self.store.line(self.lock)]
        self.history.add({"at": begun, "process": "rig", "event": "line", "lock": self.lock,
                          "tickets": self._tickets})
        self._looked = begun

    def end(self) -> None:
        """After one more look."""
        self._end.set()
        self._thread.join()
        if self._problem:
            raise self._problem
        self._look()
