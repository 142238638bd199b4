"""Read, think, write under the lock, by clients that are stopped for longer than their lease in the
middle of it. With the guard of docs/protect-your-resource.md no confirmed addition is lost. Without
it some are, which shows that the stops are the right ones; none in many stops is a failure."""

from typing import Any

from tests.faults import checks, processes
from tests.faults.nemesis import catalogue, plan
from tests.faults.nemesis.clients import Pauser
from tests.faults.processes import wait_for

ABOUT = "no confirmed addition to a number is lost by clients that are stopped beyond their lease"
STORES = ("mongod", "sqlite", "mirrored")
KINDS = catalogue.MILD
SECONDS = {"mongod": 20, "sqlite": 20, "mirrored": 40}  # An emptied member takes 15 of them.
LEASE = 2
SETTINGS = {"work": "counter", "lease": LEASE * 1000, "ping": 250, "call": 400, "hold": 200,
            "rest": 20, "poll_max": 100}
LEAST = 5  # Confirmed additions; fewer show nothing.
HURRY = "&serverSelectionTimeoutMS=3000&socketTimeoutMS=2000&connectTimeoutMS=2000"


def final_number(rig: Any, name: str) -> Any:
    """Once nobody writes any more."""
    if rig.cluster is None:
        return int(processes.output_of(rig.sqlite_program("number", name)))

    def found() -> Any:
        server, concern = rig.cluster.number_server()
        reply = server.ask({
            "find": "resources", "filter": {"_id": name}, "limit": 1,
            "readConcern": {"level": concern}, "maxTimeMS": 5000}, db="faults", timeout=9.0)
        return reply if reply.get("ok") == 1.0 else None

    documents = wait_for("the number", found)["cursor"]["firstBatch"]
    return documents[0].get("value", 0) if documents else 0


def count(rig: Any, name: str, seconds: float, guarded: Any, kinds: Any) -> Any:
    """Lets clients count, and gives their events, the last number and the account of faults."""
    rig.say(f"{name}: {'guarded' if guarded else 'UNGUARDED'}")
    resource = {"resource": rig.cluster.number_uri() + HURRY} if rig.cluster else {}
    guard = "true" if guarded else "false"
    names = {rig.client(lock=name, guarded=guard, **SETTINGS, **resource).name for _ in range(5)}
    rig.wait_grant(name)
    pauser = Pauser(rig, every=5, lease=LEASE, at="read")
    nemesis = plan.Nemesis(rig, plan.make(kinds, rig, 1000))
    nemesis.run(seconds)
    wait_for("a stop while thinking", lambda: pauser.held)
    pauser.end()
    wait_for("a belief", lambda: rig.history.wait(
        lambda e: checks.intervals.begins_belief(e, name), 1))
    wait_for("enough numbers", lambda: len(checks.counter.writes_of(
        [e for e in rig.history.all() if e["process"] in names], "ok")) >= LEAST)
    failed = [f"{one} failed" for one in rig.end_clients()] + nemesis.failed
    events = [event for event in rig.history.all() if event["process"] in names]
    return events, final_number(rig, name), pauser, nemesis, failed


def run(rig: Any) -> Any:
    rig.start_store()
    seconds = SECONDS[rig.store] if rig.seconds == float("inf") else rig.seconds
    events, final, pauser, nemesis, wrong = count(
        rig, "guarded", seconds, not rig.options.bare, KINDS[rig.store])
    wrong += checks.counter.violations(events, final) + checks.intervals.violations(events)
    bare, bare_final, bare_pauser, _, failed = count(rig, "bare", seconds / 2, False, ())
    bare_lost = checks.counter.lost_updates(bare, bare_final)
    wrong += checks.counter.nothing_shown(bare_lost, bare_pauser.held)
    return wrong + failed, {
        "written": final, "lost": checks.counter.lost_updates(events, final),
        "refused": len(checks.counter.writes_of(events, "refused")),
        "unknown": len(checks.counter.writes_of(events, "unknown")),
        "pauses": pauser.times, "while thinking": pauser.held, **nemesis.happened,
        "unguarded written": bare_final,
        "unguarded LOST": bare_lost,
        "unguarded pauses": bare_pauser.times, "unguarded while thinking": bare_pauser.held}
