"""Holders are killed; how long until the next one has the lock? Never before the window, and soon
after it. On SQLite by clients without witnesses: deaths.py has those with them."""

import json
import os
import pathlib
import sys
import time
from typing import Any

from tests.faults import checks, processes
from tests.faults.clients import Client
from tests.faults.processes import wait_for

ABOUT = "a killed holder's lock goes to the next one after the window, not before, and soon"
STORES = ("mongod", "sqlite")
SECONDS = 25
LEASE = 2000
POLL = 200
CHAINS = 6
SETTINGS = {"work": "hold", "lease": LEASE, "ping": 250, "call": 400, "poll_max": POLL,
            "wait": 3600000, "witness": "none"}


class Standstills:
    """The time that the machine itself takes from everybody, as seen on each processor."""

    def __init__(self, folder: pathlib.Path) -> None:
        program = pathlib.Path(__file__).parents[1] / "standstill.py"
        self.files = [open(folder / f"still{one}", "w+") for one in os.sched_getaffinity(0)]
        self.watching = [processes.spawn([sys.executable, "-I", program, one], stdout=file)
                         for one, file in zip(os.sched_getaffinity(0), self.files)]

    def end(self) -> Any:
        """The standstills, as spans that do not overlap."""
        spans = []
        for process, file in zip(self.watching, self.files):
            processes.kill(process)
            file.seek(0)
            spans += [tuple(map(int, line.split())) for line in file]
        merged = []
        for begin, end in sorted(spans):
            if merged and begin <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((begin, end))
        return merged


class Chain:
    """One lock, with a holder and one who waits for its death."""

    def __init__(self, rig: Any, number: int) -> None:
        self.rig, self.lock = rig, f"chain{number}"
        self.waiting = [rig.client(lock=self.lock, **SETTINGS) for _ in range(2)]
        self.holder: Client = None
        self.kill_at = float("inf")

    def granted(self, name: str) -> None:
        """The holder of before is killed, or was lost to a machine too slow for its lease."""
        heir = next((one for one in self.waiting if one.name == name), None)
        if heir is None:
            return  # The holder itself again, or one that was killed since.
        if self.holder:
            self._kill()
        self.waiting.remove(heir)
        self.holder = heir
        while len(self.waiting) < 1:
            self.waiting.append(self.rig.client(lock=self.lock, **SETTINGS))
        self.kill_at = time.monotonic() + self.rig.random.uniform(0.5, 1.0)

    def _kill(self) -> None:
        self.holder.kill()
        self.rig.clients.remove(self.holder)
        self.holder = None
        self.kill_at = float("inf")

    def kill_if_due(self, started: Any) -> Any:
        """Not before there is one who waits for it: how long that one takes to start is not told."""
        due = time.monotonic() > self.kill_at and self.waiting[0].name in started
        if due:
            self._kill()
        return due


def stored_pings(rig: Any) -> Any:
    """Of all processes: (by the store's clock in ms, on CLOCK_BOOTTIME in ns)."""
    if rig.cluster is None:
        return json.loads(processes.output_of(rig.sqlite_program("pings")))
    reply = rig.cluster.members[0].tell({"find": "lockpings", "batchSize": 100000,
                                         "singleBatch": True}, db="config", timeout=60)
    ahead = time.time_ns() - processes.now()
    return {one["_id"]: (one["ping"], one["ping"] * 10**6 - ahead)
            for one in reply["cursor"]["firstBatch"]}


class Chains:
    """All of them, and how far the history has been looked at."""

    def __init__(self, rig: Any) -> None:
        self.rig, self.seen, self.started = rig, 0, set()
        self.of_lock = {f"chain{n}": Chain(rig, n) for n in range(CHAINS)}

    def go_on(self) -> None:
        """Kills whom it is time to kill, and sees who has got a lock since."""
        for chain in self.of_lock.values():
            chain.kill_if_due(self.started)
        self.rig.history.wait(lambda e: e["event"] == "grant", 0.05, self.seen)
        fresh, self.seen = self.rig.history.since(self.seen)
        for event in fresh:
            if event["event"] == "start":
                self.started.add(event["process"])
            elif event["event"] == "grant":
                self.of_lock[event["lock"]].granted(event["process"])


def takeovers(rig: Any) -> Any:
    events = rig.history.all()
    killed = any(event["event"] == "killed" for event in events)
    return killed and checks.takeover.takeovers_of(events, stored_pings(rig), LEASE)


def run(rig: Any) -> Any:
    rig.start_store(size=1)
    stills = Standstills(rig.folder)
    chains = Chains(rig)
    end = time.monotonic() + (SECONDS if rig.seconds == float("inf") else rig.seconds)
    while time.monotonic() < end:
        chains.go_on()
    # On a slow machine holders lose their locks before they are killed: then it takes longer.
    def found_after_all() -> Any:
        found = takeovers(rig)
        if not found:
            chains.go_on()
        return found

    found = wait_for("a takeover", found_after_all)
    return judge(rig, found, stills.end())


def judge(rig: Any, found: Any, standstills: Any) -> Any:
    late = [one.late_ms(standstills) for one in found]
    p99 = checks.takeover.percentile(late, 0.99)
    wrong = [f"{one.name} ended by itself" for one in rig.clients if one.ended()]
    wrong += [f"{one} failed" for one in rig.end_clients()]
    wrong += checks.takeover.violations(found, LEASE)
    wrong += checks.intervals.violations(rig.history.all())
    if rig.options.measure and p99 > POLL + 50:
        wrong.append(f"99 of 100 take over within {p99:.0f} ms after the window, not {POLL + 50}")
    for text, count in checks.takeover.histogram(late):
        rig.say(f"after the window, {text:>17}: {count}")
    still = sum(end - begin for begin, end in standstills) / 10**6
    return wrong, {
        "takeovers": len(found), "least ms": f"{min(late, default=0):.1f}",
        "median ms": f"{checks.takeover.percentile(late, 0.5):.1f}", "p99 ms": f"{p99:.1f}",
        "most ms": f"{max(late, default=0):.1f}",
        "p99 ms with standstills": f"{checks.takeover.percentile([one.late_ms() for one in found], 0.99):.1f}",
        "standstills ms": f"{still:.0f}"}
