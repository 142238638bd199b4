"""Plants violations in the events of a soak and looks whether the checker finds them, and nothing
else.

    tools/python tests.faults.checks.soak_test
"""

import json
import types
import unittest
from typing import Any


from tests.faults.checks import soak
from tests.faults.soak.book import Book

MS = 10**6


def event(at: int, contender: Any, kind: Any, fence: int = None, **more: Any) -> Any:
    made = {"at": at * MS, "process": contender.split("/")[0], "event": kind}
    if fence is not None:
        made |= {"contender": contender, "lock": "x", "fence": fence, "ts": str(fence)}
    return made | more


def grant(at: int, contender: Any, fence: int, until: Any, **more: Any) -> Any:
    return event(at, contender, "grant", fence, valid_until=until * MS, **more)


class Overlaps(unittest.TestCase):
    def test_threads_of_one_process_are_contenders_of_their_own(self) -> None:
        told = [grant(0, "p/0", 1, 90), grant(50, "p/1", 2, 200)]
        self.assertEqual(1, len(soak.overlaps(told)))
        self.assertEqual([], soak.overlaps([*told, event(40, "p/0", "unlocking", 1)]))

    def test_a_hold_that_is_renewed_is_believed_in_for_longer(self) -> None:
        told = [grant(0, "p/0", 1, 40), event(30, "p/0", "valid", 1, valid_until=90 * MS),
                grant(50, "p/1", 2, 200)]
        self.assertEqual(1, len(soak.overlaps(told)))

    def test_a_kill_ends_no_belief_before_its_deadline(self) -> None:
        told = [grant(0, "p/0", 1, 90), event(40, "p", "killed"), grant(90, "q/0", 2, 200)]
        self.assertEqual([], soak.overlaps(told))
        told[2]["at"] = 89 * MS
        self.assertEqual(1, len(soak.overlaps(told)))

    def test_a_death_that_the_kernel_tells_of_ends_the_beliefs_of_all_its_threads(self) -> None:
        told = [grant(0, "p/0", 1, 90), event(60, "p", "killed", believed_until=40 * MS),
                grant(50, "q/0", 2, 200)]
        self.assertEqual([], soak.overlaps(told))
        told[2]["at"] = 39 * MS
        self.assertEqual(1, len(soak.overlaps(told)))

    def test_a_break_ends_the_belief_of_that_hold_only(self) -> None:
        told = [grant(0, "p/0", 1, 90), event(40, "q/1", "breaking", 1), grant(50, "q/0", 2, 200)]
        self.assertEqual([], soak.overlaps(told))
        told[1]["ts"] = "7"
        self.assertEqual(1, len(soak.overlaps(told)))

    def test_a_break_ends_the_belief_of_whom_the_hold_was_passed_on_to(self) -> None:
        told = [grant(0, "p/0", 2, 90, ts="a"), event(40, "q/1", "breaking", 64, ts="a"),
                grant(45, "p/1", 3, 90, ts="a"), grant(50, "q/0", 65, 200, ts="b")]
        self.assertEqual([], soak.overlaps(told))
        told[1]["ts"] = "c"
        self.assertEqual(2, len(soak.overlaps(told)))

    def test_a_break_that_freed_nothing_ends_no_belief(self) -> None:
        told = [grant(0, "p/0", 1, 90), event(40, "q/1", "breaking", 1), grant(50, "q/0", 2, 200)]
        cases: tuple[tuple[dict[str, Any], int], ...] = (
                ({"event": "broken"}, 0),
                ({"event": "error", "code": "outcome unknown, the store may have changed"}, 0),
                ({"event": "lost", "lock": "z", "fence": 9}, 0),
                ({"event": "breaking", "lock": "z", "fence": 2, "ts": "2"}, 1),
                ({"event": "unlocking", "lock": "z", "fence": 9}, 1))
        for then, found in cases:
            with self.subTest(then=then):
                after: dict[str, Any] = {"at": 41 * MS, "process": "q", "contender": "q/1"} | then
                self.assertEqual(found, len(soak.overlaps([*told, after])))

    def test_of_two_breaks_of_a_hold_one_is_enough(self) -> None:
        told = [event(1, "q/1", "breaking", 1), event(2, "q/2", "breaking", 1),
                event(3, "q/1", "unlocking", 9), event(4, "q/2", "broken", 7)]
        self.assertEqual({("x", "1"): 2 * MS}, soak.breaks(told))

    def test_a_break_may_come_before_its_owner_has_heard_of_the_grant(self) -> None:
        told = [event(0, "q/1", "breaking", 1), grant(1, "p/0", 1, 90), grant(2, "q/0", 2, 200),
                event(3, "p/0", "valid", 1, valid_until=120 * MS)]
        self.assertEqual([], soak.overlaps(told))
        self.assertEqual(1, len(soak.overlaps(told[1:])))


class Numbers(unittest.TestCase):
    def write(self, value: Any) -> Any:
        return event(1, "p/0", "write", 1, outcome="ok", value=value)

    def test_what_is_lost_is_found(self) -> None:
        both = [self.write(1), self.write(2)]
        self.assertEqual([], soak.lost_numbers(both, "x", 2, 2))
        self.assertEqual([], soak.lost_numbers(both, "x", 2, 3))  # A killed process wrote one.
        self.assertEqual(1, len(soak.lost_numbers(both, "x", 2, 1)))
        self.assertEqual(1, len(soak.lost_numbers([self.write(1), self.write(1)], "x", 2, 2)))
        self.assertEqual(1, len(soak.lost_numbers(both, "x", 9, 8)))

    def test_a_number_that_was_confirmed_twice_is_found(self) -> None:
        other = self.write(2) | {"lock": "y"}
        self.assertEqual([], soak.written_twice([self.write(1), self.write(2), other]))
        self.assertEqual(["x: 2 was confirmed 2 times"],
                         soak.written_twice([self.write(2), self.write(2), other]))

    def test_takeovers_are_those_of_holds_that_nobody_ended(self) -> None:
        told = [grant(0, "p/0", 1, 90), grant(1, "p/1", 2, 90),
                event(2, "p/1", "unlocked", 2, result=0), grant(3, "p/0", 3, 90),
                event(4, "q/0", "breaking", 3), grant(5, "q/1", 4, 90)]
        self.assertEqual(1, soak.takeovers(told))


class Said(unittest.TestCase):
    def wrong(self, *lines: Any, killed: Any) -> int:
        taken_down = Book()
        self.addCleanup(taken_down.file.close)
        taken_down.listen(types.SimpleNamespace(name="p", killed=killed), lines)
        return len(taken_down.wrong)

    def test_only_the_last_line_of_somebody_killed_may_be_cut_off(self) -> None:
        whole, cut = json.dumps(event(1, "p/0", "end")), '{"at": 1, "proc'
        self.assertEqual(0, self.wrong(whole, whole, killed=False))
        self.assertEqual(0, self.wrong(whole, cut, killed=True))
        self.assertEqual(1, self.wrong(whole, cut, killed=False))
        self.assertEqual(1, self.wrong(cut, whole, killed=True))

    def test_what_is_forgotten_was_searched_for_numbers_confirmed_twice(self) -> None:
        taken_down = Book()
        self.addCleanup(taken_down.file.close)
        for _ in range(2):
            taken_down.add(event(1, "p/0", "write", 1, outcome="ok", value=1))
        taken_down.judge(1000 * 10**9)
        self.assertEqual([], taken_down.events)
        self.assertEqual({"x: 1 was confirmed 2 times"}, taken_down.wrong)


class Growth(unittest.TestCase):
    def grown(self, last: Any, begun: Any = soak.LONG) -> Any:
        flat = {"rss": 100 << 20, "descriptors": 10, "threads": 5}
        samples = [(begun + second,
                    flat | ({"rss": 1} if second < 10 else last if second > 20 else {}))
                   for second in range(41)]
        return [line.split()[1] for line in soak.grown("p", samples)]

    def test_what_stays_within_the_allowance_is_flat(self) -> None:
        self.assertEqual([], self.grown({}))
        self.assertEqual([], self.grown({"rss": 110 << 20, "descriptors": 18, "threads": 9}))

    def test_what_grows_is_found(self) -> None:
        self.assertEqual(["rss"], self.grown({"rss": 120 << 20}))
        self.assertEqual(["descriptors"], self.grown({"descriptors": 19}))
        self.assertEqual(["threads"], self.grown({"threads": 10}))

    def test_too_few_samples_say_nothing(self) -> None:
        self.assertEqual({}, soak.growth([(1, {}), (2, {})]))

    def test_in_a_short_run_more_is_allowed_but_not_everything(self) -> None:
        self.assertEqual([], self.grown({"rss": 150 << 20, "descriptors": 50, "threads": 21}, 0))
        self.assertEqual(["rss", "descriptors", "threads"], self.grown(
            {"rss": 170 << 20, "descriptors": 51, "threads": 22}, 0))


if __name__ == "__main__":
    unittest.main()
