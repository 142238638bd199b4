"""The base of all faults. Each fault sees to it that it really happens, and says by what it knows."""

from typing import Any


RELAY = "relay"  # Between the hosts; not every machine needs one.
BLOCKS_SINCE = "4.2.9"  # Before, failCommand passes blockConnection over.
BLOCKING = f"mongod {BLOCKS_SINCE}"


class DidNotHappen(Exception):
    """It was begun, and what it should do cannot be seen."""


class NothingShown(Exception):
    """The machine lacks what everything that was asked for needs."""


class Fault:
    """One kind. An object is one time that it happens."""

    lasts = (1.0, 2.0)  # Seconds, from and to.
    needs = ""  # A thing that some machines lack.
    variants: tuple[str, ...] = ("",)

    def __init__(self, rig: Any, random: Any, variant: str = "") -> None:
        self.rig, self.random, self.variant = rig, random, variant
        self.cluster, self.hosts = rig.cluster, rig.hosts

    def begin(self) -> str:
        """Says what it did to whom, once that has taken effect. Errors: DidNotHappen."""
        raise NotImplementedError

    def end(self) -> None:
        """Undoes it. Errors: DidNotHappen, if only now it shows that it did not."""

    def client_hosts(self) -> Any:
        return [self.hosts.hosts[group] for group in self.rig.groups]

    def must(self, condition: Any, what: str) -> None:
        if not condition:
            raise DidNotHappen(what)
