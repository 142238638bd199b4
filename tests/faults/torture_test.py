"""tools/torture says what it cannot use, and tells what it has done when it is ended early."""

import os
import pathlib
import signal
import subprocess
import unittest
from typing import Any

TORTURE = pathlib.Path(__file__).resolve().parents[2] / "tools/torture"
PATIENCE = 300


def run(*words: Any) -> Any:
    done = subprocess.run([TORTURE, *words], capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout + done.stderr


class Torture(unittest.TestCase):
    def test_what_it_cannot_use_it_says(self) -> None:
        for words, part in (
                ((), "--minutes and --store are needed"),
                (("--minutes", "2"), "--minutes and --store are needed"),
                (("--store", "sqlite"), "--minutes and --store are needed"),
                (("--store", "floppy", "--minutes", "2"), "invalid choice: 'floppy'"),
                (("--store", "sqlite", "--minutes", "soon"), "invalid minutes value: 'soon'"),
                (("--store", "sqlite", "--minutes", "0"), "invalid minutes value: '0'"),
                (("--store", "sqlite", "--minutes", "nan"), "invalid minutes value: 'nan'"),
                (("--store", "sqlite", "--minutes", "2", "--seed", "x"), "invalid int value: 'x'"),
                (("--store", "sqlite", "--minutes", "2", "more"), "unrecognized arguments: more")):
            with self.subTest(words=words):
                status, said = run(*words)
                self.assertEqual(64, status, said)
                self.assertIn(part, said)
                self.assertEqual(1, said.count("\n"), said)

    def test_a_program_that_is_not_built_is_named(self) -> None:
        status, said = run("--store", "memory", "--minutes", "1", "--torturer", "/nowhere/torturer")
        self.assertEqual((69, "tools/torture: no torturer; run tools/build first\n"), (status, said))

    def test_help_is_no_error(self) -> None:
        status, said = run("--help")
        self.assertEqual(0, status)
        self.assertIn("Exit status", said)

    def ended_early(self, number: int, store: Any) -> Any:
        with subprocess.Popen([TORTURE, "--store", store, "--minutes", "60"], text=True,
                              stdout=subprocess.PIPE) as running:
            for line in running.stdout:
                if "for 60 minutes" in line:
                    break
            running.send_signal(number)
            said = running.stdout.read()
            return running.wait(PATIENCE), said

    def test_ended_early_it_tells_what_has_been_done(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            for store in ("memory", "sqlite"):
                with self.subTest(number=number, store=store):
                    status, said = self.ended_early(number, store)
                    self.assertEqual(128 + number, status, said)
                    self.assertIn("ended early", said)
                    self.assertIn(" grants, ", said)

    def test_ctrl_c_on_all_stores_has_each_tell_what_has_been_done(self) -> None:
        with subprocess.Popen([TORTURE, "--store", "all", "--minutes", "60"], text=True,
                              stdout=subprocess.PIPE, start_new_session=True) as running:
            begun = 0
            while begun < 3 and (line := running.stdout.readline()):
                begun += "for 60 minutes" in line
            os.killpg(running.pid, signal.SIGINT)  # As a terminal sends it.
            said = running.stdout.read()
            self.assertEqual(128 + signal.SIGINT, running.wait(PATIENCE), said)
        self.assertEqual(3, said.count("ended early"), said)
        self.assertEqual(3, said.count(" grants, "), said)


if __name__ == "__main__":
    unittest.main()
