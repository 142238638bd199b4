"""The story of the demo: its troubles, one after the other."""

import collections
import os
import signal
import time
from typing import Any

from examples.balancer.balancers import Surprise

GIVE_UP = 100  # Seconds, for what the director tries again and again.


class Story:
    """The troubles of the demo, one after the other. Each waits for what it takes to begin with and
    for what must come of it, never for a time."""

    rows: tuple[str, ...] = ()  # Names of the things that are shown beside the processes.

    def __init__(self, balancers: Any, trouble: Any) -> None:
        self.balancers = balancers
        self.trouble = trouble
        self.shown = []  # Texts for the report.

    def close(self) -> None:
        """Ends what the story has started itself."""

    def tell(self) -> None:
        self.everybody_starts()
        self.holder_is_killed()
        self.holder_is_paused()
        self.holder_loses_its_store()

    def everybody_starts(self) -> None:
        waiting = set(self.balancers.processes)

        def last_one(event: dict[str, Any]) -> bool:
            waiting.discard(event["process"])
            return not waiting

        self.balancers.wait_for("all balancers to start", last_one)
        self.a_clean_unlock()

    def a_clean_unlock(self) -> None:
        self.balancers.wait_for("a clean unlock", lambda e: e["event"] == "done")

    def _stop_holder_in_mid_round(self, chunks_least: int = 0) -> Any:
        """Stops somebody who holds the lock and has work left; gives its name and fence."""
        steps, to_do = collections.Counter(), {}

        def third_step(event: dict[str, Any]) -> Any:
            hold = event["process"], event["fence"]
            if event["event"] == "grant":
                to_do[hold] = int(event["detail"].split()[0])
            steps[hold] += event["event"] == "step"
            return event["event"] == "step" and steps[hold] >= 3 and \
                to_do.get(hold, 0) - steps[hold] >= chunks_least

        limit = time.monotonic() + GIVE_UP
        while time.monotonic() < limit:
            step = self.balancers.wait_for("somebody in the middle of a round", third_step)
            if self.balancers.stop_in_mid_round(step["process"]):
                return step["process"], step["fence"]
        raise Surprise(f"in {GIVE_UP} s no holder could be stopped in the middle of a round: "
                       f"{self.balancers.why_not}")

    def _another_works(self, than: Any) -> Any:
        return self.balancers.wait_for(
            f"another than {than} to take over",
            lambda e: e["event"] == "step" and e["process"] != than)

    def holder_is_killed(self) -> None:
        name, fence = self._stop_holder_in_mid_round()
        self.balancers.processes[name].kill()
        self.balancers.processes[name].wait()
        self.balancers.note("killed", name, fence)
        self._another_works(name)
        self.a_clean_unlock()

    def holder_is_paused(self) -> None:
        name, fence = self._stop_holder_in_mid_round()
        self.balancers.note("paused", name, fence)
        self._another_works(name)
        os.kill(self.balancers.pid(name), signal.SIGCONT)
        self.balancers.note("continued", name, fence)
        self.balancers.wait_for(f"{name} to notice that it was paused too long",
                                lambda e: e["event"] == "lost" and e["process"] == name)
        self.a_clean_unlock()

    def holder_loses_its_store(self) -> None:
        # With so much to do that it cannot finish before its hold runs out.
        name, fence = self._stop_holder_in_mid_round(chunks_least=50)
        self.trouble.begin(name, self.balancers.pid(name))
        self.balancers.note("cut", name, fence, self.trouble.what)
        os.kill(self.balancers.pid(name), signal.SIGCONT)
        if self.trouble.only_the_holder:
            self.balancers.wait_for(f"{name} to notice that it can no longer ping",
                                    lambda e: e["event"] == "lost" and e["process"] == name)
            self._another_works(name)
        else:
            self.balancers.wait_for("work to go on", lambda e: e["event"] == "done")
        self.trouble.end(name, self.balancers.pid(name))
        self.balancers.note("mended", name, fence)
        self.balancers.wait_for(f"{name} to compete again", lambda e: e["process"] == name and
                                e["event"] in ("busy", "grant"))
