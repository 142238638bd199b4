"""How long after a holder's death the next got its lock, and that nobody got one before the window.

The window counts from the last ping of the dead that the store has. `pings` gives that for each
process id: (by the store's clock in ms, on CLOCK_BOOTTIME in ns).
"""

import dataclasses
from typing import Any

MS = 10**6
BUCKETS = (10, 20, 50, 100, 150, 200, 250, 300, 400, 600, 1000, 2000, 5000)


@dataclasses.dataclass
class Takeover:
    victim: str
    heir: str
    window_ms: float  # By the store's clock, from the last ping to the next claim.
    due: int  # On CLOCK_BOOTTIME, the end of the window.
    granted: int

    def late_ms(self, standstills: Any = ()) -> Any:
        """Without the time in which the machine stood still."""
        still = sum(max(0, min(end, self.granted) - max(begin, self.due))
                    for begin, end in standstills)
        return (self.granted - self.due - still) / MS


def takeovers_of(events: list[dict[str, Any]], pings: Any, lease_ms: Any) -> Any:
    """From holders that were killed. `events` in the order of their times."""
    ids, killed, holder, found = {}, {}, {}, []
    for event in events:
        who, kind = event["process"], event["event"]
        if kind == "start":
            ids[who] = event["id"]
        elif kind == "killed":
            killed[who] = event["at"]
        elif kind == "grant":
            last = holder.get(event["lock"])
            if last in killed:
                by_store, on_boot = pings[ids[last]]
                found.append(Takeover(last, who, event["when"] - by_store,
                                      on_boot + lease_ms * MS, event["at"]))
            holder[event["lock"]] = who
        elif kind == "unlocking":
            holder = {lock: one for lock, one in holder.items() if one != who}
    return found


def violations(takeovers: Any, lease_ms: Any) -> Any:
    """One line each; none if all is well."""
    return [f"{one.heir} took over from {one.victim} {one.window_ms} ms after its last ping, "
            f"not {lease_ms}" for one in takeovers if one.window_ms < lease_ms]


def percentile(values: Any, share: Any) -> Any:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def histogram(values: Any) -> Any:
    """Lines of a table: how many came within so many ms."""
    lines, below = [], float("-inf")
    for bound in (*BUCKETS, float("inf")):
        count = sum(below < value <= bound for value in values)
        if count:
            text = f"up to {bound} ms" if bound < float("inf") else f"more than {below} ms"
            lines.append((text, count))
        below = bound
    return lines
