"""The table of the planted bugs: what found each, and when that was tried. It is written row by row, so
that a run of hours can be made in pieces, and one that is ended early loses nothing."""

import datetime
import hashlib
import pathlib
import re
import threading
from collections.abc import Iterable
from typing import Any

HEAD = """# Planted bugs

Written by `tools/mutants --table docs/generated/mutants.md`, and not by hand. Each line is a patch of
[tests/mutants](../../tests/mutants): one wrong idea, planted in a copy of the sources. The tests are the
unit tests, the stores' contract and, for the tool, its own. For what those let pass, there are more, by the files that the
bug changes: real processes, with a tool and a library that have the bug; threads that the system refuses; SQLite files in
trouble; MongoDB's answers without a server, and the contract on a real one and on a replica set. The simulation is `tools/sim`,
with the number of schedules after which it found the bug and what it said; – where it found nothing, and "not tried" where it was
not asked: it lacks that code, or the tests had found the bug already (`--quick`).

Each bug came into the tree with a test that is to find it. A row says that a test did; it is dropped when its patch changes. The last
column has a mark of the patch, the day, and how many schedules the simulation may run at most.

"""
COLUMNS = """| bug | rule | what is done wrong | tests that find it | simulation | tried |
| --- | --- | --- | --- | --- | --- |
"""
SURVIVED = re.compile(r" \| – \| (–|not tried) \| [^|]+ \|$")


def mark(bug: Any) -> str:
    """Of what the patch does, wherever that is in its files."""
    changes = re.findall(r"^[-+](?![-+]).*$", bug.text, re.M)
    return hashlib.sha256("\n".join([bug.rule, bug.idea, *changes]).encode()).hexdigest()[:6]


class Table:
    """Threads: any."""

    def __init__(self, file: str, bugs: Iterable[Any], schedules: int) -> None:
        """Keeps the rows of the bugs that are as they were."""
        self.file = pathlib.Path(file)
        self.schedules = schedules
        self.bugs = {bug.name: bug for bug in bugs}
        self.rows: dict[str, str] = {}
        self._mutex = threading.Lock()
        for row in self.file.read_text().splitlines() if self.file.exists() else ():
            name = row.split(" | ")[0].removeprefix("| ")
            if name in self.bugs and f" | {mark(self.bugs[name])}, " in row:
                self.rows[name] = row
        self._write()

    def left(self, bugs: Iterable[Any]) -> list[Any]:
        return [bug for bug in bugs if bug.name not in self.rows]

    def add(self, bug: Any, tests: str, simulation: str) -> None:
        cells = (bug.name, bug.rule, bug.idea, tests, simulation,
                 f"{mark(bug)}, {datetime.date.today()}, {self.schedules}")
        with self._mutex:
            self.rows[bug.name] = "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
            self._write()

    def drop(self, bug: Any) -> None:
        with self._mutex:
            self.rows.pop(bug.name, None)
            self._write()

    def _write(self) -> None:
        """Whole, or not at all."""
        found = sum(not SURVIVED.search(row) for row in self.rows.values())
        left = len(self.bugs) - len(self.rows)
        count = f"{len(self.rows)} bugs, {found} found." + (
            f" {left} more have not been tried as they are now.\n\n" if left else "\n\n")
        rows = "".join(f"{self.rows[name]}\n" for name in sorted(self.rows))
        new = self.file.with_name(self.file.name + ".new")
        new.write_text(HEAD + count + COLUMNS + rows)
        new.replace(self.file)
