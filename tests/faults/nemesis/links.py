"""Faults that take a relay between hosts: dropped packets cannot make them."""

import time
from typing import Any

from tests.faults.nemesis.fault import RELAY
from tests.faults.nemesis.network import Partition
from tests.faults.processes import PATIENCE, wait_for


class Delay(Partition):
    """All messages between one group and the primary come late: for the calls of the shorter lock
    too late, so that the server does what nobody waits for any more."""

    needs = RELAY
    lasts = (2.0, 3.0)

    def begin(self) -> str:
        primary, group = self.cluster.wait_primary(), self.random.choice(self.client_hosts())
        seconds = self.random.uniform(0.15, 0.4)
        self.must_reach(group, primary.host)
        for way in ((group, primary.host), (primary.host, group)):
            self.hosts.harm(*way, delay=seconds)
        begun = time.monotonic()
        answered = self.hosts.reaches(group, primary.host, primary.port, PATIENCE)
        took = time.monotonic() - begun
        self.must(answered and took >= 2 * seconds, f"an answer came in {took:.3f} s")
        return (f"{group.name} and {primary.name}, the primary, hear from each other "
                f"{1000 * seconds:.0f} ms late")


class OneDirection(Partition):
    """Something befalls connections between the primary and a group, by what one of them sends."""

    needs = RELAY
    lasts = (1.0, 2.0)

    def strike(self, source: Any, target: Any, **how: Any) -> None:
        """Waits until a connection of the clients' has it."""
        before = self.hosts.struck(source, target)
        self.hosts.harm(source, target, **how)
        wait_for(f"a connection with {how}",
                 lambda: self.hosts.struck(source, target) > before)


class CutAfter(OneDirection):
    """Each time that so many bytes were sent, their connection ends: in the middle of a message."""

    def begin(self) -> str:
        primary, group = self.cluster.wait_primary(), self.random.choice(self.client_hosts())
        ends = self.random.choice(((group, primary.host), (primary.host, group)))
        size = self.random.randrange(50, 3000)
        self.strike(*ends, cut_after=size, left=size)
        return f"connections end with each {size} bytes that {ends[0].name} sends {ends[1].name}"


class HalfClose(OneDirection):
    """Instead of answers the clients get the end of that direction; their requests are done."""

    def begin(self) -> str:
        primary, group = self.cluster.wait_primary(), self.random.choice(self.client_hosts())
        self.strike(primary.host, group, half_closed=True)
        return f"{primary.name}, the primary, ends its direction of connections of {group.name}"


KINDS = (Delay, CutAfter, HalfClose)
