"""Very many processes come at once for one lock, some of them are killed as they wait. All others get
their turn or their time-out. Then each asks for more turns, and all get them by turns. At last very
many locks are held at once, and the server is left with the connections that it had."""

from typing import Any

from tests.faults import checks, stores
from tests.faults.remotes import Remotes, finish_all
from tests.faults.processes import wait_for

ABOUT = "many come at once, all get their turns or their time-out, and nothing is left behind"
STORES = ("mongod", "sqlite")
COUNT = 100  # Processes for one lock; every tenth is impatient, every tenth is killed.
HOLDERS = 20  # Processes that hold four locks at once for each process of the crowd.
STARTED_AT_ONCE = 20
TURNS = 3  # How many more turns each asks for.
LEASE, PING, CALL = 32.0, 3.0, 6.0
HOLD, IMPATIENT, PATIENCE = 5, 1, 500_000  # Milliseconds.


def grants(rig: Any) -> Any:
    return {event["process"] for event in rig.history.all() if event["event"] == "grant"}


def start(remotes: Any, names: list[str]) -> Any:
    """Gives them by name, once they are there. Some at a time: hundreds of programs that start at
    once leave none of them the time to greet the server."""
    started = {}
    for first in range(0, len(names), STARTED_AT_ONCE):
        wave = {name: remotes.start(name) for name in names[first:first + STARTED_AT_ONCE]}
        for remote in wave.values():
            remote.wait_started(PATIENCE / 1000)
        started |= wave
    return started


def come_at_once(rig: Any, remotes: Any, store: Any, count: Any) -> Any:
    """Gives a line for each fault that it finds."""
    keeper = remotes.start("keeper").wait_started()
    keeper.ask("wait", "storm", PATIENCE)
    crowd = start(remotes, [f"p{number}" for number in range(count)])
    rig.say(f"{count} processes are there")
    victims, impatient = list(crowd)[1::10], list(crowd)[2::10]
    turns = {name: remote.tell("turn", "storm", IMPATIENT if name in impatient else PATIENCE, HOLD)
             for name, remote in crowd.items()}
    for name in impatient:
        crowd[name].answer(turns[name])  # The keeper still holds it.
    for name in victims[::2]:
        crowd[name].kill()
    keeper.ask("unlock", "storm")
    wait_for("the first turns", lambda: len(grants(rig)) > count // 4, PATIENCE / 1000)
    for name in victims[1::2]:
        crowd[name].kill()
    rig.say(f"{len(victims)} waiters are killed")
    patient = set(crowd) - set(victims) - set(impatient)
    for name in patient:
        crowd[name].answer(turns[name], PATIENCE / 1000)
    events = [event for event in rig.history.all() if event["process"] in crowd]
    living = [crowd[name] for name in crowd.keys() - set(victims)]
    unfair = come_again(rig, store, keeper, living)
    finish_all([keeper, *living])
    return checks.turns.violations(events, patient, impatient, victims) + unfair


def come_again(rig: Any, store: Any, keeper: Any, crowd: Any) -> Any:
    """All stand in line before the first has its turn, and behind the others for the next one. But one
    that is slow to come at its turn is passed over."""
    keeper.ask("wait", "storm", PATIENCE, limit=PATIENCE / 1000)
    since = rig.history.size()
    asked = [(remote, [remote.tell("turn", "storm", PATIENCE, HOLD) for _ in range(TURNS)])
             for remote in crowd]
    ids = {remote.id for remote in crowd}
    wait_for("all in line", lambda: ids <= {process for _, process in store.line("storm")},
             PATIENCE / 1000)
    keeper.ask("unlock", "storm")
    for remote, turns in asked:
        for turn in turns:
            remote.answer(turn, PATIENCE / 1000)
    names = {remote.name for remote in crowd}
    rig.say(f"{len(names)} have had {TURNS} turns more")
    return checks.turns.unfair(rig.history.since(since)[0], names, TURNS)


def hold_many(remotes: Any, store: Any, locks: Any) -> Any:
    """Gives a line for each fault that it finds."""
    holders = start(remotes, [f"holder{number}" for number in range(HOLDERS)])

    def each(verb: Any, *words: Any) -> Any:
        """Of each process for its locks, one after the other; gives how many were granted."""
        def do(name: str) -> Any:
            answers = [holders[name].ask(verb, f"{name}-{number}", *words)
                       for number in range(locks // HOLDERS)]
            return sum(answer["event"] in ("grant", "unlocked") for answer in answers)
        with remotes.pool(HOLDERS) as begin:
            return sum(one.result() for one in [begin(do, name) for name in holders])

    def taken() -> Any:
        return [lock for lock in store.locks() if lock["state"] != 0]

    done, held = each("wait", PATIENCE), taken()
    freed = each("unlock")
    for holder in holders.values():
        holder.settle()
    left = taken()
    finish_all(holders.values())
    seen = done, len(held), len({lock["process"] for lock in held}), freed, len(left)
    wanted = locks, locks, HOLDERS, locks, 0
    return [] if seen == wanted else [
        f"granted, stored, by processes, unlocked, left: {seen} instead of {wanted}"]


def run(rig: Any) -> Any:
    store, host = stores.start(rig)
    count = rig.options.count or COUNT
    before = min(store.connections() for _ in range(10))
    remotes = Remotes(rig, store, host, lease=LEASE, ping=PING, call=CALL)
    try:
        wrong = come_at_once(rig, remotes, store, count)
        rig.say("all have had their turn")
        wrong += hold_many(remotes, store, 4 * count)
    finally:
        remotes.close()
    wait_for(f"the server's {before} connections of the start", lambda: store.connections() <= before)
    wrong += store.faults() + checks.intervals.violations_by_lock(rig.history.all())
    return wrong, {"processes": count, "locks at once": 4 * count,
                   "connections before and after": before}
