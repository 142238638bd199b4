"""Plants grants that are out of order and looks whether the checker finds them, and nothing else.

    tools/python tests.faults.checks.line_test
"""

import unittest
from typing import Any

from tests.faults.checks import line

MS = 10**6


def look(at: int, tickets: str) -> Any:
    """A ticket has the name of its process."""
    return {"at": at * MS, "process": "rig", "event": "line", "lock": "l",
            "tickets": [(one, one) for one in tickets]}


def event(at: int, process: str, kind: str, **more: Any) -> Any:
    return {"at": at * MS, "process": process, "event": kind, **more}


def held(at: int, process: str, fence: int, until: int) -> Any:
    return [event(at, process, "grant", ts=process, fence=fence), event(until, process, "unlocking")]


def story(*parts: Any) -> Any:
    """Events, and lists of them, in the order of their times."""
    events = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    return sorted(events, key=lambda one: one["at"])


def one_after_the_other(begin: int, order: str, fence: int, every: int = 2) -> Any:
    return [one for number, name in enumerate(order)
            for one in held(begin + every * number, name, fence + number,
                            begin + every * number + 1)]


KEEPER = held(0, "k", 1, 1000)


class Line(unittest.TestCase):
    def test_grants_in_the_order_of_the_line_are_good(self) -> None:
        told = story(KEEPER, look(100, "a"), look(200, "abc"), one_after_the_other(1001, "abc", 2))
        self.assertEqual([], line.violations(told))
        self.assertEqual([0, 0, 0, 0], [len(one.front) for one in line.judged(told)])

    def test_a_grant_before_its_place_was_open_is_found(self) -> None:
        told = story(KEEPER, look(100, "abc"), held(1050, "b", 2, 1060), held(1061, "a", 3, 1062))
        self.assertEqual(["b with fence 2 pushed in past 1 others: 50 ms after the release, not 100"],
                         line.violations(told))

    def test_places_open_in_groups_that_double(self) -> None:
        self.assertEqual([0, 100, 100, 200, 200, 200, 200, 300],
                         [line.opens_after(place, 0) for place in range(8)])
        for after, wrong in ((150, 1), (200, 0)):
            told = story(KEEPER, look(100, "abcd"), held(1000 + after, "d", 2, 1300),
                         one_after_the_other(1301, "abc", 3))
            self.assertEqual(wrong, len(line.violations(told)))

    def test_places_open_sooner_in_a_line_with_passed_over_ones(self) -> None:
        self.assertEqual([100, 50, 100 / 3, 100 / 3],
                         [line.opens_after(1, marks) for marks in range(4)])
        for after, wrong in ((20, 1), (40, 0)):
            told = story(KEEPER, look(100, "xybcd"), event(500, "x", "killed"),
                         event(501, "y", "killed"), held(1100, "b", 2, 1200), look(1150, "xycd"),
                         held(1200 + after, "d", 3, 1300), look(1310, "xyc"),
                         held(1320, "c", 4, 1330), look(1340, "xy"))
            pushed_in = [one for one in line.violations(told) if "pushed in" in one]
            self.assertEqual(wrong, len(pushed_in))

    def test_one_that_was_passed_over_may_claim_at_once(self) -> None:
        told = story(KEEPER, look(100, "abcd"), held(1200, "d", 2, 1201),
                     one_after_the_other(1202, "cab", 3))
        self.assertEqual([], line.violations(told))

    def test_the_dead_are_waited_for_once(self) -> None:
        told = story(KEEPER, look(100, "xyab"), event(500, "x", "killed"), event(501, "y", "killed"),
                     held(2000, "a", 2, 2001), held(2002, "b", 3, 2003), look(2100, "xy"))
        grants = line.judged(told)
        self.assertEqual([], line.violations(told))
        self.assertEqual([0, 2, 0], [one.dead for one in grants])
        self.assertEqual(1000, line.cost_of_the_dead(grants))

    def test_dead_that_cost_long_are_found(self) -> None:
        told = story(KEEPER, look(100, "xa"), event(500, "x", "killed"),
                     held(16_100, "a", 2, 16_101), look(16_200, "x"))
        self.assertEqual(["the dead cost 15.1 s"], line.violations(told))

    def test_dead_that_cost_time_at_each_release_are_found(self) -> None:
        def told(every: int) -> Any:
            return story(held(0, "k", 1, 1), look(1, "abc"), one_after_the_other(2, "abc", 2, 3),
                         held(50, "l", 5, 100), look(60, "xdefg"), event(70, "x", "killed"),
                         one_after_the_other(300, "defg", 6, every), look(3000, "x"))
        self.assertEqual([], line.violations(told(100)))
        self.assertEqual(["the dead cost 149 ms again and again, where others take 2 ms"],
                         line.violations(told(150)))


class PassedOver(unittest.TestCase):
    """Four times the second in line gets the lock, a turn after the release."""

    def told(self, *more: Any, then: str = "aceg") -> Any:
        return story(KEEPER, event(1, "rig", "round", what="r"), look(100, "abcdefgh"),
                     held(1100, "b", 2, 1101), held(1201, "d", 3, 1202), held(1302, "f", 4, 1303),
                     held(1403, "h", 5, 1404), one_after_the_other(1405, then, 6), *more,
                     look(2000, "aceg".replace(then, "")))

    def test_if_that_is_usual_it_is_found(self) -> None:
        self.assertEqual([], line.violations(self.told()))
        self.assertEqual(
            ["r: 4 of 5 grants passed over somebody who was there, as that of b with fence 2"],
            line.violations(self.told(then="a")))

    def test_it_is_none_while_they_are_stopped_or_the_store_is_in_trouble(self) -> None:
        slighted = [one.slighted for one in line.judged(self.told())]
        self.assertEqual([["a"], ["c"], ["e"], ["g"]], slighted[1:5])
        stop = [event(900, "c", "stopping"), event(1150, "c", "resuming")]
        self.assertEqual([], line.judged(self.told(stop))[2].slighted)
        fault = [event(900, "rig", "begin", fault="f"), event(901, "rig", "end", fault="f")]
        self.assertEqual([], sum((one.slighted for one in line.judged(self.told(fault))), []))

    def test_who_was_told_of_no_release_is_counted_apart(self) -> None:
        told = story(KEEPER, look(100, "xyab"), event(500, "x", "killed"), event(500, "y", "killed"),
                     held(2000, "b", 2, 2001), held(2002, "a", 3, 2003), look(2100, "xy"))
        self.assertEqual(["a"], line.judged(told)[1].slighted)
        gone = line.judged(story(told, event(1001, "k", "killed")))
        self.assertEqual(["a"], gone[1].asleep)
        self.assertEqual([], gone[1].slighted)

    def test_who_came_after_a_grant_was_not_passed_over(self) -> None:
        told = story(look(0, ""), held(10, "k", 1, 1000), look(20, ""), look(100, "ab"),
                     held(1100, "b", 2, 1101), held(1102, "a", 3, 1103))
        self.assertEqual([[], ["a"], []], [one.slighted for one in line.judged(told)])


if __name__ == "__main__":
    unittest.main()
