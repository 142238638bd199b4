"""Whether two clients ever believed at once that the lock was theirs.

A belief begins with the grant. It ends with what comes first: the last valid_until() that the
client was told, its own unlock, the loss that it heard of. A client that is stopped or killed goes
on believing until its deadline, and no longer: nobody else can know of its death before. On a
SQLite file the kernel tells others of a death. There the belief of a client that is killed ends
with the kill: the event says so. A client that is told after a loss that the hold is valid believes
anew.
"""

import bisect
import dataclasses
from typing import Any

LOSSES = ("lost", "noticed")
BEFORE_AN_ATTEMPT = ("start", "busy", "unlocked")


@dataclasses.dataclass
class Belief:
    process: str
    lock: str
    fence: int
    since: int
    until: int
    deadline: int
    lost: bool = False

    def __str__(self) -> str:
        return f"{self.process} with fence {self.fence}"

    def anew(self, at: int, until: int) -> "Belief":
        """Once lost. A client that is told "until now" believes in that moment."""
        until += until == at
        return dataclasses.replace(self, since=at, until=until, deadline=until, lost=False)


def beliefs_of(events: list[dict[str, Any]]) -> Any:
    """All beliefs that lasted any time, in the order of their beginnings. `events` in that of
    theirs."""
    found, current = [], {}
    for event in events:
        who, kind, at = event["process"], event["event"], event["at"]
        belief = current.get(who)
        if kind == "grant":
            deadline = event["valid_until"]
            current[who] = Belief(who, event["lock"], event["fence"], at, deadline,
                                  deadline)
            found.append(current[who])
        elif kind == "killed" and belief is not None:
            belief.until = min(belief.until, event.get("believed_until", belief.until))
        elif belief is None or event.get("fence", belief.fence) != belief.fence:
            continue
        elif kind == "valid":
            if belief.lost:
                belief = current[who] = belief.anew(at, event["valid_until"])
                found.append(belief)
            belief.deadline = belief.until = max(belief.deadline, event["valid_until"])
        elif kind == "unlocking" or kind in LOSSES:
            belief.until = min(belief.until, at)
            belief.lost = True
            if kind == "unlocking":
                del current[who]
    return sorted((one for one in found if one.until > one.since), key=lambda one: one.since)


def begins_belief(event: dict[str, Any], lock: str) -> Any:
    """Not if the client was so slow that its deadline had passed before it could tell of the grant."""
    return (event["event"] == "grant" and event["lock"] == lock
            and event["valid_until"] > event["at"])


def last_granted(events: list[dict[str, Any]], lock: str) -> Any:
    """The process that told last of a grant of this lock; nothing if none did."""
    return next((event["process"] for event in reversed(events)
                 if event["event"] == "grant" and event["lock"] == lock), None)


def violations(events: list[dict[str, Any]]) -> Any:
    """One line each; none if all is well."""
    beliefs, grants = beliefs_of(events), _grants_of(events)
    return [line for lock in sorted(grants) for line in (
        *_violations_of([one for one in beliefs if one.lock == lock]), *_of_fences(grants[lock]))]


@dataclasses.dataclass
class Grant:
    process: str
    fence: int
    begun: int  # The attempt cannot have begun before.
    at: int

    def __str__(self) -> str:
        return f"{self.process} with fence {self.fence}"


def _grants_of(events: list[dict[str, Any]]) -> Any:
    """By lock, also those that came too late to be believed in, each in the order of its telling."""
    before, found = {}, {}
    for event in events:
        who = event["process"]
        if event["event"] in BEFORE_AN_ATTEMPT:
            before[who] = event["at"]
        elif event["event"] == "grant":
            found.setdefault(event["lock"], []).append(
                Grant(who, event["fence"], before.get(who, 0), event["at"]))
    return found


def _of_fences(grants: Any) -> Any:
    """Each is of one grant, and greater than those that were granted before its attempt began."""
    wrong, of_fence, times, greatest = [], {}, [], []
    for grant in grants:
        same = of_fence.setdefault(grant.fence, grant)
        if same is not grant:
            wrong.append(f"{grant} was granted what {same} had been")
        earlier = bisect.bisect_left(times, grant.begun)
        if earlier and greatest[earlier - 1].fence > grant.fence:
            wrong.append(f"{grant} began after {greatest[earlier - 1]} had been granted")
        times.append(grant.at)
        greatest.append(max(greatest[-1:] + [grant], key=lambda one: one.fence))
    return wrong


def _same_hold(one: Any, other: Any) -> bool:
    return (one.process, one.fence) == (other.process, other.fence)


def _violations_of(beliefs: Any) -> Any:
    wrong, last = [], None
    for belief in beliefs:
        if last and belief.since < last.until:
            both = (min(last.until, belief.until) - belief.since) / 1e6
            wrong.append(f"{last} and {belief} both believed to hold, for {both:.1f} ms")
        elif last and belief.fence <= last.fence and not _same_hold(belief, last):
            wrong.append(f"{belief} came after {last}, whose fence is not smaller")
        if last is None or belief.until > last.until:
            last = belief
    return wrong


def violations_by_lock(events: list[dict[str, Any]]) -> Any:
    """The same where events name their lock, and many locks are in one history."""
    locks = sorted({event["lock"] for event in events if "lock" in event})
    of_all = [event for event in events if "lock" not in event]
    wrong = []
    for lock in locks:
        own = [event for event in events if event.get("lock") == lock]
        both = sorted(own + of_all, key=lambda event: event["at"])
        wrong += [f"{lock}: {line}" for line in violations(both)]
    return wrong
