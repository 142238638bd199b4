"""As ambiguity, on a standalone server."""

from tests.faults.workloads import ambiguity

ABOUT = "the same on a standalone server"
STORES = ("mongod",)


def run(rig):
    return ambiguity.run(rig, size=1)
