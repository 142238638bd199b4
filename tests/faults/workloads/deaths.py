"""Holders on one host are killed (SIGKILL): a process with a lock, `distlock run`, its keeper, and both.
The next in line has the lock only when nothing of the dead can act any more, and then soon: the
window is ten minutes."""

import os
import pathlib
import signal
import sys
from typing import Any

from tests.faults import arguments, checks, processes, stores
from tests.faults import history as histories
from tests.faults.processes import wait_for
from tests.faults.remotes import WAIT, Remotes
from tools.servers.children import Missing

ABOUT = "a lock whose holder was killed goes on at once, but not while work of the dead can act"
STORES = ("sqlite",)
COUNT = 12
WINDOW, CALL = 600, 10.0  # Seconds.
TOOL = arguments.BUILT.parents[1] / "src/cli/distlock"
WORKER = pathlib.Path(__file__).parents[1] / "worker.py"


class Run:
    """A `distlock run` that holds a lock, and its work."""

    def __init__(self, rig: Any, lock: str, way: str) -> None:
        self.lock, self.history, self.uri = lock, rig.history, rig.uri()
        self.notes = rig.folder / f"{lock}.notes"
        self.tool = processes.spawn([TOOL, "run", "--takeover-after", f"{WINDOW}s", "--uri",
                                     self.uri, lock, "--", sys.executable, "-I", WORKER, self.notes,
                                     way])
        wait_for(f"work under {lock}", lambda: self.acts() or self.tool.poll() is not None)
        if not self.acts():
            raise processes.Broken(f"{lock}: the run ended with {self.tool.returncode}")
        self.worker = int(self.acts()[0].split()[0])
        self.keeper = wait_for(f"the keeper of {lock}", self.find_keeper)

    def acts(self) -> list[bytes]:
        """Whole lines."""
        return self.notes.read_bytes().split(b"\n")[:-1] if self.notes.exists() else []

    def last_act(self) -> int:
        return int(self.acts()[-1].split()[1])

    def find_keeper(self) -> Any:
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            try:
                text = status.read_text()
            except OSError:  # It has ended.
                continue
            if text.startswith("Name:\tdistlock-keeper\n") and f"\nPPid:\t{self.tool.pid}\n" in text:
                return int(status.parent.name)
        return None

    def kill(self, *whom: int) -> int:
        """When the first was sent."""
        since = processes.now()
        for one in whom:
            os.kill(one, signal.SIGKILL)
        self.history.add(histories.killed(self.lock, since, processes.now(), self.uri))
        return since

    def works(self) -> bool:
        """Whether it acts: its number may be another process's once it has ended."""
        acts = len(self.acts())
        processes.pause(0.05)
        return len(self.acts()) > acts

    def close(self) -> None:
        processes.kill(self.tool)
        if self.works():
            os.kill(self.worker, signal.SIGKILL)


class Deaths:
    """One after the other; `heir` waits for each lock."""

    def __init__(self, rig: Any, remotes: Remotes) -> None:
        self.rig, self.remotes = rig, remotes
        self.heir = remotes.start("heir").wait_started()
        self.found: list[checks.deaths.Death] = []
        self.wrong: list[str] = []

    def follow(self, lock: str, kind: str, killed: int, waiting: Any, run: Any = None) -> None:
        got = self.heir.answer(waiting, WAIT / 1000)
        if got["event"] != "grant":
            self.wrong.append(f"{lock}, {kind}: {got}")
            return
        processes.pause(0.02)  # An act after the grant shows.
        self.heir.ask("unlock", lock)
        last = run.last_act() if run else 0
        self.found.append(checks.deaths.Death(lock, kind, killed, last, got["at"]))

    def holder(self, lock: str) -> None:
        victim = self.remotes.start(f"holder of {lock}").wait_started()
        victim.wait(lock)
        waiting = self.heir.tell("wait", lock, WAIT)
        processes.pause(self.rig.random.uniform(0, 0.2))
        killed = processes.now()
        victim.kill()
        self.follow(lock, "a holder", killed, waiting)

    def _run(self, lock: str, kind: str, way: str, *victims: str) -> None:
        run = Run(self.rig, lock, way)
        try:
            waiting = self.heir.tell("wait", lock, WAIT)
            processes.pause(self.rig.random.uniform(0, 0.2))
            if victims == ("keeper",):
                run.kill(run.keeper)
                self.must_wait(run, kind, waiting)
                victims = ("tool",)
            of = {"tool": run.tool.pid, "keeper": run.keeper}
            killed = run.kill(*(of[one] for one in victims))
            if way == "bare":
                self.must_wait(run, kind, waiting)
                killed = run.kill(run.worker)
            self.follow(lock, kind, killed, waiting, run)
        finally:
            run.close()

    def must_wait(self, run: Run, kind: str, waiting: Any) -> None:
        """While something of the dead works; a waiter has looked meanwhile."""
        processes.pause(self.rig.random.uniform(0.1, 0.5))
        if waiting in self.heir.answers:
            self.wrong.append(f"{run.lock}, {kind}: the next was granted it while work of the dead "
                              "acted")
        if not run.works():
            self.wrong.append(f"{run.lock}, {kind}: the work has ended, so nothing is shown")

    def run(self, lock: str) -> None:
        self._run(lock, "a run", "plain", "tool")

    def run_with_remains(self, lock: str) -> None:
        self._run(lock, "a run whose daemon lives on", "bare", "tool")

    def keeper_before_run(self, lock: str) -> None:
        self._run(lock, "a keeper, and then its run", "plain", "keeper")

    def run_and_keeper(self, lock: str) -> None:
        self._run(lock, "a run with its keeper", "plain", "keeper", "tool")

    def both_with_remains(self, lock: str) -> None:
        self._run(lock, "a run with its keeper, whose daemon lives on", "bare", "keeper", "tool")


KINDS = (Deaths.holder, Deaths.run, Deaths.run_with_remains, Deaths.keeper_before_run,
         Deaths.run_and_keeper, Deaths.both_with_remains)


def run(rig: Any) -> Any:
    if not TOOL.exists():
        raise Missing(f"no {TOOL}; run tools/build first")
    store, host = stores.start(rig)
    remotes = Remotes(rig, store, host, lease=WINDOW, ping=5.0, call=CALL)
    count = rig.options.count or COUNT
    try:
        deaths = Deaths(rig, remotes)
        for number in range(count):
            KINDS[number % len(KINDS)](deaths, f"lock-{number}")
    finally:
        remotes.close()
    wrong = deaths.wrong + checks.deaths.violations(deaths.found)
    wrong += store.faults() + checks.intervals.violations_by_lock(rig.history.all())
    late = [one.late_ms() for one in deaths.found]
    return wrong, {"deaths": len(deaths.found),
                   "median ms to the next grant": f"{checks.takeover.percentile(late, 0.5):.1f}",
                   "most ms": f"{max(late, default=0):.1f}"}
