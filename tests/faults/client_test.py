"""Refusals of the rig's client: a checker of one's own must not judge a run of another kind.

    tools/python tests.faults.client_test
"""

import json
import signal
import subprocess
import tempfile
import types
import unittest
from typing import Any

from tests.faults import arguments, clients, processes

CLIENT = arguments.BUILT / "faults_client"


def start(*words: Any) -> Any:
    return subprocess.Popen([CLIENT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, preexec_fn=processes.die_with_parent())


class Client(unittest.TestCase):
    def refused(self, said: Any, *words: Any, needed: Any = ("name=c", "store=memory:")) -> None:
        with self.subTest(words=words):
            done = start(*needed, *words)
            self.addCleanup(processes.kill, done)
            output, errors = done.communicate(timeout=processes.PATIENCE)
            self.assertEqual((64, ""), (done.returncode, output), errors)
            self.assertRegex(errors, f"^faults_client: [^\n]*{said}[^\n]*\n$")

    def test_a_key_that_nobody_knows_is_refused(self) -> None:
        for word in ("lese=2000", "lease", "=2000", ""):
            self.refused(f"{word.split('=')[0]}: not KEY=VALUE with a known key: .*lease", word)

    def test_a_value_that_nobody_knows_is_refused(self) -> None:
        self.refused("work=dance: known: intervals, hold, counter", "work=dance")
        for value in ("yes", "True", ""):
            self.refused(f"guarded={value}: known: true, false", f"guarded={value}")
        for value in ("abc", "2s", "-1", "", " 5", "1.5", "99999999999999999999"):
            self.refused(f"lease={value}: a whole number", f"lease={value}")
            self.refused(f"seed={value}: a whole number", f"seed={value}")
        self.refused("unknown scheme", needed=("name=c", "store=floppy:x"))

    def test_what_is_needed_and_missing_is_said(self) -> None:
        for needed in ((), ("name=c",), ("store=memory:",), ("name=", "store=memory:")):
            self.refused("name= and store= are needed", needed=needed)
        for store in ("memory:", "mongodb://127.0.0.1:9/"):
            self.refused("work=counter needs resource=", "work=counter",
                         needed=("name=c", f"store={store}"))

    def test_what_is_known_works_until_sigterm(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        one = start('name=a "b"', f"store=sqlite:{folder.name}/l.db", "work=counter", "guarded=false",
                    "hold=0", "rest=0")
        self.addCleanup(processes.kill, one)
        while json.loads(one.stdout.readline())["event"] != "write":
            pass
        one.send_signal(signal.SIGTERM)
        output, errors = one.communicate(timeout=processes.PATIENCE)
        events = [json.loads(line) for line in output.splitlines()]
        self.assertEqual((0, "", "end"), (one.returncode, errors, events[-1]["event"]))
        self.assertEqual({'a "b"'}, {event["process"] for event in events})

    def test_a_sigterm_that_comes_before_its_begin_ends_it_as_well(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        events = types.SimpleNamespace(add=lambda event: None)
        one = clients.Client("c", CLIENT, events, processes.spawn, store=f"sqlite:{folder.name}/l.db",
                             lock="l", lease=2000, ping=250, call=400, hold=100)
        self.addCleanup(one.process.stdout.close)
        self.addCleanup(processes.kill, one.process)
        one.ask_to_end()
        self.assertEqual(0, one.wait_ended())


if __name__ == "__main__":
    unittest.main()
