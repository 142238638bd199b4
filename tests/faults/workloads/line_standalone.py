"""As line, on a standalone server."""

from typing import Any

from tests.faults.workloads import line

ABOUT = "the same on a standalone server"
STORES = ("mongod",)


def run(rig: Any) -> Any:
    return line.run(rig, size=1)
