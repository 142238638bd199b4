"""Processes that lock and unlock without pause are killed (SIGKILL) at random moments. After each
kill the documents are as documented, the file is sound, and another process gets the lock. If the
dead one held it: after the window, not before; at once on a SQLite file."""

import collections
import random
from typing import Any

from tests.faults import checks, processes, stores
from tests.faults.remotes import Remotes

ABOUT = "killed at random moments, clients leave sound documents and locks that can be had"
STORES = ("mongod", "sqlite")
KILLS = 60
AT_ONCE = 10
# A slow machine gets through to the store in a second as well.
WINDOW, CALL = 8000, 1.0  # Milliseconds, seconds.
MOST = 10  # Times as many kills, where the first find no victim that has begun.
SHARED = [f"shared-{n}" for n in range(3)]


class Kills:
    """The counts of a run. Threads: each kill is one thread's."""

    def __init__(self, remotes: Any, store: Any, seed: int) -> None:
        self.remotes, self.store, self.seed = remotes, store, seed
        self.heir = remotes.start("heir", store.uri_of("heir")).wait_started()
        if not store.sees("heir"):
            raise processes.Broken("the server does not name its clients")
        self.wrong = []
        self.left = collections.Counter()
        self.late = []  # Milliseconds to the heir's hold, from the end of a window or the wait's begin.

    def one(self, number: int) -> None:
        chance = random.Random(f"{self.seed}/{number}")
        kill = self.kill_early if chance.random() < 0.2 else self.kill_at_work
        self.wrong += [f"after kill {number}: {fault}" for fault in kill(chance, number)]

    def kill_at_work(self, chance: Any, number: int) -> Any:
        lock = f"own-{number}"
        name = f"victim-{number}"
        victim = self.remotes.start(name, self.store.uri_of(name)).wait_started()
        victim.ask("try", lock)
        victim.ask("unlock", lock)
        victim.tell("spin", chance.randrange(3000), lock, *chance.sample(SHARED, 2))
        processes.pause(chance.uniform(0, 0.1))
        victim.kill()
        self.store.settle(name)
        self.inherit(self.heir, self.store, lock)
        return self.store.faults()

    def kill_early(self, chance: Any, number: int) -> Any:
        """While it makes the store's file and tables, pings and claims for the first time."""
        lock, store = f"first-{number}", self.store.fresh(number)
        name = f"victim-{number}"
        victim = self.remotes.start(name, store.uri_of(name))
        victim.tell("spin", chance.randrange(3000), lock)
        processes.pause(chance.uniform(0, 0.15))
        victim.kill()
        store.settle(name)
        faults = store.faults()
        heir = self.remotes.start(f"heir-{number}", store.uri).wait_started()
        self.inherit(heir, store, lock)
        heir.finish()
        faults += store.faults()
        store.remove()
        return faults

    def inherit(self, heir: Any, store: Any, lock: str) -> None:
        before = store.lock(lock)
        held = before is not None and before["state"] != 0
        pinged = store.ping(before["process"]) if held else None
        begun = processes.now()
        got = heir.wait(lock)
        after = store.lock(lock)
        heir.ask("unlock", lock)
        if got["event"] != "grant":
            self.wrong.append(f"{lock} is stuck: {got}; it was {before}")
        elif after["fence"] <= ((before or {}).get("fence") or 0):
            self.wrong.append(f"{lock}: fence {after['fence']} after {before['fence']}")
        elif held:
            # The wait begins when the dead can act no more.
            late = after["when"] - pinged - WINDOW
            waited = (got["at"] - begun) // 10**6
            if late < 0 and not self.store.sees_deaths:
                self.wrong.append(f"{lock}: taken over {-late} ms before the window's end")
            self.late.append(waited if self.store.sees_deaths else min(late, waited))
        self.left["a hold" if held else "nothing" if before is None else "a free lock"] += 1

    def until_a_hold_is_left(self, number: int) -> Any:
        """Gives the number of kills that it took in all."""
        most = number * MOST
        while not self.late and number < most:
            self.one(number)
            number += 1
        return number

    def end(self) -> None:
        for lock in SHARED:
            self.inherit(self.heir, self.store, lock)
        self.wrong += self.store.faults() + self.store.blind_spots()
        if not self.late:
            self.wrong.append("no kill left a hold behind, so little was shown")
        elif self.store.sees_deaths and checks.takeover.percentile(self.late, 0.5) > WINDOW / 2:
            self.wrong.append("the dead are followed after a window, and not at once")


def run(rig: Any) -> Any:
    store, host = stores.start(rig)
    remotes = Remotes(rig, store, host, lease=WINDOW / 1000, call=CALL)
    count = rig.options.count or KILLS
    try:
        kills = Kills(remotes, store, rig.seed)
        with remotes.pool(AT_ONCE) as begin:
            for done in [begin(kills.one, number) for number in range(count)]:
                done.result()
        count = kills.until_a_hold_is_left(count)
        kills.end()
    finally:
        remotes.close()
    events = rig.history.all()
    grants = sum(event["event"] == "grant" for event in events)
    figures = {"kills": count, "grants": grants,
               **{f"left {what}": number for what, number in sorted(kills.left.items())},
               "ms to the latest takeover": max(kills.late, default=0)}
    return kills.wrong + checks.intervals.violations_by_lock(events), figures
