"""Between clients and one server: passes MongoDB's messages on, and counts the commands by their
kinds. Does to a chosen one what a network can do to it."""

import collections
import dataclasses
import math
import socket
import struct
import threading
from typing import Any

from tests.faults import namespaces, processes
from tools.servers import mongo_wire

OP_MSG = 2013
BODY = 16 + 4 + 1  # Of an OP_MSG: after the header, the flags, and the first section's kind.


def kind_of(command: Any) -> Any:
    """The purpose of a command of distlock's; "hello" for the driver's own."""
    verb, collection = next(iter(command.items()))
    if verb == "findAndModify" and collection == "locks":
        return "claim" if command.get("new") else "release"
    if verb == "findAndModify":
        return "remove ping" if command.get("remove") else "ping"
    if verb == "aggregate" and collection == "locks":
        return "holds" if "process" in command["pipeline"][0]["$match"] else "look"
    if verb == "ping":
        return "greeting"
    return "hello" if verb in ("hello", "isMaster", "ismaster", "endSessions") else verb


@dataclasses.dataclass
class Fault:
    """The fate of the command that is the `nth` of its kind since arm()."""
    kind: str
    nth: int
    deed: str


DEEDS = {
    "lost request": "the connection ends before the server has it",
    "cut request": "the server gets the first half of it, and the connection ends",
    "late request": "the server gets it after the caller has given up",
    "lost reply": "the connection ends when the server has answered",
    "cut reply": "the client gets the first half of the answer, and the connection ends",
    "half-closed": "instead of the answer the client gets the end of that direction only",
    "black hole": "neither the answer nor anything else ever comes",
}


class Proxy:
    """Listens on 127.0.0.1 of a network; `late` is for late requests, in seconds."""

    def __init__(self, network: Any, address: Any, late: Any) -> None:
        self.network, self.address, self.late = network, address, late
        self.mutex = threading.Lock()
        self.lines, self.closed = [], False
        self.arm()
        with namespaces.entered(network):
            self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, *faults: Any) -> None:
        """Counts anew, and what was to happen no longer will."""
        with self.mutex:
            self.faults, self.counts, self.log = faults, collections.Counter(), []

    def judge(self, command: Any) -> Any:
        """Notes it, and gives the deed to be done to it, if any."""
        kind = kind_of(command)
        if kind == "hello":
            return None
        with self.mutex:
            self.counts[kind] += 1
            deed = next((fault.deed for fault in self.faults
                         if (fault.kind, fault.nth) == (kind, self.counts[kind])), None)
            self.log.append((processes.now(), kind, deed))
            return deed

    def seen(self, until: Any = math.inf) -> Any:
        """The commands since arm() and up to that time: kind, and what was done to it."""
        with self.mutex:
            return [(kind, deed) for at, kind, deed in self.log if at <= until]

    def _accept(self) -> None:
        while not self.closed:
            try:
                client = self.listener.accept()[0]
            except OSError:
                processes.pause(0.02)  # Of no consequence, unless it is closed.
                continue
            try:
                server = namespaces.connect_in(self.network, self.address, 60.0)
            except OSError:
                client.close()  # One client's loss: others come.
                continue
            server.settimeout(None)
            self.lines.append(Line(self, client, server))

    def close(self) -> None:
        self.closed = True
        # Without, accept() would go on and keep the port.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for line in list(self.lines):
            line.end()


def read_message(connection: Any) -> Any:
    """The next one; nothing at the end."""
    data = b""
    while len(data) < 4 or len(data) < struct.unpack_from("<i", data)[0]:
        wanted = 4 if len(data) < 4 else struct.unpack_from("<i", data)[0]
        part = connection.recv(wanted - len(data))
        if not part:
            return None
        data += part
    return data


class Line:
    """One connection through the proxy, and its two threads."""

    def __init__(self, proxy: Any, client: Any, server: Any) -> None:
        self.proxy, self.client, self.server = proxy, client, server
        self.doomed = {}  # By the number of a request: what becomes of its answer.
        self.silent = False
        for work in (self._up, self._down):
            threading.Thread(target=self._guarded, args=(work,), daemon=True).start()

    def _guarded(self, work: Any) -> None:
        try:
            work()
        except OSError:
            self.end()

    def end(self) -> None:
        for connection in (self.client, self.server):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _up(self) -> Any:
        while message := read_message(self.client):
            number, _, code = struct.unpack_from("<iii", message, 4)
            command = mongo_wire.decode(message[BODY:]) if code == OP_MSG else {"hello": 1}
            deed = self.proxy.judge(command)
            if deed == "lost request":
                return self.end()
            if deed == "cut request":
                self.server.sendall(message[:len(message) // 2])
                return self.end()
            if deed == "late request":
                processes.pause(self.proxy.late)
            elif deed:
                self.doomed[number] = deed
            self.server.sendall(message)
        # Commands on their way may still be done.
        self.server.shutdown(socket.SHUT_WR)

    def _down(self) -> Any:
        while message := read_message(self.server):
            deed = self.doomed.pop(struct.unpack_from("<i", message, 8)[0], None)
            if deed == "black hole":
                self.silent = True
            elif deed == "half-closed":
                self.silent = True
                self.client.shutdown(socket.SHUT_WR)
            elif deed:
                self.client.sendall(message[:len(message) // 2] if deed == "cut reply" else b"")
                return self.end()
            if not self.silent:
                self.client.sendall(message)
        if not self.silent:
            self.end()
