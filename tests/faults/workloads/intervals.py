"""Two clients never believe at once that the lock is theirs, whatever happens to the servers, the
network and the clients."""

import checks.intervals
from processes import wait_for

ABOUT = "no two clients believe at once that they hold the lock, under the nemesis"
STORES = ("mongod", "sqlite")
SECONDS = 20
LEASE = 2000


def run(rig):
    """The violations, and figures for the report."""
    rig.start_store()
    for _ in range(5):
        rig.client(lock="intervals", work="intervals", lease=LEASE, ping=250, call=450)
    wait_for("a first grant", lambda: any(e["event"] == "grant" for e in rig.history.all()))
    rig.history.wait(lambda event: False, rig.seconds or SECONDS)
    failed = rig.end_clients()
    events = rig.history.all()
    beliefs = checks.intervals.beliefs_of(events)
    wrong = checks.intervals.violations(events) + [f"{name} failed" for name in failed]
    return wrong, {"beliefs": len(beliefs)}
