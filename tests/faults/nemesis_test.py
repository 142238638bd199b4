"""The plan of the nemesis, its report of what did not happen, and what stays behind when it is over.

    tools/python tests.faults.nemesis_test
"""

import os
import types
import unittest
from typing import Any


from tests.faults import history, processes
from tests.faults.nemesis import catalogue, fault, plan
from tests.faults.workloads import intervals


class Plans(unittest.TestCase):
    def plan(self, seed: int, store: Any, only: Any = (), rounds: int = 3, **more: Any) -> Any:
        stage = types.SimpleNamespace(**{
            "seed": seed, "lacking": set(), "relayed": False, "say": self.fail,
            "options": types.SimpleNamespace(only=only), **more})
        return plan.make(catalogue.of(store, relayed=True), stage, rounds)

    def test_a_plan_repeats_by_its_seed(self) -> None:
        for store in ("mongod", "sqlite", "mirrored"):
            self.assertEqual(self.plan(7, store), self.plan(7, store))
            self.assertNotEqual(self.plan(7, store), self.plan(8, store))

    def test_a_plan_has_each_kind_once_a_round(self) -> None:
        names = [step.name for step in self.plan(7, "mongod")]
        kinds = {plan.name_of(kind) for kind in catalogue.OF_REPLICA_SET}
        for first in range(0, len(names), len(kinds)):
            self.assertEqual(kinds, set(names[first:first + len(kinds)]))
        self.assertEqual(3 * len(kinds), len(names))

    def test_what_is_not_asked_for_or_falls_away_leaves_the_rest_as_it_is(self) -> None:
        whole = self.plan(7, "mongod", relayed=True)
        only = ("step_down", "delay")
        self.assertEqual([step for step in whole if step.name in only],
                         self.plan(7, "mongod", only, relayed=True))
        said = []
        self.assertEqual([step for step in whole if step.kind.needs not in ("clocks", "relay")],
                         self.plan(7, "mongod", lacking={"clocks"}, say=said.append))
        self.assertEqual(["FALLS AWAY: other_clock, which needs clocks"], said)

    def test_where_all_that_was_asked_for_falls_away_nothing_is_shown(self) -> None:
        lacking = {"clocks"}
        for only in (["other_clock"], ["delay", "half_close"]):
            with self.assertRaises(fault.NothingShown):
                self.plan(7, "mongod", only, lacking=lacking, say=lambda text: None,
                          lacks=lambda what, why: lacking.add(what))

    def test_four_rounds_have_each_of_four_clocks_once_and_say_which(self) -> None:
        steps = self.plan(7, "mongod", rounds=4)
        self.assertEqual([f"other_clock {offset}" for offset in ("+10m", "+20s", "-10m", "-20s")],
                         sorted(one.exact_name for one in steps if one.name == "other_clock"))
        first = {next(one.variant for one in self.plan(seed, "mongod", ["other_clock"]))
                 for seed in range(50)}
        self.assertEqual(4, len(first))

    def test_a_relay_can_do_more_than_dropped_packets_can(self) -> None:
        more = set(catalogue.of("mongod", relayed=True)) - set(catalogue.of("mongod"))
        self.assertEqual({"delay", "cut_after", "half_close"}, {plan.name_of(kind) for kind in more})


class Idle(fault.Fault):
    """Nothing that anybody could see."""

    lasts = (0, 0)

    def begin(self) -> None:
        self.must(False, "nothing was to be seen")


class Nemesis(unittest.TestCase):
    def stage(self, store: str, cluster: Any = None) -> Any:
        return types.SimpleNamespace(
            seed=1, lacking=set(), relayed=False, store=store, cluster=cluster, hosts=None,
            say=lambda text: None, options=types.SimpleNamespace(only=[]), wait_grant=lambda: None,
            history=types.SimpleNamespace(add=lambda event: None))

    def test_no_member_is_hurt_before_each_is_one_of_the_set(self) -> None:
        looks = [False, False, True]
        members = types.SimpleNamespace(founded=lambda: looks.pop(0), members=[1])
        stage = self.stage("mirrored", members)
        plan.Nemesis(stage, plan.make((Idle,), stage)).run()
        self.assertFalse(looks)

    def test_a_planned_fault_that_did_not_happen_is_told(self) -> None:
        stage = self.stage("sqlite")
        nemesis = plan.Nemesis(stage, plan.make((Idle,), stage))
        nemesis.run()
        self.assertEqual(["idle did not happen: nothing was to be seen"], nemesis.failed)
        self.assertFalse(nemesis.happened)


class AfterTheLastFault(unittest.TestCase):
    """With c2 as the last that was granted the long lock; `then` happens once it is asked to end."""

    def setUp(self) -> None:
        self.history, self.asked = history.History(os.devnull), []
        self.addCleanup(self.history.close)
        for told in (("c1", "long"), ("c2", "long"), ("c3", "short")):
            self.grant(*told)

    def grant(self, process: str, lock: str) -> None:
        self.history.add({"at": 1, "process": process, "event": "grant", "lock": lock})

    def look(self, *then: Any) -> None:
        def ask(name: str) -> None:
            self.asked.append(name)
            for told in then:
                self.grant(*told)
        living = [types.SimpleNamespace(name=name, ask_to_end=lambda name=name: ask(name))
                  for name in ("c1", "c2", "c3")]
        intervals.see_each_granted_anew(
            types.SimpleNamespace(history=self.history, clients=living), patience=0)

    def test_who_keeps_a_lock_is_asked_to_end_and_both_are_granted_anew(self) -> None:
        self.look(("c3", "short"), ("c1", "long"))
        self.assertEqual(["c2"], self.asked)

    def test_a_lock_that_nobody_gets_any_more_is_found(self) -> None:
        for wedged, then in (("long", ("c3", "short")), ("short", ("c1", "long"))):
            with self.subTest(wedged=wedged), self.assertRaisesRegex(
                    processes.Broken, f"a grant of {wedged} after the last fault"):
                self.look(then)


if __name__ == "__main__":
    unittest.main()
