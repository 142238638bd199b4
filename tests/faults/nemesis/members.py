"""Members of the replica set that are killed, stopped, replaced, mis-clocked, out of disk."""

import math
import socket
import sys
import time
from typing import Any

from tests.faults.nemesis.fault import Fault
from tests.faults.processes import PATIENCE, wait_for

LEASE = 2.0  # Seconds, of the clients'.
# By state in /proc/net/tcp: established; or closed by a client that has waited long enough, whose
# end counts as one byte.
UNREAD_OF_NOTHING = {"01": 0, "08": 1}
WTIMEOUT = 64  # The error code of a write that was not confirmed in time.


def as_in_proc(address: Any) -> str:
    """Of /proc/net/tcp, which writes the four bytes as a number of this machine's."""
    return f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}"


class KillPrimary(Fault):
    """SIGKILL, and later a restart from its data."""

    lasts = (2.0, 3.0)

    def begin(self) -> str:
        self.victim = self.cluster.wait_primary()
        self.victim.kill()
        self.must(self.victim.process.returncode == -9, "it had ended before")
        return f"killed {self.victim.name}, the primary"

    def end(self) -> None:
        self.victim.restart()


class KillSecondary(KillPrimary):
    def begin(self) -> str:
        self.victim = self.random.choice(self.cluster.secondaries())
        self.victim.kill()
        self.must(self.victim.process.returncode == -9, "it had ended before")
        return f"killed {self.victim.name}, a secondary"


class RestartAll(Fault):
    """All members are killed at once and restarted from their data."""

    lasts = (0.2, 0.5)

    def begin(self) -> str:
        for one in self.cluster.members:
            one.kill()
        return "killed all members"

    def end(self) -> None:
        for one in self.cluster.members:
            one.start()
        for one in self.cluster.members:
            one.wait_up()
        self.cluster.wait_primary()


class StopPrimary(Fault):
    """SIGSTOP for longer than a lease. The reads of contenders wait in its sockets. They are answered
    when the others have long elected a new primary, on which holders ping."""

    lasts = (LEASE + 0.5, LEASE + 1.5)

    def begin(self) -> str:
        self.victim = self.cluster.wait_primary()
        self.must(self.victim.stop(), "it could not be stopped")
        self.waiting = self._waiting_at_it()
        heir = self.cluster.wait_primary(other_than=self.victim)
        return (f"stopped {self.victim.name}, the primary, with {self.waiting} connections whose "
                f"requests it had not read; {heir.name} was elected")

    def _waiting_at_it(self) -> Any:
        """Connections on which a client sent it something that it has not read."""
        here = f"{as_in_proc(self.victim.host.address)}:{self.victim.port:04X}"
        clients = {as_in_proc(host.address) for host in self.client_hosts()}

        def unread() -> Any:
            rows = [line.split() for line in self.hosts.connections(self.victim.host)]
            return sum(row[1] == here and row[2].split(":")[0] in clients
                       and int(row[4].split(":")[1], 16) > UNREAD_OF_NOTHING.get(row[3], math.inf)
                       for row in rows)
        return wait_for("a client's request to it", unread)

    def end(self) -> None:
        self.victim.resume()


class StopSecondaries(Fault):
    """Shorter than an election: writes of the primary end in wtimeout, and are made later."""

    lasts = (1.0, 1.3)

    def begin(self) -> str:
        self.victims = []
        reply = wait_for("a write that ends in wtimeout", self._stopped_in_time)
        return f"stopped both secondaries: {reply['writeConcernError']['errmsg']}"

    def _stopped_in_time(self) -> Any:
        """On a slow machine the primary may step down first; then it is done anew."""
        self.end()
        primary = self.cluster.wait_primary()
        self.victims = [one for one in self.cluster.members if one is not primary]
        for one in self.victims:
            self.must(one.stop(), f"{one.name} could not be stopped")
        reply = primary.ask({
            "insert": "rig", "documents": [{"stopped": 1}],
            "writeConcern": {"w": "majority", "wtimeout": 300}}, db="faults_rig", timeout=PATIENCE)
        return reply if reply.get("writeConcernError", {}).get("code") == WTIMEOUT else None

    def end(self) -> None:
        for one in self.victims:
            one.resume()


class StepDown(Fault):
    lasts = (0.5, 1.0)

    def begin(self) -> str:
        old, new = self.cluster.step_down()
        return f"{old.name} stepped down, {new.name} is primary"


class OtherClock(Fault):
    """A member whose clock is far off becomes primary while holders ping."""

    needs = "clocks"
    lasts = (LEASE + 1, LEASE + 2)
    offsets = {"+10m": 600, "-10m": -600, "+20s": 20, "-20s": -20}
    variants = tuple(offsets)

    def begin(self) -> str:
        self.victim = self.random.choice(self.cluster.secondaries())
        self.victim.clock = self.variant
        self.victim.restart()
        self.cluster.make_primary(self.victim)
        off = wait_for("its time", self.victim.hello)["localTime"] / 1000 - time.time()
        self.must(abs(off - self.offsets[self.variant]) < 10, f"its clock is off by {off:.0f} s")
        since = self.rig.history.size()
        pinged = self.rig.history.wait(lambda e: e["event"] == "valid", PATIENCE, since)
        self.must(pinged, "no holder pinged")
        return f"{self.victim.name}, whose clock is off by {off:+.0f} s, became primary; holders ping there"

    def end(self) -> None:
        self.victim.clock = ""
        self.victim.restart()


class DiskFull(Fault):
    """The primary's disk is full, which a mongod does not survive."""

    needs = "small disks"
    lasts = (1.0, 2.0)

    def begin(self) -> str:
        self.victim = next(one for one in self.cluster.members if one.disk)
        self.cluster.make_primary(self.victim)
        self.victim.disk.fill()
        wait_for("its end", self._ended)
        self.must(self.victim.process.returncode != 0, "it ended in good order")
        return f"the disk of {self.victim.name}, the primary, is full: it ended"

    def _ended(self) -> bool:
        """It writes ahead into space that it has; a checkpoint, once a minute or now, needs more."""
        if self.victim.process.poll() is None:
            self.victim.ask({"fsync": 1})
        return self.victim.process.poll() is not None

    def end(self) -> None:
        self.victim.disk.empty()
        self.victim.restart()


KINDS = (KillPrimary, KillSecondary, RestartAll, StopPrimary, StopSecondaries, StepDown, OtherClock,
         DiskFull)
