"""docs/generated/coverage.md, from what tools/coverage found."""

import datetime
from typing import Any

from tools.release.provenance import machine, table, versions

HEAD = """# Coverage

Written by `tools/coverage`, and not by hand: what of `src/` the tests of the layers below reach. The simulation, the fault rig and
the sanitizers' runs are not counted, nor is what a process reaches that is killed or calls `_exit()`. A branch is a way out of a
condition; those by which an exception leaves are not counted. “Curly quotes” name a test.
"""
PACKAGES = ("g++", "gcovr", "libmongoc-1.0-0", "libsqlite3-0")
PLACES = """
## What no test reaches

Lines that no test reaches, and conditions that never came out both ways, each with the reason why that may be so, from
[unreached.txt](../../tests/coverage/unreached.txt). Those that begin with *Sometimes* are reached by chance, and not this time.
"""


def figures(lines: Any) -> Any:
    """Lines reached, lines, branches taken, branches."""
    branches = [count for _, some in lines.values() for _, count in some]
    return (sum(count > 0 for count, _ in lines.values()), len(lines),
            sum(count > 0 for count in branches), len(branches))


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % ({part} of {whole})" if whole else "–"


def total(files: Any) -> str:
    reached, lines, taken, branches = map(sum, zip(*map(figures, files.values())))
    return f"Lines: {share(reached, lines)}. Branches: {share(taken, branches)}."


def document(layers: list[str], files: Any, unreached: Any) -> Any:
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    by_file = []
    for name, lines in sorted(files.items()):
        reached, all_lines, taken, branches = figures(lines)
        by_file.append((f"`{name}`", share(reached, all_lines), share(taken, branches)))
    argued = [(f"`{name}`", "`" + line.replace("|", "\\|") + "`", why or "**not argued**")
              for name, _, line, why in unreached]
    return [HEAD, "    tools/coverage", "",
            f"{day}. {machine('at the end')}; {versions(*PACKAGES)}. Layers: {', '.join(layers)}.", "",
            f"**{total(files)}** {len(argued)} places are argued for below.", "",
            *table(("file", "lines", "branches"), by_file),
            PLACES, *table(("file", "line", "why"), argued)]


def write(root: Any, layers: list[str], files: Any, unreached: Any, whole: Any) -> None:
    print(total(files))
    if whole:
        lines = document(layers, files, unreached)
        (root / "docs/generated/coverage.md").write_text("\n".join(lines) + "\n")
