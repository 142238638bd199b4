"""Makes small mistakes in src/, one at a time, and looks whether a test notices.

    tools/mutation [FILE...]   in these files, or in all of src; a line for each mistake that no test
                               notices; exit status 1 if one is not argued for in
                               tests/mutation/survivors*.txt
      --sample N               no more than N of them, in a few files of the library; with --seed N
                               they are others
      --lanes N                so many at once (the processors by default)
      --state FILE             what is known already, by default build/mutation/state: a run that was
                               cut short goes on there. A file that has changed is tried anew
      --again                  tries anew what survived
      --table FILE             writes the scores as Markdown, too
      --list                   only says which mistakes there are
    tools/mutation --check     looks whether each line argued for still is in its file
    tools/mutation --self-test tries itself on a few lines of its own

A statement is left out or exchanged with the next, or a lock is not taken. A condition is taken for
true or for false, a limit moves by one, or a constant or a result becomes another. All mistakes of a file are
compiled at once, and the environment says which of them a program makes.
"""

import argparse
import concurrent.futures
import os
import sys
import time
from collections.abc import Iterable
from typing import Any

from tools.planting import (
    mutation_asking, mutation_build, mutation_forms, mutation_report, mutation_selftest)
from tools.planting.mutant_build import ROOT

TESTS = ("unit_tests", "contract_memory", "contract_sqlite", "differential_sqlite")
# Asked besides, about files of these folders.
TESTS_OF_FOLDERS = {
    "src/cli/": "cli_tests",
    "src/stores/mirrored/": "contract_mirrored",
    "src/stores/mongodb/": "mongo_wire_tests",
}
SINGLE_MOST_QUICK = 0.3  # Seconds a test may take to be asked about a mistake that is compiled alone.


class Asked:
    """The mistakes to try, each with the number that selects it, in layers of sources."""

    def __init__(self, sources: Any, names: list[str], options: argparse.Namespace) -> None:
        self.wanted = []
        for name in names:
            text = (ROOT / name).read_text(encoding="latin-1")
            selected, single = sources.mutants(name)
            self.wanted += mutation_report.points(name, text, selected, False)
            if not options.sample:
                self.wanted += mutation_report.points(name, text, single, True)
        if options.sample:
            self.wanted = mutation_report.sampled(self.wanted, options.seed, options.sample)
        for number, point in enumerate(self.wanted, 1):
            point.number = number

    def layers(self) -> Any:
        """Points that can stand in one build, file by file."""
        made = []
        for name in dict.fromkeys(point.file for point in self.wanted):
            points = {point.mutant: point for point in self.wanted
                      if point.file == name and not point.single}
            for depth, layer in enumerate(mutation_forms.in_layers(list(points))):
                if depth == len(made):
                    made.append([])
                made[depth] += [points[mutant] for mutant in layer]
        return made


def written(points: Any) -> Any:
    """The text of each file with these mistakes in it."""
    texts = {}
    for name in dict.fromkeys(point.file for point in points):
        text = (ROOT / name).read_text(encoding="latin-1")
        pairs = [(point.number, point.mutant) for point in points if point.file == name]
        texts[name] = mutation_forms.Written(text, pairs).text
    return texts


class Asking:
    def __init__(self, build: Any, programs: Iterable[str], state: Any, lanes: Any) -> None:
        self.build, self.programs, self.state, self.lanes = build, programs, state, lanes
        self.reaching = {}  # The tests that reach a file.

    def layer(self, depth: Any, points: Any) -> None:
        if not any(self.state.unknown(point) for point in points):
            return
        lane = mutation_build.Planted(f"layer{depth}", self.build)
        lane.write(written(points))
        lane.compile(self.lanes, self.programs)
        paths = {name: lane.program(name) for name in self.programs}
        tests = mutation_asking.listened(paths)
        for test in tests:
            if test.failed:
                print(f"fails without a mistake, and is not asked: “{test.name}”", flush=True)
        files = {point.number: point.file for point in points}
        for test in tests:
            for name in {files[number] for number in test.reached if number in files}:
                self.reaching.setdefault(name, {})[test.program, test.name] = test
        self._ask(points, lambda point: mutation_asking.found_by(
            paths, [test for test in tests if point.number in test.reached], point.number))

    def _ask(self, points: Any, found_by: Any) -> None:
        points = [point for point in points if self.state.unknown(point)]
        with concurrent.futures.ThreadPoolExecutor(self.lanes) as pool:
            for point, found in zip(points, pool.map(found_by, points)):
                self.state.note(point, found)
                if not found:
                    print(point.line(), flush=True)

    def singles(self, points: Any) -> None:
        for point in points:
            if self.state.unknown(point):
                self._ask([point], self._alone)

    def _alone(self, point: Any) -> Any:
        text = (ROOT / point.file).read_text(encoding="latin-1")
        lane = mutation_build.Planted("single", self.build)
        lane.write({point.file: mutation_forms.plain(text, point.mutant)})
        lane.compile(self.lanes, self.programs)
        tests = [test for test in self.reaching.get(point.file, {}).values()
                 if test.seconds < SINGLE_MOST_QUICK]
        for program in self.programs:
            mine = [test for test in tests if test.program == program]
            if mine:
                found = mutation_asking.found_by({program: lane.program(program)}, mine, 0)
                if found:
                    return found
        return ""


def files_asked_for(options: argparse.Namespace) -> Any:
    names = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*")
                   if path.suffix in (".cpp", ".h"))
    if options.files:
        unknown = set(options.files) - set(names)
        if unknown:
            sys.exit(f"tools/mutation: no file of src: {' '.join(sorted(unknown))}")
        return options.files
    if options.sample:
        return mutation_report.sampled_files(names, options.seed)
    return names


def programs_for(names: list[str]) -> tuple[str, ...]:
    return (*TESTS, *(program for folder, program in TESTS_OF_FOLDERS.items()
                      if any(name.startswith(folder) for name in names)))


def try_all(options: argparse.Namespace) -> Any:
    names = files_asked_for(options)
    programs = programs_for(names)
    build = mutation_build.build_of(programs)
    sources = mutation_build.Sources(build)
    with concurrent.futures.ThreadPoolExecutor(options.lanes) as pool:
        list(pool.map(sources.mutants, names))
    asked = Asked(sources, names, options)
    if options.list:
        print(*(point.line() for point in asked.wanted), sep="\n")
        return 0
    state = mutation_report.State(options.state, options.again)
    asking = Asking(build, programs, state, options.lanes)
    for depth, points in enumerate(asked.layers()):
        asking.layer(depth, points)
    asking.singles([point for point in asked.wanted if point.single])
    return mutation_report.conclude(asked.wanted, state, options)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/mutation", usage=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=os.cpu_count())
    parser.add_argument("--state", default=str(mutation_build.WORK / "state"))
    parser.add_argument("--table")
    for flag in ("--again", "--list", "--check", "--self-test"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    if options.check or options.self_test:
        wrong = mutation_selftest.problems() if options.self_test else mutation_report.stale()
        print(*wrong, sep="\n", end="\n" if wrong else "")
        return 1 if wrong else 0
    options.begun = time.monotonic()
    try:
        return try_all(options)
    except mutation_build.Spoiled as spoiled:
        sys.exit(f"tools/mutation: without a mistake: {spoiled}")


if __name__ == "__main__":
    sys.exit(main())
