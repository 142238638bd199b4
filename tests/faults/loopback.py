"""Test hosts where there are no network namespaces: addresses of this machine's loopback. Each
host looks up the others in a hosts file of its own (libnss_wrapper), which gives it addresses that
say who asks whom; there a relay listens, and passes on to the real ones what is not cut."""

import collections
import glob
import os
import pathlib
import random
import socket
from typing import Any

from tests.faults import processes
from tests.faults.hosts import Host
from tests.faults.relay import Link, Relay, Way
from tools.servers import mongo_wire
from tools.servers.children import Missing


def names_library() -> Any:
    found = glob.glob("/usr/lib/*/libnss_wrapper.so")
    if not found:
        raise Missing("no libnss_wrapper (package libnss-wrapper)")
    return found[0]


class RelayedHosts:
    """Host number 3 asks host 2 at 127.x.3.2, and the real address of host 2 is 127.x.2.2. From
    there, too, comes what host 2 asks others. All have one port."""

    what = "LOOPBACK, and a relay between all: every partition can be had, one-way ones too"
    relayed = True

    def __init__(self, folder: str | pathlib.Path) -> None:
        self.library = names_library()
        self.folder = pathlib.Path(folder)
        self.prefix = f"127.{random.SystemRandom().randrange(1, 255)}"
        # Taken for as long as this lasts, so that no other run has this port at this prefix.
        self.claim = socket.create_server((f"{self.prefix}.0.1", 0))
        self.only_port = self.claim.getsockname()[1]
        self.hosts = {}
        self.ways = collections.defaultdict(Way)
        self.relay = Relay()

    def add(self, name: str) -> Any:
        number = str(len(self.hosts) + 1)
        file = self.folder / f"{name}.hosts"
        host = Host(name, f"{self.prefix}.{number}.{number}", known_as=name,
                    variables={"LD_PRELOAD": self.library, "NSS_WRAPPER_HOSTS": str(file)})
        for other in self.hosts.values():
            self._link(host, other)
            self._link(other, host)
        self.hosts[name] = host
        for one in self.hosts.values():
            self._tell_names(one)
        return host

    def _seen_by(self, source: Any, target: Any) -> str:
        """The address at which one asks the other."""
        return ".".join([*source.address.split(".")[:3], target.address.split(".")[3]])

    def _link(self, source: Any, target: Any) -> None:
        port = self.only_port
        self.relay.listen(Link(
            (self._seen_by(source, target), port), source.address, (target.address, port),
            self.ways[source.name, target.name], self.ways[target.name, source.name]))

    def _tell_names(self, host: Any) -> None:
        lines = [f"{self._seen_by(host, other)} {other.name}\n" for other in self.hosts.values()]
        (self.folder / f"{host.name}.hosts").write_text("".join(lines))

    def port(self, _host: Any) -> Any:
        return self.only_port

    @staticmethod
    def spawn(host: Any, command: Any, enter: Any = None, env: Any = None, **options: Any) -> Any:
        return processes.spawn(command, enter, env=host.environment(env or os.environ), **options)

    @staticmethod
    def connect(host: Any, port: int, timeout: float = 5.0) -> Any:
        """Past the relay: no cut is in the way."""
        return socket.create_connection((host.address, port), timeout)

    def cut(self, source: Any, target: Any) -> None:
        """From now on nothing that `source` sends reaches `target`, before this is healed."""
        self.relay.do(self.ways[source.name, target.name].block)

    def harm(self, source: Any, target: Any, **how: Any) -> None:
        """As the attributes of a Way say."""
        self.relay.do(vars(self.ways[source.name, target.name]).update, how)

    def struck(self, source: Any, target: Any) -> Any:
        return self.ways[source.name, target.name].struck

    def heal_all(self) -> None:
        for way in list(self.ways.values()):
            self.relay.do(way.heal)

    def reaches(self, source: Any, target: Any, port: int, timeout: float = 1.0) -> bool:
        """Whether a server of the other host answers this one. The relay takes any connection."""
        try:
            address = self._seen_by(source, target), port
            with socket.create_connection(address, timeout) as connection:
                return bool(mongo_wire.ask_on(connection, {"isMaster": 1}))
        except OSError:
            return False

    @staticmethod
    def connections(_host: Any) -> Any:
        """Of this machine, as /proc/net/tcp shows them."""
        with open("/proc/self/net/tcp") as file:
            return file.read().splitlines()[1:]

    def close(self) -> None:
        self.relay.close()
        self.claim.close()
