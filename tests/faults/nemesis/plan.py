"""A seeded plan of faults, how it is carried out, and an account of what really happened."""

import collections
import dataclasses
import math
import random
import re
import time
from typing import Any

from tests.faults import processes
from tests.faults.nemesis.fault import RELAY, DidNotHappen, NothingShown
from tests.faults.processes import wait_for


SHOWN = 24  # Of a plan, at the beginning.


@dataclasses.dataclass
class Step:
    kind: type
    lasts: float
    seed: int
    variant: str = ""

    @property
    def name(self) -> Any:
        return name_of(self.kind)

    @property
    def exact_name(self) -> Any:
        return f"{self.name} {self.variant}".rstrip()


def name_of(kind: Any) -> Any:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def make(kinds: Any, rig: Any, rounds: int = 1) -> Any:
    """Each kind once a round, in an order and for a time that the seed draws from all of them:
    what is not asked for, or falls away, leaves the rest as it is. Of a kind that has variants each
    round has the next one."""
    source, steps = random.Random(rig.seed), []
    variants = {kind: source.sample(kind.variants, len(kind.variants)) for kind in kinds}
    for number in range(rounds):
        for kind in source.sample(kinds, len(kinds)):
            steps.append(Step(kind, source.uniform(*kind.lasts), source.randrange(10**6),
                              variants[kind][number % len(kind.variants)]))
    done = _to_be_done(kinds, rig)
    return [step for step in steps if step.kind in done]


def _to_be_done(kinds: Any, rig: Any) -> Any:
    only = rig.options.only
    asked = [kind for kind in kinds if not only or name_of(kind) in only]
    if not rig.relayed:
        if only and any(kind.needs == RELAY for kind in asked):
            rig.lacks(RELAY, "hosts have one with --network loopback")
        elif not only:
            asked = [kind for kind in asked if kind.needs != RELAY]
    left = [kind for kind in asked if kind.needs not in rig.lacking]
    for kind in asked:
        if kind not in left:
            rig.say(f"FALLS AWAY: {name_of(kind)}, which needs {kind.needs}")
    if kinds and not left:
        raise NothingShown("all faults that were asked for fall away")
    return left


class Nemesis:
    def __init__(self, rig: Any, steps: Any) -> None:
        self.rig, self.steps = rig, steps
        self.happened = collections.Counter()
        self.failed = []  # Planned faults that did not happen, and why.
        planned = [f"{step.exact_name} {step.lasts:.1f} s" for step in steps]
        for first in range(0, min(len(planned), SHOWN), 6):
            rig.say(("plan: " if first == 0 else "      ") + ", ".join(planned[first:first + 6]))
        if len(planned) > SHOWN:
            rig.say(f"      and so on, {len(planned)} in all, as long as there is time")

    def run(self, seconds: float = math.inf) -> None:
        """All steps, or those that can begin in that time; at least one, if there is any."""
        if self.rig.store == "mirrored":
            wait_for("each member to be one of the set", self.rig.cluster.founded)
        end = time.monotonic() + seconds
        for number, step in enumerate(self.steps):
            if number == 0 or time.monotonic() < end:
                self._carry_out(step)
                self._see_it_healed(step)
        if math.isfinite(end):
            processes.pause(end - time.monotonic())

    def _carry_out(self, step: Any) -> None:
        fault = step.kind(self.rig, random.Random(step.seed), step.variant)
        try:
            what = fault.begin()
            self.rig.say(f"{step.name}: {what}")
            self._note("begin", step, what)
            processes.pause(step.lasts)
            fault.end()
            self.happened[step.exact_name] += 1
        except DidNotHappen as lack:
            fault.end()
            self.failed.append(f"{step.name} did not happen: {lack}")
            self.rig.say(self.failed[-1])
        self._note("end", step, "")

    def _see_it_healed(self, step: Any) -> None:
        """After every fault somebody gets the lock again."""
        if self.rig.cluster and len(self.rig.cluster.members) > 1:
            wait_for(f"a healthy set after {step.name}", self.rig.cluster.healthy)
        self.rig.wait_grant()

    def _note(self, event: str, step: Any, what: str) -> None:
        self.rig.history.add({"at": processes.now(), "process": "nemesis", "event": event,
                              "fault": step.exact_name, "what": what})

    def account(self) -> str:
        return ", ".join(f"{name} {count}" for name, count in sorted(self.happened.items()))
