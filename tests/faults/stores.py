"""A store as another program sees it: what is stored, and whether that is sound."""

import contextlib
import pathlib
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

from tests.faults import checks
from tests.faults.processes import wait_for


class Sqlite:
    sees_deaths = True  # Its contenders hear from the kernel of a holder's death (R23).

    def __init__(self, path: Any) -> None:
        self.path = pathlib.Path(path)
        self.uri = f"sqlite:{self.path}"

    def uri_of(self, name: str) -> Any:
        """For a process of that name."""
        return self.uri

    def settle(self, name: str) -> None:
        """Waits until nothing of a dead process can take effect any more."""

    def sees(self, name: str) -> bool:
        """Whether that process is at work here, as far as one can see."""
        return True

    def fresh(self, number: int | str) -> Any:
        """A second store, which is not there yet."""
        return Sqlite(self.path.with_name(f"fresh-{number}.db"))

    def remove(self) -> None:
        for ending in ("", "-wal", "-shm", "-gate", "-bell", "-witness"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        """A connection; nothing where whoever was to make the file was killed before."""
        if not self.path.exists():
            yield None
            return
        database = sqlite3.connect(f"file:{self.path}?mode=rw", uri=True, timeout=100,
                                   isolation_level=None)
        database.row_factory = sqlite3.Row
        try:
            tables = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
            yield database if tables else None
        finally:
            database.close()

    def _rows(self, query: Any, *values: Any) -> Any:
        with self._opened() as database:
            return [dict(row) for row in database.execute(query, values)] if database else []

    def locks(self) -> Any:
        return self._rows("SELECT * FROM locks")

    def lock(self, name: str) -> Any:
        """The document, or nothing."""
        return next(iter(self._rows("SELECT * FROM locks WHERE _id = ?", name)), None)

    def line(self, lock: str) -> Any:
        """Tickets and process ids, in the order of their places."""
        rows = self._rows("SELECT ticket, process FROM waiters WHERE lock = ? ORDER BY number", lock)
        return [(row["ticket"], row["process"]) for row in rows]

    def remove_bell(self) -> None:
        """While processes listen to it."""
        self.path.with_name(self.path.name + "-bell").unlink()

    def ping(self, process: subprocess.Popen) -> Any:
        """When it last pinged, in the store's milliseconds."""
        rows = self._rows("SELECT ping FROM lockpings WHERE _id = ?", process)
        return rows[0]["ping"] if rows else None

    def pings(self) -> int:
        return len(self._rows("SELECT 1 FROM lockpings"))

    def faults(self) -> Any:
        """A line for each document that is not as documented, and what integrity_check says."""
        with self._opened() as database:
            return checks.documents.sqlite_faults(database) if database else []

    def blind_spots(self) -> Any:
        return []  # checks/documents_test.py plants them.

    def connections(self) -> int:
        return 0


class Mongo:
    """A database on a server; `member` is asked from its own host, past all that is in the way."""

    sees_deaths = False

    def __init__(self, member: Any, uri: Callable[[Any], str], database: Any) -> None:
        self.member, self.database = member, database
        self.address = member.host.address, member.port
        self.uri = uri(database)
        self._uri = uri

    def fresh(self, number: int | str) -> Any:
        return Mongo(self.member, self._uri, f"{self.database}-fresh-{number}")

    def remove(self) -> None:
        self.member.tell({"dropDatabase": 1}, self.database, timeout=100.0)

    def uri_of(self, name: str) -> str:
        return f"{self.uri}{'&' if '?' in self.uri else '?'}appName={name}"

    def settle(self, name: str) -> None:
        wait_for(f"the end of {name}'s connections", lambda: not self.sees(name))

    def sees(self, name: str) -> bool:
        reply = self.member.tell(
            {"aggregate": 1, "cursor": {}, "pipeline": [
                {"$currentOp": {"allUsers": True, "idleConnections": True}},
                {"$match": {"appName": name}}]}, timeout=100.0)
        return bool(reply["cursor"]["firstBatch"])

    def find(self, collection: Any, wanted: Any) -> Any:
        reply = self.member.tell({"find": collection, "filter": wanted, "batchSize": 100000,
                                  "singleBatch": True}, self.database, timeout=100.0)
        return [{key: value.hex() if isinstance(value, bytes) else value
                 for key, value in one.items()} for one in reply["cursor"]["firstBatch"]]

    def locks(self) -> Any:
        return self.find("locks", {})

    def lock(self, name: str) -> Any:
        return next(iter(self.find("locks", {"_id": name})), None)

    def line(self, lock: str) -> Any:
        """As a majority has it: what a fail-over undoes is no place."""
        reply = self.member.tell({"find": "locks", "filter": {"_id": lock}, "limit": 1,
                                  "readConcern": {"level": "majority"}}, self.database)
        found = reply["cursor"]["firstBatch"]
        places = found[0].get("line", {}) if found else {}
        return [(ticket, place["process"]) for ticket, place in places.items()]

    def remove_bell(self) -> None:
        self.member.tell({"drop": "lockbells"}, self.database)

    def ping(self, process: subprocess.Popen) -> Any:
        found = self.find("lockpings", {"_id": process})
        return found[0]["ping"] if found else None

    def pings(self) -> int:
        return len(self.find("lockpings", {}))

    def faults(self) -> Any:
        return checks.documents.mongo_faults(self.find)

    def blind_spots(self) -> Any:
        """Faults of a document that the check does not find, tried in a database of its own."""
        sound = {"state": 1, "process": "host:1:2", "who": "host:1:2:3:4", "when": "$$NOW",
                 "why": "", "ts": {"$toObjectId": "0123456789abcdef01234567"},
                 "fence": {"$toLong": 1}, "takeover_after": {"$toLong": 2000}}
        planted = [(field, {"$literal": value}) for field, value in (
            ("state", 2), ("state", "1"), ("process", "me"), ("who", 1), ("when", 5), ("why", 5),
            ("ts", "0123456789abcdef01234567"), ("fence", 1), ("takeover_after", 2000),
            ("surplus", 1))]
        trial = self.fresh("planted")
        for number, change in enumerate([("state", 0), *planted]):
            trial._put(number, sound | dict([change]))
        found = {fault.split("'")[3] for fault in trial.faults()}
        missed = {str(number) for number in range(1, len(planted) + 1)} ^ found
        return [f"the checker of documents errs about {planted[int(number) - 1]} (0 is what is sound)"
                for number in sorted(missed)]

    def _put(self, number: int, fields: Any) -> None:
        self.member.tell({"update": "locks", "updates": [
            {"q": {"_id": str(number)}, "u": [{"$set": fields}], "upsert": True}]}, self.database)

    def connections(self) -> Any:
        """How many the server has, this one not counted."""
        reply = self.member.tell({"serverStatus": 1}, timeout=100.0)
        return reply["connections"]["current"] - 1


def start(rig: Any, size: int = 1) -> Any:
    """The rig's store, and the host that programs on it belong on, if it matters."""
    rig.start_store(size)
    if rig.cluster is None:
        return Sqlite(rig.sqlite_path), None
    rig.cluster.keep_primary()
    store = Mongo(rig.cluster.wait_primary(), rig.cluster.uri, "faults")
    return store, rig.hosts.hosts["g1"]
