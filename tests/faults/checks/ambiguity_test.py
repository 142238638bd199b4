"""Plants answers that are not true and looks whether the checker finds them, and nothing else.

    tools/python tests.faults.checks.ambiguity_test
"""

import unittest
from typing import Any


from tests.faults import proxy
from tests.faults.checks import ambiguity

HELD = {"state": 1, "process": "us", "ts": "b", "fence": 2}
FREE = {"state": 0, "process": "us", "ts": "b", "fence": 2}
BEFORE = {"state": 0, "process": "us", "ts": "a", "fence": 1}
THEIRS = {"state": 1, "process": "they", "ts": "c", "fence": 3}
GRANT = {"event": "grant", "ts": "b"}
BUSY = {"event": "busy"}


def error(code: Any) -> Any:
    return {"event": "error", "code": code}


def unlocked(result: Any) -> Any:
    return {"event": "unlocked", "result": result}


class Ambiguity(unittest.TestCase):
    def judge(self, answer: Any, before: Any, stored: Any, commands: Any = ()) -> int:
        return len(ambiguity.violations(answer, before, stored, "us", commands))

    def test_what_is_said_and_stored_is_good(self) -> None:
        for answer, before, stored in (
                (GRANT, None, HELD), (GRANT, BEFORE, HELD), (BUSY, BEFORE, THEIRS),
                (error("not applied, the store is unchanged"), None, None),
                (error("not applied, the store is unchanged"), BEFORE, BEFORE),
                (error("outcome unknown, the store may have changed"), BEFORE, HELD),
                (unlocked("released"), HELD, FREE), (unlocked("pending"), HELD, HELD),
                (unlocked("pending"), HELD, FREE), (unlocked("not_ours"), HELD, THEIRS)):
            with self.subTest(answer=answer, stored=stored):
                self.assertEqual(0, self.judge(answer, before, stored))

    def test_what_is_said_and_not_stored_is_found(self) -> None:
        for answer, before, stored in (
                (GRANT, None, None), (GRANT, BEFORE, BEFORE), (GRANT, BEFORE, THEIRS),
                (BUSY, BEFORE, HELD), (error("not applied, the store is unchanged"), BEFORE, HELD),
                (error("not applied, the store is unchanged"), HELD, FREE),
                (error("malformed document"), None, HELD), (unlocked("released"), HELD, HELD),
                (unlocked("not_ours"), HELD, HELD),
                (unlocked("released"), BEFORE | {"state": 1}, FREE)):
            with self.subTest(answer=answer, stored=stored):
                self.assertEqual(1, self.judge(answer, before, stored))

    def further(self, *kinds: Any) -> Any:
        return self.judge(GRANT, None, HELD, [
            (kind.rstrip("!"), "lost reply" if kind.endswith("!") else None) for kind in kinds])

    def test_two_further_commands_are_good_and_three_are_found(self) -> None:
        self.assertEqual(0, self.further("look", "claim!", "look", "ping", "look"))
        self.assertEqual(1, self.further("look", "claim!", "look", "look", "look"))
        self.assertEqual(0, self.further("release!", "release", "release"))
        self.assertEqual(1, self.further("release!", "release", "release", "release"))

    def test_what_could_be_found_out_and_never_was_is_found(self) -> None:
        for kind, deed, told, found in (
                ("claim", "lost reply", {"outcome unknown"}, True),
                ("release", "half-closed", {"pending"}, True),
                ("claim", "lost reply", {"outcome unknown", "grant"}, False),
                ("release", "cut request", {"pending", "released"}, False),
                ("claim", "lost request", {"not applied"}, False),
                ("claim", "black hole", {"outcome unknown"}, False),
                ("look", "lost reply", {"outcome unknown"}, False)):
            with self.subTest(kind=kind, deed=deed, told=told):
                plan = [proxy.Fault(kind, 1, deed)]
                self.assertEqual(found, ambiguity.never_found_out(plan, told, absent=False))

    def test_after_two_faults_it_can_be_found_out_and_not_after_three(self) -> None:
        plan = [proxy.Fault("claim", 1, "lost reply"), proxy.Fault("look", 2, "lost reply")]
        for plan, told, found in (
                (plan, {"outcome unknown"}, True), (plan, {"grant"}, False),
                ([*plan, proxy.Fault("look", 3, "lost reply")], {"outcome unknown"}, False)):
            with self.subTest(plan=plan, told=told):
                self.assertEqual(found, ambiguity.never_found_out(plan, told, absent=False))

    def test_of_a_request_for_an_absent_document_nothing_need_be_found_out(self) -> None:
        for deed, found in (("lost request", False), ("cut request", False), ("lost reply", True)):
            with self.subTest(deed=deed):
                self.assertEqual(found, ambiguity.never_found_out(
                    [proxy.Fault("claim", 1, deed)], {"outcome unknown"}, absent=True))

    def test_faults_are_counted_by_what_is_lost_of_which_command(self) -> None:
        lost, look = proxy.Fault("claim", 1, "lost reply"), proxy.Fault("look", 2, "cut reply")
        for plan, scenario, name in (
                ([lost], "free", "lost reply of a claim"),
                ([lost], "first", "lost reply of a claim of a lock without a document"),
                ([look], "free", "of another command"), ([lost, look], "free", "two at once at a claim")):
            with self.subTest(name=name):
                self.assertEqual(name, ambiguity.fault_of(plan, scenario))

    def test_what_an_answer_says_is_told_in_a_word_or_two(self) -> None:
        self.assertEqual("outcome unknown", ambiguity.said(
            error("outcome unknown, the store may have changed")))
        self.assertEqual("pending", ambiguity.said(unlocked("pending")))
        self.assertEqual("grant", ambiguity.said(GRANT))

    def test_the_looks_of_a_new_attempt_are_its_own(self) -> None:
        self.assertEqual(0, self.further("claim!", "look", "look", "look", "claim"))
        self.assertEqual(1, self.further("claim!", "look", "look", "look", "look", "claim"))
        self.assertEqual(0, self.further("look", "look", "claim!", "look", "look", "look", "look",
                                         "claim"))


if __name__ == "__main__":
    unittest.main()
