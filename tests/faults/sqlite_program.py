#!/usr/bin/env python3
"""Another program on the file of the locks:

    sqlite_program.py FILE hold          has a write transaction until it is killed
    sqlite_program.py FILE checkpoint    moves the write-ahead log into the file and cuts it off
    sqlite_program.py FILE number NAME   prints that number, 0 if there is none
    sqlite_program.py FILE pings         prints all last pings as JSON: process id to [store's ms,
                                         ns on CLOCK_BOOTTIME]
    sqlite_program.py FILE check         prints what PRAGMA integrity_check says
"""

import json
import signal
import sqlite3
import sys
from typing import Any


def main(file: Any, what: str, *more: Any) -> None:
    db = sqlite3.connect(file, timeout=60, isolation_level=None)
    if what == "hold":
        db.execute("BEGIN IMMEDIATE")
        print("holding", flush=True)
        signal.pause()
    elif what == "checkpoint":
        print("in part" if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] else "all")
    elif what == "number":
        row = db.execute("SELECT value FROM resources WHERE id = ?", more).fetchone()
        print(row[0] if row else 0)
    elif what == "pings":
        rows = db.execute("SELECT _id, ping, epoch FROM lockpings JOIN clocks USING(clock)")
        print(json.dumps({who: [ping, (ping - epoch) * 10**6] for who, ping, epoch in rows}))
    elif what == "check":
        print(db.execute("PRAGMA integrity_check").fetchone()[0])


main(*sys.argv[1:])
