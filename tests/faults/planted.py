"""Bugs planted in the shared library, each with the workload that must fail then. Without, it is
good: CI runs it."""

import json
import os
import pathlib
import re
import shlex
import time
from typing import Any

from tests.faults import processes
from tools.planting import mutant_build

ROOT = mutant_build.ROOT
HERE = pathlib.Path(__file__).parent / "planted"
MUTANTS = ROOT / "tests/mutants"
ATTEMPTS = 4  # Each with another seed; what is found is found by chance.
LOST, BOTH, EARLY = "are lost", "both believed", "after its last ping"
PUSHED, DEAR = "pushed in past", "the dead cost .* s$"
UNFAIR = "had its turn .* before"

# Name, patch, command, and what must be found: another fault of the run shows nothing.
TABLE = (
    ("no guard, mongod", None, "counter --store mongod --bare", LOST),
    ("no guard, sqlite", None, "counter --store sqlite --bare", LOST),
    ("deadline without allowance", MUTANTS / "r09-no-allowance.patch",
     "skew --rounds 3", BOTH),
    ("takeover 5 ms too early, mongod", HERE / "takeover-too-early.patch",
     "takeover --store mongod", EARLY),
    ("takeover 5 ms too early, sqlite", HERE / "takeover-too-early.patch",
     "takeover --store sqlite", EARLY),
    ("work of the dead without descriptors is nobody's, sqlite",
     MUTANTS / "r23-command-without-descriptors-is-nobody.patch", "deaths",
     "while work of the dead acted"),
    ("retry without idempotence", MUTANTS / "r08-claim-sent-again.patch", "ambiguity",
     "held all the same"),
    ("name-only release, mongod", HERE / "name-only-release-mongod.patch",
     "intervals --store mongod --only kill_client,step_down --rounds 5", BOTH),
    ("name-only release, sqlite", HERE / "name-only-release-sqlite.patch",
     "intervals --store sqlite --only kill_client,checkpoint --rounds 10", BOTH),
    ("name-only release, mirrored", HERE / "name-only-release-mongod.patch",
     "intervals --store mirrored --only kill_client,kill_member --rounds 4", BOTH),
    ("check() never fails, sqlite", HERE / "check-never-fails.patch",
     "intervals --store sqlite --only kill_client,checkpoint --rounds 10", BOTH),
    ("places out of order, mongod", HERE / "newcomer-goes-to-the-front-mongod.patch",
     "line_standalone", PUSHED),
    ("places out of order, sqlite", MUTANTS / "r17-sqlite-newcomer-is-first.patch",
     "line --store sqlite", PUSHED),
    ("the first have turn after turn, mongod", HERE / "newcomer-goes-to-the-front-mongod.patch",
     "storm --store mongod --count 40", UNFAIR),
    ("the first have turn after turn, sqlite", MUTANTS / "r17-sqlite-newcomer-is-first.patch",
     "storm --store sqlite --count 40", UNFAIR),
    ("each of the dead is waited for, sqlite", HERE / "dead-wait-for-each.patch",
     "line --store sqlite", DEAR),
    ("the dead are waited for each time, sqlite", MUTANTS / "r17-claim-marks-nobody.patch",
     "line --store sqlite", "again and again"),
)


class Library(mutant_build.Lane):
    """The shared library with a bug."""

    def link(self, patch: Any) -> Any:
        self.plant(patch, re.findall(r"^diff --git a/(\S+)", patch.read_text(), re.M))
        words = mutant_build.must(["ninja", "-t", "commands", "distlock"], mutant_build.DEV)
        line = next(one for one in words.splitlines() if " -shared " in one)
        link = line.removeprefix(": && ").split(" && ")[0].split()
        link = [self._compile(word) if word in self.made else word for word in link]
        folder = self.tree / "lib"
        folder.mkdir(exist_ok=True)
        link[link.index("-o") + 1] = str(folder / "libdistlock.so.0.1")
        mutant_build.must(link, mutant_build.DEV)
        return folder

    def _compile(self, made: Any) -> str:
        """As the library's own object, which other programs may compile in other ways."""
        _, target = self.made[made]
        commands = json.loads((mutant_build.DEV / "compile_commands.json").read_text())
        line = next(one["command"] for one in commands if f" -o {made} " in one["command"])
        # In the copy of the sources whatever is in the sources, and headers found there first.
        words = [word.replace(f"{ROOT}/src/", f"{self.tree}/src/") for word in shlex.split(line)]
        words[words.index(made)] = str(target)
        first = next(i for i, word in enumerate(words) if word.startswith("-I"))
        words[first:first] = [f"-I{self.tree / 'include'}", f"-I{self.tree / 'src'}"]
        mutant_build.must(words, mutant_build.DEV)
        return str(target)


def attempt(command: Any, library: Any) -> Any:
    """The faults that it reports, and its exit status."""
    environment = dict(os.environ)
    if library:
        environment["LD_LIBRARY_PATH"] = str(library)
    done = processes.run([ROOT / "tools/faults", *command.split()],
                         env=environment)
    return re.findall(r"^WRONG: (.*)", done.stdout, re.M), done


def find(command: Any, library: Any, wanted: Any) -> Any:
    """Violations of that kind; and after how many attempts."""
    for number in range(1, ATTEMPTS + 1):
        wrong, done = attempt(command, library)
        found = [line for line in wrong if re.search(wanted, line)]
        if found:
            return found, number
        if done.returncode not in (0, 1):
            raise mutant_build.Spoiled((done.stdout + done.stderr)[-1000:])
    return [], ATTEMPTS


def main(names: list[str]) -> Any:
    build = mutant_build.Build(("faults_client", "faults_remote"))
    lane = Library("faults", build)
    missed = 0
    print("| planted bug | workload | what it found |\n| --- | --- | --- |")
    for name, patch, command, wanted in TABLE:
        if names and not any(one in name for one in names):
            continue
        begun = time.monotonic()
        found, attempts = find(command, lane.link(patch) if patch else None, wanted)
        missed += not found
        what = found[0].replace("|", "\\|") if found else "NOTHING"
        print(f"| {name} | `{command}` | {what} ({len(found)} lines, attempt {attempts}, "
              f"{time.monotonic() - begun:.0f} s) |", flush=True)
    return 1 if missed else 0
