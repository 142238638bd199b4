"""Links that are cut: between members, and between members and clients."""

from typing import Any

from tests.faults.nemesis.fault import Fault
from tests.faults.nemesis.members import LEASE
from tests.faults.processes import wait_for


class Partition(Fault):
    """Cuts links, and looks from both ends whether they are."""

    needs = "partitions"
    lasts = (LEASE + 0.5, LEASE + 1.5)

    def cut(self, source: Any, target: Any, both: bool = True) -> None:
        self.hosts.cut(source, target)
        if both:
            self.hosts.cut(target, source)

    def must_reach(self, source: Any, target: Any) -> None:
        """Before: else a way that never was would pass for one that is cut."""
        wait_for(f"{source.name} at {target.name}", lambda: self.hosts.reaches(
            source, target, self.hosts.port(target), 5))

    def must_not_reach(self, source: Any, target: Any) -> None:
        port = self.hosts.port(target)
        self.must(not self.hosts.reaches(source, target, port, 0.5),
                  f"{source.name} still reaches {target.name}")

    def end(self) -> None:
        self.hosts.heal_all()


class PrimaryAlone(Partition):
    """From the other members, not from the clients: they go on asking it."""

    def begin(self) -> str:
        primary = self.cluster.wait_primary()
        others = [one for one in self.cluster.members if one is not primary]
        self.must_reach(primary.host, others[0].host)
        self.must_reach(others[0].host, primary.host)
        for one in others:
            self.cut(primary.host, one.host)
        self.must_not_reach(primary.host, others[0].host)
        self.must_not_reach(others[0].host, primary.host)
        heir = wait_for("another primary", lambda: next(
            (one for one in others if one.hello().get("ismaster")), None))
        return f"cut {primary.name}, the primary, from the members; {heir.name} was elected"


class ClientsFromPrimary(Partition):
    """One group of clients, or both, from the primary."""

    def begin(self) -> str:
        primary = self.cluster.wait_primary()
        hosts = self.random.choice((self.client_hosts(), self.client_hosts()[:1]))
        for host in hosts:
            self.must_reach(host, primary.host)
            self.cut(host, primary.host)
            self.must_not_reach(host, primary.host)
        return f"cut {', '.join(host.name for host in hosts)} from {primary.name}, the primary"


class OneWay(Partition):
    """Messages are lost in one direction alone: to the primary, or from it. One group of clients is
    spared."""

    def lose(self, *, deaf: Any) -> str:
        primary = self.cluster.wait_primary()
        others = [one.host for one in self.cluster.members if one is not primary]
        ends = others + self.client_hosts()[:1]
        self.must_reach(ends[0], primary.host)
        for host in ends:
            self.cut(*((host, primary.host) if deaf else (primary.host, host)), both=False)
        self.must_not_reach(ends[0], primary.host)
        return f"{primary.name}, the primary, is {'deaf' if deaf else 'dumb'} to all but one group"


class DeafPrimary(OneWay):
    """It goes on sending, and hears of nothing."""

    def begin(self) -> Any:
        return self.lose(deaf=True)


class DumbPrimary(OneWay):
    """It does what it is asked, and nobody hears of it."""

    def begin(self) -> Any:
        return self.lose(deaf=False)


class MajorityLost(Partition):
    """No member reaches another; then all do again."""

    def begin(self) -> str:
        hosts = [one.host for one in self.cluster.members]
        self.must_reach(hosts[0], hosts[1])
        for number, host in enumerate(hosts):
            for other in hosts[number + 1:]:
                self.cut(host, other)
        self.must_not_reach(hosts[0], hosts[1])
        wait_for("the end of the primary's term", lambda: self.cluster.primary() is None)
        return "cut every member from every other; there is no primary"


KINDS = (PrimaryAlone, ClientsFromPrimary, DeafPrimary, DumbPrimary, MajorityLost)
