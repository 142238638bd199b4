"""Remotes: processes of remote.cpp, which do with locks what they are told, and all that they said."""

import concurrent.futures
import contextlib
import json
import os
import selectors
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

from tests.faults import history as histories
from tests.faults import namespaces, processes, signals
from tests.faults.processes import Broken

# The events that end the answer to a command.
LAST = ("grant", "busy", "error", "unlocked", "stats")
WAIT = 400_000  # Milliseconds: as long as a remote is patient with its store.
LAST_OF = {"turn": ("busy", "error", "unlocked"), "unlock": ("unlocked", "error"), "spin": ()}


class Remote:
    """One process. It ends when its standard input does, so none survives whoever started it."""

    def __init__(self, remotes: Any, name: str, process: subprocess.Popen) -> None:
        self.remotes, self.name, self.process = remotes, name, process
        self.id = None  # Its process id in the store, once it has started.
        self.failed = None
        self.asked = {}  # By number: the verb.
        self.answers = {}  # By number: the last event of the answer.
        self.closed = False  # Its output: nothing comes any more.

    def tell(self, verb: Any, *words: Any) -> Any:
        """Lets it begin; gives the number for answer()."""
        with self.remotes.changed:
            number = str(len(self.asked))
            self.asked[number] = verb
        line = " ".join([number, verb, *map(str, words)])
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # It was killed; whoever waits for the answer is told.
        return number

    def answer(self, number: int, limit: Any = processes.PATIENCE) -> Any:
        """The last event of the answer."""
        return self._wait(f"an answer to {self.asked[number]}", lambda: self.answers.get(number),
                          limit)

    def ask(self, verb: Any, *words: Any, limit: Any = processes.PATIENCE) -> Any:
        return self.answer(self.tell(verb, *words), limit)

    def wait(self, lock: str) -> Any:
        """Gets it, also where the machine is very slow for a long time."""
        return self.ask("wait", lock, WAIT, limit=WAIT / 1000 + processes.PATIENCE)

    def settle(self) -> None:
        """Until no release of its is pending any more: each comes with a ping to come."""
        processes.wait_for(f"all releases of {self.name}", lambda: not self.ask("stats")["pending"])

    def wait_started(self, limit: Any = processes.PATIENCE) -> Any:
        self._wait("its start", lambda: self.id or self.failed, limit)
        if self.failed:
            raise Broken(f"{self.name}: {self.failed}")
        return self

    def _wait(self, what: str, condition: Any, limit: Any = processes.PATIENCE) -> Any:
        with self.remotes.changed:
            self.remotes.changed.wait_for(lambda: condition() or self.closed, limit)
            found = condition()
        if not found:
            why = "it has ended" if self.closed else f"not in {limit} s"
            raise Broken(f"{self.name}: {what} did not come: {why}")
        return found

    def hear(self, event: dict[str, Any]) -> None:
        kind, number = event["event"], event.get("id")
        if kind == "start":
            self.id = event["id"]
        elif kind == "failed":
            self.failed = event["what"]
        elif kind in LAST_OF.get(self.asked[number], LAST):
            self.answers[number] = event

    def stop(self) -> None:
        self._note("stopping")
        if not processes.stop(self.process):
            raise Broken(f"{self.name} had ended when it was to be stopped")

    def resume(self) -> None:
        self._note("resuming")
        processes.resume(self.process)

    def _note(self, event: str) -> None:
        self.remotes.history.add({"at": processes.now(), "process": self.name, "event": event})

    def kill(self) -> None:
        """SIGKILL; all that it said is in the history afterwards."""
        since = processes.now()
        self.process.kill()
        self._wait("its death", lambda: self.closed)
        self.process.wait()
        self.remotes.history.add(
            histories.killed(self.name, since, processes.now(), self.remotes.uri))

    def finish(self) -> None:
        """Lets it end, and waits for that."""
        self.process.stdin.close()
        self._wait("its end", lambda: self.closed)
        if self.process.wait() != 0:
            raise Broken(f"{self.name} ended with {self.process.returncode}")


def finish_all(remotes: Any) -> None:
    """At once."""
    for remote in remotes:
        remote.process.stdin.close()
    for remote in remotes:
        remote.finish()


class Remotes:
    """All remotes of a run. Threads: any, also to start remotes."""

    def __init__(self, rig: Any, store: Any, host: Any, lease: float = 2.0, ping: float = 0.2, call: float = 0.25) -> None:
        self.program, self.uri, self.host = rig.options.remote, store.uri, host
        self.times = [str(round(1000 * seconds)) for seconds in (lease, ping, call)]
        self.changed = threading.Condition()
        self.history = rig.history
        self.all = []
        self.selector = selectors.DefaultSelector()
        self.dying = self.ended = False
        self.ears = threading.Thread(target=self._listen, daemon=True)
        self.ears.start()

    def start(self, name: str, uri: str = None, environment: Any = ()) -> Any:
        # Without, the driver leaves a file in /dev/shm behind each program that is killed.
        environment = os.environ | {"MONGOC_DISABLE_SHM": "1"} | dict(environment)
        command = [str(self.program), name, uri or self.uri, *self.times]
        if self.host:
            environment = self.host.environment(environment)
        with namespaces.entered(self.host and self.host.network):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       start_new_session=True, env=environment)
        remote = Remote(self, name, process)
        with self.changed:
            self.all.append(remote)
            if self.dying:
                process.kill()
        self.selector.register(process.stdout, selectors.EVENT_READ, [remote, b""])
        return remote

    @contextlib.contextmanager
    def pool(self, size: Any) -> Iterator[Any]:
        """Threads for what remotes do at once; gives the function that begins it. An exception, that
        of a signal too, leaves the rest unbegun, and threads that wait for a remote hear that it
        has ended."""
        def begin(work: Any, *arguments: Any) -> Any:
            with signals.held():  # In there one would leave a mutex locked.
                return pool.submit(work, *arguments)

        with concurrent.futures.ThreadPoolExecutor(size) as pool:
            try:
                yield begin
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self._kill_all()
                raise

    def _kill_all(self) -> None:
        """Also those that are about to be started."""
        with self.changed:
            self.dying = True
            for remote in self.all:
                remote.process.kill()

    def _listen(self) -> None:
        while not self.ended:
            for key, _ in self.selector.select(0.1):
                self._read(key.fileobj, key.data)

    def _read(self, output: Any, state: Any) -> None:
        remote, rest = state
        data = os.read(output.fileno(), 1 << 16)
        *lines, state[1] = (rest + data).split(b"\n")
        events = [json.loads(line) for line in lines]
        with self.changed:
            for event in events:
                self.history.add(event)
                remote.hear(event)
            remote.closed = not data
            self.changed.notify_all()
        if not data:
            self.selector.unregister(output)
            output.close()

    def close(self) -> None:
        for remote in self.all:
            processes.kill(remote.process)
            with contextlib.suppress(BrokenPipeError):  # It was dead when it was told.
                remote.process.stdin.close()
        self.ended = True
        self.ears.join()
