"""The results of tools/mutation: the mistakes, what came of each, and which survivors are argued for."""

import argparse
import dataclasses
import datetime
import hashlib
import json
import pathlib
import platform
import re
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from tools.planting import mutation_points
from tools.planting.mutant_build import ROOT

ARGUED = sorted((ROOT / "tests/mutation").glob("survivors*.txt"))
SAMPLED_LINES = 800  # Of source, from which a sample is drawn: each file has to be compiled.
# Samples are drawn from these: quick to compile, and tested without threads.
PURE = re.compile(r"src/(protocol/|uri/|stores/(document|memory/)|text|record|error|failure).*\.cpp")


@dataclasses.dataclass
class Point:
    file: str
    digest: str  # Of the file's text.
    at: int
    text: str  # Of the line.
    nth: int  # Of those that have all else in common.
    mutant: mutation_points.Mutant
    single: bool
    number: int = 0

    def key(self) -> Any:
        return (self.file, self.text, self.mutant.what, self.nth)

    def line(self) -> str:
        return f"{self.file}:{self.at}: {self.mutant.what}"


def points(name: str, text: str, mutants: Any, single: Any) -> Any:
    made, seen = [], {}
    digest = hashlib.sha1(text.encode("latin-1")).hexdigest()
    lines = text.split("\n")
    for mutant in mutants:
        at = text.count("\n", 0, mutant.start)
        key = (lines[at].strip(), mutant.what, single)
        seen[key] = seen.get(key, 0) + 1
        made.append(Point(name, digest, at + 1, lines[at].strip(), seen[key], mutant, single))
    return made


def drawn(seed: int, *what: Any) -> Any:
    return hashlib.sha1("|".join(str(one) for one in (seed, *what)).encode()).digest()


def sampled_files(names: list[str], seed: int) -> Any:
    chosen, lines = [], 0
    for name in sorted(filter(PURE.fullmatch, names), key=lambda name: drawn(seed, name)):
        if lines < SAMPLED_LINES:
            chosen.append(name)
            lines += (ROOT / name).read_text().count("\n")
    return chosen


def sampled(wanted: Any, seed: int, most: Any) -> Any:
    """By lot for each of them, so that a line that is added changes nothing for the others."""
    return sorted(wanted, key=lambda point: drawn(seed, *point.key()))[:most]


class State:
    def __init__(self, file: Any, again: Any) -> None:
        self.file = pathlib.Path(file)
        self.known = {}
        if self.file.exists():
            for line in self.file.read_text().splitlines():
                one = json.loads(line)
                self.known[(*one["key"], one["digest"])] = one["found"]
        if again:
            self.known = {key: found for key, found in self.known.items() if found}

    def unknown(self, point: Point) -> bool:
        return (*point.key(), point.digest) not in self.known

    def found(self, point: Point) -> Any:
        return self.known.get((*point.key(), point.digest), "")

    def note(self, point: Point, found: Any) -> None:
        self.known[(*point.key(), point.digest)] = found
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as file:
            file.write(json.dumps(dict(key=point.key(), digest=point.digest, found=found)) + "\n")


def argued(text: str) -> Any:
    """(file, line, what): reason, of one of tests/mutation/survivors*.txt."""
    reasons, place, what = {}, None, None
    for line in text.split("\n\n", 1)[-1].splitlines():
        if line.startswith("    ") and what:
            reasons[(*place, what)] = f"{reasons[(*place, what)]} {line.strip()}".strip()
        elif line.startswith("  ") and place:
            what = line.strip()
            reasons[(*place, what)] = ""
        elif line.strip():
            name, _, code = line.partition(": ")
            place, what = (name, code.strip()), None
    return reasons


def all_argued() -> Any:
    reasons = {}
    for path in ARGUED:
        reasons.update(argued(path.read_text()))
    return reasons


def wrong_in(reasons: Any, text_of: Any) -> Iterator[Any]:
    """The faults of this list; `text_of` a file's name gives its text, or None."""
    for (name, code, what), reason in reasons.items():
        text = text_of(name)
        if text is None:
            yield f"{name}: no such file, but a survivor of it is argued for"
        elif code not in {line.strip() for line in text.splitlines()}:
            yield f"{name}: has no line any more that reads: {code}"
        elif not reason:
            yield f"{name}: no reason is given for: {what}"


def stale() -> Any:
    def text_of(name: str) -> Any:
        path = ROOT / name
        return path.read_text() if path.is_file() else None
    return list(wrong_in(all_argued(), text_of))


def conclude(wanted: Any, state: Any, options: argparse.Namespace) -> Any:
    reasons = all_argued()
    survived = [point for point in wanted if not state.found(point)]
    silent = [point for point in survived if point.key()[:3] not in reasons]
    places = {point.key()[:3]: point for point in wanted}
    needless = [] if options.sample else [
        place for place, reason in reasons.items()
        if place in places and not reason.startswith("Sometimes:") and all(
            state.found(point) for point in wanted if point.key()[:3] == place)]
    for point in silent:
        print(f"SURVIVED {point.line()}")
    for name, code, what in needless:
        print(f"FOUND THOUGH ARGUED FOR {name}: {code}: {what}")
    if options.table:
        pathlib.Path(options.table).write_text(table(wanted, survived, silent, options))
    seed = f"seed {options.seed}, " if options.sample else ""
    print(f"{seed}{len(wanted)} mistakes, {len(wanted) - len(survived)} found, "
          f"{len(survived) - len(silent)} argued for, {len(silent)} not, "
          f"{time.monotonic() - options.begun:.0f} s")
    return 1 if silent or needless or not wanted else 0


def version(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0]


def machine() -> str:
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    return f"{text.count('processor')} × {model.group(1) if model else platform.machine()}"


def row(name: str, wanted: Any, survived: Any, silent: Any) -> str:
    count, lost, bad = len(wanted), len(survived), len(silent)
    return f"| {name} | {count} | {count - lost} | {lost - bad} | {bad} | {100 * (count - lost) / count:.0f} % |"


def table(wanted: Any, survived: Any, silent: Any, options: argparse.Namespace) -> str:
    names = sorted({point.file for point in wanted})

    def of(name: str, some: Any) -> Any:
        return [point for point in some if point.file == name]
    rows = [row(name, of(name, wanted), of(name, survived), of(name, silent)) for name in names]
    extent = (f"A sample of {len(wanted)}, seed {options.seed}." if options.sample
              else "All that the tool can make in these files.")
    return f"""# Small mistakes

Written by `tools/mutation --table docs/generated/mutation.md`, and not by hand. Each mistake is made in a copy of
the sources, and the tests of the layers `unit`, `contract` and `cli` that reach its place are asked:
[testing.md](../developer/testing.md) says how. A mistake that no test finds is argued for in
`survivors*.txt` in [tests/mutation](../../tests/mutation). Mistakes that do not compile are not counted.

{extent} {datetime.date.today()}, {machine()}, {version(["c++", "--version"])}, libclang 14.

| file | mistakes | found | argued for | neither | found |
| --- | --- | --- | --- | --- | --- |
{chr(10).join(rows)}
{row("**all**", wanted, survived, silent)}
"""
