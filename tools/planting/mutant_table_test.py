"""Whether the table of planted bugs keeps what is still true, and says what was not tried.

    tools/python tools.planting.mutant_table_test
"""

import pathlib
import tempfile
import types
import unittest
from typing import Any

from tools.planting.mutant_table import Table


def bug(name: str, text: str = "-a\n+b\n", line: int = 1) -> Any:
    return types.SimpleNamespace(name=name, rule="R1", idea="an idea",
                                 text=f"Rule: R1\n\n--- a/x\n+++ b/x\n@@ -{line} +{line} @@\n{text}")


class Rows(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = str(pathlib.Path(self.folder.name, "table.md"))

    def table(self, bugs: list[Any]) -> Table:
        return Table(self.file, bugs, 20000)

    def text(self) -> str:
        return pathlib.Path(self.file).read_text()

    def test_a_row_stays_while_its_patch_does_the_same(self) -> None:
        self.table([bug("one"), bug("two")]).add(bug("one"), "“a | test”", "–")
        moved = [bug("one", line=7), bug("two")]
        self.assertEqual(["two"], [left.name for left in self.table(moved).left(moved)])
        self.assertIn("1 bugs, 1 found. 1 more", self.text())
        changed = [bug("one", "-a\n+c\n"), bug("two")]
        self.assertEqual(2, len(self.table(changed).left(changed)))

    def test_a_bug_that_is_gone_loses_its_row(self) -> None:
        self.table([bug("one")]).add(bug("one"), "“a test”", "–")
        self.table([bug("two")]).add(bug("two"), "–", "12: what it said")
        self.assertNotIn("| one |", self.text())
        self.assertIn("1 bugs, 1 found.\n", self.text())

    def test_a_bug_that_does_not_apply_any_more_loses_its_row(self) -> None:
        table = self.table([bug("one")])
        table.add(bug("one"), "“a test”", "–")
        table.drop(bug("one"))
        self.assertIn("0 bugs, 0 found. 1 more", self.text())

    def test_a_bug_that_survived_is_not_called_found(self) -> None:
        table = self.table([bug("one"), bug("two")])
        table.add(bug("one"), "–", "not tried")
        table.add(bug("two"), "–", "–")
        self.assertIn("2 bugs, 0 found.\n", self.text())


if __name__ == "__main__":
    unittest.main()
