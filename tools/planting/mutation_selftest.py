"""tools/mutation on a few lines of its own: which mistakes it makes there, and that each shows."""

import concurrent.futures
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

from tools.planting import mutation_asking, mutation_forms, mutation_points, mutation_report
from tools.planting.mutant_build import ROOT

PLANTED = ROOT / "tests/mutation"

SOURCE = """
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

enum class Kind { small, large };
constexpr int kMost = 3;

struct Door {
  void lock() { std::puts("locked"); }
  void unlock() { std::puts("unlocked"); }
};

void say(const char* what) { std::puts(what); }

std::optional<int> half(int number) {
  if (number > kMost) return number - 1;
  return std::nullopt;
}

bool wanted(Kind kind, bool open) { return open && kind == Kind::small; }

int sum(int until) {
  int all = 0;
  for (int i = 0; i < until; ++i) all += i;
  return std::min(all, 4);
}

void visit(Door& door) {
  const std::lock_guard<Door> guard(door);
  say("in");
  say("out");
}

int main() {
  Door door;
  visit(door);
  for (const int number : {2, 3, 4, 9}) {
    if (const auto part = half(number)) std::printf("%d\\n", *part);
  }
  for (const Kind kind : {Kind::small, Kind::large}) {
    for (const bool open : {true, false}) std::printf("%d\\n", wanted(kind, open));
  }
  std::printf("%d %d\\n", sum(3), sum(9));
}
"""

# The places of some, with how many mistakes of which kind are expected there.
EXPECTED = """
number > kMost taken for true
number > kMost taken for false
number > kMost to number >= kMost
number - 1 to number + 1
return number - 1 to return {}
3 to 4
open && kind == Kind::small to open || kind == Kind::small
open && kind == Kind::small without open
open && kind == Kind::small without kind == Kind::small
kind == Kind::small to kind != Kind::small
Kind::small to Kind::large
return open && kind == Kind::small negated
i < until taken for false
i < until to i <= until
all += i to all -= i
all += i; left out
std::min to std::max
const std::lock_guard<Door> guard(door); left out
say("in"); left out
say("out"); left out
say("in"); exchanged with the next
const auto part = half(number) taken for false
true to false
""".strip().splitlines()

ENDLESS = "++i to --i"
UNSEEN = ("all += i to all *= i",)
LIST = """Head.

a.cpp: int a = 1;
  1 to 2
    Because.
b.cpp: gone
  3 to 4
    Because.
a.cpp: int b = 2;
  2 to 3
"""


def compiled(folder: str, text: str) -> Any:
    source = pathlib.Path(folder, "source.cpp")
    source.write_text(text)
    program = pathlib.Path(folder, "program")
    done = subprocess.run(["c++", "-std=c++20", "-w", "-include", PLANTED / "planted.h", source,
                           PLANTED / "planted.cpp", "-o", program], capture_output=True, text=True)
    return program, done.stderr


def output(program: str, number: int) -> tuple[str, int]:
    return mutation_asking.run([str(program)], {"DISTLOCK_PLANTED": str(number)}, 1)


def mistakes(folder: str) -> Any:
    path = str(pathlib.Path(folder, "looked_at.cpp"))
    unit = mutation_points.parse(path, SOURCE, ["-std=c++20", "-w", "-ferror-limit=0", "-include",
                                                str(PLANTED / "planted.h")])
    found = mutation_points.mutants_of(unit, path, SOURCE)
    return found, *mutation_forms.sorted_out(unit, path, SOURCE, found)


def check_points(found: Any, selected: Any, single: Any) -> Iterator[Any]:
    whats = [one.what for one in found]
    yield from (f"does not make: {what}" for what in EXPECTED if what not in whats)
    yield from (f"cannot be selected: {one.what}" for one in found
                if one.what in EXPECTED and one not in selected)


def check_shown(folder: str, selected: Any) -> Iterator[Any]:
    """Each mistake, made, changes what the program says; none, and it says what it should."""
    right, _ = output(compiled(folder, SOURCE)[0], 0)
    for layer in mutation_forms.in_layers(selected):
        program, errors = compiled(folder, mutation_forms.Written(SOURCE, list(enumerate(layer, 1))).text)
        if errors:
            yield f"does not compile: {errors}"
            continue
        if output(program, 0)[0] != right:
            yield "a mistake that nobody asked for is made"
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            said = pool.map(lambda number: output(program, number), range(1, len(layer) + 1))
        for mutant, (text, status) in zip(layer, said):
            if text == right and status == 0 and mutant.what in EXPECTED:
                yield f"is not made: {mutant.what}"
            if mutant.what == ENDLESS and status == 0:
                yield f"ends: {mutant.what}"


def check_alone(folder: str, found: Any) -> Iterator[Any]:
    guard = next((one for one in found if one.form == "guard"), None)
    if guard:
        program, errors = compiled(folder, mutation_forms.plain(SOURCE, guard))
        if errors or "locked" in output(program, 0)[0]:
            yield f"is not made alone: {guard.what}"


def check_list() -> Iterator[Any]:
    text_of = {"a.cpp": "int a = 1;\nint b = 2;\n"}.get
    wrong = list(mutation_report.wrong_in(mutation_report.argued(LIST), text_of))
    if len(wrong) != 2 or "no such file" not in wrong[0] or "no reason" not in wrong[1]:
        yield f"the list of survivors: {wrong}"
    wrong = list(mutation_report.wrong_in(mutation_report.argued(LIST), lambda name: "int b = 2;\n"))
    if not any("has no line any more that reads: int a = 1;" in one for one in wrong):
        yield f"a line that is gone: {wrong}"


def check_tests() -> Iterator[Any]:
    tests = mutation_asking.noted("unit", "\t0\t0\t7 \na test\t0.01\t0\t1 2 \nanother\t1\t1\t2 \n")
    if [(test.name, test.failed, test.reached) for test in tests] != [
            ("a test", False, {1, 2, 7}), ("another", True, {2, 7})]:
        yield f"what tests reach: {tests}"
    if mutation_asking.quoted('a, "b" \\c') != 'a\\, \\"b\\" \\\\c':
        yield "a name with a comma, quotes or a backslash"
    report = '<TestCase name="right"><OverallResult success="true"/><TestCase name="a &amp; b">'
    if mutation_asking.failed_test(report) != "a & b":
        yield "a test that a crash has cut off"


def check_sample() -> Iterator[Any]:
    mutants = [mutation_points.Mutant(0, 1, "expression", "b", f"a to b{i}") for i in range(99)]
    points = mutation_report.points("a.cpp", "a\n", mutants, False)
    drawn = mutation_report.sampled(points, 1, 20)
    fewer = mutation_report.sampled([one for one in points if one != drawn[0]], 1, 20)
    if drawn[1:] != fewer[:19] or drawn == mutation_report.sampled(points, 2, 20):
        yield "a sample is not drawn for each mistake by itself"


def problems() -> list[str]:
    with tempfile.TemporaryDirectory(prefix="distlock-mutation-") as folder:
        found, selected, single = mistakes(folder)
        return [*check_points(found, selected, single), *check_shown(folder, selected),
                *check_alone(folder, found), *check_list(), *check_tests(), *check_sample()]
