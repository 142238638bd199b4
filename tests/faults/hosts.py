"""Test hosts: each a network namespace with an address, all on one switch; or else, where that and
loopback.py are not to be had, all of them this machine."""

import dataclasses
import os
import shutil
import socket
from typing import Any

from tests.faults import namespaces, processes
from tools.servers.children import Missing

SUBNET = "10.213.7"


@dataclasses.dataclass
class Host:
    name: str
    address: str
    network: int = None  # The namespace, as an open file; none if it is this machine's.
    known_as: str = ""  # To others; by default the address.
    variables: dict = dataclasses.field(default_factory=dict)  # Of the environment inside.

    def enter(self) -> None:
        namespaces.enter(self.network)

    @property
    def listens(self) -> Any:
        """The addresses at which a server of this host does."""
        return {self.address} | ({"127.0.0.1"} if self.network else set())

    def environment(self, outer: Any) -> Any:
        """That of a program here; each may have a library of its own loaded first."""
        loaded = [more["LD_PRELOAD"] for more in (self.variables, outer) if more.get("LD_PRELOAD")]
        preload = {"LD_PRELOAD": ":".join(loaded)} if loaded else {}
        return {**outer, **self.variables, **preload}


class NamespaceHosts:
    """Hosts whose links are cut by dropping packets, in one direction if so asked."""

    what = "NETWORK NAMESPACES: every partition can be had, one-way ones too"
    relayed = False

    def __init__(self) -> None:
        for program in ("ip", "iptables"):
            if not shutil.which(program):
                raise Missing(f"no {program} (packages iproute2, iptables)")
        self.hosts = {}
        self.cuts = set()
        try:
            self.switch = namespaces.new_network()
            namespaces.run_in(self.switch, "ip", "link", "add", "name", "switch", "type", "bridge")
            namespaces.run_in(self.switch, "ip", "link", "set", "switch", "up")
            self.add("trial")
        except OSError as error:
            raise Missing(f"no network namespaces here: {error}") from None

    def add(self, name: str) -> Any:
        number = len(self.hosts) + 1
        host = Host(name, f"{SUBNET}.{number}", namespaces.new_network())
        far = f"port{number}"
        namespaces.run_in(self.switch, "ip", "link", "add", "name", far, "type", "veth", "peer",
                          "name", "eth0", "netns", f"/proc/self/fd/{host.network}",
                          files=(host.network,))
        namespaces.run_in(self.switch, "ip", "link", "set", far, "master", "switch", "up")
        namespaces.run_in(host.network, "ip", "address", "add", f"{host.address}/24", "dev", "eth0")
        namespaces.run_in(host.network, "ip", "link", "set", "eth0", "up")
        namespaces.run_in(host.network, "iptables", "-w", "-S")
        self.hosts[name] = host
        return host

    @staticmethod
    def port(_host: Any) -> int:
        """For the server of a host."""
        return 27017

    def spawn(self, host: Any, command: Any, enter: Any = None, **options: Any) -> Any:
        def both() -> None:
            host.enter()
            if enter:
                enter()
        return processes.spawn(command, both, **options)

    def connect(self, host: Any, port: int, timeout: float = 5.0) -> Any:
        """To a server of that host, from that host: no cut is in the way."""
        return namespaces.connect_in(host.network, ("127.0.0.1", port), timeout)

    def cut(self, source: Any, target: Any) -> None:
        """From now on nothing that `source` sends reaches `target`."""
        if (source.name, target.name) not in self.cuts:
            self._rule(target, "-A", source)
            self.cuts.add((source.name, target.name))

    def heal(self, source: Any, target: Any) -> None:
        if (source.name, target.name) in self.cuts:
            self._rule(target, "-D", source)
            self.cuts.discard((source.name, target.name))

    def heal_all(self) -> None:
        for source, target in list(self.cuts):
            self.heal(self.hosts[source], self.hosts[target])

    @staticmethod
    def _rule(target: Any, action: Any, source: Any) -> None:
        namespaces.run_in(target.network, "iptables", "-w", action, "INPUT", "-s", source.address,
                          "-j", "DROP")

    def reaches(self, source: Any, target: Any, port: int, timeout: float = 1.0) -> bool:
        """Whether a connection can be made from one host to a server of the other."""
        try:
            namespaces.connect_in(source.network, (target.address, port), timeout).close()
            return True
        except OSError:
            return False

    @staticmethod
    def connections(host: Any) -> Any:
        """Of a host, as /proc/net/tcp shows them."""
        return namespaces.run_in(host.network, "cat", "/proc/self/net/tcp").splitlines()[1:]

    def close(self) -> None:
        for host in self.hosts.values():
            os.close(host.network)
        os.close(self.switch)


class BareHosts:
    """All hosts are this machine: links cannot be cut."""

    what = "THIS MACHINE ONLY: nothing comes between the processes"
    relayed = False

    def __init__(self) -> None:
        self.hosts = {}

    def add(self, name: str) -> Any:
        self.hosts[name] = Host(name, "127.0.0.1")
        return self.hosts[name]

    @staticmethod
    def port(_host: Any) -> Any:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    @staticmethod
    def spawn(_host: Any, command: Any, enter: Any = None, **options: Any) -> Any:
        return processes.spawn(command, enter, **options)

    @staticmethod
    def connect(_host: Any, port: int, timeout: float = 5.0) -> Any:
        return socket.create_connection(("127.0.0.1", port), timeout)

    def heal_all(self) -> None:
        pass

    @staticmethod
    def connections(_host: Any) -> Any:
        with open("/proc/self/net/tcp") as file:
            return file.read().splitlines()[1:]

    def close(self) -> None:
        pass
