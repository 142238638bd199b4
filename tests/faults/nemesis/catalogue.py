"""Every kind of fault, by the store that it is for."""

from typing import Any

from tests.faults.nemesis import clients, fail_points, links, members, mirror, network, sqlite

OF_REPLICA_SET = members.KINDS + network.KINDS + fail_points.KINDS + clients.KINDS
OF_MIRROR = mirror.KINDS + clients.KINDS
OF_SQLITE = sqlite.KINDS + clients.KINDS
MILD = {"mongod": (members.StepDown, fail_points.CloseConnection, fail_points.ErrorAfter),
        "sqlite": (sqlite.OtherWriter, sqlite.Checkpoint), "mirrored": mirror.MILD}


def of(store: Any, relayed: bool = False) -> Any:
    """A relay between the hosts can do some of its own."""
    if store == "sqlite":
        return OF_SQLITE
    if store == "mirrored":
        return OF_MIRROR
    return OF_REPLICA_SET + (links.KINDS if relayed else ())
