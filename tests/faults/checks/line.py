"""Whether those who wait in line for one lock get it in the order in which the store took them in.

The order is that of the tickets, as looks at the store have shown it (events `line`). Each new
ticket stands behind all those before it. A hold has the ticket's `ts`. So each grant says whom it
has passed over. That is judged in two ways:

Pushed in   A grant came sooner than its place was open. Those count whom no claim has passed over
            yet. Of them the first may claim at once, and the next two after a turn of 100 ms.
            After two turns it is the next four, and so on. With one in the line whom a claim has
            passed over a turn is half as long, with more a third. A slow machine cannot be the
            reason, so that one such grant is a fault.
Passed over A waiter was there, and one behind it got the lock. On a machine that stands still for
            a turn this may happen, so that only many of them are a fault. None is counted while
            the store or its bell was in trouble, nor of a waiter that was killed or stopped.
            The process that gives the lock back tells the first, and the others when their turn comes. If
            it is gone itself they are told by nobody, and that is counted apart.

The dead cost the time from the release to the grants that passed over a dead one for the first
time. A grant that passes over those alone whom an earlier one has passed over takes no longer than
others.
"""

import collections
import dataclasses
from typing import Any

from tests.faults.checks import takeover

MS = 10**6
SECOND = 1000 * MS
TURN = 100  # Milliseconds.
TURNS_MOST = 3  # In that time.
SLACK = 10  # The store tells its time in whole milliseconds.
AFTERMATH = 5_000 * MS  # A waiter whom no ring has reached looks within 4.5 s.
RUNG = 1  # So many of those not passed over are told at once.
OFTEN = 2  # One grant in so many of a round may pass over somebody who was there, and two at least.
SLOWER = 10  # Times.
DEAREST = 15_000  # Milliseconds that all dead may cost together.


@dataclasses.dataclass
class Grant:
    process: str
    ticket: str
    fence: int
    at: int
    round: str  # By the rig's events.
    releaser: str = ""  # The process that held it before.
    freed: int = 0  # Not sooner; 0 if the holder before did not give the lock back.
    front: list[str] = dataclasses.field(default_factory=list)  # Tickets that it passed over.
    new: list[str] = dataclasses.field(default_factory=list)  # Those of them never passed before.
    marked: bool = False  # It may have been passed over itself.
    marks: int = 0  # In the line were so many whom an earlier one had passed over, perhaps.
    asleep: list[str] = dataclasses.field(default_factory=list)  # Of the new, nobody told them.
    slighted: list[str] = dataclasses.field(default_factory=list)  # Of the new, without a cause.
    dead: int = 0  # How many of the new.
    known_dead: int = 0  # How many of the others that it passed over.
    calm: bool = False  # It followed a release, and the store was in no trouble.

    def took_ms(self) -> float:
        return (self.at - self.freed) / MS


def opens_after(place: int, marks: int) -> float:
    """Milliseconds after the release."""
    turns = 0
    while (2 << turns) - 1 <= place:
        turns += 1
    return turns * TURN / min(1 + marks, TURNS_MOST)


class Absences:
    """When each process was not there: killed, or stopped; and when the store was in trouble."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.killed, self.troubles, self.stops = {}, [], {}
        for event in events:
            who, kind, at = event["process"], event["event"], event["at"]
            if kind == "killed":
                self.killed[who] = event.get("believed_until", at)
            elif kind == "stopping":
                self.stops.setdefault(who, []).append([at, float("inf")])
            elif kind == "resuming":
                self.stops[who][-1][1] = at
            elif kind == "begin":
                self.troubles.append([at, float("inf")])
            elif kind == "end" and "fault" in event:
                self.troubles[-1][1] = at + AFTERMATH

    def away(self, process: str, since: int, until: int) -> bool:
        return (self.killed.get(process, float("inf")) < until
                or _meet(self.stops.get(process, ()), since, until))

    def in_trouble(self, since: int, until: int) -> bool:
        return _meet(self.troubles, since, until)


def _meet(spans: Any, since: int, until: int) -> bool:
    return any(begin < until and since < end for begin, end in spans)


class Line:
    """As looks at the store have shown it: the order of all tickets, whose they are, when each was
    seen last, and when it was not there yet. Times are those before the looks."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.number, self.process, self.seen, self.absent = {}, {}, {}, {}
        last = 0
        for event in events:
            if event["event"] == "line":
                for ticket, process in event["tickets"]:
                    self.number.setdefault(ticket, len(self.number))
                    self.process[ticket] = process
                    self.seen[ticket] = event["at"]
                    self.absent.setdefault(ticket, last)
                last = event["at"]

    def tickets(self) -> list[str]:
        return sorted(self.number, key=self.number.__getitem__)


def grants_of(events: list[dict[str, Any]]) -> list[Grant]:
    """Of one lock, in the order of their fences. `events` in that of their times."""
    held, gave_back, found, current = {}, {}, [], ""
    for event in events:
        who, kind, at = event["process"], event["event"], event["at"]
        if kind == "round":
            current = event["what"]
        elif kind == "grant":
            found.append(Grant(who, event["ts"], event["fence"], at, current))
            held[who] = event["fence"]
        elif kind == "unlocking":
            gave_back[held.get(who)] = at
    found.sort(key=lambda one: one.fence)
    for before, one in zip(found, found[1:]):
        one.freed, one.releaser = gave_back.get(before.fence, 0), before.process
    return found


def judged(events: list[dict[str, Any]]) -> list[Grant]:
    """The grants of one lock, and what each did to those in front of it."""
    grants, line, absences = grants_of(events), Line(events), Absences(events)
    fence_of = {one.ticket: one.fence for one in grants}
    passed: set[str] = set()
    for one in grants:
        there = [ticket for ticket in line.tickets()
                 if ticket != one.ticket and line.absent[ticket] < one.at and (
                     fence_of[ticket] > one.fence if ticket in fence_of
                     else line.seen[ticket] > one.at)]
        known = one.ticket in line.number
        one.front = [ticket for ticket in there
                     if known and line.number[ticket] < line.number[one.ticket]]
        one.marked = one.ticket in passed
        # Those that went before the next look may have been there still.
        one.marks = sum(1 for ticket in passed if fence_of.get(ticket, 0) >= one.fence
                        or line.seen.get(ticket, 0) > one.freed - SECOND)
        one.new = [ticket for ticket in one.front if ticket not in passed]
        _look_for_causes(one, there, passed, line, absences)
        # Nobody knows whom a grant has passed over that stood in no line that was seen.
        passed |= set(one.front if known else there)
    return grants


def _look_for_causes(one: Grant, there: list[str], passed: set[str], line: Line,
                     absences: Absences) -> None:
    def away(ticket: str) -> bool:
        return ticket != one.ticket and absences.away(line.process[ticket], one.freed, one.at)

    dead = [ticket for ticket in one.front
            if absences.killed.get(line.process[ticket], one.at) < one.at]
    one.dead = len(set(dead) & set(one.new))
    one.known_dead = len(dead) - one.dead
    one.calm = one.freed > 0 and not absences.in_trouble(one.freed, one.at)
    if not one.calm:
        return
    fresh = sorted([*(ticket for ticket in there if ticket not in passed),
                    *([one.ticket] if not one.marked else [])],
                   key=lambda ticket: line.number.get(ticket, len(line.number)))
    told = fresh[:RUNG]
    living = [ticket for ticket in one.new if not away(ticket)]
    nobody_told = (absences.away(one.releaser, one.freed, one.at)
                   and all(away(ticket) for ticket in told))
    one.asleep = [ticket for ticket in living if ticket not in told and nobody_told]
    one.slighted = [ticket for ticket in living if ticket not in one.asleep]


def violations(events: list[dict[str, Any]]) -> list[str]:
    """One line each; none if all is well. `events`: of one lock, in the order of their times."""
    grants = judged(events)
    return [*_pushed_in(grants), *_passed_over(grants), *_too_dear(grants)]


def _pushed_in(grants: list[Grant]) -> list[str]:
    wrong = []
    for one in grants:
        place = 0 if one.marked else len(one.new)
        opens = opens_after(place, one.marks)
        if one.freed and one.took_ms() + SLACK < opens:
            wrong.append(f"{one.process} with fence {one.fence} pushed in past {place} others: "
                         f"{one.took_ms():.0f} ms after the release, not {opens:.0f}")
    return wrong


def _passed_over(grants: list[Grant]) -> list[str]:
    rounds, wrong = collections.defaultdict(list), []
    for one in grants:
        rounds[one.round].append(one)
    for what, of_round in rounds.items():
        late = [one for one in of_round if one.slighted]
        if len(late) > max(2, len(of_round) // OFTEN):
            wrong.append(f"{what}: {len(late)} of {len(of_round)} grants passed over somebody who was "
                         f"there, as that of {late[0].process} with fence {late[0].fence}")
    return wrong


def _too_dear(grants: list[Grant]) -> list[str]:
    cost = cost_of_the_dead(grants)
    again = median_ms([one for one in grants if one.known_dead and not one.new])
    usual = median_ms([one for one in grants if not one.front])
    return [*([f"the dead cost {cost / 1000:.1f} s"] if cost > DEAREST else []),
            *([f"the dead cost {again:.0f} ms again and again, where others take {usual:.0f} ms"]
              if again > TURN + SLOWER * usual else [])]


def median_ms(grants: list[Grant]) -> float:
    """From the release."""
    return takeover.percentile([one.took_ms() for one in grants if one.calm], 0.5)


def cost_of_the_dead(grants: list[Grant]) -> float:
    """Milliseconds."""
    return sum(one.took_ms() for one in grants if one.dead and one.freed)
