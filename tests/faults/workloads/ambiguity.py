"""A claim or a release whose request or answer is lost, at each of its commands in turn, on a
replica set: what is said about it is true, and the lock can be had soon after."""

import collections
import itertools
from collections.abc import Iterator
from typing import Any

from tests.faults import checks, processes, proxy, stores
from tests.faults.remotes import Remotes
from tests.faults.proxy import Fault

ABOUT = "the outcome of a claim or release is told truly, whichever command is lost"
STORES = ("mongod",)
AT_ONCE = 16
# The driver looks for a server again half a second after a connection was lost, and gets half of
# the call limit for it.
CALL, PING, LEASE = 2.0, 2.0, 10.0
LATE = 1.05 * CALL
DEAD = 250
TRIALS = 10
# The situation, and the command that the fault hits.
SCENARIOS = {
    "first": "try", "again": "try", "free": "try", "release": "unlock", "takeover": "try"}
PLAIN = {"try": ("grant", "claim"), "unlock": ("released", "release")}  # An answer, what it takes.
PLAIN_TRIALS = 3
TWICE = ("lost request", "lost reply")
OF_THE_ATTEMPT = ("claim", "look", "release")
OF_THE_START = [("greeting", 1), ("createIndexes", 1), ("createIndexes", 2), ("ping", 1)]


def plans_of(commands: Any, start: int) -> Iterator[Any]:
    """All faults for one attempt that takes these commands: each deed at each of them, and what
    follows a lost claim or release lost as well."""
    counted = collections.Counter()
    for kind in commands:
        counted[kind] += 1
        if kind in OF_THE_ATTEMPT or (start and (kind, counted[kind]) in OF_THE_START):
            yield from ([Fault(kind, counted[kind], deed)] for deed in proxy.DEEDS)
    look = counted["look"]
    for first, second in itertools.product(TWICE, repeat=2):
        if "claim" in counted:
            once = [Fault("claim", 1, first), Fault("look", look + 1, second)]
            yield once
            yield [*once, Fault("look", look + 2, first)]
        if "release" in counted:
            once = [Fault("release", 1, first), Fault("release", 2, second)]
            yield once
            yield [*once, Fault("release", 3, first)]


class Attempts:
    """Threads: each attempt is one thread's."""

    def __init__(self, remotes: Any, store: Any, host: Any) -> None:
        self.remotes, self.store, self.host = remotes, store, host
        self.heir = remotes.start("heir").wait_started()
        self.numbers = itertools.count()
        self.dead = self.leave_locks_of_the_dead()
        self.died = processes.now()
        self.wrong, self.answers, self.longest = [], collections.Counter(), 0.0
        self.heir_ts, self.missed = {}, 0
        self.of_fault = collections.Counter()

    def leave_locks_of_the_dead(self) -> Any:
        """The names of locks whose holder was killed."""
        dead = self.remotes.start("dead").wait_started()
        names = [f"takeover-{number}" for number in range(DEAD)]
        for name in names:
            processes.wait_for(name, lambda: dead.wait(name)["event"] == "grant")
        dead.kill()
        self.dead_id = dead.id
        return iter(names)

    def lock_for(self, scenario: Any) -> Any:
        return next(self.dead) if scenario == "takeover" else f"{scenario}-{next(self.numbers)}"

    def prepare(self, scenario: Any, remote: Any, lock: str) -> None:
        if scenario != "first":
            processes.wait_for("a first ping", lambda: remote.ask("stats")["pings"] > 0)
        if scenario == "takeover":
            processes.pause(LEASE + 1 - (processes.now() - self.died) / 1e9)
        if scenario == "free":
            self.heir.ask("try", lock)
            self.heir.ask("unlock", lock)
        if scenario in ("again", "release"):
            processes.wait_for(lock, lambda: remote.wait(lock)["event"] == "grant")
        if scenario == "again":
            remote.ask("unlock", lock)

    def attempt(self, scenario: Any, plan: Any = ()) -> Any:
        """Gives what was said, the kinds of commands that it took until then, and whether all
        faults of the plan struck."""
        lock = self.lock_for(scenario)
        between = proxy.Proxy(self.host.network, self.store.address, LATE)
        uri = f"mongodb://127.0.0.1:{between.port}/{self.store.database}?directConnection=true"
        try:
            if scenario == "first":
                between.arm(*plan)  # Nor has its process done anything yet.
            remote = self.remotes.start(f"remote-{next(self.numbers)}", uri).wait_started()
            self.prepare(scenario, remote, lock)
            before = self.store.lock(lock)
            if scenario != "first":
                between.arm(*plan)
            answer = remote.ask(SCENARIOS[scenario], lock)
            commands = between.seen(answer["at"])  # The pinger goes on with what is pending.
            between.arm()
            self.judge(f"{scenario} of {lock}, {plan}", (answer, before, remote, lock, commands))
            remote.finish()
        finally:
            between.close()
        struck = sum(deed is not None for _, deed in commands)
        return checks.ambiguity.said(answer), [kind for kind, _ in commands], struck == len(plan)

    def judge(self, label: Any, attempt: Any) -> None:
        answer, before, remote, lock, commands = attempt
        wrong = checks.ambiguity.violations(
            answer, before, self.store.lock(lock), remote.id, commands)
        if lock.startswith("takeover") and not checks.ambiguity.ours(before, self.dead_id):
            wrong.append(f"the dead did not hold it: {before}")
        self.wrong += [f"{label}: {line}" for line in wrong]
        self.answers[checks.ambiguity.said(answer)] += 1
        self.inherit(remote, lock, answer, label)

    def inherit(self, remote: Any, lock: str, answer: Any, label: Any) -> None:
        """Nobody keeps the lock from others, whatever came of the attempt."""
        if answer["event"] == "grant":
            remote.ask("unlock", lock)
        begun = processes.now()
        got = self.heir.wait(lock)
        if got["event"] != "grant":
            self.wrong.append(f"{label}: the lock is stuck: {got}")
            return
        self.longest = max(self.longest, (got["at"] - begun) / 1e9)
        self.heir.ask("unlock", lock)
        self.heir_ts[lock] = got["ts"]

    def one(self, scenario: Any, plan: Any) -> None:
        """Until the faults have struck, and what can be found out was: where the machine itself is
        late, others come first."""
        told = set()
        for _ in range(TRIALS):
            said, _, struck = self.attempt(scenario, plan)
            if struck:
                told.add(said)
                self.of_fault[f"{checks.ambiguity.fault_of(plan, scenario)}: {said}"] += 1
            if struck and not checks.ambiguity.never_found_out(
                    plan, told, absent=scenario == "first"):
                return
        if told:
            self.wrong.append(f"{scenario}: {plan}: never found out, in {TRIALS} attempts")
            return
        self.missed += 1
        if len(plan) == 1:  # Of more, those that follow may be past their time.
            self.wrong.append(f"{scenario}: {plan} never struck")

    def plain(self, scenario: Any) -> Any:
        """The kinds of commands that an attempt without a fault takes. A slow machine makes some
        fail and others longer, so it is the shortest of those that came to what they should."""
        wanted, kind = PLAIN[SCENARIOS[scenario]]
        found = []
        for _ in range(TRIALS * PLAIN_TRIALS):
            said, kinds, _ = self.attempt(scenario)
            if said == wanted and kind in kinds:
                found.append(kinds)
            if len(found) == PLAIN_TRIALS:
                return min(found, key=len)
        raise processes.Broken(f"{scenario}: without a fault not {wanted} as often as asked")

    def end(self) -> None:
        """Nothing that came late has changed a lock."""
        self.heir.settle()
        for lock, ts in self.heir_ts.items():
            stored = self.store.lock(lock)
            if stored["state"] != 0 or stored["ts"] != ts:
                self.wrong.append(f"{lock} was changed after its last hold: {stored}")


def run(rig: Any, size: int = 3) -> Any:
    store, host = stores.start(rig, size)
    remotes = Remotes(rig, store, host, lease=LEASE, ping=PING, call=CALL)
    try:
        attempts = Attempts(remotes, store, host)
        with remotes.pool(AT_ONCE) as begin:
            todo = []
            plain = {scenario: begin(attempts.plain, scenario) for scenario in SCENARIOS}
            for scenario, kinds in plain.items():
                plans = list(plans_of(kinds.result(), scenario == "first"))
                rig.say(f"{scenario}: {len(plans)} faults")
                todo += [begin(attempts.one, scenario, plan) for plan in plans]
            for done in todo:
                done.result()
        attempts.end()
    finally:
        remotes.close()
    figures = {"attempts": sum(attempts.answers.values()), **attempts.answers,
               **dict(sorted(attempts.of_fault.items())),
               "faults that never struck": attempts.missed,
               "seconds until another had it at most": f"{attempts.longest:.1f}"}
    return attempts.wrong, figures
