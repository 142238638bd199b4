"""Every kind of fault, by the store that it is for."""

from nemesis import clients, fail_points, members, network, sqlite

OF_REPLICA_SET = members.KINDS + network.KINDS + fail_points.KINDS + clients.KINDS
OF_SQLITE = sqlite.KINDS + clients.KINDS
MILD = {"mongod": (members.StepDown, fail_points.CloseConnection, fail_points.ErrorAfter),
        "sqlite": (sqlite.OtherWriter, sqlite.Checkpoint)}


def of(store):
    return OF_SQLITE if store == "sqlite" else OF_REPLICA_SET
