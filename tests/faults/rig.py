"""The rig of every workload: a store with real faults, clients, a history, and an end that leaves
nothing behind."""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from tests.faults import clients, hosts, loopback, namespaces, processes
from tests.faults.cluster import Cluster
from tests.faults.history import History
from tests.faults.mirror import Mirror
from tests.faults.nemesis import fault
from tests.faults.processes import wait_for
from tools.servers import mongod_program
from tools.servers.children import Missing, SweptFolder

PREFIX = "distlock-faults-"
VERSION = "6.0"
PIECES = ("namespaces", "partitions", "clocks", "small disks")  # Of a machine; it may lack them.
NETWORKS = ("auto", "loopback")
GROUPS = ("g1", "g2")  # Of clients, each on a host of its own.


def sweep() -> None:
    """Removes what runs left behind that could not even end: their folders name them."""
    for folder in pathlib.Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        owner = re.fullmatch(PREFIX + r"(\d+)-.*", folder.name)
        if owner and not os.path.exists(f"/proc/{owner.group(1)}"):
            shutil.rmtree(folder, ignore_errors=True)


class Rig:
    def __init__(self, options: Any, say: Any) -> None:
        self.options, self.say = options, say
        self.seed, self.store = options.seed, options.store
        self.seconds, self.rounds = options.seconds, options.rounds
        self.random = random.Random(self.seed)
        sweep()
        self.swept = SweptFolder(f"{PREFIX}{os.getpid()}-")
        self.folder = self.swept.path
        self.history = History(options.history or self.folder / "history.jsonl")
        self.hosts: Any = None  # Of hosts.py or loopback.py.
        self.cluster: Any = None  # A Cluster, or a Mirror.
        self.disk: namespaces.SmallDisk = None
        self.sqlite_path = self.folder / "locks.db"
        self.lacking = set()
        self.clients = []
        self.made = 0

    def lacks(self, what: str, why: Any) -> None:
        """The machine has no such thing. Where everything is demanded, that is the end."""
        if self.options.require_all:
            raise Missing(f"no {what}: {why}")
        self.say(f"NO {what.upper()}: {why}")
        self.lacking.add(what)

    def _make(self, what: str, maker: Any) -> Any:
        """Makes a piece of the rig; gives nothing where the machine cannot have it."""
        try:
            if what in self.options.without:
                raise Missing("as was asked for")
            return maker()
        except Missing as why:
            self.lacks(what, why)
            return None

    def _small_disk(self, folder: pathlib.Path) -> Any:
        folder.mkdir()
        size = 16 if self.store == "sqlite" else 400
        return self._make("small disks", lambda: namespaces.SmallDisk(folder, size))

    def find_hosts(self) -> Any:
        """The best that there are, or those that were asked for."""
        found, without = None, self.options.without
        if self.options.network != "loopback" and "partitions" not in without:
            found = self._make("namespaces", hosts.NamespaceHosts)
        return (found or self._make("partitions", lambda: loopback.RelayedHosts(self.folder))
                or hosts.BareHosts())

    def start_mongod(self, size: int = 3, small_disk: bool = False, clock: str = "") -> None:
        """A replica set, or a standalone if the size is 1, and hosts for clients."""
        self._start_hosts()
        disks = {"m3": self._small_disk(self.folder / "m3")} if small_disk else {}
        has_clocks = self._make("clocks", mongod_program.clock_library)
        self.cluster = Cluster(self.hosts, self.folder, size, disks, clock if has_clocks else "")
        self._start_servers("standalone" if size == 1 else f"replica set of {size}")

    def _start_hosts(self) -> None:
        self.hosts = self.find_hosts()
        self.say(f"hosts: {self.hosts.what}")
        self.history.add({"at": processes.now(), "process": "rig", "event": "hosts",
                          "what": self.hosts.what})
        for group in GROUPS:
            self.hosts.add(group)

    def _start_servers(self, kind: str) -> None:
        self.say(f"store: mongod {self.cluster.version}, {kind}")
        wanted = mongod_program.wanted_version()
        if not wanted and not self.cluster.version.startswith(VERSION):
            self.lacks(f"mongod {VERSION}", f"faults of {self.cluster.version} may be others")
        if mongod_program.is_older(self.cluster.version, fault.BLOCKS_SINCE):
            self.lacking.add(fault.BLOCKING)  # Where this version was asked for, so is that.
        self.cluster.start()

    def start_store(self, size: int = 3, small_disk: bool = False) -> Any:
        """The asked one; with a disk that can be filled, of one member or of the file, or not."""
        if self.store == "mongod":
            return self.start_mongod(size, small_disk)
        if self.store == "mirrored":
            self._start_hosts()
            self.cluster = Mirror(self.hosts, self.folder, size)
            return self._start_servers(f"{size} members of a mirrored store")
        if small_disk:
            self.sqlite_path = self.folder / "disk/locks.db"
            self.disk = self._small_disk(self.sqlite_path.parent)
        self.say(f"store: SQLite, in one file, on {'a small disk' if self.disk else 'the disk'}")

    @property
    def groups(self) -> Any:
        return GROUPS

    @property
    def relayed(self) -> Any:
        """Whether something is between the hosts that can do more than drop what they send."""
        return self.hosts is not None and self.hosts.relayed

    def outside(self, path: Any) -> Any:
        """How the rig itself gets to a file of the clients."""
        if self.disk is None:
            return pathlib.Path(path)
        return self.disk.outside / pathlib.Path(path).name

    def sqlite_program(self, *words: Any) -> Any:
        """Another program on that file."""
        program = pathlib.Path(__file__).with_name("sqlite_program.py")
        return processes.spawn([sys.executable, "-I", program, self.sqlite_path, *words],
                               self.disk and self.disk.enter, stdout=subprocess.PIPE, text=True)

    def uri(self) -> Any:
        if self.cluster is None:
            return f"sqlite:{self.sqlite_path}"
        return self.cluster.uri()

    def client(self, **settings: Any) -> Any:
        """A new client process. Those on mongod are on the hosts of the groups, by turns."""
        self.made += 1
        name = settings.pop("name", f"c{self.made}")
        group = GROUPS[self.made % len(GROUPS)]

        def spawn(command: Any, **options: Any) -> Any:
            if self.hosts is None:
                return processes.spawn(command, self.disk and self.disk.enter, **options)
            return self.hosts.spawn(self.hosts.hosts[group], command, **options)

        asked = dict(settings)
        settings = {"store": self.uri(), "seed": self.random.randrange(10**6), **settings}
        made = clients.Client(name, self.options.client, self.history, spawn, **settings)
        made.settings, made.host = asked, self.hosts and self.hosts.hosts[group]
        self.clients.append(made)
        return made

    def wait_grant(self, lock: str = None) -> None:
        """Until somebody has got a lock since now."""
        wait_for("a grant", lambda: self.history.wait(
            lambda e: e["event"] == "grant" and lock in (None, e["lock"]), 10,
            self.history.size()))

    def wait_event(self, client: Any, kind: Any) -> None:
        """Until that client has told of such a thing since it began."""
        wait_for(f"{kind} of {client.name}", lambda: self.history.wait(
            lambda e: e["process"] == client.name and e["event"] == kind, 1))

    def end_clients(self) -> Any:
        """In good order; their last words are in the history then. Gives those that failed,
        with their exit status, or the signal that ended them as a negative number."""
        for client in self.clients:
            client.ask_to_end()
        statuses = {client.name: client.wait_ended() for client in self.clients}
        self.clients = []
        return [f"{name} ({status})" for name, status in statuses.items() if status != 0]

    def close(self) -> None:
        for client in self.clients:
            processes.kill(client.process)
        if self.cluster:
            self.cluster.close()
        if self.hosts:
            self.hosts.close()
        if self.disk:
            self.disk.close()
        self.history.close()
        self.swept.close()
