"""Plants violations in the events of a soak and looks whether the checker finds them, and nothing
else.

    python3 -m checks.soak_test    in tests/faults
"""

import unittest

from checks import soak

MS = 10**6


def event(at, contender, kind, fence=None, **more):
    made = {"at": at * MS, "process": contender.split("/")[0], "event": kind}
    if fence is not None:
        made |= {"contender": contender, "lock": "x", "fence": fence}
    return made | more


def grant(at, contender, fence, until):
    return event(at, contender, "grant", fence, valid_until=until * MS)


class Overlaps(unittest.TestCase):
    def test_threads_of_one_process_are_contenders_of_their_own(self):
        told = [grant(0, "p/0", 1, 90), grant(50, "p/1", 2, 200)]
        self.assertEqual(1, len(soak.overlaps(told)))
        self.assertEqual([], soak.overlaps([*told, event(40, "p/0", "unlocking", 1)]))

    def test_a_hold_that_is_renewed_is_believed_in_for_longer(self):
        told = [grant(0, "p/0", 1, 40), event(30, "p/0", "valid", 1, valid_until=90 * MS),
                grant(50, "p/1", 2, 200)]
        self.assertEqual(1, len(soak.overlaps(told)))

    def test_a_kill_ends_what_all_threads_believed(self):
        told = [grant(0, "p/0", 1, 90), event(40, "p", "killed"), grant(50, "q/0", 2, 200)]
        self.assertEqual([], soak.overlaps(told))
        self.assertEqual(1, len(soak.overlaps([told[0], told[2]])))

    def test_a_break_ends_the_belief_of_that_hold_only(self):
        told = [grant(0, "p/0", 1, 90), event(40, "q/1", "breaking", 1), grant(50, "q/0", 2, 200)]
        self.assertEqual([], soak.overlaps(told))
        told[1]["fence"] = 7
        self.assertEqual(1, len(soak.overlaps(told)))

    def test_a_break_may_come_before_its_owner_has_heard_of_the_grant(self):
        told = [event(0, "q/1", "breaking", 1), grant(1, "p/0", 1, 90), grant(2, "q/0", 2, 200),
                event(3, "p/0", "valid", 1, valid_until=120 * MS)]
        self.assertEqual([], soak.overlaps(told))
        self.assertEqual(1, len(soak.overlaps(told[1:])))


class Numbers(unittest.TestCase):
    def write(self, value):
        return event(1, "p/0", "write", 1, outcome="ok", value=value)

    def test_what_is_lost_is_found(self):
        both = [self.write(1), self.write(2)]
        self.assertEqual([], soak.lost_numbers(both, "x", 2, 2))
        self.assertEqual([], soak.lost_numbers(both, "x", 2, 3))  # One by somebody killed.
        self.assertEqual(1, len(soak.lost_numbers(both, "x", 2, 1)))
        self.assertEqual(1, len(soak.lost_numbers([self.write(1), self.write(1)], "x", 2, 2)))
        self.assertEqual(1, len(soak.lost_numbers(both, "x", 9, 8)))

    def test_takeovers_are_those_of_holds_that_nobody_ended(self):
        told = [grant(0, "p/0", 1, 90), grant(1, "p/1", 2, 90),
                event(2, "p/1", "unlocked", 2, result=0), grant(3, "p/0", 3, 90),
                event(4, "q/0", "breaking", 3), grant(5, "q/1", 4, 90)]
        self.assertEqual(1, soak.takeovers(told))


class Growth(unittest.TestCase):
    def grown(self, last, **more):
        flat = {"rss": 100 << 20, "descriptors": 10, "threads": 5}
        samples = [(second, flat | ({"rss": 1} if second < 10 else last if second > 20 else {}))
                   for second in range(31)]
        return [line.split()[1] for line in soak.grown("p", soak.growth(samples, 10))]

    def test_what_stays_within_the_allowance_is_flat(self):
        self.assertEqual([], self.grown({}))
        self.assertEqual([], self.grown({"rss": 110 << 20, "descriptors": 18, "threads": 9}))

    def test_what_grows_is_found(self):
        self.assertEqual(["rss"], self.grown({"rss": 120 << 20}))
        self.assertEqual(["descriptors"], self.grown({"descriptors": 19}))
        self.assertEqual(["threads"], self.grown({"threads": 10}))

    def test_too_few_samples_say_nothing(self):
        self.assertEqual({}, soak.growth([(1, {}), (2, {})], 0))


if __name__ == "__main__":
    unittest.main()
