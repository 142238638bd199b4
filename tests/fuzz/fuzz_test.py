"""Arguments that tools/fuzz refuses, before it builds anything.

    tools/python tests.fuzz.fuzz_test
"""

import pathlib
import subprocess
import unittest
from typing import Any

FUZZ = pathlib.Path(__file__).resolve().parents[2] / "tools/fuzz"


class Refused(unittest.TestCase):
    def refused(self, said: Any, *words: Any) -> None:
        with self.subTest(words=words):
            done = subprocess.run([FUZZ, *words], capture_output=True, text=True)
            self.assertEqual((64, ""), (done.returncode, done.stdout), done.stderr)
            self.assertIn(said, done.stderr)

    def test_a_number_that_is_missing_or_not_positive_is_refused(self) -> None:
        for option in ("--runs", "--seconds", "--seed"):
            self.refused(f"tools/fuzz: {option} is to be a whole number", option)
            for text in ("", "many", "0", "-1", "1.5", "12345678901"):
                self.refused(f"tools/fuzz: {option} is to be a whole number", option, text)

    def test_a_target_that_is_not_there_is_refused(self) -> None:
        self.refused("tools/fuzz: there is no 'nosuch'", "json", "nosuch")

    def test_another_option_is_refused_with_those_that_are_known(self) -> None:
        self.refused("tools/fuzz [--runs N | --seconds S]", "--quick")


if __name__ == "__main__":
    unittest.main()
