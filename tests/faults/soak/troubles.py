"""The troubles that a soak makes for its clients and its store, one after the other. Each function
says whether it really came."""

import json
import subprocess
from typing import Any

from tests.faults import processes
from tests.faults.nemesis.fail_points import COMMANDS

STOPPED = 3.0  # Seconds; a lease is 2.
STRIKES = 0.3  # Seconds, in which clients send many commands.
FAILURES = ({"closeConnection": True}, {"errorCode": 91}, {"errorCode": 10107},
            {"failCommands": ["findAndModify"], "writeConcernError": {"code": 64, "errmsg": "late"}},
            {"blockConnection": True, "blockTimeMS": 400})


def tell_server(soak: Any, command: Any) -> Any:
    """However long it takes: a machine that stands still is no fault of the locks."""
    return processes.wait_for(
        "the server's answer", lambda: soak.member.tell(command, timeout=processes.PATIENCE))


def kill(soak: Any) -> bool:
    """A client that works is killed, and a new one comes."""
    if kill in soak.to_come() and soak.mortal.name not in soak.book.granted:
        return False  # The first at least is to have had a lock.
    soak.mortal.kill()
    soak.mortal = soak.start_mortal()
    return True


def stop(soak: Any) -> Any:
    """A client is stopped for longer than its lease."""
    victim = soak.chance.choice([*soak.steady, *([soak.mortal] if soak.mortal else [])])
    stopped = processes.stop(victim.process)
    soak.rest(STOPPED)
    processes.resume(victim.process)
    return stopped


def look(soak: Any) -> bool:
    """The command lists everything; while the server is away it says so."""
    done = soak.run_tool("list", "--json", "--uri", soak.uri)
    if done.returncode == 0:
        soak.seen = max(soak.seen, len(json.loads(done.stdout)["locks"]))
    elif done.returncode != 69:
        soak.book.wrong.add(f"distlock list: {done.returncode}: {done.stderr.strip()}")
    return done.returncode == 0


def fail(soak: Any) -> bool:
    """The server fails some commands in its own ways."""
    before = tell_server(soak, {
        "configureFailPoint": "failCommand", "mode": {"times": soak.chance.randint(1, 20)},
        "data": {"failCommands": COMMANDS, **soak.chance.choice(FAILURES)}})["count"]
    soak.rest(STRIKES)
    now = tell_server(soak, {"getParameter": 1, "failpoint.failCommand": 1})
    return now["failpoint.failCommand"]["timesEntered"] > before


def restart(soak: Any) -> bool:
    """The server is killed and restarted from its data; by Soak.end() if this is ended early."""
    soak.member.restart()
    return True


def block(soak: Any) -> bool:
    """Another program has a write transaction for a while."""
    other = soak.rig.sqlite_program("hold")
    try:
        holding = other.stdout.readline()
        soak.rest(soak.chance.uniform(0.2, 1.5))
        return bool(holding)
    finally:
        processes.kill(other)
        other.stdout.close()


OF_STORE = {
    "memory": [stop],
    "sqlite": [kill, stop, look, block],
    "mongod": [kill, kill, stop, look, fail, fail, restart],
}


def run_tool(soak: Any, *words: Any) -> Any:
    command = [str(soak.options.tool), *words]
    done = soak.spawn(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = done.communicate(timeout=processes.PATIENCE)
    return subprocess.CompletedProcess(command, done.returncode, out, err)
