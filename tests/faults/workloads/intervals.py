"""Two clients never believe at once that a lock is theirs, whatever happens to the servers, the
network and the clients. One lock changes hands all the time; the other has a holder that means to
keep it, and a contender that waits for it to die."""

from typing import Any

from tests.faults import checks
from tests.faults.nemesis import catalogue, plan
from tests.faults.nemesis.clients import Pauser
from tests.faults.processes import PATIENCE, wait_for

ABOUT = "no two clients believe at once that they hold a lock, under all faults"
STORES = ("mongod", "sqlite", "mirrored")
KINDS = {store: catalogue.of(store, relayed=True) for store in STORES}
SHORT = {"lock": "short", "lease": 2000, "ping": 250, "call": 400, "hold": 300}
LONG = {"lock": "long", "lease": 12000, "ping": 500, "call": 1500, "work": "hold"}


def see_each_granted_anew(rig: Any, patience: Any = PATIENCE) -> None:
    """Once all faults are over. The client that would keep the long one is asked to
    end."""
    since = rig.history.size()
    keeper = checks.intervals.last_granted(rig.history.first(since), "long")
    for one in rig.clients:
        if one.name == keeper:
            one.ask_to_end()
    for lock in ("short", "long"):
        wait_for(f"a grant of {lock} after the last fault", lambda: checks.intervals.last_granted(
            rig.history.since(since)[0], lock), patience)


def run(rig: Any) -> Any:
    """The violations, and figures for the report."""
    rig.start_store(small_disk=True)
    for _ in range(4):
        rig.client(**SHORT)
    for _ in range(2):
        rig.client(**LONG)
    rig.wait_grant("short")
    nemesis = plan.Nemesis(rig, plan.make(KINDS[rig.store], rig, rig.rounds))
    pauser = Pauser(rig, every=8, lease=2)
    nemesis.run(rig.seconds)
    pauser.end()
    see_each_granted_anew(rig)
    for lock in ("short", "long"):
        wait_for(f"a belief in {lock}", lambda: rig.history.wait(
            lambda e: checks.intervals.begins_belief(e, lock), 1))
    failed = rig.end_clients()
    events = rig.history.all()
    wrong = checks.intervals.violations(events) + [f"{name} failed" for name in failed]
    return wrong + nemesis.failed, {
        "beliefs": len(checks.intervals.beliefs_of(events)), "pauses": pauser.times,
        **nemesis.happened}
