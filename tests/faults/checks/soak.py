"""What the events of a soak say: overlaps, lost numbers, and whether long-lived processes grew."""

import statistics

from checks import counter, intervals

# By how much a process may have grown: a part of what it was, and so much besides.
ALLOWANCE = {"rss": (0.10, 4 << 20), "descriptors": (0, 8), "threads": (0, 4)}


def as_intervals(events):
    """The events in the words of checks/intervals: each contender is one who believes, a kill ends
    the beliefs of all of a process, and a break those of the hold's owner."""
    owner, contenders, told = {}, {}, []
    for event in sorted(events, key=lambda event: event["at"]):
        who = event.get("contender", event["process"])
        contenders.setdefault(event["process"], set()).add(who)
        hold = event.get("lock"), event.get("fence")
        if event["event"] == "grant":
            owner[hold] = who
        if event["event"] == "killed":
            told += [{"at": event["at"], "process": one, "event": "killed"}
                     for one in contenders[event["process"]]]
        elif event["event"] == "breaking":
            if hold in owner:
                told.append({**event, "process": owner[hold], "event": "noticed"})
        elif "lock" in event:
            told.append({**event, "process": who})
    return told


def overlaps(events):
    return intervals.violations_by_lock(as_intervals(events))


def lost_numbers(events, lock, confirmed, final):
    """`confirmed`: how many additions were, in all; `events` may begin later than they."""
    lost = counter.lost_updates([one for one in events if one.get("lock") == lock], final)
    lost = max(lost, confirmed - final)
    return [f"{lock}: {lost} confirmed additions are lost: the number is {final}"] if lost else []


def takeovers(events):
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


def growth(samples, warm_up):
    """Of (seconds, {what: number}): {what: (at first, at last)} after the warm-up, as medians of a
    third of the time each; nothing if there are too few."""
    later = [numbers for seconds, numbers in samples if seconds >= warm_up]
    third = len(later) // 3
    if third < 3:
        return {}
    return {what: tuple(round(statistics.median(numbers[what] for numbers in part))
                        for part in (later[:third], later[-third:]))
            for what in ALLOWANCE}


def grown(name, found):
    """A line for each number that is not flat."""
    for what, (first, last) in found.items():
        part, more = ALLOWANCE[what]
        if last > first * (1 + part) + more:
            yield f"{name}: {what} grew from {first} to {last}"
