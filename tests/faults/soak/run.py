"""One soak on one store: clients that do everything, troubles one after the other, and in the end
whether a rule was broken or something grew."""

import random
import time
from collections.abc import Iterator
from typing import Any

from tests.faults import checks, processes, stores
from tests.faults.soak import book, client, troubles
from tools.servers import mongod_program

LOCKS = [f"contended-{number}" for number in range(5)]
JUDGED_EVERY = 300.0
STEADY = 2
UNAVAILABLE = 69  # Of the tool.
PATIENCE = 400  # Seconds, for what has to come in any run.
CALM = {"memory": (5.0, 15.0), "sqlite": (1.0, 4.0), "mongod": (1.0, 4.0)}  # Seconds.


class Soak:
    def __init__(self, rig: Any, options: Any, say: Any) -> None:
        self.rig, self.options, self.say = rig, options, say
        self.chance = random.Random(rig.seed)
        self.book = book.Book(options.history)
        self.clients, self.steady, self.mortal = 0, [], None
        self.samples, self.happened = {}, {}
        self.seen = 0  # Locks in a listing.
        self.host: Any = None
        self.member: Any = None
        self.store: Any = None
        self.uri = "memory:"
        self.folder = rig.folder / "numbers"
        self.folder.mkdir()

    def spawn(self, command: Any, **more: Any) -> Any:
        if self.host is None:
            return processes.spawn(command, **more)
        return self.rig.hosts.spawn(self.host, command, **more)

    def run_tool(self, *words: Any) -> Any:
        return troubles.run_tool(self, *words)

    def start_client(self, kind: Any, threads: Any, environment: Any = ()) -> Any:
        self.clients += 1
        name = f"{kind}-{self.clients}"
        command = [self.options.torturer, name, self.uri, self.chance.randrange(10**6), self.folder,
                   threads]
        return client.Client(name, command, self.book, self.spawn, environment)

    def start_mortal(self) -> Any:
        return self.start_client("mortal", 2)

    def start(self) -> None:
        if self.rig.store == "memory":
            self.steady = [self.start_client("steady", 6)]
            return
        self.store, self.host = stores.start(self.rig)
        self.uri = self.store.uri
        if self.host is not None:
            self.member = self.store.member
        self.steady = [self.start_client("steady", 3) for _ in range(STEADY)]
        self.steady.append(self.start_client("off-clock", 1, client.off_clock()))
        mongod_program.sweep_clock(self.rig.folder, self.steady[-1].process)
        self.mortal = self.start_mortal()

    def rest(self, seconds: float) -> None:
        """Looks at the long-lived clients once a second meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            processes.pause(min(1.0, left))
            self.sample()

    def sample(self) -> None:
        for one in self.steady:
            if one.process.poll() is not None:
                self.book.wrong.add(f"{one.name} has ended: {one.process.returncode}")
            if one.name in self.book.granted and (vitals := one.vitals()):
                self.samples.setdefault(one.name, []).append((time.monotonic() - self.begun, vitals))

    def torment(self, seconds: float) -> None:
        """For longer where a slow machine has not shown yet what a run has to show."""
        self.begun = judged = time.monotonic()
        end = self.begun + seconds
        while (now := time.monotonic()) < end or (self.missing() and now < end + PATIENCE):
            self.rest(self.chance.uniform(*CALM[self.rig.store]))
            trouble = self.chance.choice(self.to_come() or troubles.OF_STORE[self.rig.store])
            if trouble(self):
                self.happened[trouble.__name__] = self.happened.get(trouble.__name__, 0) + 1
            if time.monotonic() > judged + JUDGED_EVERY:
                self.book.judge(processes.now())
                judged = time.monotonic()

        self.book.wrong.update(f"in all this time there was no {what}" for what in self.missing())

    def to_come(self) -> Any:
        return [trouble for trouble in troubles.OF_STORE[self.rig.store]
                if trouble.__name__ not in self.happened]

    def missing(self) -> Any:
        """Of what shows that this was a torture."""
        missed = {f"grant to {one.name}" for one in self.steady} - {
            f"grant to {name}" for name in self.book.granted}
        missed |= {f"trouble of the kind {trouble.__name__}" for trouble in self.to_come()}
        if self.rig.store == "memory" and not self.book.counts["cut off"]:
            missed.add("party cut off")
        return missed

    def end(self) -> None:
        """In good order; then every lock can be had and every document is sound."""
        if self.member:
            if self.member.process.poll() is not None:  # It was ended early in a restart.
                self.member.start()
            self.member.wait_up()
            troubles.tell_server(self, {"configureFailPoint": "failCommand", "mode": "off"})
        for one in [*self.steady, *([self.mortal] if self.mortal else [])]:
            if status := one.end():
                self.book.wrong.add(f"{one.name} ended with {status}")
        if self.store:
            self.book.wrong.update(self.store.faults())
            for lock in LOCKS:
                had = processes.wait_for(f"an answer about {lock}", lambda: self.have(lock))
                if had.returncode not in (0, 75):  # 75: it had the lock, and was too slow.
                    self.book.wrong.add(f"{lock} is stuck: {had.stderr.strip()}")
        if self.book.counts["stuck"] or self.book.counts["failed"]:
            self.book.wrong.add("a client found a lock stuck, or failed itself")

    def have(self, lock: str) -> Any:
        """The result of the tool that takes it; nothing if the store did not answer it in time, which
        on a slow machine is no fault. Its call limit is an eighth of the window."""
        had = self.run_tool("run", "--takeover-after", "16s", "-w", "100s", "--uri", self.uri, lock,
                            "--", "true")
        return None if had.returncode == UNAVAILABLE else had

    def figures(self) -> Iterator[Any]:
        """A line each."""
        self.book.judge_numbers(self.book.judge(processes.now(), end=True), self.folder, LOCKS)
        counts = self.book.counts
        yield (f"{counts['grant']} grants, {self.book.takeovers} takeovers, {counts['lost']} losses "
               f"announced, {counts['broken']} broken; {counts['ok']} numbers written, "
               f"{counts['refused']} refused by the fence")
        errors = [f"{number} {code}" for code, number in sorted(self.book.troubles.items())]
        done = [f"{number} {what}" for what, number in sorted(self.happened.items())]
        cuts = [f"{counts['cut off']} cut off"] if counts["cut off"] else []
        yield f"done to them: {', '.join(done + cuts)}; errors: {', '.join(errors) or 'none'}"
        for name, samples in self.samples.items():
            found = checks.soak.growth(samples)
            self.book.wrong.update(checks.soak.grown(name, samples))
            said = ", ".join(f"{what} {first} to {last}" for what, (first, last) in found.items())
            yield f"{name}: {said or 'too short to say whether anything grew'}"

    def close(self) -> None:
        for one in [*self.steady, *([self.mortal] if self.mortal else [])]:
            processes.kill(one.process)
        self.book.file.close()
