"""Plants processes that never get their turn and looks whether the checker finds them, and nothing
else.

    tools/python tests.faults.checks.turns_test
"""

import unittest
from typing import Any

from tests.faults.checks import turns


def told(*words: Any) -> Any:
    return [dict(zip(("process", "event"), word.split())) for word in words]


def in_order(names: str) -> Any:
    return [{"process": name, "event": "grant", "at": at} for at, name in enumerate(names)]


class Turns(unittest.TestCase):
    def test_a_turn_or_a_time_out_for_everybody_is_good(self) -> None:
        self.assertEqual([], turns.violations(
            told("a grant", "a unlocked", "b busy", "c grant", "d grant"), "ad", "bc", "e"))

    def test_a_process_that_hears_nothing_is_found(self) -> None:
        self.assertEqual(1, len(turns.violations(told("a grant"), "ab", "", "")))
        self.assertEqual(1, len(turns.violations(told("a grant"), "a", "b", "")))

    def test_a_patient_one_that_is_sent_away_is_found(self) -> None:
        self.assertEqual(1, len(turns.violations(told("a busy"), "a", "", "")))
        self.assertEqual(1, len(turns.violations(told("a busy", "a grant"), "a", "", "")))

    def test_an_impatient_one_may_hear_that_the_store_did_not_answer(self) -> None:
        error = [{"process": "a", "event": "error", "code": "not applied, the store is unchanged"}]
        self.assertEqual([], turns.violations(error, "", "a", ""))
        self.assertEqual(1, len(turns.violations(error, "a", "", "")))
        error[0]["code"] = "malformed document"
        self.assertEqual(1, len(turns.violations(error, "", "a", "")))

    def test_a_second_turn_is_found(self) -> None:
        self.assertEqual(1, len(turns.violations(told("a grant", "a grant"), "a", "", "")))

    def test_a_killed_one_may_have_got_anything(self) -> None:
        self.assertEqual([], turns.violations(told("a grant"), "", "", "ab"))

    def test_turns_by_turns_are_fair(self) -> None:
        self.assertEqual([], turns.unfair(in_order("abcbca"), "abc", 2))

    def test_turns_out_of_turn_are_found(self) -> None:
        self.assertEqual(4, len(turns.unfair(in_order("aaabbbccc"), "abc", 3)))

    def test_a_few_that_were_passed_over_are_no_fault(self) -> None:
        self.assertEqual([], turns.unfair(in_order("abacbc"), "abc", 2))

    def test_a_turn_that_never_comes_is_found(self) -> None:
        self.assertEqual(1, len(turns.unfair(in_order("aba"), "ab", 2)))

    def test_the_order_is_that_of_the_clock(self) -> None:
        told = in_order("abcabcabc")
        self.assertEqual([], turns.unfair([*told[::3], *told[1::3], *told[2::3]], "abc", 3))


if __name__ == "__main__":
    unittest.main()
