"""Runs the workloads by longer counts and writes docs/generated/evidence.md, one section each.

    tools/release/evidence [SECTION...]    runs those sections anew (all of them, by default) and puts each
                                   into the document as soon as it is there; the others stay
      --share F                    of the full counts, which take hours: 0.1 for a tenth
      --out FILE                   another document
    tools/release/evidence --list          the sections and what they run

docs/generated/evidence.md is about a commit: it builds that first, and refuses sources that are in none.

Exit status 1 if a section found something wrong, which is in the document, too, or the commit does
not build; 64 for sources that are in no commit. 130 if ended by Ctrl-C (143 by SIGTERM): a section
that was at work stays as it was.
"""

import argparse
import datetime
import fcntl
import pathlib
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from tests.faults import processes, signals
from tools.release.provenance import machine, said_by, table, versions

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = """# Evidence

Written by `tools/release/evidence`, section by section, and not by hand. What the workloads do and what their words mean is in
[faults.md](../developer/faults.md).
"""

# Name, title, command. A number in braces is multiplied by --share.
SECTIONS = (
    ("intervals-mongod", "Two never believe at once: a replica set under all faults",
     "tools/faults intervals --store mongod --rounds {20}"),
    ("intervals-sqlite", "Two never believe at once: a SQLite file under all faults",
     "tools/faults intervals --store sqlite --rounds {100}"),
    ("intervals-mirrored", "Two never believe at once: a mirrored store under all faults",
     "tools/faults intervals --store mirrored --rounds {10}"),
    ("skew", "Two never believe at once: a server's clock that steps",
     "tools/faults skew --rounds {50}"),
    ("counter-mongod", "No guarded addition is lost: a replica set",
     "tools/faults counter --store mongod --seconds {600}"),
    ("counter-sqlite", "No guarded addition is lost: a SQLite file",
     "tools/faults counter --store sqlite --seconds {600}"),
    ("counter-mirrored", "No guarded addition is lost: beside a mirrored store",
     "tools/faults counter --store mirrored --seconds {600}"),
    ("takeover-mongod", "After the window and soon: a mongod",
     "tools/faults takeover --store mongod --measure --seconds {1800}"),
    ("takeover-sqlite", "After the window and soon: a SQLite file",
     "tools/faults takeover --store sqlite --measure --seconds {1800}"),
    ("line-mongod", "In line, in order, whoever dies: a replica set and a mongod",
     "tools/faults line line_standalone --store mongod --count {50}"),
    ("line-sqlite", "In line, in order, whoever dies: a SQLite file",
     "tools/faults line --store sqlite --count {50}"),
    ("deaths", "A killed holder's lock goes on at once, but not beside work of the dead",
     "tools/faults deaths"),
    ("kills", "Killed at any moment: sound documents, and locks that can be had",
     "tools/faults kills --count {1000}"),
    ("ambiguity", "Whatever command is lost, its outcome is told truly",
     "tools/faults ambiguity ambiguity_standalone"),
    ("storm", "Very many at once", "tools/faults storm --count {500}"),
    ("torture", "Everything at once", "tools/torture --store all --minutes {60}"),
    ("planted", "Planted bugs are found", "tools/faults --planted"),
)
PUBLISHED = ROOT / "docs/generated/evidence.md"
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "include", "src", "tests", "tools")
PACKAGES = ("libmongoc-1.0-0", "libsqlite3-0", "g++")


def scaled(command: str, share: float) -> str:
    return re.sub(r"\{(\d+)\}", lambda found: str(max(1, round(int(found.group(1)) * share))),
                  command)


def figures(output: str) -> Iterator[str]:
    """Of the line "NAME on STORE: good; KEY VALUE, ...; N s; again: --seed S"."""
    for line in re.findall(r"^\w+ on \w+: (?:good|WRONG|nothing shown);.*", output, re.M):
        head, values, took, again = line.split("; ", 3)
        yield f"**{head}**, {took}, `{again.removeprefix('again: ')}`"
        pairs = [value.rpartition(" ") for value in values.split(", ") if value]
        yield ""
        yield from table(("what", "figure"), [(key, value) for key, _, value in pairs])
        yield ""


def body(output: str) -> Iterator[str]:
    """The part of its output that belongs in the document."""
    for version in re.findall(r"store: (.*)", output):
        yield f"Store: {version}."
        yield ""
    yield from figures(output)
    histogram = re.findall(r"after the window, +(.*): (\d+)$", output, re.M)
    if histogram:
        yield from [*table(("after the window", "takeovers"), histogram), ""]
    torture = re.findall(r"^(mongod|sqlite|memory) +[\d.]+ s  (\d+ grants.*|done to.*|\S+: rss.*|good.*"
                         r"|WRONG.*)$", output, re.M)
    yield from (f"- {store}: {line}" for store, line in torture)
    tables = [line for line in output.splitlines() if line.startswith("|")]
    if tables:
        yield from [*tables, ""]
    yield from (f"- **WRONG**: {line}" for line in re.findall(r"^WRONG: (.*)", output, re.M))


def run(name: str, title: str, command: Any) -> Any:
    """The section as lines, and whether all was good."""
    where, begun = machine("at the start"), time.monotonic()
    print(f"== {name}: {command}", flush=True)
    done = processes.run(shlex.split(command), cwd=ROOT)
    folder = ROOT / "build/evidence"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.log").write_text(done.stdout + done.stderr)
    took = time.monotonic() - begun
    print(f"   {'good' if done.returncode == 0 else 'WRONG'}, {took:.0f} s", flush=True)
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return [f"## {title}", "", f"    {command}", "",
            f"{day}, {took / 60:.0f} min, exit status {done.returncode}. {where}; {versions(*PACKAGES)}.", "",
            *body(done.stdout)], done.returncode == 0


def build_commit() -> None:
    """So that the commit that a section names is the one that ran."""
    changed = said_by("git", "status", "--porcelain", "--", *SOURCES)
    if changed:
        print(f"tools/release/evidence: these are in no commit:\n{changed}", file=sys.stderr)
        sys.exit(64)
    if subprocess.run([ROOT / "tools/build"]).returncode != 0:
        sys.exit(1)


def put(file: Any, name: str, lines: Any) -> None:
    """Into the document, instead of what this section said before. The order is that of SECTIONS.
    Several of these programs may be at work on one document."""
    with open(file, "a+") as document:
        fcntl.flock(document, fcntl.LOCK_EX)
        document.seek(0)
        found = {one: part.strip() for one, part in re.findall(
            r"<!-- section ([\w-]+) -->\n(.*?)(?=<!-- section|\Z)", document.read(), re.S)}
        found[name] = "\n".join(lines).strip()
        order = [one[0] for one in SECTIONS if one[0] in found]
        order += [one for one in found if one not in order]
        document.truncate(0)
        document.write(HEAD + "".join(f"\n<!-- section {one} -->\n{found[one]}\n"
                                      for one in order))


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/release/evidence", usage=__doc__)
    parser.add_argument("sections", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--out", type=pathlib.Path, default=PUBLISHED)
    asked = parser.parse_args()
    unknown = set(asked.sections) - {one[0] for one in SECTIONS}
    if unknown:
        sys.exit(f"tools/release/evidence: no such section: {', '.join(sorted(unknown))}; see --list")
    signals.lead_to(lambda number: sys.exit(128 + number))
    if not asked.list and asked.out == PUBLISHED:
        build_commit()
    good = True
    for name, title, command in SECTIONS:
        if asked.list:
            print(f"{name:18} {scaled(command, asked.share)}")
        elif not asked.sections or name in asked.sections:
            lines, fine = run(name, title, scaled(command, asked.share))
            put(asked.out, name, lines)
            good &= fine
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
