"""Whether every confirmed addition to the number is in it.

Each client reads the number and writes one more. So the confirmed writes have values that are all
different, up to the last number; two of one value mean that one of them is lost.
"""

import collections
from typing import Any

ENOUGH = 12  # Stops in the middle of a thought.


def writes_of(events: list[dict[str, Any]], *outcomes: Any) -> Any:
    return [event for event in events if event["event"] == "write" and event["outcome"] in outcomes]


def lost_updates(events: list[dict[str, Any]], final: Any) -> Any:
    """How many confirmed additions are not in the number at the end."""
    times = collections.Counter(event["value"] for event in writes_of(events, "ok"))
    twice = sum(count - 1 for count in times.values())
    beyond = sum(1 for value in times if value > final)
    return twice + beyond


def out_of_nowhere(events: list[dict[str, Any]], final: Any) -> Any:
    """Values up to the last that no client is known to have written."""
    written = {event["value"] for event in writes_of(events, "ok", "unknown")}
    return sorted(set(range(1, final + 1)) - written)


def stale_reads(events: list[dict[str, Any]]) -> Any:
    """Reads that say less than what was confirmed before the read's own hold was granted."""
    confirmed, least, wrong = 0, {}, []
    for event in events:
        kind = event["event"]
        if kind == "write" and event["outcome"] == "ok":
            confirmed = max(confirmed, event["value"])
        elif kind == "grant":
            least[event["process"]] = confirmed
        elif kind == "read" and event["outcome"] == "ok":
            if event["value"] < least.get(event["process"], 0):
                wrong.append(f"{event['process']} read {event['value']} after "
                             f"{least[event['process']]} had been confirmed")
    return wrong


def violations(events: list[dict[str, Any]], final: Any) -> Any:
    """One line each; none if all is well. `events` in the order of their times."""
    wrong = list(stale_reads(events))
    lost = lost_updates(events, final)
    if lost:
        wrong.append(f"{lost} confirmed additions are lost: the number is {final}")
    nowhere = out_of_nowhere(events, final)
    if nowhere:
        wrong.append(f"nobody wrote {nowhere[0]} ({len(nowhere)} such numbers up to {final})")
    return wrong


def nothing_shown(lost: Any, stops: Any) -> Any:
    """A line if clients without a guard were stopped so often while thinking and lost nothing all
    the same: then the stops are not the right ones, and with the guard they show nothing either."""
    if lost or stops < ENOUGH:
        return []
    return [f"nothing is shown: without a guard no addition was lost, in {stops} stops while thinking"]
