"""Many processes wait in line for one lock (R17 to R20). In each round all that live wait once, and
get it once. One round is quiet. Then some waiters are killed; in the next round the dead still have
their places. Then some are stopped, then the bell is taken away. At last the store is in trouble
while all wait. The grants come in the order of the line, and the run tells the cost of the dead."""

import contextlib
from collections.abc import Iterator
from typing import Any

from tests.faults import checks, processes, stores
from tests.faults.line_observer import Observer
from tests.faults.processes import wait_for
from tests.faults.remotes import Remotes, finish_all
from tests.faults.workloads import storm

ABOUT = "those who wait in line get the lock in order, whoever of them dies or is stopped"
STORES = ("mongod", "sqlite")
COUNT = 50
LEASE, PING, CALL = 32.0, 3.0, 6.0
LOCK, HOLD, PATIENCE = "line", 5, 400_000  # Milliseconds.
QUIET, AMONG_THE_DEAD = "a quiet round", "the dead still have places"
SHARE = 4  # One in so many is killed; of the rest one in so many is stopped.
WRITER = 2.0  # Seconds that another program writes to the SQLite file.


class Crowd:
    """The keeper of the lock, and all who wait for it."""

    def __init__(self, rig: Any, remotes: Any, store: Any, count: int) -> None:
        self.rig, self.store = rig, store
        self.keeper = remotes.start("keeper").wait_started()
        self.living = storm.start(remotes, [f"p{number}" for number in range(count)])
        rig.say(f"{count} processes are there")
        self.observer = Observer(rig, store, LOCK, remotes)
        self.dead: list[str] = []
        self.wrong: list[str] = []

    def release(self) -> None:
        self.keeper.ask("unlock", LOCK, limit=PATIENCE / 1000)

    @contextlib.contextmanager
    def round(self, what: str) -> Iterator[list[str]]:
        """All stand in line behind the keeper; gives their names in the order of the line. The caller
        does to them what is to be done, and releases the lock. All that live get it."""
        since = self.rig.history.size()
        self.tell("round", what=what)
        self.keeper.ask("wait", LOCK, PATIENCE, limit=PATIENCE / 1000)
        self.observer.look_since(processes.now())
        turns = {name: remote.tell("turn", LOCK, PATIENCE, HOLD)
                 for name, remote in self.living.items()}
        wait_for("all in line", lambda: turns.keys() <= set(self.observer.names()))
        yield [name for name in self.observer.names() if name in turns]
        for name, remote in self.living.items():
            remote.answer(turns[name], PATIENCE / 1000)
        events = [event for event in self.rig.history.since(since)[0] if event["process"] in turns]
        wrong = checks.turns.violations(events, set(self.living), (), turns.keys() - self.living.keys())
        self.wrong += [f"{what}: {line}" for line in wrong]
        self.rig.say(f"{what}: all that live have had their turn")

    def wait_for_grants(self, number: int, since: int) -> None:
        """In the history since then."""
        wait_for(f"{number} grants", lambda: number <= sum(
            event["event"] == "grant" for event in self.rig.history.since(since)[0]))

    @contextlib.contextmanager
    def trouble(self, fault: str) -> Iterator[None]:
        """Of the store; the history knows of it."""
        self.tell("begin", fault=fault)
        yield
        self.tell("end", fault=fault)

    def tell(self, event: str, **more: str) -> None:
        self.rig.history.add({"at": processes.now(), "process": "rig", "event": event, **more})

    def quiet(self) -> None:
        with self.round(QUIET):
            self.release()

    def kill_some(self) -> None:
        """The first in line, and others that do not stand side by side."""
        with self.round("some are killed") as line:
            count = len(line) // SHARE
            front = line[:count // 2]
            rest = self.rig.random.sample(line[count // 2 + 1::2], count - count // 2)
            for name in front + rest:
                self.living.pop(name).kill()
                self.dead.append(name)
            self.release()

    def among_the_dead(self) -> None:
        with self.round(AMONG_THE_DEAD):
            self.release()

    def stop_some(self) -> None:
        """The first in line, and others; until half of the rest have had the lock."""
        with self.round("some are stopped") as line:
            count = len(line) // SHARE
            stopped = line[:2] + self.rig.random.sample(line[2:], count - 2)
            for name in stopped:
                self.living[name].stop()
            since = self.rig.history.size()
            self.release()
            self.wait_for_grants((len(line) - count) // 2, since)
            for name in stopped:
                self.living[name].resume()

    def without_bell(self) -> None:
        with self.round("the bell is taken away"):
            with self.trouble("no_bell"):
                self.store.remove_bell()
            self.release()

    def in_trouble(self, trouble: Any) -> None:
        """Once while the keeper holds the lock, and once when half have had it."""
        with self.round("the store is in trouble") as line:
            with self.trouble(trouble.__name__):
                trouble(self.rig, self.store)
            since = self.rig.history.size()
            self.release()
            self.wait_for_grants(len(line) // 2, since)
            with self.trouble(trouble.__name__):
                trouble(self.rig, self.store)


def other_writer(rig: Any, _store: Any) -> None:
    writer = rig.sqlite_program("hold")
    if writer.stdout.readline() != "holding\n":
        raise processes.Broken("the other writer could not begin")
    processes.pause(WRITER)
    processes.kill(writer)


def restart(_rig: Any, store: Any) -> None:
    """SIGKILL, and a start from its data."""
    store.member.restart()


def fail_over(rig: Any, store: Any) -> None:
    """The primary is killed, and comes back as a secondary."""
    victim = store.member
    victim.kill()
    heir = rig.random.choice([one for one in rig.cluster.members if one is not victim])
    rig.cluster.make_primary(heir)
    store.member = heir
    victim.restart()


def trouble_of(rig: Any, size: int) -> Any:
    if rig.cluster is None:
        return other_writer
    return fail_over if size > 1 else restart


def figures_of(crowd: Any, events: Any) -> dict[str, Any]:
    grants = checks.line.judged(events)

    def median(of_round: str) -> str:
        return f"{checks.line.median_ms([one for one in grants if one.round == of_round]):.1f}"

    return {"grants": len(grants),
            "median ms to the next grant": median(QUIET),
            "among the dead": median(AMONG_THE_DEAD),
            "killed": len(crowd.dead),
            "ms that the dead cost": f"{checks.line.cost_of_the_dead(grants):.0f}",
            "grants past the dead": sum(one.dead > 0 for one in grants),
            "passed over asleep": sum(len(one.asleep) for one in grants),
            "passed over awake": sum(len(one.slighted) for one in grants)}


def run(rig: Any, size: int = 3) -> Any:
    store, host = stores.start(rig, size)
    remotes = Remotes(rig, store, host, lease=LEASE, ping=PING, call=CALL)
    try:
        crowd = Crowd(rig, remotes, store, rig.options.count or COUNT)
        crowd.quiet()
        crowd.kill_some()
        crowd.among_the_dead()
        crowd.stop_some()
        crowd.without_bell()
        crowd.in_trouble(trouble_of(rig, size))
        crowd.observer.end()
        finish_all([crowd.keeper, *crowd.living.values()])
    finally:
        remotes.close()
    events = rig.history.all()
    wrong = crowd.wrong + checks.line.violations(events) + store.faults()
    return wrong + checks.intervals.violations_by_lock(events), figures_of(crowd, events)
