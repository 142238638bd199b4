"""Fail points of the real server: commands of the clients that it fails in its own ways."""

import time
from typing import Any

from tests.faults.nemesis.fault import BLOCKING, Fault
from tests.faults.processes import PATIENCE, pause, wait_for

COMMANDS = ["findAndModify", "aggregate", "find"]


class FailPoint(Fault):
    lasts = (1.0, 1.5)
    what = ""
    victim: Any = None  # A member.

    def data(self) -> dict[str, Any]:
        """Of the fail point `failCommand`."""
        raise NotImplementedError

    def chosen(self) -> Any:
        """The member that is to fail commands: the primary."""
        return self.cluster.wait_primary()

    def begin(self) -> str:
        """If the primary is another before a command came, on that one."""
        self.victim = None
        wait_for("a command that fails", self._seen_to_fail)
        return f"{self._name_of_victim()}: {self.what}"

    def _name_of_victim(self) -> str:
        return self.victim.name

    def _seen_to_fail(self) -> bool:
        self.end()
        victim = self.chosen()
        data = {"failCommands": COMMANDS, "failInternalCommands": False, **self.data()}
        before = victim.ask({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": data},
                            timeout=PATIENCE)["count"]
        self.victim = victim
        limit = time.monotonic() + 20
        while time.monotonic() < limit and self._count() <= before:
            pause(0.05)
        return self._count() > before

    def _count(self) -> Any:
        reply = self.victim.ask({"getParameter": 1, "failpoint.failCommand": 1}, timeout=PATIENCE)
        return reply["failpoint.failCommand"]["timesEntered"]

    def end(self) -> None:
        if self.victim:
            self.victim.tell({"configureFailPoint": "failCommand", "mode": "off"}, timeout=PATIENCE)


class CloseConnection(FailPoint):
    what = "closes the connection instead of an answer"

    def data(self) -> Any:
        return {"closeConnection": True}


class ErrorBefore(FailPoint):
    what = "answers with an error and does nothing"

    def data(self) -> Any:
        return {"errorCode": self.random.choice((91, 112, 189, 10107, 11600))}


class ErrorAfter(FailPoint):
    """The write is made, and its confirmation is an error."""

    what = "writes and answers with an error of the write concern"

    def data(self) -> Any:
        code = self.random.choice((64, 91, 11602))
        return {"failCommands": ["findAndModify"],
                "writeConcernError": {"code": code, "errmsg": "planted"}}


class Block(FailPoint):
    """Longer than a call may take, so that it is worked on when its client has given up."""

    needs = BLOCKING
    what = "keeps each command for 700 ms"

    def data(self) -> Any:
        return {"blockConnection": True, "blockTimeMS": 700}


KINDS = (CloseConnection, ErrorBefore, ErrorAfter, Block)
