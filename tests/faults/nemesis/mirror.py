"""Faults of the members of a mirrored store. A minority that is away costs nobody the lock; a majority
that is away keeps it from everybody."""

import time
from typing import Any

from tests.faults import mirror
from tests.faults.nemesis import fail_points, members, network
from tests.faults.nemesis.fault import Fault
from tests.faults.processes import PATIENCE, wait_for


class KillMember(Fault):
    """SIGKILL, and later a restart from its data. Somebody gets the lock meanwhile."""

    lasts = (1.0, 2.0)

    def begin(self) -> str:
        self.victim = self.random.choice(self.cluster.members)
        self.victim.kill()
        self.must(self.victim.process.returncode == -9, "it had ended before")
        self.rig.wait_grant()
        return f"killed {self.victim.name}; the lock goes on without it"

    def end(self) -> None:
        self.victim.restart()


class EmptyMember(Fault):
    """SIGKILL, and a restart without data. The member is kept out for the longest window, and the lock
    goes on without it. Then it takes part again: the lock goes on without another one."""

    def begin(self) -> str:
        self.victim, self.other = self.random.sample(self.cluster.members, 2)
        self.emptied = time.monotonic()
        self.before = self.cluster.identity_of(self.victim)
        self.must(self.before, "it was no member")
        self.victim.restart_empty()
        self.emptied = time.monotonic()
        self.must(not self.cluster.identity_of(self.victim), "it was not emptied")
        self.rig.wait_grant()
        return f"emptied {self.victim.name}; the lock goes on without it"

    def end(self) -> None:
        wait_for(f"{self.victim.name} to be back", lambda: self.cluster.identity_of(self.victim))
        after = time.monotonic() - self.emptied
        self.must(after >= mirror.LONGEST_WINDOW, f"it was back after {after:.1f} s already")
        self.must(self.cluster.identity_of(self.victim) != self.before, "its old identity is back")
        self.other.kill()
        self.rig.wait_grant()
        self.other.restart()


class StopMember(members.StopPrimary):
    """SIGSTOP for longer than a lease, with requests of clients in its sockets. They are answered when
    the others have long given the lock to somebody else."""

    def begin(self) -> str:
        self.victim = self.random.choice(self.cluster.members)
        self.must(self.victim.stop(), "it could not be stopped")
        waiting = self._waiting_at_it()
        self.rig.wait_grant()
        return (f"stopped {self.victim.name} with {waiting} connections whose requests it had not read; "
                "the lock goes on without it")


class MembersLost(Fault):
    """Errors and the end of holds, until they are back."""

    lasts = (1.0, 3.0)

    def kill(self, victims: Any) -> str:
        self.victims = victims
        size = self.rig.history.size()
        for one in victims:
            one.kill()
        failed = self.rig.history.wait(lambda e: e["event"] == "error", PATIENCE, size)
        self.must(failed, "nobody met an error")
        return f"killed {', '.join(one.name for one in victims)}: {failed['what']}"

    def end(self) -> None:
        for one in self.victims:
            one.start()
        for one in self.victims:
            one.wait_up()


class KillMajority(MembersLost):
    def begin(self) -> str:
        return self.kill(self.random.sample(self.cluster.members, 1 + len(self.cluster.members) // 2))


class KillAllMembers(MembersLost):
    def begin(self) -> str:
        return self.kill(self.cluster.members)


class ClientsFromMember(network.Partition):
    """One group of clients, or both, from one member; each group from another member; or one group
    from two members."""

    variants = ("one", "both", "apart", "most")

    def begin(self) -> str:
        groups = self.client_hosts()
        first, second = self.random.sample(self.cluster.members, 2)
        cuts = {"one": [(groups[0], first)], "both": [(group, first) for group in groups],
                "apart": [(groups[0], first), (groups[1], second)],
                "most": [(groups[0], first), (groups[0], second)]}[self.variant]
        for group, one in cuts:
            self.must_reach(group, one.host)
            self.cut(group, one.host)
            self.must_not_reach(group, one.host)
        return "cut " + ", ".join(f"{group.name} from {one.name}" for group, one in cuts)


class OneWayMember(network.Partition):
    """The messages of clients to one member are lost, or its answers are."""

    variants = ("deaf", "dumb")

    def begin(self) -> str:
        victim = self.random.choice(self.cluster.members)
        for group in self.client_hosts():
            self.must_reach(group, victim.host)
            ways = (group, victim.host) if self.variant == "deaf" else (victim.host, group)
            self.cut(*ways, both=False)
            self.must_not_reach(group, victim.host)
        return f"{victim.name} is {self.variant} to all clients"


class CloseConnectionOfMember(fail_points.CloseConnection):
    def chosen(self) -> Any:
        return self.random.choice(self.cluster.members)


class ErrorAfterOfMember(fail_points.ErrorAfter):
    def chosen(self) -> Any:
        return self.random.choice(self.cluster.members)


class BlockOfMember(fail_points.Block):
    def chosen(self) -> Any:
        return self.random.choice(self.cluster.members)


MILD = (KillMember, EmptyMember, ClientsFromMember, OneWayMember, CloseConnectionOfMember,
        ErrorAfterOfMember)
KINDS = (KillMember, EmptyMember, StopMember, KillMajority, KillAllMembers, ClientsFromMember,
         OneWayMember, CloseConnectionOfMember, ErrorAfterOfMember, BlockOfMember)
