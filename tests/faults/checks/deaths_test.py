"""Plants deaths that were followed too early or too late and looks whether the checker finds them, and
nothing else.

    tools/python tests.faults.checks.deaths_test
"""

import unittest

from tests.faults.checks import deaths

MS = 10**6


def death(killed: int, last_act: int, granted: int) -> deaths.Death:
    return deaths.Death("l", "a run", killed * MS, last_act * MS, granted * MS)


class Deaths(unittest.TestCase):
    def test_the_next_after_the_kill_and_after_the_last_act_is_good(self) -> None:
        self.assertEqual([], deaths.violations([death(100, 99, 110), death(100, 0, 101),
                                                death(100, 105, 106)]))

    def test_a_grant_before_the_kill_is_found(self) -> None:
        self.assertEqual(["l, a run: the next was granted it 1.0 ms before the kill"],
                         deaths.violations([death(100, 0, 99)]))

    def test_a_grant_while_work_of_the_dead_can_act_is_found(self) -> None:
        self.assertEqual(["l, a run: the next was granted it 3.0 ms before work of the dead acted "
                          "last"], deaths.violations([death(100, 113, 110)]))

    def test_a_grant_that_comes_a_window_later_is_found(self) -> None:
        good = [death(100, 0, 110)] * 3
        self.assertEqual(1, len(deaths.violations([*good, death(100, 0, 600_000)])))

    def test_grants_that_often_come_late_are_found(self) -> None:
        good, late = death(0, 0, 5), death(0, 0, 1_300)
        self.assertEqual([], deaths.violations([good] * 9 + [late] * 3))
        self.assertEqual(1, len(deaths.violations([good] * 8 + [late] * 4)))


if __name__ == "__main__":
    unittest.main()
