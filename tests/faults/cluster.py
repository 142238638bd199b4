"""A standalone mongod or a replica set of real ones, with fast elections."""

import pathlib
from typing import Any

from tests.faults import member
from tests.faults.processes import wait_for
from tools.servers import mongod_program

SET = "faults"


class Cluster:
    """`size` members, m1 and so on, of which some have a disk of their own."""

    def __init__(self, hosts: Any, folder: pathlib.Path, size: Any, disks: Any, clock: Any) -> None:
        self.hosts = hosts
        self.mongod = mongod_program.program()
        self.version = mongod_program.version_of(self.mongod)
        arguments = ("--replSet", SET, "--oplogSize", "64") if size > 1 else ()
        self.members = [member.Member(hosts, self.mongod, folder, name, arguments, disks.get(name))
                        for name in (f"m{n}" for n in range(1, size + 1))]
        for one in self.members:
            one.clock = clock

    def start(self) -> None:
        for one in self.members:
            one.start()
        for one in self.members:
            one.wait_up()
        if len(self.members) > 1:
            self._initiate()
            wait_for("a healthy set", self.healthy)

    def _configuration(self, **settings: Any) -> Any:
        return {"_id": SET, "settings": mongod_program.FAST_ELECTIONS | settings,
                "members": [{"_id": n, "host": one.address} for n, one in enumerate(self.members)]}

    def _initiate(self) -> None:
        self.members[0].tell({"replSetInitiate": self._configuration()})

    def keep_primary(self) -> None:
        """No elections any more: a machine that stands still for seconds is to be no fault here."""
        if len(self.members) > 1:
            self.wait_primary().tell({"replSetReconfig": self._configuration(
                **mongod_program.NO_ELECTIONS) | {"version": 2}})

    def uri(self, database: str = "config") -> str:
        addresses = ",".join(one.address for one in self.members)
        replica_set = f"?replicaSet={SET}" if len(self.members) > 1 else ""
        return f"mongodb://{addresses}/{database}{replica_set}"

    def number_uri(self) -> str:
        """Of the number that clients count up, with the beginning of its options."""
        return self.uri() + ("" if len(self.members) > 1 else "?directConnection=true")

    def number_server(self) -> Any:
        """And how it is read by one who wants all that was confirmed."""
        return self.wait_primary(), "linearizable"

    def primary(self) -> Any:
        """The member that says so in the newest term; nothing if none does."""
        said = [(one.hello(), one) for one in self.members]
        primaries = [(str(state.get("electionId", "")), one) for state, one in said
                     if state.get("ismaster")]
        return max(primaries, key=lambda pair: pair[0])[1] if primaries else None

    def wait_primary(self, *, other_than: Any = None) -> Any:
        def found() -> Any:
            one = self.primary()
            return one if one is not other_than else None
        return wait_for("a primary", found)

    def secondaries(self) -> Any:
        primary = self.wait_primary()
        return [one for one in self.members if one is not primary]

    def majority_write(self, milliseconds: int = 1000) -> Any:
        """Whether a write is confirmed by a majority in that time."""
        primary = self.primary()
        if primary is None:
            return False
        try:
            reply = primary.ask({
                "insert": "rig", "documents": [{"written": 1}],
                "writeConcern": {"w": "majority", "wtimeout": milliseconds}}, db="faults_rig",
                timeout=milliseconds / 1000 + 5)
        except OSError:
            return False
        return reply.get("ok") == 1.0 and not {"writeConcernError", "writeErrors"} & reply.keys()

    def healthy(self) -> Any:
        """Whether all members are up and a majority confirms."""
        states = [one.hello() for one in self.members]
        return (all(s.get("ismaster") or s.get("secondary") for s in states)
                and self.majority_write())

    def make_primary(self, target: Any) -> None:
        """Has this member elected, however often it takes."""
        def elected() -> Any:
            if target.hello().get("ismaster"):
                return True
            target.ask({"replSetStepUp": 1}, timeout=10.0)
            return target.hello().get("ismaster")
        wait_for(f"{target.name} as primary", elected)

    def step_down(self) -> Any:
        """Of a primary, once the others have what it has; gives it, and who is primary then."""
        def stepped_down() -> Any:
            old = self.wait_primary()
            reply = old.ask({"replSetStepDown": 10, "secondaryCatchUpPeriodSecs": 5}, timeout=30.0)
            return old if reply.get("ok") == 1.0 else None
        return wait_for("a step-down", stepped_down), self.wait_primary()

    def close(self) -> None:
        for one in self.members:
            one.close()
