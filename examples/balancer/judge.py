"""Judges a ledger: who held the lock from when to when, and whether two ever did.

    tools/python examples.balancer.judge LEDGER       prints the verdict; exit status 1 if anything overlapped
    tools/python examples.balancer.judge --self-test  judges ledgers whose verdict is known

A ledger has one JSON object a line: at (CLOCK_BOOTTIME, nanoseconds), process, event, fence, detail.
"""

import dataclasses
import json
import sys
from typing import Any

# A hold lasts from its grant to the last instant at which its process acted, or meant to act, on
# it. A loss that a process notes is no act: it was right to hold back.
ACTS = ("grant", "leftover", "overlap", "step", "refused", "done")


@dataclasses.dataclass
class Hold:
    process: str
    fence: int
    since: int
    until: int
    steps: int = 0
    end: str = "open"  # how it ended: done, lost, killed, or open
    ended: int = 0  # when that was seen; later than `until` if nothing was done in between
    seen: str = ""  # the mark of another process that was in the room, if any

    @property
    def who(self) -> str:
        return f"{self.process} with fence {self.fence}"


def parse(lines: Any) -> Any:
    """The events of all processes, in the order of their times."""
    events = [json.loads(line) for line in lines if line.strip()]
    return sorted(events, key=lambda event: event["at"])


def holds_of(events: list[dict[str, Any]]) -> Any:
    """All holds, in the order of their grants."""
    holds, current = [], {}
    for event in events:
        process, kind = event["process"], event["event"]
        if kind == "grant":
            hold = Hold(process, event["fence"], event["at"], event["at"])
            holds.append(hold)
            current[process] = hold
        hold = current.get(process)
        if hold is None:
            continue
        if kind in ACTS:
            hold.until = max(hold.until, event["at"])
        if kind == "step":
            hold.steps += 1
        if kind == "overlap":
            hold.seen = event["detail"]
        if kind in ("done", "lost", "killed"):
            hold.end, hold.ended = kind, event["at"]
            del current[process]
    for hold in holds:
        hold.ended = max(hold.ended, hold.until)
    return holds


def overlaps_of(holds: Any) -> Any:
    """The evidence against the lock, a line each, by two independent means: two holds whose spans
    have an instant in common, and a hold that met somebody in the room."""
    found = []
    for i, first in enumerate(holds):
        for second in holds[i + 1:]:
            if second.since > first.until:
                continue
            both = (min(first.until, second.until) - second.since) / 1e6
            found.append(f"{first.who} and {second.who} held at once, for {both:.1f} ms")
    for hold in holds:
        if hold.seen and not any(hold.who in line for line in found):
            found.append(f"{hold.who} met another in the room: {hold.seen}")
    return found


def takeovers_of(holds: Any) -> Any:
    """The holds that were taken from a process which had not given the lock up."""
    return [later for earlier, later in zip(holds, holds[1:]) if earlier.end != "done"]


def longest_gap_of(holds: Any) -> Any:
    """(nanoseconds, when it began) of the longest time in which nobody held."""
    best, busy_until = (0, 0), None
    for hold in holds:
        if busy_until is not None and hold.since - busy_until > best[0]:
            best = (hold.since - busy_until, busy_until)
        busy_until = max(busy_until or 0, hold.until)
    return best


def stale_fences_of(holds: Any) -> Any:
    """Grants whose fence is not greater than that of the one before."""
    return [later for earlier, later in zip(holds, holds[1:]) if later.fence <= earlier.fence]


def verdict(holds: Any) -> str:
    return (f"verdict: {len(holds)} grants, {len(takeovers_of(holds))} takeovers, "
            f"{len(overlaps_of(holds))} overlaps")


def _ledger(*rows: Any) -> Any:
    return holds_of(parse(
        json.dumps({"at": at * 10**6, "process": process, "event": event, "fence": fence,
                    "detail": detail[0] if detail else ""})
        for at, process, event, fence, *detail in rows))


def self_test() -> None:
    clean = _ledger((0, "p1", "grant", 1), (5, "p1", "step", 1), (9, "p1", "done", 1),
                    (10, "p2", "grant", 2), (12, "p2", "done", 2))
    assert verdict(clean) == "verdict: 2 grants, 0 takeovers, 0 overlaps", verdict(clean)
    assert longest_gap_of(clean) == (10**6, 9 * 10**6)

    mixed = _ledger((9, "p1", "done", 1), (0, "p1", "grant", 1))
    assert [hold.end for hold in mixed] == ["done"], "a ledger need not be in order"

    both = _ledger((0, "p1", "grant", 1), (5, "p2", "grant", 2), (6, "p1", "step", 1),
                   (9, "p1", "done", 1), (12, "p2", "done", 2))
    assert overlaps_of(both) == [
        "p1 with fence 1 and p2 with fence 2 held at once, for 4.0 ms"], overlaps_of(both)

    inside = _ledger((0, "p1", "grant", 1), (3, "p2", "grant", 2), (4, "p2", "done", 2),
                     (5, "p3", "grant", 3), (6, "p3", "done", 3), (9, "p1", "done", 1))
    assert len(overlaps_of(inside)) == 2, "a long hold overlaps each short one inside it"

    woken = _ledger((0, "p1", "grant", 1), (2, "p1", "step", 1), (10, "p2", "grant", 2),
                    (11, "p1", "lost", 1), (12, "p2", "done", 2))
    assert verdict(woken) == "verdict: 2 grants, 1 takeovers, 0 overlaps", verdict(woken)

    late = _ledger((0, "p1", "grant", 1), (10, "p2", "grant", 2), (11, "p1", "refused", 1),
                   (11, "p1", "lost", 1), (12, "p2", "done", 2))
    assert len(overlaps_of(late)) == 1, "it believed to hold, whatever the resource said"

    room = _ledger((0, "p1", "grant", 1), (1, "p1", "done", 1), (10, "p2", "grant", 2),
                   (10, "p2", "overlap", 2, "p1 1 99 1"), (11, "p2", "done", 2))
    assert len(overlaps_of(room)) == 1, "two in the room, though the spans are apart"

    killed = _ledger((0, "p1", "grant", 1), (1, "p1", "step", 1), (2, "p1", "killed", 1),
                     (9, "p2", "grant", 2), (10, "p2", "done", 2))
    assert verdict(killed) == "verdict: 2 grants, 1 takeovers, 0 overlaps", verdict(killed)
    assert len(stale_fences_of(_ledger((0, "p1", "grant", 1), (1, "p1", "done", 1),
                                       (2, "p2", "grant", 1)))) == 1


def main(arguments: list[str]) -> Any:
    if arguments == ["--self-test"]:
        self_test()
        print("the judge finds what was planted, and nothing else")
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__.strip())
    with open(arguments[0]) as ledger:
        holds = holds_of(parse(ledger))
    print(*overlaps_of(holds), verdict(holds), sep="\n")
    return 1 if overlaps_of(holds) or not holds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
