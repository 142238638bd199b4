"""Whether a lock whose holder was killed went on only when nothing of the dead could act any more, and
then soon."""

import dataclasses

from tests.faults.checks import takeover

MS = 10**6
LATEST = 60_000  # Milliseconds. A machine may stand still; the window is far longer.
# Seven of ten: the waiter is told of the end. A look by itself comes 1.5 to 4.5 s later.
USUAL, USUAL_SHARE = 1_200, 0.7


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
    usual = takeover.percentile([one.late_ms() for one in deaths], USUAL_SHARE)
    if usual > USUAL:
        wrong.append(f"only {USUAL_SHARE:.0%} of the dead are followed within {usual:.0f} ms")
    return wrong
