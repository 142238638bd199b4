"""A client of a soak: a process of torturer.cpp."""

import os
import signal
import subprocess
import threading
from typing import Any

from tests.faults import history, processes
from tools.servers import mongod_program

PAGE = os.sysconf("SC_PAGE_SIZE")


def off_clock() -> Any:
    """The environment of a process whose wall clock is ten minutes ahead (facts of libfaketime:
    the steady clocks stay right, and waits on them as long as they are)."""
    return mongod_program.clock_variables() | {
        "FAKETIME": "+10m", "FAKETIME_FORCE_MONOTONIC_FIX": "0"}


class Client:
    def __init__(self, name: str, command: Any, book: Any, spawn: Any, environment: Any = ()) -> None:
        self.name, self.book, self.killed = name, book, False
        self.uri = command[2]
        # Without, the driver leaves a file in /dev/shm behind each program that is killed.
        environment = os.environ | {"MONGOC_DISABLE_SHM": "1"} | dict(environment)
        self.process = spawn(command, env=environment, text=True, stdout=subprocess.PIPE)
        self.reader = threading.Thread(
            target=book.listen, args=(self, self.process.stdout), daemon=True)
        self.reader.start()

    def vitals(self) -> Any:
        """Nothing if it is no more."""
        proc = f"/proc/{self.process.pid}"
        try:
            with open(f"{proc}/statm") as statm:
                return {"rss": int(statm.read().split()[1]) * PAGE,
                        "descriptors": len(os.listdir(f"{proc}/fd")),
                        "threads": len(os.listdir(f"{proc}/task"))}
        except (OSError, IndexError):
            return None

    def kill(self) -> None:
        since, self.killed = processes.now(), True
        processes.kill(self.process)
        self.reader.join()
        self.book.add(history.killed(self.name, since, processes.now(), self.uri))

    def end(self) -> Any:
        """Its exit status, 0 as well if it had not begun or was being killed."""
        if self.killed:
            self.kill()
            return 0
        processes.resume(self.process)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(processes.PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            return "killed, since it would not end"
        self.reader.join()
        early = status == -signal.SIGTERM and self.name not in self.book.started
        return 0 if early else status
