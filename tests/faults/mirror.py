"""The members of a mirrored store: servers that do not know each other. Another one has the number
that clients count up, and no fault befalls it."""

import pathlib
from typing import Any

from tests.faults import member
from tests.faults.processes import wait_for
from tools.servers import mongod_program


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
        return f"mirrored+mongodb://{','.join(one.address for one in self.members)}/config"

    def number_uri(self) -> str:
        """Of the server of the number, with the beginning of its options."""
        return f"mongodb://{self.outside.address}/config?directConnection=true"

    def number_server(self) -> Any:
        """And how it is read by one who wants all that was confirmed."""
        return self.outside, "majority"

    def healthy(self) -> bool:
        """Whether all members are up."""
        return all(one.hello().get("ismaster") for one in self.members)

    def close(self) -> None:
        for one in [*self.members, self.outside]:
            one.close()
