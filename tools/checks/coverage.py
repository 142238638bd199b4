"""Says which lines and branches of src/ the tests reach, and why they don't reach the others.

    tools/coverage                     builds preset coverage, runs the tests, writes docs/generated/coverage.md
      --layers unit,contract           only these (see LAYERS); writes to the terminal
      --again                          neither builds nor runs: from what is counted already
    tools/coverage --check             whether the lines argued for are still there, without a build
    tools/coverage --self-test         plants every fault and looks whether it is found

A place is a line that no test reaches, with unreached lines right below it. Or it is a condition that
never came out both ways. tests/coverage/unreached.txt argues for such places: "FILE: LINE" and
below it, indented, why. If that begins with "Sometimes:", tests may reach it by chance. Exit status 1
if a place is not argued, or an argument is for what is reached or no longer there.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from tools.checks import coverage_report

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/coverage"
ARGUMENTS = "tests/coverage/unreached.txt"
# Layer: its targets, and the program that has servers ready.
LAYERS: dict[str, tuple[list[str], list[str]]] = {
    "unit": (["tests/unit/all"], []),
    "contract": (["tests/contract/all"], []),
    "cli": (["tests/cli/all"], []),
    "process": (["process_tests", "expiry_tests"], []),
    "sqlite": (["sqlite_tests"], []),
    "mongo": (["tests/mongo/all", "differential_mongo", "mongo_process_tests", "mongo_expiry_tests"],
              ["tools/with-mongod", "all", "--"]),
    "security": (["security_tests"], ["tools/with-mongod", "secured", "--"]),
}
OPERATOR = re.compile(r"&&|\|\|")


def run(*command: Any, check: bool = True) -> subprocess.CompletedProcess:
    print("$", " ".join(map(str, command)), file=sys.stderr, flush=True)
    return subprocess.run(command, cwd=ROOT, check=check, stdout=sys.stderr)


def measure(layers: list[str]) -> None:
    run("tools/build", "coverage", *(target for layer in layers for target in LAYERS[layer][0]))
    for counts in BUILD.rglob("*.gcda"):
        counts.unlink()
    # A test that fails is tools/test's business; here its lines count all the same.
    for layer in layers:
        run(*LAYERS[layer][1], "ctest", "--test-dir", BUILD, "-L", f"^{layer}$",
            "-j", str(os.cpu_count()), "--output-on-failure", check=False)


def counted() -> dict[str, Any]:
    """gcovr's figures for each file of src/: {file: {line: (count, counts of its branches)}}"""
    out = BUILD / "coverage.json"
    run("gcovr", "--root", ".", "--filter", "src/", "--exclude-throw-branches",
        "--exclude-unreachable-branches", "-j", str(os.cpu_count()), "--json", out, BUILD)
    return {one["file"]: lines_of(one["lines"]) for one in json.loads(out.read_text())["files"]}


def lines_of(entries: Any) -> Any:
    lines = {}
    for entry in entries:
        if not entry.get("gcovr/noncode"):
            count, branches = lines.get(entry["line_number"], (0, []))
            taken = [(branch["fallthrough"], branch["count"]) for branch in entry["branches"]]
            lines[entry["line_number"]] = (count + entry["count"], branches + taken)
    return dict(sorted(lines.items()))


def arguments(text: str) -> dict[tuple[str, str], str]:
    """{(file, line of it): why}"""
    found, place = {}, None
    for line in text.splitlines():
        if match := re.fullmatch(r"(src/\S+): (.+)", line):
            place = (match.group(1), match.group(2).strip())
            found[place] = ""
        elif place and line.startswith("  "):
            found[place] = f"{found[place]} {line.strip()}".strip()
    return found


def conditions(number: int, source: Any) -> Any:
    """How many conditions of an `if` or a `while` stand on the line."""
    first = number
    while first > 1 and source[first - 2].rstrip().endswith(("&&", "||")):
        first -= 1
    if not re.search(r"\b(if|while) \(", source[first - 1]):
        return 0
    line = source[number - 1].rstrip()
    return len(OPERATOR.findall(line)) + (not line.endswith(("&&", "||")))


def one_way(branches: Any, count: Any) -> bool:
    """Whether one of so many conditions never came out both ways. Those of the compiler's own making,
    for temporary objects, come after them; a call has but one branch, beside that of exceptions."""
    at = 0
    while at + 1 < len(branches) and count > 0:
        (falls, taken), (next_falls, next_taken) = branches[at:at + 2]
        if falls == next_falls:
            at += 1
            continue
        if 0 in (taken, next_taken):
            return True
        at, count = at + 2, count - 1
    return False


def places(lines: Any, source: Any) -> Iterator[Any]:
    """The number of the first line of each place. No place goes beyond an empty line."""
    before = 0  # The line before, if it belongs to a place.
    for number, (count, branches) in lines.items():
        half = count > 0 and one_way(branches, conditions(number, source))
        together = before and "" not in map(str.strip, source[before:number])
        if half or (count == 0 and not together):
            yield number
        before = number if half or count == 0 else 0


def judged(files: Any, sources: Any, why: Any) -> Any:
    """The places as (file, number, line, why), and what is wrong with them."""
    found = [(name, number, sources[name][number - 1].strip())
             for name, lines in sorted(files.items()) for number in places(lines, sources[name])]
    unreached = [(*place, why.get((place[0], place[2]), "")) for place in found]
    wrong = [f"{name}:{number}: not reached, and not argued: {line}"
             for name, number, line, reason in unreached if not reason]
    known = {(name, line) for name, _, line in found}
    wrong += [f"{ARGUMENTS}:1: tests do reach {name}: {line}" for (name, line), reason in why.items()
              if (name, line) not in known and not reason.startswith("Sometimes:")]
    return unreached, wrong


def stale(why: Any, sources: Any) -> Iterator[str]:
    """Arguments for lines that are no more, or without a reason."""
    for (name, line), reason in why.items():
        if line not in map(str.strip, sources.get(name, [])):
            yield f"{ARGUMENTS}:1: {name} has no such line: {line}"
        if not reason:
            yield f"{ARGUMENTS}:1: no reason is given for {name}: {line}"


def sources_of(root: pathlib.Path) -> dict[str, list[str]]:
    return {str(path.relative_to(root)): path.read_text().splitlines()
            for path in sorted(root.glob("src/**/*")) if path.suffix in (".h", ".cpp")}


def self_test() -> list[str]:
    source = {"src/a.cpp": ["if (a)", "  b();", "c();", "if (d &&", "    e) f();"]}
    why = arguments("src/a.cpp: if (a)\n  Never.\nsrc/a.cpp: e) f();\n  Rare,\n  indeed.\n")
    never, always, both = [(True, 0), (False, 3)], [(True, 3), (False, 0)], [(True, 1), (False, 2)]
    sound = {"src/a.cpp": {1: (3, never), 2: (0, []), 3: (3, never), 4: (3, [(True, 3), *both, *never]),
                           5: (1, [*always, *both])}}

    def changed(**lines: Any) -> Any:
        return {"src/a.cpp": sound["src/a.cpp"] | {int(n[1:]): line for n, line in lines.items()}}

    spaced = {"src/a.cpp": ["if (a)", "  b();", "", *source["src/a.cpp"][3:]]}
    by_chance = arguments("src/a.cpp: c();\n  Sometimes: a race.\n")
    expected = [
        ("the sound one", judged(sound, source, why)[1], 0),
        ("an argument for what is reached", judged(changed(_5=(3, both)), source, why)[1], 1),
        ("what chance reached", judged(sound, source, why | by_chance)[1], 0),
        ("a line right below the place", judged(changed(_3=(0, [])), source, why)[1], 0),
        ("a line apart from the place", judged(changed(_2=(3, []), _3=(0, [])), source, why)[1], 1),
        ("a line beyond an empty one", judged(changed(_3=(3, []), _4=(0, [])), spaced, why)[1], 1),
        ("a second condition", judged(changed(_4=(3, never)), source, why)[1], 1),
        ("no arguments", judged(sound, source, {})[1], 2),
        ("lines that are there", list(stale(why, source)), 0),
        ("a line that is no more", list(stale(why, {"src/a.cpp": source["src/a.cpp"][:3]})), 1),
        ("a file that is no more", list(stale(why, {})), 2),
        ("no reason", list(stale(arguments("src/a.cpp: if (a)\n"), source)), 1),
    ]
    return [f"{name}: {len(wrong)} problems instead of {count}"
            for name, wrong, count in expected if len(wrong) != count]


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/coverage", usage=__doc__)
    for flag in ("--again", "--check", "--self-test"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--layers", type=lambda text: text.split(","), default=list(LAYERS))
    asked = parser.parse_args()
    if unknown := set(asked.layers) - set(LAYERS):
        sys.exit(f"tools/coverage: no such layer: {', '.join(sorted(unknown))}; see --help")
    sources = sources_of(ROOT)
    why = arguments((ROOT / ARGUMENTS).read_text())
    wrong = self_test() if asked.self_test else list(stale(why, sources))
    if not (asked.self_test or asked.check):
        if not asked.again:
            measure(asked.layers)
        files = counted()
        unreached, unargued = judged(files, sources, why)
        wrong += unargued
        coverage_report.write(ROOT, asked.layers, files, unreached, whole=asked.layers == list(LAYERS))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
