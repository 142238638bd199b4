"""Clients that are killed, and others that take their place; clients that are stopped for longer
than their lease, again and again."""

import threading
import time
from typing import Any

from tests.faults.nemesis.fault import Fault


class KillClient(Fault):
    """The one that holds, if one does."""

    lasts = (0.1, 0.3)

    def begin(self) -> str:
        events = self.rig.history.all()
        living = {one.name: one for one in self.rig.clients if not one.ended()}
        last = next((e["process"] for e in reversed(events) if e["event"] == "grant"), None)
        self.victim = living.get(last) or self.random.choice(sorted(living.values(),
                                                                    key=lambda one: one.name))
        self.victim.kill()
        self.must(self.victim.process.returncode == -9, "it had ended before")
        self.rig.clients.remove(self.victim)
        return f"killed {self.victim.name}"

    def end(self) -> None:
        self.rig.client(**self.victim.settings)


KINDS = (KillClient,)


class Pauser:
    """Stops each client every so often, for longer than its lease. A thread of its own."""

    def __init__(self, rig: Any, every: Any, lease: Any, at: str = "grant") -> None:
        self.rig, self.every, self.lease, self.at = rig, every, lease, at
        self.times = 0
        self.held = 0  # So often the client had just said `at`.
        self.problem: Exception = None
        self._end = threading.Event()
        self._resuming = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._end.is_set():
                begun = time.monotonic()
                self._stop_each()
                self._end.wait(max(0, self.every - (time.monotonic() - begun)))
        except Exception as problem:
            self.problem = problem

    def _stop_each(self) -> None:
        """Every other one where it hurts: in the middle of a hold, if there is one in time."""
        names = {client.name: client for client in self.rig.clients}
        slot = self.every / max(1, len(names))
        while names and not self._end.is_set():
            found = self.rig.history.wait(
                lambda e: len(names) % 2 and e["event"] == self.at and e["process"] in names
                and e.get("outcome") != "refused", slot, self.rig.history.size())
            client = names.pop(found["process"] if found else min(names))
            if not client.ended():
                self._stop(client, found is not None)

    def _stop(self, client: Any, in_its_hold: Any) -> None:
        since = self.rig.history.size()
        if client.stop():
            self.times += 1
            self.held += in_its_hold
            self._resuming.append(threading.Thread(target=self._resume_later, daemon=True,
                                                   args=(client, since)))
            self._resuming[-1].start()

    def _resume_later(self, client: Any, since: Any) -> None:
        self._end.wait(self.lease * 1.25)
        self.rig.history.wait(lambda e: e["event"] == "grant" and e["process"] != client.name,
                              self.lease, since)
        client.resume()

    def end(self) -> None:
        self._end.set()
        for thread in [self._thread, *self._resuming]:
            thread.join()
        if self.problem:
            raise self.problem
