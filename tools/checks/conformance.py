"""Checks that docs/developer/conformance.md lists every case once, each with a test or a reason why not.

    tools/checks/conformance              compares it with tests/conformance/cases.txt
    tools/checks/conformance --self-test  plants every fault and looks whether it is found

That the tests which it quotes exist is checked by tools/tidy, as in every document.
"""

import pathlib
import re
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = ROOT / "docs/developer/conformance.md"
LIST = ROOT / "tests/conformance/cases.txt"


def listed(text: str) -> Iterator[tuple[int, list[str], str]]:
    """Our lines: (line number, cases, what the line says)."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"\| ((?:[SLT]?\d+)(?:, [SLT]?\d+)*) \|(.*)\|$", line)
        if found:
            yield number, found.group(1).split(", "), found.group(2)


def asked(text: str) -> list[str]:
    """The cases of the list: S1, T1 or L1 for a schedule, 1 for a case."""
    return text.split("\n\n", 1)[1].split()


def problems(ours: str, wanted: list[str]) -> Iterator[str]:
    lines = list(listed(ours))
    cases = [case for _, some, _ in lines for case in some]
    if not cases:
        yield "docs/developer/conformance.md:1: lists no case"
    for number, some, says in lines:
        if "“" not in says and "*Not here*: " not in says:
            yield f"docs/developer/conformance.md:{number}: {', '.join(some)}: neither a test nor a reason"
    for case in sorted({case for case in cases if cases.count(case) > 1}):
        yield f"docs/developer/conformance.md:1: {case} is listed {cases.count(case)} times"
    for case in wanted:
        if case not in cases:
            yield f"docs/developer/conformance.md:1: {case} is missing"
    for case in cases:
        if case not in wanted:
            yield f"docs/developer/conformance.md:1: {case} is in no list"


def self_test() -> list[str]:
    wanted = asked("The cases.\n\nS1 T1 7\n8\n")
    sound = "| S1 | x | “a” | — |\n| T1 | x | “a” | “b” |\n| 7, 8 | x | *Not here*: why |\n"
    faults = {
        "an empty list": "",
        "a missing schedule": sound.replace("| S1", "| x"),
        "a missing schedule on several servers": sound.replace("| T1", "| x"),
        "a missing case": sound.replace("7, 8", "7"),
        "a case that is no case": sound.replace("7, 8", "7, 8, 9"),
        "a case that is there twice": sound + "| 8 | x | “a” |\n",
        "no test": sound.replace("“a”", "a"),
        "no reason": sound.replace("*Not here*: ", ""),
    }
    missed = [f"misses {what}" for what, text in faults.items() if not list(problems(text, wanted))]
    return missed + [f"the sound list: {problem}" for problem in problems(sound, wanted)]


def main(arguments: list[str]) -> int:
    if arguments == ["--self-test"]:
        found = self_test()
    else:
        ours = OURS.read_text()
        found = list(problems(ours, asked(LIST.read_text())))
        print(f"{sum(len(some) for _, some, _ in listed(ours))} cases")
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
