"""Real mongods on 127.0.0.1, which end with this process however it ends."""

import os
import socket
import subprocess
from collections.abc import Iterable
from typing import Any

from tools.servers import mongo_wire, mongod_program
from tools.servers.children import PATIENCE, Broken, SweptFolder, die_with_parent, wait_for

AHEAD = "+10m"


def at_another_time(offset: str) -> dict[str, str]:
    """The environment for a program whose clock is off by so much, as +10m."""
    return os.environ | mongod_program.clock_variables() | {"FAKETIME": offset}


class Servers:
    """The mongods of one run, in one temporary folder."""

    def __init__(self) -> None:
        self.mongod = mongod_program.program()
        self.folder = SweptFolder("distlock-mongod-")
        self.running = {}
        self.started = {}

    def start(self, *arguments: Any, clock: Any = None, answers: Any = None) -> Any:
        """Starts one server, waits until `answers(port)`, and gives its port."""
        for _ in range(5):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            self.spawn(port, arguments, clock)
            if self._came_up(port, answers or self._is_ours):
                return port
            del self.running[port]
        raise Broken(f"{self.mongod} does not start; its last words:\n" + self._last_words(port))

    def spawn(self, port: int, arguments: Any, clock: Any = None) -> None:
        """Starts one on that port and its data, and waits for nothing."""
        data = self.data(port)
        data.mkdir(exist_ok=True)
        self.started[port] = (arguments, clock)
        self.running[port] = subprocess.Popen(
            [self.mongod, "--dbpath", data, "--port", str(port), "--bind_ip", "127.0.0.1",
             "--logpath", data / "log", *mongod_program.OPTIONS, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
            start_new_session=True, env=at_another_time(clock) if clock else None,
            preexec_fn=die_with_parent())
        if clock:
            mongod_program.sweep_clock(self.folder.path, self.running[port])

    def start_again(self, port: int, *arguments: Any, clock: Any = None) -> None:
        """Ends a server cleanly and starts it with other arguments; waits for no answer."""
        self.running[port].terminate()
        self.running[port].wait()
        self.spawn(port, arguments, clock)

    def bring_back(self) -> None:
        """Starts what has been killed as it was started before."""
        for port, process in list(self.running.items()):
            if process.poll() is not None:
                self.spawn(port, *self.started[port])

    def _came_up(self, port: int, answers: Any) -> bool:
        """False if it ended, as when another program has taken the port in the meantime."""
        process = self.running[port]
        wait_for(f"mongod on port {port}", lambda: process.poll() is not None or answers(port))
        return process.poll() is None

    def _is_ours(self, port: int) -> bool:
        reply = mongo_wire.ask(port, {"getCmdLineOpts": 1})
        path = reply.get("parsed", {}).get("storage", {}).get("dbPath")
        return path == str(self.data(port))

    def data(self, port: int) -> Any:
        return self.folder.path / str(port)

    def _last_words(self, port: int) -> Any:
        log = self.data(port) / "log"
        return log.read_text()[-2000:] if log.exists() else "(none)"

    def stop(self) -> None:
        # Nothing here is to be kept, so nobody waits for a clean shutdown; and SIGKILL also
        # reaches a server that a test has stopped.
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.wait()
        self.folder.close()


def replica_set(servers: Any, name: str, members: Any) -> Any:
    """Starts a set of the given members (`arguments` and `clock` for start(), `arbiter`)."""
    ports = [servers.start("--replSet", name, *m.get("arguments", ()), clock=m.get("clock"))
             for m in members]
    configuration = [
        {"_id": i, "host": f"127.0.0.1:{port}", "arbiterOnly": member.get("arbiter", False)}
        for i, (port, member) in enumerate(zip(ports, members))]
    config_server = any("--configsvr" in m.get("arguments", ()) for m in members)
    whole: dict[str, Any] = {
        "_id": name, "members": configuration, "settings": mongod_program.FAST_ELECTIONS}
    if config_server:
        whole["configsvr"] = True
    command(ports[0], {"replSetInitiate": whole})
    wait_for(f"a primary of {name}", lambda: writable(ports))
    if len(ports) > 1:
        keep_primary(ports, whole)
    data = [port for port, member in zip(ports, members) if not member.get("arbiter")]
    return "mongodb://" + ",".join(f"127.0.0.1:{p}" for p in data) + f"/?replicaSet={name}"


def keep_primary(ports: Iterable[int], whole: dict[str, Any]) -> None:
    """No elections any more but those that a test asks for: a machine that stands still for
    seconds is no fault of what runs beside it."""
    primary = wait_for("a primary", lambda: next(
        (p for p in ports if mongo_wire.ask(p, {"isMaster": 1}).get("ismaster")), None))
    command(primary, {"replSetReconfig": whole | {
        "version": 2, "settings": mongod_program.NO_ELECTIONS}})
    wait_for("its new settings everywhere", lambda: all(
        mongo_wire.ask(port, {"isMaster": 1}).get("setVersion") == 2 for port in ports))
    wait_for("a healthy set", lambda: writable(ports))


def command(port: int, words: dict[str, Any], db: str = "admin") -> dict[str, Any]:
    """The reply, which must be ok. Patient, for a machine may stand still."""
    reply = mongo_wire.ask(port, words, db, timeout=PATIENCE)
    if reply.get("ok") != 1.0:
        raise Broken(f"{next(iter(words))}: {reply}")
    return reply


def writable(ports: Iterable[int]) -> Any:
    """Whether there is a primary and every other member is beside it and has caught up."""
    # Under its old name, the only one that every version knows.
    states = [mongo_wire.ask(port, {"isMaster": 1}) for port in ports]
    up = all(s.get("ismaster") or s.get("secondary") or s.get("arbiterOnly") for s in states)
    primary = next((p for p, s in zip(ports, states) if s.get("ismaster")), None)
    if not up or primary is None:
        return False
    reply = mongo_wire.ask(primary, {
        "insert": "ready", "documents": [{"ready": 1}],
        "writeConcern": {"w": "majority", "wtimeout": 1000}})
    return reply.get("ok") == 1.0 and "writeConcernError" not in reply
