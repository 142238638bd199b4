"""The story on a mirrored store. One member is killed and comes back with its data. Meanwhile the
others keep every hold, and a holder that is killed is taken over."""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import Any

from examples.balancer import members, timeline
from examples.balancer.balancers import Surprise, die_with_parent
from examples.balancer.story import GIVE_UP, Story

SOON = 15  # Seconds, for what will not come.
TIMES = 3  # So often the director tries a thing that a slow machine may spoil.
AWAY = 69  # The tool's status where too few members answer.


class Away(Surprise):
    """Too few members have answered in time: on a busy machine those that are there may be slow."""


class Tool:
    """The command `distlock` on the store of the demo."""

    def __init__(self, program: pathlib.Path, uri: str) -> None:
        self.program = program
        mine = {name: value for name, value in os.environ.items() if not name.startswith("DISTLOCK_")}
        self.environment = mine | {"DISTLOCK_URI": uri}

    def said(self, *words: str) -> str:
        done = subprocess.run([self.program, *words], env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode != 0:
            kind = Away if done.returncode == AWAY else Surprise
            raise kind(f"distlock {' '.join(words)}: status {done.returncode}, and said: "
                       f"{done.stderr.strip()}")
        return done.stdout

    def said_at_last(self, *words: str) -> str:
        for _ in range(TIMES - 1):
            with contextlib.suppress(Away):
                return self.said(*words)
        return self.said(*words)


class Job:
    """A hold of `distlock run`, until it is told to end."""

    def __init__(self, tool: Tool, name: str, folder: pathlib.Path) -> None:
        self.name = name
        self.ts: str = None  # Of its hold, which stays the same.
        with open(folder / f"{name}.log", "w") as log:
            self.process = subprocess.Popen(
                [tool.program, "run", "--takeover-after", "30s", "--ping-every", "1s",
                 "--why", "a job of the demo", name, "--", "cat"],
                env=tool.environment, stdin=subprocess.PIPE, stdout=log, stderr=log,
                preexec_fn=die_with_parent)

    def end(self) -> Any:
        """Its status: 0 if it held the lock to its end."""
        self.process.stdin.close()
        return self.process.wait(GIVE_UP)

    def kill(self) -> None:
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


class MirrorStory(Story):
    rows = ("m1", "m2", "m3")

    def __init__(self, balancers: Any, trouble: Any, options: argparse.Namespace,
                 folder: pathlib.Path) -> None:
        super().__init__(balancers, trouble)
        self.patience = SOON if options.planted_absence else GIVE_UP
        self.tool = Tool(options.distlock, options.uri)
        self.folder = folder
        self.jobs: list[Job] = []

    def tell(self) -> None:
        for row in self.rows:
            self.balancers.note("up", row)
        self.everybody_starts()
        self.job_begins("backup")
        self.everything_is_on_all("all members to count")
        self.member_is_killed()
        self.job_begins("import")
        self.holder_is_killed()
        self.everything_is_on_the_others()
        self.member_comes_back()
        self.holder_is_paused()
        self.jobs_end()

    def job_begins(self, name: str) -> None:
        job = Job(self.tool, name, self.folder)
        self.jobs.append(job)

        def missing() -> Any:
            if job.process.poll() is not None:
                raise Surprise(f"the job {name} ended with status {job.process.returncode}")
            hold = members.hold_of(self._listing(), name)
            job.ts = hold and hold["ts"]
            return [] if hold else ["the lock is not taken"]
        self._wait_for_none(f"the job {name} to have its lock", missing)

    def member_is_killed(self) -> None:
        """While somebody holds the lock, whose hold has to go on. A machine that stands still for
        longer than a window ends it too, so one good time of three is enough."""
        for _ in range(TIMES):
            name, fence = self._kill_member_in_a_round()
            end = self.balancers.wait_for(
                f"{name} to end its round", lambda e: (e["process"], e["fence"]) == (name, fence)
                and e["event"] in ("done", "lost"))
            if end["event"] == "done":
                return
            self._bring_member_back()
        raise Surprise(f"{TIMES} times a holder lost its hold when a member was killed")

    def _kill_member_in_a_round(self) -> Any:
        # The holder has more to do than fits its window, so that its pings have to go on.
        name, fence = self._stop_holder_in_mid_round(chunks_least=50)
        pid = self.trouble.begin(name, self.balancers.pid(name))
        self.balancers.note("down", self._row(), detail=self.trouble.what, pid=pid)
        os.kill(self.balancers.pid(name), signal.SIGCONT)
        return name, fence

    def everything_is_on_the_others(self) -> None:
        self._wait_for_none(
            f"the holds to be on all members but {self._row()}",
            lambda: members.faults_of(self._listing(), self._holds(), (self.trouble.number,)))
        self._show(f"While {self._row()} was away:")

    def member_comes_back(self) -> None:
        self._bring_member_back()
        self._show(f"After {self._row()} had come back:")

    def _bring_member_back(self) -> None:
        row = self._row()
        self._wait_for_none(f"{row} to answer", self.trouble.missing)
        self.balancers.note("back", row)
        self.everything_is_on_all(f"{row} to be repaired")
        self.balancers.note("repaired", row)

    def everything_is_on_all(self, what: str) -> None:
        self._wait_for_none(what, lambda: members.faults_of(self._listing(), self._holds()))

    def jobs_end(self) -> None:
        for job in self.jobs:
            status = job.end()
            if status != 0:
                raise Surprise(f"the job {job.name} ended with status {status}")

    def close(self) -> None:
        for job in self.jobs:
            job.kill()

    def _row(self) -> str:
        return f"m{self.trouble.number}"

    def _holds(self) -> dict[str, Any]:
        """The balancers' lock goes from one to the next; each job has one hold all the time."""
        return {"balancer": None} | {job.name: job.ts for job in self.jobs}

    def _listing(self) -> Any:
        return json.loads(self.tool.said_at_last("list", "--json"))

    def _show(self, title: str) -> None:
        """Has the tool say it, as to a person. Of -v it keeps the table of the members alone, no wider
        than the terminal."""
        holds = self.tool.said_at_last("list", "--held")
        table = self.tool.said_at_last("status", "-v").split("\n\n")[-1].splitlines()
        width = timeline.columns()
        cut = [line if len(line) <= width else line[:width - 1] + "…" for line in table]
        self.shown.append("\n".join([title, "$ distlock list --held", holds,
                                     "$ distlock status -v", *cut, ""]))

    def _wait_for_none(self, what: str, faults: Callable[[], Iterable[str]]) -> None:
        """Asks for faults until there are none, and takes in meanwhile what the balancers note."""
        limit = time.monotonic() + self.patience
        while found := list(faults()):
            if time.monotonic() > limit:
                raise Surprise(f"waited {self.patience} s in vain for {what}: {found[0]}")
            self.balancers.listen_for(0.1)
