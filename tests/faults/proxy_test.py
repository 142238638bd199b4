"""The proxy does to the chosen command what it says, and passes all others on.

    tools/python tests.faults.proxy_test
"""

import socket
import struct
import threading
import unittest
import unittest.mock
from typing import Any


from tests.faults import proxy
from tools.servers import mongo_wire

PATIENCE = 60.0
LATE = 0.5


def message(command: Any, number: int = 7, answers: int = 0) -> Any:
    body = bytes(4) + b"\0" + mongo_wire.encode(command)
    return struct.pack("<iiii", len(body) + 16, number, answers, proxy.OP_MSG) + body


CLAIM = message({"findAndModify": "locks", "query": {"_id": "a"}, "new": True})
LOOK = message({"aggregate": "locks", "pipeline": [{"$match": {"_id": "a"}}]}, 8)


class Server:
    """Answers each command with {ok: 1.0}, and notes what it got."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.got, self.changed = [], threading.Condition()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: Any) -> None:
        with connection:
            while got := proxy.read_message(connection):
                with self.changed:
                    self.got.append(got)
                    self.changed.notify_all()
                number = struct.unpack_from("<i", got, 4)[0]
                try:
                    connection.sendall(message({"ok": 1.0}, 99, number))
                except OSError:
                    return

    def has(self, wanted: Any) -> Any:
        with self.changed:
            return self.changed.wait_for(lambda: wanted in self.got, PATIENCE)


class Proxy(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.listener.close)
        address = self.server.listener.getsockname()
        self.proxy = proxy.Proxy(None, address, LATE)
        self.addCleanup(self.proxy.close)
        self.client = socket.create_connection(("127.0.0.1", self.proxy.port), PATIENCE)
        self.addCleanup(self.client.close)

    def do(self, deed: Any) -> None:
        """A look passes, and then the deed is done to a claim."""
        self.proxy.arm(proxy.Fault("claim", 1, deed))
        self.client.sendall(LOOK)
        self.assertTrue(proxy.read_message(self.client))
        self.client.sendall(CLAIM)

    def rest(self) -> Any:
        """All that the client gets from here to the end."""
        data = b""
        try:
            while part := self.client.recv(4096):
                data += part
        except ConnectionResetError:
            pass
        return data

    def test_without_a_fault_everything_passes(self) -> None:
        self.proxy.arm()
        for sent in (LOOK, CLAIM):
            self.client.sendall(sent)
            self.assertTrue(proxy.read_message(self.client))
        self.assertEqual([LOOK, CLAIM], self.server.got)
        self.assertEqual([("look", None), ("claim", None)], self.proxy.seen())

    def test_what_came_later_is_not_among_what_was_seen_until_then(self) -> None:
        self.do("lost reply")
        self.rest()
        self.assertEqual([("look", None), ("claim", "lost reply")], self.proxy.seen())
        between = sum(at for at, _, _ in self.proxy.log) // 2
        self.assertEqual([("look", None)], self.proxy.seen(between))

    def test_a_server_that_could_not_be_reached_once_is_reached_again(self) -> None:
        self.client.close()
        with unittest.mock.patch("tests.faults.namespaces.connect_in", side_effect=ConnectionRefusedError):
            with socket.create_connection(("127.0.0.1", self.proxy.port), PATIENCE) as lost:
                self.assertEqual(b"", lost.recv(1))
        with socket.create_connection(("127.0.0.1", self.proxy.port), PATIENCE) as client:
            client.sendall(LOOK)
            self.assertTrue(proxy.read_message(client))

    def test_a_request_that_is_lost_or_cut_never_arrives(self) -> None:
        for deed in ("lost request", "cut request"):
            with self.subTest(deed=deed):
                self.setUp()
                self.do(deed)
                self.assertEqual(b"", self.rest())
                self.assertEqual([LOOK], self.server.got)
                self.assertEqual(("claim", deed), self.proxy.seen()[-1])

    def test_a_late_request_arrives_though_its_client_has_gone(self) -> None:
        self.do("late request")
        self.client.close()
        self.assertTrue(self.server.has(CLAIM))

    def test_of_a_reply_that_is_lost_or_cut_the_request_arrives(self) -> None:
        whole = len(message({"ok": 1.0}))
        for deed, size in (("lost reply", 0), ("cut reply", whole // 2)):
            with self.subTest(deed=deed):
                self.setUp()
                self.do(deed)
                self.assertEqual(size, len(self.rest()))
                self.assertTrue(self.server.has(CLAIM))

    def test_a_half_closed_connection_ends_in_one_direction(self) -> None:
        self.do("half-closed")
        self.assertEqual(b"", self.rest())
        self.client.sendall(LOOK)
        self.assertTrue(self.server.has(CLAIM))
        with self.server.changed:
            self.assertTrue(self.server.changed.wait_for(lambda: len(self.server.got) == 3, PATIENCE))

    def test_from_a_black_hole_nothing_comes_back(self) -> None:
        self.do("black hole")
        self.client.sendall(LOOK)
        with self.server.changed:
            self.assertTrue(self.server.changed.wait_for(lambda: len(self.server.got) == 3, PATIENCE))
        self.client.settimeout(LATE)
        self.assertRaises(TimeoutError, self.client.recv, 1)


if __name__ == "__main__":
    unittest.main()
