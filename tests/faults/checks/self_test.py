"""Plants violations by hand in histories and looks whether the checkers find them, and nothing else.

    tools/python tests.faults.checks.self_test
"""

import unittest
from typing import Any

from tests.faults.checks import counter, intervals, takeover

MS = 10**6


def grant(at: int, process: str, fence: int, valid_until: Any, lock: str = "l") -> Any:
    return {"at": at * MS, "process": process, "event": "grant", "lock": lock, "fence": fence,
            "valid_until": valid_until * MS}


def event(at: int, process: str, kind: Any, **more: Any) -> Any:
    return {"at": at * MS, "process": process, "event": kind, **more}


def write(at: int, process: str, value: Any, outcome: str = "ok") -> Any:
    return event(at, process, "write", value=value, outcome=outcome)


class Intervals(unittest.TestCase):
    def test_holds_one_after_the_other_are_good(self) -> None:
        self.assertEqual([], intervals.violations([
            grant(0, "a", 1, 100), event(50, "a", "unlocking", fence=1), grant(50, "b", 2, 150)]))

    def test_two_beliefs_at_once_are_found(self) -> None:
        self.assertEqual(
            ["a with fence 1 and b with fence 2 both believed to hold, for 40.0 ms"],
            intervals.violations([grant(0, "a", 1, 100), grant(60, "b", 2, 300)]))

    def test_a_long_belief_overlaps_each_short_one_inside_it(self) -> None:
        self.assertEqual(2, len(intervals.violations([
            grant(0, "a", 1, 100), grant(10, "b", 2, 300), event(20, "b", "unlocking", fence=2),
            grant(30, "c", 3, 300), event(40, "c", "unlocking", fence=3)])))

    def test_a_stopped_client_believes_until_its_deadline(self) -> None:
        told = [grant(0, "a", 1, 100), event(10, "a", "stopping"), grant(101, "b", 2, 300),
                event(200, "a", "noticed", fence=1)]
        self.assertEqual([], intervals.violations(told))
        told[2]["at"] = 99 * MS
        self.assertEqual(1, len(intervals.violations(told)))

    def test_a_ping_moves_the_belief_on(self) -> None:
        told = [grant(0, "a", 1, 100), event(90, "a", "valid", fence=1, valid_until=200 * MS),
                grant(150, "b", 2, 300)]
        self.assertEqual(1, len(intervals.violations(told)))

    def test_a_loss_that_was_heard_of_ends_the_belief(self) -> None:
        self.assertEqual([], intervals.violations([
            grant(0, "a", 1, 100), event(50, "a", "lost", fence=1), grant(60, "b", 2, 300)]))

    def test_a_hold_that_is_said_to_be_valid_after_its_loss_is_believed_in_anew(self) -> None:
        for loss in ("lost", "noticed"):
            told = [grant(0, "a", 1, 100), event(100, "a", loss, fence=1), grant(150, "b", 2, 300),
                    event(160, "a", "valid", fence=1, valid_until=400 * MS)]
            with self.subTest(loss=loss):
                self.assertEqual([], intervals.violations(told[:3]))
                self.assertEqual(
                    ["b with fence 2 and a with fence 1 both believed to hold, for 140.0 ms"],
                    intervals.violations(told))
                told[3]["valid_until"] = told[3]["at"]
                self.assertEqual(1, len(intervals.violations(told)))

    def test_a_hold_that_is_valid_again_while_nobody_else_has_it_is_good(self) -> None:
        told = [grant(0, "a", 1, 100), event(100, "a", "noticed", fence=1),
                event(150, "a", "valid", fence=1, valid_until=200 * MS),
                event(180, "a", "lost", fence=1), grant(190, "b", 2, 300)]
        self.assertEqual([], intervals.violations(told))
        self.assertEqual([(0, 100), (150, 180), (190, 300)], [
            (one.since // MS, one.until // MS) for one in intervals.beliefs_of(told)])

    def test_a_hold_that_was_given_up_is_not_valid_again(self) -> None:
        self.assertEqual([], intervals.violations([
            grant(0, "a", 1, 100), event(50, "a", "lost", fence=1),
            event(60, "a", "unlocking", fence=1), grant(70, "b", 2, 300),
            event(80, "a", "valid", fence=1, valid_until=90 * MS)]))

    def test_the_loss_of_an_earlier_hold_does_not_end_the_belief(self) -> None:
        self.assertEqual(1, len(intervals.violations([
            grant(0, "a", 2, 100), event(50, "a", "lost", fence=1), grant(60, "b", 3, 300)])))

    def test_two_locks_are_two_matters(self) -> None:
        self.assertEqual([], intervals.violations(
            [grant(0, "a", 1, 100), grant(60, "b", 1, 300, "other")]))

    def test_a_check_that_passes_after_the_deadline_moves_the_belief_on(self) -> None:
        told = [grant(0, "a", 1, 100), grant(150, "b", 2, 300)]
        self.assertEqual([], intervals.violations(told))
        self.assertEqual(1, len(intervals.violations(
            [*told, event(200, "a", "valid", fence=1, valid_until=200 * MS)])))

    def test_the_dead_believe_until_their_deadline(self) -> None:
        for death in ("killed", "failed", "end"):
            told = [grant(0, "a", 1, 100), event(50, "a", death), grant(100, "b", 2, 300)]
            self.assertEqual([], intervals.violations(told))
            told[2]["at"] = 99 * MS
            self.assertEqual(1, len(intervals.violations(told)))

    def test_where_the_kernel_tells_of_a_death_the_dead_believe_until_the_kill_and_no_shorter(
            self) -> None:
        told = [grant(0, "a", 1, 100), grant(51, "b", 2, 300),
                event(60, "a", "killed", believed_until=50 * MS)]
        self.assertEqual([], intervals.violations(told))
        told[1]["at"] = 49 * MS
        self.assertEqual(1, len(intervals.violations(told)))
        self.assertEqual(1, len(intervals.violations(
            [told[0], event(10, "a", "stopping"), *told[1:]])))

    def test_a_fence_that_does_not_grow_is_found(self) -> None:
        self.assertEqual(["b with fence 1 came after a with fence 2, whose fence is not smaller"],
                         intervals.violations([grant(0, "a", 2, 100), grant(200, "b", 1, 300)]))

    def test_a_fence_that_is_given_twice_is_found_even_if_nobody_believed(self) -> None:
        self.assertEqual(["c with fence 1 was granted what a with fence 1 had been"],
                         intervals.violations([grant(0, "a", 1, 100), grant(200, "b", 2, 300),
                                               grant(400, "c", 1, 390)]))

    def test_a_late_grant_of_a_late_attempt_has_the_greater_fence(self) -> None:
        told = [grant(0, "a", 2, 100), event(101, "b", "busy"), grant(200, "b", 1, 190)]
        self.assertEqual(["b with fence 1 began after a with fence 2 had been granted"],
                         intervals.violations(told))
        self.assertEqual([], intervals.violations([event(0, "b", "start"), told[0], told[2]]))

    def test_a_grant_after_its_deadline_is_no_belief(self) -> None:
        self.assertEqual([], intervals.violations([
            grant(0, "b", 2, 100), grant(50, "a", 1, 40), event(60, "b", "unlocking", fence=2)]))


    def test_of_many_locks_each_is_judged_by_itself(self) -> None:
        told = [grant(0, "a", 1, 100) | {"lock": "x"}, grant(50, "b", 1, 100) | {"lock": "y"}]
        self.assertEqual([], intervals.violations_by_lock(told))
        told.append(grant(60, "c", 2, 100) | {"lock": "x"})
        self.assertEqual(["x: a with fence 1 and c with fence 2 both believed to hold, for 40.0 ms"],
                         intervals.violations_by_lock(told))
        self.assertEqual([], intervals.violations_by_lock(
            [*told, event(55, "a", "unlocking", lock="x")]))

    def test_a_grant_begins_a_belief_if_its_deadline_is_yet_to_come(self) -> None:
        self.assertTrue(intervals.begins_belief(grant(0, "a", 1, 100), "l"))
        self.assertFalse(intervals.begins_belief(grant(0, "a", 1, 100), "other"))
        self.assertFalse(intervals.begins_belief(grant(100, "a", 1, 100), "l"))


class Counter(unittest.TestCase):
    def test_each_addition_once_is_good(self) -> None:
        self.assertEqual([], counter.violations([write(1, "a", 1), write(2, "b", 2)], 2))

    def test_two_writes_of_one_value_are_one_lost(self) -> None:
        self.assertEqual(["1 confirmed additions are lost: the number is 1"],
                         counter.violations([write(1, "a", 1), write(2, "b", 1)], 1))

    def test_what_was_confirmed_and_is_gone_is_lost(self) -> None:
        self.assertEqual(["1 confirmed additions are lost: the number is 1"],
                         counter.violations([write(1, "a", 1), write(2, "b", 2)], 1))

    def test_a_refused_write_counts_for_nothing(self) -> None:
        self.assertEqual([], counter.violations(
            [write(1, "a", 1), write(2, "b", 1, "refused"), write(3, "b", 2)], 2))

    def test_a_refused_write_that_is_there_is_found(self) -> None:
        self.assertEqual(["nobody wrote 2 (1 such numbers up to 2)"], counter.violations(
            [write(1, "a", 1), write(2, "b", 2, "refused")], 2))

    def test_an_unknown_write_may_be_there_or_not(self) -> None:
        unknown = [write(1, "a", 1), write(2, "b", 2, "unknown")]
        self.assertEqual([], counter.violations(unknown, 1))
        self.assertEqual([], counter.violations(unknown, 2))

    def test_a_number_that_nobody_wrote_is_found(self) -> None:
        self.assertEqual(["nobody wrote 2 (1 such numbers up to 2)"],
                         counter.violations([write(1, "a", 1)], 2))

    def test_a_read_of_what_is_out_of_date_is_found(self) -> None:
        self.assertEqual(["b read 0 after 1 had been confirmed"], counter.violations(
            [grant(0, "a", 1, 9), write(1, "a", 1), grant(2, "b", 2, 9),
             event(3, "b", "read", outcome="ok", value=0)], 1))


    def test_stops_that_cost_nothing_without_a_guard_show_nothing_if_there_were_enough(self) -> None:
        self.assertEqual(
            ["nothing is shown: without a guard no addition was lost, in 12 stops while thinking"],
            counter.nothing_shown(0, 12))
        self.assertEqual([], counter.nothing_shown(0, 11))
        self.assertEqual([], counter.nothing_shown(1, 12))


class TakeoverTest(unittest.TestCase):
    PINGS = {"id of a": (5000, 1000 * MS)}

    def story(self, when: Any, at: int) -> Any:
        return [event(0, "a", "start", id="id of a"), {**grant(0, "a", 1, 3000), "when": 4000},
                event(1100, "a", "killed"), {**grant(at, "b", 2, 9000), "when": when}]

    def test_a_takeover_after_the_window_is_good(self) -> None:
        found = takeover.takeovers_of(self.story(7000, 3020), self.PINGS, 2000)
        self.assertEqual([], takeover.violations(found, 2000))
        self.assertEqual([20.0], [one.late_ms() for one in found])

    def test_a_takeover_one_millisecond_early_is_found(self) -> None:
        found = takeover.takeovers_of(self.story(6999, 3020), self.PINGS, 2000)
        self.assertEqual(["b took over from a 1999 ms after its last ping, not 2000"],
                         takeover.violations(found, 2000))

    def test_a_hold_that_was_given_up_was_not_taken_over(self) -> None:
        story = self.story(5100, 1200)
        story.insert(2, event(1050, "a", "unlocking", fence=1))
        self.assertEqual([], takeover.takeovers_of(story, self.PINGS, 2000))

    def test_standstills_are_not_held_against_it(self) -> None:
        found = takeover.takeovers_of(self.story(7000, 3020), self.PINGS, 2000)
        self.assertEqual(5.0, found[0].late_ms([(2990 * MS, 3010 * MS), (3015 * MS, 3020 * MS)]))

    def test_percentiles_and_histogram(self) -> None:
        self.assertEqual(99, takeover.percentile(range(1, 101), 0.98))
        self.assertEqual(100, takeover.percentile(range(1, 101), 0.99))
        self.assertEqual([("up to 10 ms", 2), ("more than 5000 ms", 1)],
                         takeover.histogram([-1, 10, 6000]))


if __name__ == "__main__":
    unittest.main()
