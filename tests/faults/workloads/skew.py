"""The server's clock steps forward by nearly as much as a contender tolerates, while a holder that
is cut off counts on its deadline: the contender takes over that much early, and the holder has
stopped believing before."""

import time
from typing import Any

from tests.faults import checks
from tests.faults.nemesis.fault import NothingShown
from tests.faults.processes import wait_for

ABOUT = "a step of the server's clock that a contender tolerates costs nobody its deadline"
STORES = ("mongod",)
LEASE = 8000
STEP = LEASE / 16000 * 0.9  # Seconds; a contender tolerates a sixteenth of the window.
SETTINGS = {"work": "hold", "lease": LEASE, "ping": 400, "call": 500, "poll_max": 50,
            "wait": 3600000}


def off(server: Any) -> Any:
    """By how much its clock is ahead, in seconds."""
    told = server.ask({"isMaster": 1})["localTime"] / 1000
    return told - time.time()


def step(server: Any, seconds: float) -> None:
    server.set_clock(f"{seconds:+.3f}")
    wait_for("the step", lambda: abs(off(server) - seconds) < STEP / 2)


def take_over(rig: Any, server: Any, lock: str) -> None:
    """One holder cut off, one contender that takes over after the step."""
    holder = rig.client(lock=lock, **SETTINGS)
    rig.wait_event(holder, "grant")
    contender = rig.client(lock=lock, **SETTINGS)
    rig.wait_event(contender, "start")
    for host, other in ((holder.host, server.host), (server.host, holder.host)):
        rig.hosts.cut(host, other)
    step(server, STEP)
    rig.wait_event(contender, "grant")
    rig.hosts.heal_all()
    wait_for(f"a belief in {lock}", lambda: rig.history.wait(
        lambda e: checks.intervals.begins_belief(e, lock), 1))
    for client in (holder, contender):
        client.kill()
        rig.clients.remove(client)
    step(server, 0)


def run(rig: Any) -> Any:
    rig.start_mongod(size=1, clock="+0")
    if rig.lacking & {"partitions", "clocks"}:
        raise NothingShown("all of it needs partitions and clocks")
    for number in range(rig.rounds):
        take_over(rig, rig.cluster.members[0], f"skew{number}")
    events = rig.history.all()
    beliefs = checks.intervals.beliefs_of(events)
    spare = [(b.since - a.until) / 1e6 for a, b in zip(beliefs, beliefs[1:])
             if b.since > a.until and b.process != a.process]
    return checks.intervals.violations(events), {
        "takeovers": rig.rounds, "step s": f"{STEP:.2f}",
        "least ms between beliefs": f"{min(spare, default=0):.0f}"}
