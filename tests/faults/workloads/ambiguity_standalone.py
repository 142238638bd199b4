"""As ambiguity, on a standalone server."""

from typing import Any

from tests.faults.workloads import ambiguity

ABOUT = "the same on a standalone server"
STORES = ("mongod",)


def run(rig: Any) -> Any:
    return ambiguity.run(rig, size=1)
