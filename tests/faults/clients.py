"""The clients: real processes of tests/faults/client.cpp, whose event lines go into the history."""

import json
import os
import signal
import subprocess
import threading
from typing import Any

from tests.faults import history as histories
from tests.faults import processes


class Client:
    """One process. Its `name` is its own: a client that is started again gets a new one."""

    def __init__(self, name: str, program: Any, history: Any, spawn: Any, **settings: Any) -> None:
        self.name, self.history = name, history
        words = [f"{key}={value}" for key, value in settings.items()]
        # Without, the driver leaves a file in /dev/shm behind each program that is killed.
        environment = os.environ | {"MONGOC_DISABLE_SHM": "1"}
        self.process = spawn([program, f"name={name}", *words], kept=[signal.SIGTERM],
                             env=environment, text=True, stdout=subprocess.PIPE)
        self.unreadable: list[str] = []
        self.of_death = str(settings.get("store", "")), settings.get("witness", "children")
        self.killing_since: int = None
        self.settings: dict[str, Any] = {}  # As asked for, and where it runs, for one like it.
        self.host: Any = None
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            try:
                self.history.add(json.loads(line))
            except json.JSONDecodeError:
                self.unreadable.append(line)

    def say(self, event: str, **more: Any) -> None:
        """Notes what the rig does to it."""
        self.history.add({"at": processes.now(), "process": self.name, "event": event, **more})

    def ended(self) -> bool:
        return self.process.poll() is not None

    def must_be_readable(self, killed: Any) -> None:
        """A SIGKILL may have cut off its last line."""
        cut_off = [line for line in self.unreadable[-1:] if killed and not line.endswith("\n")]
        if self.unreadable != cut_off:
            raise processes.Broken(f"{self.name} said what is no event: {self.unreadable[0]!r}")

    def stop(self) -> Any:
        self.say("stopping")
        return processes.stop(self.process)

    def resume(self) -> None:
        self.say("resuming")
        processes.resume(self.process)

    def send_kill(self) -> None:
        """SIGKILL, for kill() to follow."""
        if self.killing_since is None:
            self.killing_since = processes.now()
        self.process.kill()

    def kill(self) -> None:
        """SIGKILL, and waits until it is dead and all that it said is in the history."""
        self.send_kill()
        self.process.wait()
        self.reader.join()
        self.history.add(histories.killed(self.name, self.killing_since, processes.now(),
                                        *self.of_death))
        self.must_be_readable(killed=True)

    def ask_to_end(self) -> None:
        processes.resume(self.process)
        if not self.ended():
            self.process.send_signal(signal.SIGTERM)

    def wait_ended(self, seconds: float = processes.PATIENCE) -> Any:
        """Its exit status, after SIGTERM."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise processes.Broken(f"{self.name} did not end in {seconds} s") from None
        self.reader.join()
        self.must_be_readable(killed=False)
        return status
