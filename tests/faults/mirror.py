"""The members of a mirrored store: servers that do not know each other. Another one has the number
that clients count up, and no fault befalls it."""

import pathlib
from typing import Any

from tests.faults import member
from tests.faults.processes import wait_for
from tools.servers import mongod_program

# No lease of a workload is longer. A member that was emptied is kept out for so long.
LONGEST_WINDOW = 12.0  # Seconds.
IDENTITY = "distlock: member of a mirrored store"


class Mirror:
    """In the place of a Cluster."""

    def __init__(self, hosts: Any, folder: pathlib.Path, size: int) -> None:
        self.hosts = hosts
        self.mongod = mongod_program.program()
        self.version = mongod_program.version_of(self.mongod)
        self.members = [member.Member(hosts, self.mongod, folder, f"m{number}")
                        for number in range(1, size + 1)]
        self.outside = member.Member(hosts, self.mongod, folder, "number")

    def start(self) -> None:
        for one in [*self.members, self.outside]:
            one.start()
        for one in [*self.members, self.outside]:
            one.wait_up()
        wait_for("all members", self.healthy)

    def uri(self) -> str:
        addresses = ",".join(one.address for one in self.members)
        return f"mirrored+mongodb://{addresses}/config?longestTakeoverMS={1000 * LONGEST_WINDOW:.0f}"

    def number_uri(self) -> str:
        """Of the server of the number, with the beginning of its options."""
        return f"mongodb://{self.outside.address}/config?directConnection=true"

    def number_server(self) -> Any:
        """And how it is read by one who wants all that was confirmed."""
        return self.outside, "majority"

    def healthy(self) -> bool:
        """Whether all members are up."""
        return all(one.hello().get("ismaster") for one in self.members)

    def founded(self) -> bool:
        """Whether each is a member of the set. If a founder's claim came too late there, it is kept
        out first, as if it had lost its data: until then no other member may be away."""
        return all(self.identity_of(one) for one in self.members)

    def identity_of(self, one: member.Member) -> Any:
        """By which it is a member. None: it has none, or is kept out."""
        command = {"find": "locks", "filter": {"_id": IDENTITY}}
        found = one.tell(command, "config")["cursor"]["firstBatch"]
        return found[0]["ts"] if found and not found[0]["who"].endswith("kept out") else None

    def close(self) -> None:
        for one in [*self.members, self.outside]:
            one.close()
