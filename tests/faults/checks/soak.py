"""Judges the events of a soak: overlaps, lost numbers, and whether long-lived processes grew."""

import collections
import statistics
from collections.abc import Iterator
from typing import Any

from tests.faults.checks import counter, intervals

# By how much a process may have grown: a part of what it was, and so much besides.
ALLOWANCE = {"rss": (0.10, 4 << 20), "descriptors": (0, 8), "threads": (0, 4)}
# In a short run, most of which a slow machine may spend on starting.
SHORT_ALLOWANCE = {"rss": (0.50, 16 << 20), "descriptors": (0, 40), "threads": (0, 16)}
LONG = 600  # Seconds.


def breaks(events: list[dict[str, Any]]) -> Any:
    """{(lock, ts): when it was begun} of the breaks that may have freed the hold: what the same
    contender tells next says whether. Events in the order of their times. The document of a hold
    that is passed on has the last fence of its block, whoever has it."""
    begun, may_be = {}, []
    for event in events:
        who, kind = event.get("contender"), event["event"]
        if who is None or kind == "lost":  # Which comes from another thread.
            continue
        last = begun.pop(who, None)
        if last and (kind == "broken" or "unknown" in event.get("code", "")):
            may_be.append(last)
        if kind == "breaking":
            begun[who] = event["at"], (event["lock"], event["ts"])
    may_be += begun.values()  # These have told nothing more yet, or were killed.
    return {hold: at for at, hold in sorted(may_be, reverse=True)}


def as_intervals(events: list[dict[str, Any]]) -> Any:
    """The events in the words of checks/intervals: each contender is one who believes, and a
    break ends the belief in that hold: also when it came before its owner had heard of the grant."""
    events = sorted(events, key=lambda event: event["at"])
    broken = breaks(events)
    holds = {(event["lock"], event["fence"]): event["ts"]
             for event in events if event["event"] == "grant"}
    told, contenders = [], collections.defaultdict(set)
    for event in events:
        who = event.get("contender", event["process"])
        contenders[event["process"]].add(who)
        if event["event"] == "killed":
            told += [{**event, "process": one} for one in sorted(contenders[event["process"]])]
        if "lock" in event and event["event"] != "breaking":
            told.append({**event, "process": who})
            hold = holds.get((event["lock"], event.get("fence")))
            end = broken.get((event["lock"], hold))
            if end is not None and "valid_until" in event:
                told[-1]["valid_until"] = min(event["valid_until"], end)
    return told


def overlaps(events: list[dict[str, Any]]) -> Any:
    return intervals.violations_by_lock(as_intervals(events))


def lost_numbers(events: list[dict[str, Any]], lock: str, confirmed: Any, final: Any) -> Any:
    """`confirmed`: how many additions were, in all; `events` may begin later than they."""
    lost = counter.lost_updates([one for one in events if one.get("lock") == lock], final)
    lost = max(lost, confirmed - final)
    return [f"{lock}: {lost} confirmed additions are lost: the number is {final}"] if lost else []


def written_twice(events: list[dict[str, Any]]) -> Any:
    """A line for each number that was confirmed to two of those who counted."""
    times = collections.Counter(
        (one["lock"], one["value"]) for one in counter.writes_of(events, "ok"))
    return [f"{lock}: {value} was confirmed {count} times"
            for (lock, value), count in sorted(times.items()) if count > 1]


def takeovers(events: list[dict[str, Any]]) -> Any:
    """How many holds began after one that its owner had not given up and nobody had broken."""
    grants, ended = set(), set()
    for event in events:
        hold = event.get("lock"), event.get("fence")
        if event["event"] == "grant":
            grants.add(hold)
        if event["event"] == "breaking" or (event["event"] == "unlocked" and event["result"] == 0):
            ended.add(hold)
    return sum((lock, fence - 1) in grants and (lock, fence - 1) not in ended
               for lock, fence in grants)


def growth(samples: Any) -> Any:
    """Of (seconds, {what: number}): {what: (at first, at last)} after a warm-up of a quarter, as
    medians of a third of the time each; nothing if there are too few."""
    later = [numbers for seconds, numbers in samples
             if seconds >= samples[0][0] + lasted(samples) / 4]
    third = len(later) // 3
    if third < 3:
        return {}
    return {what: tuple(round(statistics.median(numbers[what] for numbers in part))
                        for part in (later[:third], later[-third:]))
            for what in ALLOWANCE}


def lasted(samples: Any) -> Any:
    return samples[-1][0] - samples[0][0]


def grown(name: str, samples: Any) -> Iterator[Any]:
    """A line for each number that is not flat."""
    allowance = ALLOWANCE if samples and samples[-1][0] >= LONG else SHORT_ALLOWANCE
    for what, (first, last) in growth(samples).items():
        part, more = allowance[what]
        if last > first * (1 + part) + more:
            yield f"{name}: {what} grew from {first} to {last}"
