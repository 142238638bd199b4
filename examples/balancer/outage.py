"""Real ways of losing a store for a while, one for each kind of store. Each is told when to begin
and when to end, for one process where that is possible."""

import os
import random
import resource
import select
import signal
import socket
import threading
import time
from typing import Any

from tools.servers import mongo_wire

ASK_AGAIN = 5  # Seconds between two requests for one thing.


class CannotBegin(Exception):
    """There is nothing here that could be taken away."""


class FullDisk:
    """The process can add nothing to any file, as on a full disk: SQLite's writes fail, while
    the other processes go on."""

    only_the_holder = True
    what = "its disk is full"

    def uri(self, _name: Any, uri: str) -> Any:
        return uri

    def begin(self, _name: Any, pid: Any) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))

    def end(self, _name: Any, pid: Any) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE,
                         (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def close(self) -> None:
        pass


class Wire:
    """A TCP relay on the loopback that can be cut."""

    def __init__(self, port: int) -> None:
        self.target = ("127.0.0.1", port)
        self.cut = False
        self.pairs = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
                if self.cut:
                    near.close()
                    continue
                pair = (near, socket.create_connection(self.target))
            except OSError:
                if self.listener.fileno() < 0:
                    return
                continue
            self.pairs.add(pair)
            threading.Thread(target=self._relay, args=(pair,), daemon=True).start()

    def _relay(self, pair: Any) -> None:
        other = {pair[0]: pair[1], pair[1]: pair[0]}
        try:
            while not self.cut:
                for ready in select.select(pair, [], [], 0.1)[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    other[ready].sendall(data)
        except OSError:
            pass
        finally:
            self.pairs.discard(pair)
            for end in pair:
                end.close()


class CutWire:
    """Each process reaches the server through a wire of its own, and one of these is cut."""

    only_the_holder = True
    what = "its connection is cut"

    def __init__(self) -> None:
        self.wires = {}

    def uri(self, name: str, uri: str) -> str:
        host = uri.removeprefix("mongodb://").split("/")[0]
        port = host.rsplit(":", 1)[-1] if ":" in host else "27017"
        wire = self.wires[name] = Wire(int(port))
        return uri.replace(host, f"127.0.0.1:{wire.port}", 1)

    def begin(self, name: str, _pid: Any) -> None:
        self.wires[name].cut = True

    def end(self, name: str, _pid: Any) -> None:
        self.wires[name].cut = False

    def close(self) -> None:
        for wire in self.wires.values():
            wire.listener.close()


class StoppedPrimary:
    """The primary of the set is stopped, for all processes: a driver finds the members by itself,
    so that no wire can be put in between. The others elect a new one in seconds. But the third
    member waits for more from the stopped one. After about ten seconds it follows the new primary,
    and a majority confirms writes again."""

    only_the_holder = False
    what = "the primary is stopped"

    def __init__(self) -> None:
        self.stopped: int = None

    def uri(self, _name: Any, uri: str) -> Any:
        return uri

    def begin(self, _name: Any, _pid: Any) -> None:
        for server in os.environ.get("DISTLOCK_MONGODB_PIDS", "").split():
            port, pid = map(int, server.split("="))
            if mongo_wire.ask(port, {"isMaster": 1}).get("ismaster"):
                self.stopped = pid
                os.kill(pid, signal.SIGSTOP)
                return
        raise CannotBegin("no primary of ours to stop: run under tools/with-mongod")

    def end(self, _name: Any, _pid: Any) -> None:
        if self.stopped:
            os.kill(self.stopped, signal.SIGCONT)
            self.stopped = None

    def close(self) -> None:
        self.end("", 0)


class KilledMember:
    """A server of a mirrored store is killed, for all processes. It comes back with its data."""

    only_the_holder = False
    what = "a member of the store is killed"

    def __init__(self) -> None:
        # In the order of the connection string, which is that in which they were started.
        servers = os.environ.get("DISTLOCK_MONGODB_PIDS", "").split()
        self.servers = [tuple(map(int, server.split("="))) for server in servers]
        self.number: int = None  # From 1 on, of the one that is away.
        self.asked = 0.0

    def uri(self, _name: Any, uri: str) -> Any:
        return uri

    def begin(self, _name: Any, _pid: Any) -> Any:
        """Gives the process id that it had."""
        if not self.servers:
            raise CannotBegin("no member of ours to kill: run under tools/with-mongod")
        self.number = random.randint(1, len(self.servers))
        port = self.servers[self.number - 1][0]
        # As it is now: a member that has come back has another process id.
        pid = mongo_wire.ask(port, {"serverStatus": 1})["pid"]
        os.kill(pid, signal.SIGKILL)
        self.asked = 0.0
        return pid

    def missing(self) -> Any:
        """Has it started again, and says what is still missing."""
        # Again if it takes long: the first time it may not have ended quite.
        if time.monotonic() > self.asked + ASK_AGAIN:
            self.asked = time.monotonic()
            os.kill(int(os.environ["DISTLOCK_WITH_MONGOD"]), signal.SIGUSR1)
        try:
            mongo_wire.ask(self.servers[self.number - 1][0], {"hello": 1})
        except OSError as error:
            return [str(error)]
        return []

    def close(self) -> None:
        pass


OF_STORE: dict[str, Any] = {"sqlite": FullDisk, "mongodb": CutWire, "replica-set": StoppedPrimary,
                            "mirrored": KilledMember}
