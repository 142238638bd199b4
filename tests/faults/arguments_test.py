"""The arguments that tools/faults takes and refuses, and the command that repeats a run.

    tools/python tests.faults.arguments_test
"""

import os
import shlex
import unittest
import unittest.mock
from typing import Any

from tests.faults import arguments, rig_test
from tests.faults.workloads import intervals


class Refused(unittest.TestCase):
    def refused(self, said: Any, *words: Any, status: Any = arguments.USAGE, **more: Any) -> None:
        """Before it begins, and with one line."""
        with self.subTest(words=words, **more):
            done = rig_test.run(*words, **more)
            self.assertEqual((status, ""), (done.returncode, done.stdout), done.stderr)
            self.assertRegex(done.stderr, f"^tools/faults: [^\n]*{said}[^\n]*\n$")

    def test_a_name_that_nobody_knows_is_refused_with_those_that_are_known(self) -> None:
        self.refused("no such workload: 'interval'; known: .*intervals", "interval")
        self.refused("no such fault: 'nofault'; known: .*step_down", "intervals", "--only",
                     "step_down,nofault")
        self.refused("no such fault: ''; known: ", "intervals", "--only", "")
        self.refused("no such piece of a machine: 'nothing'; known: .*clocks", "skew",
                     "--without", "clocks,nothing")
        self.refused("no such planted bug: 'nosuchbug'; known: .*release", "--planted", "release",
                     "nosuchbug")
        self.refused("no such network: 'bogus'; known: .*loopback", "skew", "--network", "bogus")
        self.refused("no such network: 'bogus'; known: .*loopback", "skew",
                     DISTLOCK_FAULTS_NETWORK="bogus")

    def test_a_number_that_is_not_positive_is_refused(self) -> None:
        for text in ("0", "-5", "many", ""):
            self.refused(f"--count: '{text}' is no whole number", "kills", f"--count={text}")
            self.refused(f"--rounds: '{text}' is no whole number", "skew", f"--rounds={text}")
        for text in ("0", "-1", "nan", "inf", "soon"):
            self.refused(f"--seconds: '{text}' is no number", "takeover", f"--seconds={text}")
        self.refused("--seed: invalid int value: 'x'", "kills", "--seed", "x")

    def test_what_would_run_nothing_is_refused(self) -> None:
        self.refused("skew does not run on sqlite; known: mongod", "skew", "--store", "sqlite")
        self.refused("skew does not run on sqlite", "kills", "skew", "--store", "sqlite")
        self.refused("intervals on sqlite has no fault of --only; known: .*checkpoint", "intervals",
                     "--only", "step_down")
        self.refused("no such fault: 'step_down'; known: none", "kills", "--only", "step_down")
        self.refused("no workload; known: .*intervals", "--seed", "7")

    def test_a_program_that_is_not_built_is_named(self) -> None:
        for option in ("--client", "--remote"):
            self.refused("no program; run tools/build first", "kills", option, "/nowhere/program",
                         status=arguments.UNAVAILABLE)

    def test_without_a_workload_there_is_the_list(self) -> None:
        for words in ((), ("--list",)):
            done = rig_test.run(*words)
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            self.assertIn("intervals ", done.stdout)


class Again(unittest.TestCase):
    def again(self, *words: Any) -> Any:
        with unittest.mock.patch.dict(os.environ, {"DISTLOCK_FAULTS_NETWORK": "loopback"}):
            os.environ.pop("CI", None)
            asked = arguments.make_parser("").parse_args(["intervals", *words])
            return arguments.again("intervals", asked)

    def test_the_command_to_repeat_a_run_has_all_that_it_depends_on(self) -> None:
        words = ("--store mongod --seed 7 --count 3 --seconds 5.5 --rounds 2 --only step_down,delay "
                 "--without 'clocks,small disks' --network loopback --bare --measure --require-all")
        self.assertEqual(f"tools/faults intervals {words}", self.again(*shlex.split(words)))

    def test_the_command_to_repeat_a_run_has_nothing_that_goes_without_saying(self) -> None:
        self.assertEqual("tools/faults intervals --seed 7",
                         self.again("--seed", "7", "--network", "auto"))
        self.assertEqual("tools/faults intervals --seed 7 --network loopback",
                         self.again("--seed", "7"))

    def test_the_command_to_repeat_a_run_asks_for_faults_of_its_own_store_only(self) -> None:
        asked = arguments.make_parser("").parse_args(["--only", "step_down,kill_client"])
        known = {"intervals": intervals}
        for store, faults in (("mongod", "step_down,kill_client"), ("sqlite", "kill_client")):
            said = arguments.again("intervals", arguments.of_run(asked, known, "intervals", store))
            self.assertIn(f"--store {store} ", said)
            self.assertEqual(faults, said.split("--only ")[1].split()[0])


if __name__ == "__main__":
    unittest.main()
