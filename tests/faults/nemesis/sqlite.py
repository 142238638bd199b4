"""Faults of one SQLite file."""

from tests.faults import processes
from tests.faults.nemesis.fault import Fault
from tests.faults.processes import PATIENCE


class DiskFull(Fault):
    needs = "small disks"
    lasts = (1.0, 2.5)

    def begin(self) -> str:
        size = self.rig.history.size()
        self.rig.disk.fill()
        failed = self.rig.history.wait(
            lambda e: e["event"] == "error" or e.get("outcome") == "unknown", PATIENCE, size)
        self.must(failed, "nobody met an error")
        return f"the disk is full: {failed.get('what', 'a write failed')}"

    def end(self) -> None:
        self.rig.disk.empty()


class OtherWriter(Fault):
    """Another program has a write transaction for longer than a call may take, and is killed."""

    lasts = (1.0, 3.0)

    def begin(self) -> str:
        self.other = self.rig.sqlite_program("hold")
        self.must(self.other.stdout.readline() == "holding\n", "it could not begin")
        return "another program writes and does not come to an end"

    def end(self) -> None:
        processes.kill(self.other)


class Checkpoint(Fault):
    """Another program moves the write-ahead log into the file and cuts it off."""

    lasts = (0.0, 0.1)

    def begin(self) -> str:
        done = processes.output_of(self.rig.sqlite_program("checkpoint"))
        return f"another program made a checkpoint of {done}"


class KillAll(Fault):
    """All clients at once, so that the write-ahead log is left behind; others come."""

    lasts = (0.1, 0.3)

    def begin(self) -> str:
        self.victims = list(self.rig.clients)
        for one in self.victims:
            one.send_kill()
        for one in self.victims:
            one.kill()
        self.rig.clients.clear()
        log = self.rig.outside(f"{self.rig.sqlite_path}-wal")
        self.must(log.exists(), "there is no write-ahead log")
        return f"killed all {len(self.victims)} clients; they left a log of {log.stat().st_size} bytes"

    def end(self) -> None:
        for one in self.victims:
            self.rig.client(**one.settings)


KINDS = (DiskFull, OtherWriter, Checkpoint, KillAll)
