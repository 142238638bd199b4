"""One mongod on a host of its own, that can be killed, stopped, mis-clocked and restarted."""

import os
import pathlib
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from tests.faults import processes
from tests.faults.processes import Broken, wait_for
from tools.servers import mongo_wire, mongod_program


class Member:
    def __init__(self, hosts: Any, mongod: Any, folder: pathlib.Path, name: str, arguments: Sequence[str] = (), disk: Any = None) -> None:
        self.name, self.hosts, self.mongod = name, hosts, mongod
        self.host = hosts.add(name)
        self.port = hosts.port(self.host)
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir(exist_ok=True)
        self.arguments = arguments
        self.process: subprocess.Popen = None
        self.clock = ""  # As libfaketime writes it: "+10m"; empty for the right time.
        self.disk = disk

    @property
    def address(self) -> str:
        return f"{self.host.known_as or self.host.address}:{self.port}"

    def start(self) -> None:
        environment = dict(os.environ)
        if self.clock:
            clock = pathlib.Path(self.folder.parent) / f"{self.name}.clock"
            self.set_clock(self.clock)
            environment |= mongod_program.clock_variables() | {
                "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_CACHE_DURATION": "1"}
        log = self.folder.parent / f"{self.name}.log"
        addresses = ",".join(sorted(self.host.listens))
        self.process = self.hosts.spawn(
            self.host, [self.mongod, "--dbpath", self.folder, "--port", self.port, "--logpath", log,
                        "--logappend", "--bind_ip", addresses, *mongod_program.OPTIONS,
                        *self.arguments],
            enter=self.disk and self.disk.enter, env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        if self.clock:
            mongod_program.sweep_clock(self.folder.parent, self.process)

    def set_clock(self, offset: Any) -> None:
        """Of a member that was started with a clock of its own: within about a second."""
        file = self.folder.parent / f"{self.name}.clock"
        fresh = file.with_suffix(".new")
        fresh.write_text(offset + "\n")
        fresh.rename(file)
        self.clock = offset

    def ask(self, command: Any, db: str = "admin", timeout: float = 5.0) -> Any:
        """The reply, whether ok or not. OSError if there is none."""
        with self.hosts.connect(self.host, self.port, timeout) as connection:
            return mongo_wire.ask_on(connection, command, db)

    def tell(self, command: Any, db: str = "admin", timeout: float = 5.0) -> Any:
        reply = self.ask(command, db, timeout)
        if reply.get("ok") != 1.0:
            raise Broken(f"{self.name}: {next(iter(command))}: {reply.get('errmsg')}")
        return reply

    def hello(self) -> Any:
        """Its state, nothing if it does not say."""
        try:
            return self.ask({"isMaster": 1}, timeout=2.0)
        except OSError:
            return {}

    def wait_up(self) -> None:
        def up() -> bool:
            if self.process.poll() is not None:
                raise Broken(f"{self.name} ended; its last words:\n{self.last_words()}")
            return self.ask({"isMaster": 1}).get("ok") == 1.0
        wait_for(f"{self.name}", up)

    def last_words(self) -> Any:
        log = self.folder.parent / f"{self.name}.log"
        return log.read_text(errors="replace")[-2000:] if log.exists() else "(none)"

    def kill(self) -> None:
        processes.kill(self.process)

    def restart(self) -> None:
        """From its data."""
        self.kill()
        self.start()
        self.wait_up()

    def restart_empty(self) -> None:
        """With nothing of its data."""
        self.kill()
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        self.start()
        self.wait_up()

    def stop(self) -> Any:
        return processes.stop(self.process)

    def resume(self) -> None:
        processes.resume(self.process)

    def close(self) -> None:
        if self.process:
            self.kill()
        if self.disk:
            self.disk.close()
