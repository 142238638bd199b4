"""All that happened, by one clock: the events of all clients and of the rig itself.

An event is a dictionary with at (CLOCK_BOOTTIME, nanoseconds), process and event; what else there
is depends on the event (docs/faults.md). Readers of the clients' outputs add to it as the rig looks
at it, hence the lock.
"""

import json
import threading
from typing import Any


def killed(process: str, since: int, at: int, uri: str, witness: str = "children") -> dict[str, Any]:
    """The event. `since`: before the SIGKILL was sent. On a SQLite file the kernel tells others of
    the death, so that nothing of the dead is believed any more (R23)."""
    event = {"at": at, "process": process, "event": "killed"}
    seen = uri.startswith("sqlite:") and witness != "none"
    return event | ({"believed_until": since} if seen else {})


class History:
    def __init__(self, path: Any) -> None:
        self._changed = threading.Condition()
        self._events = []
        self._file = open(path, "w")
        self.path = path

    def add(self, event: dict[str, Any]) -> None:
        with self._changed:
            if self._file.closed:
                return
            self._events.append(event)
            self._file.write(json.dumps(event) + "\n")
            self._changed.notify_all()

    def all(self) -> Any:
        """So far, in the order of their times."""
        with self._changed:
            return sorted(self._events, key=lambda event: event["at"])

    def size(self) -> int:
        with self._changed:
            return len(self._events)

    def first(self, number: int) -> Any:
        """So many, in the order of their arrival."""
        with self._changed:
            return self._events[:number]

    def since(self, number: int) -> Any:
        """The events from that number on, in the order of their arrival, and the next number."""
        with self._changed:
            return self._events[number:], len(self._events)

    def wait(self, condition: Any, seconds: float, since: int = 0) -> Any:
        """The first event from number `since` on that meets the condition, or nothing in time."""
        seen = since
        found = None

        def look() -> bool:
            nonlocal seen, found
            while found is None and seen < len(self._events):
                found = self._events[seen] if condition(self._events[seen]) else None
                seen += 1
            return found is not None

        with self._changed:
            self._changed.wait_for(look, seconds)
        return found

    def close(self) -> None:
        with self._changed:
            self._file.close()
