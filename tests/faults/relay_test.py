"""The relay does to what passes it what it says, and passes all else on; hosts on the loopback find
each other through it.

    tools/python tests.faults.relay_test
"""

import socket
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any


from tests.faults import processes
from tests.faults.loopback import RelayedHosts
from tests.faults.relay import Link, Relay, Way

PATIENCE = 120.0
AWHILE = 0.3  # For what must not come.


def all_of(connection: Any) -> Any:
    """Until its end."""
    data = b""
    try:
        while part := connection.recv(4096):
            data += part
    except ConnectionResetError:
        pass
    return data


class Passing(unittest.TestCase):
    def setUp(self) -> None:
        self.relay, self.there, self.back = Relay(), Way(), Way()
        self.addCleanup(self.relay.close)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.server.close)
        self.server.settimeout(PATIENCE)
        self.port = self.listen(self.server)

    def listen(self, server: Any) -> Any:
        """For what is sent there; gives the port."""
        self.relay.listen(Link(("127.0.0.1", 0), "127.0.0.2", server.getsockname(), self.there,
                               self.back))
        return self.relay.listeners[-1].sockets[0].getsockname()[1]

    def connect(self) -> Any:
        """A client's end, which the server has not accepted yet."""
        client = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        self.addCleanup(client.close)
        return client

    def accept(self) -> Any:
        connection, (self.source, _) = self.server.accept()
        connection.settimeout(PATIENCE)
        self.addCleanup(connection.close)
        return connection

    def pair(self) -> Any:
        return self.connect(), self.accept()

    def say(self, sender: Any, receiver: Any, text: bytes) -> None:
        sender.sendall(text)
        self.assertEqual(text, receiver.recv(len(text)))

    def assert_silent(self, connection: Any) -> None:
        connection.settimeout(AWHILE)
        self.assertRaises(TimeoutError, connection.recv, 1)
        connection.settimeout(PATIENCE)

    def harm(self, way: Any, **how: Any) -> None:
        self.relay.do(vars(way).update, how)

    def test_both_ways_pass_and_the_server_sees_who_asks(self) -> None:
        client, server = self.pair()
        self.say(client, server, b"ask")
        self.say(server, client, b"answer")
        self.assertEqual("127.0.0.2", self.source)

    def test_an_end_is_passed_on_and_the_other_direction_goes_on(self) -> None:
        client, server = self.pair()
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(b"", all_of(server))
        self.say(server, client, b"late answer")
        server.close()
        self.assertEqual(b"", all_of(client))

    def test_a_server_that_is_not_there_ends_its_client(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = self.listen(taken)
            self.assertEqual(b"", all_of(self.connect()))

    def test_of_a_way_that_is_blocked_nothing_comes_before_it_is_healed(self) -> None:
        client, server = self.pair()
        for sender, receiver, way in ((client, server, self.there), (server, client, self.back)):
            self.relay.do(way.block)
            sender.sendall(b"x")
            self.assert_silent(receiver)
            self.say(receiver, sender, b"the other way")
            self.relay.do(way.heal)
            self.assertEqual(b"x", receiver.recv(1))

    def test_what_a_client_sent_into_a_blocked_way_arrives_though_it_has_gone(self) -> None:
        client, server = self.pair()
        self.relay.do(self.there.block)
        client.sendall(b"request")
        client.close()
        self.assert_silent(server)
        self.relay.do(self.there.heal)
        self.assertEqual(b"request", all_of(server))

    def test_no_connection_begins_while_either_way_is_blocked(self) -> None:
        for way in (self.there, self.back):
            self.relay.do(way.block)
            client = self.connect()
            client.sendall(b"x")
            self.server.settimeout(AWHILE)
            self.assertRaises(TimeoutError, self.server.accept)
            self.server.settimeout(PATIENCE)
            self.relay.do(way.heal)
            self.assertEqual(b"x", self.accept().recv(1))

    def test_what_is_delayed_comes_late(self) -> None:
        client, server = self.pair()
        self.harm(self.there, delay=AWHILE)
        begun = time.monotonic()
        self.say(client, server, b"x")
        self.assertGreaterEqual(time.monotonic() - begun, AWHILE)

    def test_a_connection_ends_after_so_many_bytes_and_the_next_after_as_many_more(self) -> None:
        self.harm(self.back, cut_after=5, left=5)
        for struck, (sent, got) in enumerate(((b"abcdefgh", b"abcde"), (b"12345678", b"12345")), 1):
            client, server = self.pair()
            server.sendall(sent)
            self.assertEqual(got, all_of(client))
            self.assertEqual(b"", all_of(server))
            self.assertEqual(struck, self.back.struck)

    def test_bytes_are_counted_over_all_connections(self) -> None:
        self.harm(self.there, cut_after=5, left=5)
        (one, server), (other, its_server) = self.pair(), self.pair()
        self.say(one, server, b"1234")
        other.sendall(b"567")
        self.assertEqual(b"5", all_of(its_server))
        self.say(one, server, b"8")

    def test_a_half_closed_connection_ends_in_one_direction_instead_of_an_answer(self) -> None:
        client, server = self.pair()
        self.harm(self.back, half_closed=True)
        self.say(client, server, b"ask")
        server.sendall(b"answer")
        self.assertEqual(b"", all_of(client))
        self.say(client, server, b"and more")
        self.assertEqual(1, self.back.struck)

    def test_connections_are_forgotten_when_they_have_ended(self) -> None:
        for end in (0, 1):
            ends = self.pair()
            self.say(ends[0], ends[1], b"x")
            ends[end].close()
            ends[1 - end].close()
        processes.wait_for("the end of all connections", lambda: not self.relay.connections)


class Hosts(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.hosts = RelayedHosts(folder.name)
        self.addCleanup(self.hosts.close)

    def said_at(self, host: Any, script: Any) -> Any:
        """By a Python program there."""
        return processes.output_of(self.hosts.spawn(
            host, [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True))

    def test_each_host_has_an_address_of_its_own_for_each_other(self) -> None:
        names = ("a", "b", "c")
        made = [self.hosts.add(name) for name in names]
        script = f"import socket\nfor n in {names}: print(socket.gethostbyname(n))"
        found = [self.said_at(host, script).split() for host in made]
        self.assertEqual(9, len({address for addresses in found for address in addresses}))
        self.assertEqual([host.address for host in made], [found[n][n] for n in range(3)])

    def test_a_server_sees_which_host_asks(self) -> None:
        asker, asked = self.hosts.add("asker"), self.hosts.add("asked")
        with socket.create_server((asked.address, self.hosts.port(asked))) as server:
            server.settimeout(PATIENCE)
            self.said_at(asker, "import socket\n"
                         f"socket.create_connection(('asked', {self.hosts.port(asked)}))")
            connection, (address, _) = server.accept()
            connection.close()
            self.assertEqual(asker.address, address)

    def test_a_library_to_be_loaded_first_is_loaded_beside_that_of_the_names(self) -> None:
        inside = self.hosts.add("a").environment({"LD_PRELOAD": "mine.so"})
        self.assertEqual([self.hosts.library, "mine.so"], inside["LD_PRELOAD"].split(":"))


if __name__ == "__main__":
    unittest.main()
