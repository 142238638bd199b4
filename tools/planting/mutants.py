"""Plants each bug of tests/mutants in a copy of the sources, and looks which tests find it.

    tools/mutants [NAME...]    all, or those with NAME in theirs; a table, and exit status 1 if one
                               survives, no longer applies or does not compile
      --schedules N            that the simulation may take for each (20000 by default)
      --quick                  no more than it takes: the first test that finds it, those of its
                               rule before the others, and the simulation only where none does
      --sample N               N of them, one of each rule at least
      --seed TEXT              which ones (the name of the last commit, by default); it is printed
      --lanes N                so many at once (the processors, by default)
      --table FILE             puts their rows into a table in Markdown, each as it is found
      --left                   only those without a row, or whose patch has changed since

A bug is a patch with a head: "Rule: R8" and "Idea: what is done wrong". It is compiled against
build/dev, so that a bug in one file costs one compilation.
"""

import argparse
import concurrent.futures
import contextlib
import html
import os
import queue
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

from tools.planting.mutant_build import ROOT, Build, Lane, Spoiled
from tools.planting.mutant_choice import chosen
from tools.planting.mutant_table import Table

PATCHES = ROOT / "tests/mutants"
UNIT = ("unit_tests", "contract_memory", "contract_sqlite")
CLI = ("cli_tests",)
# Programs of tests, with the server that they need, for bugs in these files. For what the tests
# before let pass; the quick ones first.
MORE = (
    (r"src/(stores/mirrored/|pinger/member_|protocol/member_)", ("contract_mirrored",), ""),
    (r"src/(line_writer|lock/guard|pinger/|protocol/store_clock"
     r"|stores/(mirrored|open|sqlite)/|stores/mongodb/mongo_bell)", ("scarce_tests",), ""),
    (r"src/stores/sqlite/", ("differential_sqlite", "sqlite_tests"), ""),
    (r"src/stores/sqlite/sqlite_store", ("process_tests",), ""),
    (r"src/stores/(mongodb|open)/", ("mongo_wire_tests",), ""),
    (r"src/(cli/|log|line_writer|fork_guard|pinger/(running_pingers|shared_pingers)|uri/|stores/open/)",
     ("process_tests",), ""),
    (r"src/stores/mongodb/", ("contract_mongo_standalone",), "standalone"),
    (r"src/stores/mongodb/", ("contract_mongo_replica_set", "mongo_tests"), "all"),
    (r"src/stores/mongodb/", ("differential_mongo",), "standalone"),
    (r"src/stores/open/", ("mongo_tests",), "all"),
    (r"src/(cli/role|stores/mongodb/|uri/)", ("security_tests",), "secured"),
)
IN_PROCESSES = {"R16": "process_tests", "R23": "sqlite_tests"}  # The simulation hangs at their forks.
STARTED = ("distlock", "distlock_tool")
STARTING = {"process_tests", "security_tests"}
NOT_SIMULATED = re.compile(r"src/(log\w*|line_writer|fork_guard|pinger/identity)\.(cpp|h)"
                           r"|src/(cli|uri|stores/mongodb|stores/open|stores/sqlite)/")
NOT_TRIED = "not tried"
NAMED_MOST = 3  # Of the tests that find a bug.
# A program of tests hangs that takes so many times what it takes without a bug, and so many seconds.
TIMES_MOST = 4
SECONDS_LEAST = 20
CLEAN_MOST = 600  # Seconds, without a bug.
HANGS = (None, -signal.SIGXCPU, -signal.SIGKILL)


class Bug:
    def __init__(self, path: Any) -> None:
        self.path = path
        self.name = path.stem
        self.text = path.read_text()
        self.rule = self._head("Rule")
        self.idea = self._head("Idea")
        self.files = re.findall(r"^diff --git a/(\S+)", self.text, re.M)
        if not self.files:
            sys.exit(f'tools/mutants: {self.path.name} has no line "diff --git a/FILE b/FILE", so '
                     "that nothing of it would be compiled")
        self.in_a_store = self._in(r"src/stores/|src/turns\.|include/distlock/record")
        self.in_the_tool = self._in(r"src/cli/")
        self.simulated = not all(NOT_SIMULATED.match(name) for name in self.files)

    def _in(self, place: str) -> bool:
        return any(re.match(place, name) for name in self.files)

    def layers(self) -> Iterable[tuple[tuple[str, ...], str]]:
        """Programs of tests, with the server that they need; the quick ones first."""
        if self.in_the_tool:
            yield CLI, ""
        if not all(name.startswith("src/cli/") for name in self.files):
            yield UNIT if self.in_a_store else UNIT[:1], ""
        for place, programs, server in MORE:
            if self._in(place) or IN_PROCESSES.get(self.rule) in programs:
                yield programs, server

    def programs(self) -> set[str]:
        """All that may be asked, and what they start."""
        named = {name for programs, _ in self.layers() for name in programs}
        return named | set(STARTED if named & STARTING else ()) | \
            ({"sim"} if self.simulated else set())

    def _head(self, key: str) -> str:
        found = re.search(rf"^{key}: (.+)$", self.text.split("diff --git")[0], re.M)
        if not found:
            sys.exit(f'tools/mutants: {self.path.name} does not say "{key}: ..."')
        return found.group(1)


def run(arguments: list[str], seconds_most: int, variables: Any = None) -> tuple[str, int]:
    """Its output and exit status; None instead of a status if it did not end in time."""
    memory = "/dev/shm"  # Where SQLite need not wait for a disk.
    # As in tools/test: no messages about files that killed programs leave behind.
    environment = dict(os.environ, **({"TMPDIR": memory} if os.path.isdir(memory) else {}),
                       MONGOC_DISABLE_SHM="1", **(variables or {}))
    limits = (seconds_most, seconds_most + 5)
    with subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            text=True, errors="replace", env=environment, start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limits)) as program:
        try:
            said, _ = program.communicate(timeout=seconds_most)
            return said, program.returncode
        except subprocess.TimeoutExpired as late:
            so_far: bytes = late.stdout or b""
            return so_far.decode(errors="replace"), None
        finally:
            # The processes that it has started go with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)


class CleanRuns:
    """How long programs of tests take without a bug: each is run once so, when it is first asked."""

    def __init__(self) -> None:
        self._limits: dict[tuple[str, ...], int] = {}
        self._mutex = threading.Lock()

    def limit(self, build: Build, wrapper: Any, name: str, choice: Any) -> int:
        with self._mutex:
            key = (*wrapper, name, *choice)
            if key not in self._limits:
                begun = time.monotonic()
                said, status = run([*wrapper, build.programs[name], "-r", "xml", *choice], CLEAN_MOST)
                if status != 0:
                    raise Spoiled(f"{name} fails without a bug: {failed_tests(said) or said[-500:]}")
                took = time.monotonic() - begun
                self._limits[key] = max(SECONDS_LEAST, round(TIMES_MOST * took))
            return self._limits[key]


clean_runs = CleanRuns()


def failed_tests(report: str) -> list[str]:
    """Of Catch's XML, also of one that a crash has cut off."""
    failed = []
    for case in report.split("<TestCase ")[1:]:
        ended = re.search(r'<OverallResult success="(\w+)"', case)
        if not ended or ended.group(1) == "false":
            failed.append(html.unescape(re.match(r'name="([^"]*)"', case).group(1)))
    return failed


def found_by_tests(lane: Lane, programs: Iterable[str], choice: Any, server: str = "") -> Any:
    """`choice`: what else to tell the programs; with --abort, after one finding no more are run."""
    found: list[str] = []
    wrapper = [str(ROOT / "tools/with-mongod"), server, "--"] if server else []
    for name in programs:
        if found and "--abort" in choice:
            break
        limit = clean_runs.limit(lane.build, wrapper, name, choice)
        variables = lane.for_processes() if name in STARTING else {}
        report, status = run([*wrapper, lane.program(name), "-r", "xml", *choice], limit, variables)
        failed = failed_tests(report)
        if failed or status != 0:
            found += [f"“{test}”" for test in failed] or [f"{name} ends with {status}"]
        if failed and status in HANGS:
            found[-1] = f"hangs in {found[-1]}"
    return found


def found_by_sim(lane: Lane, schedules: int, mirrored: bool) -> Any:
    # A schedule on a mirrored store costs many times as much.
    which = ["--mirrored", "--schedules", str(schedules // 10)] if mirrored else [
        "--schedules", str(schedules)]
    said, status = run([lane.program("sim"), "--until-violation", "--quiet", *which],
                       20 + schedules // 50)
    if status in HANGS:
        return "hangs"
    after = re.search(r"^(\d+) schedules,", said, re.M)
    what = re.search(r"^VIOLATION of seed \d+ at .*? s: (.*)", said, re.M)
    if what and after:
        return f"{after.group(1)}: {what.group(1)}"
    return "" if status == 0 else f"ends with {status}"


def judge(lane: Lane, bug: Bug, asked: argparse.Namespace) -> Any:
    """The bugs that the tests found, and those that the simulation found."""
    lane.plant(bug.path, bug.files)
    choice: tuple[str, ...] = ("~[as_root]",)
    tests: list[str] = []
    layers = list(bug.layers())
    if asked.quick:
        choice = (*choice, "--abort")
    for programs, server in layers:
        if asked.quick and not tests and not server:
            one = programs[:1]
            tests = found_by_tests(lane, one, (f"[{bug.rule}]~[as_root]", "--abort"))
        tests = tests or found_by_tests(lane, programs, choice, server)
    if not bug.simulated or (asked.quick and tests):
        return tests, NOT_TRIED
    return tests, found_by_sim(lane, asked.schedules, bug.rule.startswith("M"))


def named(tests: list[str]) -> str:
    more = f" and {len(tests) - NAMED_MOST} more" if len(tests) > NAMED_MOST else ""
    return ", ".join(tests[:NAMED_MOST]) + more


class Judged:
    def __init__(self, bug: Bug, tests: Any = (), simulation: str = "", spoiled: str = "") -> None:
        self.bug, self.tests, self.simulation, self.spoiled = bug, tests, simulation, spoiled
        self.by_simulation = simulation not in ("", NOT_TRIED)
        self.found = not spoiled and (bool(tests) or self.by_simulation)

    def line(self) -> str:
        if self.spoiled:
            return f"SPOILED {self.bug.name}: {self.spoiled}"
        what = f"{self.bug.name}: {named(self.tests) or 'no test'} | {self.simulation or '-'}"
        return what if self.found else f"SURVIVED {what}"

    def put_into(self, table: Table) -> None:
        if self.spoiled:
            table.drop(self.bug)
        else:
            table.add(self.bug, named(self.tests) or "–", self.simulation or "–")


def in_a_free_lane(lanes: Any, bug: Bug, asked: argparse.Namespace) -> Any:
    lane = lanes.get()
    try:
        return Judged(bug, *judge(lane, bug, asked))
    except Spoiled as spoiled:
        return Judged(bug, spoiled=str(spoiled))
    finally:
        lanes.put(lane)


def judge_all(bugs: Any, asked: argparse.Namespace, table: Table | None) -> Any:
    build = Build(sorted({name for bug in bugs for name in bug.programs()}))
    lanes = queue.Queue()
    for number in range(asked.lanes):
        lanes.put(Lane(number + 1, build))
    with concurrent.futures.ThreadPoolExecutor(asked.lanes) as pool:
        waiting = [pool.submit(in_a_free_lane, lanes, bug, asked) for bug in bugs]
        for done in concurrent.futures.as_completed(waiting):
            print(done.result().line(), flush=True)
            if table:
                done.result().put_into(table)
        return [one.result() for one in waiting]


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/mutants", usage=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--schedules", type=int, default=20000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed")
    parser.add_argument("--lanes", type=int, default=os.cpu_count())
    parser.add_argument("--table")
    parser.add_argument("--left", action="store_true")
    asked = parser.parse_args()
    if asked.left and not asked.table:
        parser.error("--left goes with --table FILE")
    begun = time.monotonic()
    bugs = [Bug(path) for path in sorted(PATCHES.glob("*.patch"))]
    table = Table(asked.table, bugs, asked.schedules) if asked.table else None
    wanted = table.left(chosen(bugs, asked)) if table and asked.left else chosen(bugs, asked)
    if asked.left and not wanted:
        print("none is left")
        return 0
    try:
        judged = judge_all(wanted, asked, table)
    except Spoiled as spoiled:
        sys.exit(f"tools/mutants: without a bug: {spoiled}")
    wrong = sum(not one.found for one in judged)
    print(f"{len(judged)} bugs, {wrong} not found, {time.monotonic() - begun:.0f} s")
    return 1 if wrong or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
