"""Fail points of the real server: commands of the clients that it fails in its own ways."""

from nemesis.fault import Fault
from processes import wait_for

COMMANDS = ["findAndModify", "aggregate", "find"]


class FailPoint(Fault):
    lasts = (1.0, 1.5)
    what = ""

    def data(self):
        """Of the fail point `failCommand`."""
        raise NotImplementedError

    def begin(self):
        self.victim = self.cluster.wait_primary()
        data = {"failCommands": COMMANDS, "failInternalCommands": False, **self.data()}
        before = self.victim.tell({"configureFailPoint": "failCommand", "mode": "alwaysOn",
                                   "data": data})["count"]
        wait_for("a command that fails", lambda: self._count() > before, 60)
        return f"{self.victim.name}: {self.what}"

    def _count(self):
        return self.victim.tell({"getParameter": 1, "failpoint.failCommand": 1})[
            "failpoint.failCommand"]["timesEntered"]

    def end(self):
        self.victim.tell({"configureFailPoint": "failCommand", "mode": "off"})


class CloseConnection(FailPoint):
    what = "closes the connection instead of an answer"

    def data(self):
        return {"closeConnection": True}


class ErrorBefore(FailPoint):
    what = "answers with an error and does nothing"

    def data(self):
        return {"errorCode": self.random.choice((91, 112, 189, 10107, 11600))}


class ErrorAfter(FailPoint):
    """The write is made, and its confirmation is an error."""

    what = "writes and answers with an error of the write concern"

    def data(self):
        code = self.random.choice((64, 91, 11602))
        return {"failCommands": ["findAndModify"],
                "writeConcernError": {"code": code, "errmsg": "planted"}}


class Block(FailPoint):
    """Longer than a call may take, so that it is worked on when its client has given up."""

    what = "keeps each command for 700 ms"

    def data(self):
        return {"blockConnection": True, "blockTimeMS": 700}


KINDS = (CloseConnection, ErrorBefore, ErrorAfter, Block)
