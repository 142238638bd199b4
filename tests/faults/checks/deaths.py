"""Whether a lock whose holder was killed went on only when nothing of the dead could act any more, and
then soon."""

import dataclasses

from tests.faults.checks import takeover

MS = 10**6
LATEST = 60_000  # Milliseconds. A machine may stand still; the window is far longer.
USUAL = 5_000  # The median: a waiter looks by itself within 4.5 s, and is mostly told.


@dataclasses.dataclass
class Death:
    """Times on CLOCK_BOOTTIME in nanoseconds."""

    lock: str
    kind: str
    killed: int  # Before the last SIGKILL to what held the lock.
    last_act: int  # Of the dead holder's work; 0 if there was none.
    granted: int  # To the next.

    def late_ms(self) -> float:
        return (self.granted - max(self.killed, self.last_act)) / MS


def violations(deaths: list[Death]) -> list[str]:
    """One line each; none if all is well."""
    wrong = []
    for one in deaths:
        what = f"{one.lock}, {one.kind}: the next was granted it"
        if one.granted < one.killed:
            wrong.append(f"{what} {(one.killed - one.granted) / MS:.1f} ms before the kill")
        if one.granted <= one.last_act:
            wrong.append(f"{what} {(one.last_act - one.granted) / MS:.1f} ms before work of the dead "
                         "acted last")
        if one.late_ms() > LATEST:
            wrong.append(f"{what} {one.late_ms():.0f} ms late")
    median = takeover.percentile([one.late_ms() for one in deaths], 0.5)
    if median > USUAL:
        wrong.append(f"the dead are followed {median:.0f} ms late in the median")
    return wrong
