"""Plants wrong documents by hand and looks whether the checker finds them, and nothing else.

    tools/python tests.faults.checks.documents_test
"""

import pathlib
import sqlite3
import tempfile
import unittest
from typing import Any

from tests.faults.checks import documents

SCHEMA = """
  CREATE TABLE locks(_id NOT NULL PRIMARY KEY, state, process, who, "when", why, ts, fence,
                     takeover_after) WITHOUT ROWID;
  CREATE TABLE lockpings(_id NOT NULL PRIMARY KEY, ping, clock, ping_successes, ping_failures,
                         ping_round_trip_ms, ping_late_by_ms) WITHOUT ROWID;
"""
SOUND = {"_id": "a", "state": 1, "process": "host:1:2", "who": "host:1:2:1:3", "when": 5,
         "why": "", "ts": "0123456789abcdef01234567", "fence": 1, "takeover_after": 2000}


class SqliteDocuments(unittest.TestCase):
    def faults(self, *changes: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            database = sqlite3.connect(pathlib.Path(folder) / "a.db")
            database.executescript(SCHEMA)
            for change in changes:
                row = SOUND | change
                marks = ",".join("?" * len(row))
                database.execute(f"INSERT INTO locks VALUES({marks})", list(row.values()))
            found = documents.sqlite_faults(database)
            database.close()
            return found

    def test_what_a_claim_and_a_release_leave_is_sound(self) -> None:
        never = dict.fromkeys(SOUND) | {"_id": "c", "state": 0, "who": ""}
        self.assertEqual([], self.faults({}, {"_id": "b", "state": 0}, never))

    def test_each_wrong_field_is_found(self) -> None:
        for change in ({"state": 3}, {"state": "1"}, {"state": None}, {"process": None},
                       {"process": "me"}, {"who": None}, {"when": None}, {"when": "now"},
                       {"why": None}, {"ts": None}, {"ts": "0123"}, {"ts": "0123456789ABCDEF01234567"},
                       {"fence": None}, {"fence": 0}, {"fence": 1.5}, {"takeover_after": None}):
            with self.subTest(change=change):
                self.assertEqual(1, len(self.faults(change)))

    def test_a_wrong_ping_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            database = sqlite3.connect(pathlib.Path(folder) / "a.db")
            database.executescript(SCHEMA)
            database.execute("INSERT INTO lockpings VALUES('host:1:2', 5, 'clock', 1, 0, 1, 0)")
            self.assertEqual([], documents.sqlite_faults(database))
            database.execute("INSERT INTO lockpings(_id, ping) VALUES('host:1:3', 5)")
            self.assertEqual(1, len(documents.sqlite_faults(database)))
            database.close()


if __name__ == "__main__":
    unittest.main()
