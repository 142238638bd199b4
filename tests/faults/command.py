"""Real servers and real processes under real faults: docs/developer/faults.md.

    tools/faults WORKLOAD...       runs them
      --store mongod|sqlite|mirrored   on this store only
      --seed N                     as another run was; by default a new one each time
      --seconds N                  so long, instead of the workload's own time
      --count N                    kills or processes, instead of the workload's own number
      --rounds N                   that often each fault (1)
      --only FAULT[,FAULT...]      of the nemesis's faults
      --history FILE               keeps all events, one JSON object a line
      --measure                    asks for the speed of an idle machine, too
      --require-all                fails where the machine lacks something; so does CI in the
                                   environment
      --network loopback           as where there are no network namespaces; so does
                                   DISTLOCK_FAULTS_NETWORK in the environment
      --without WHAT[,WHAT...]     as if it lacked namespaces, partitions, clocks, small disks
      --client FILE, --remote FILE   other builds of tests/faults/client.cpp and remote.cpp
      --bare                       the counter's writes without their guard: must fail
    tools/faults --list            the workloads
    tools/faults --planted [NAME]  plants bugs in the library, or those with NAME in theirs; each
                                   has a workload that must fail, and exit status 1 if it does not

Exit status: 0 no rule was broken; 1 one was, or the rig failed; 64 the command line cannot be used;
69 the programs are not built, or a run showed nothing for want of what the machine lacks.
"""

import importlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

from tests.faults import arguments, planted, processes, rig, signals
from tests.faults.nemesis.fault import NothingShown
from tools.servers.children import Missing

ROOT = pathlib.Path(__file__).resolve().parents[2]

STATUS = {"good": 0, "WRONG": 1, "nothing shown": arguments.UNAVAILABLE}


def workloads() -> Any:
    names = sorted(path.stem for path in (ROOT / "tests/faults/workloads").glob("[a-z]*.py"))
    return {name: importlib.import_module(f"tests.faults.workloads.{name}") for name in names}


def judged(workload: Any, one: Any) -> Any:
    """The verdict, what is wrong, and figures."""
    try:
        wrong, figures = workload.run(one)
    except NothingShown as lack:
        one.say(f"NOTHING SHOWN: {lack}")
        return "nothing shown", [], {}
    except (processes.Broken, Missing, OSError) as broken:
        wrong, figures = [f"the rig failed: {broken}"], {}
    return "WRONG" if wrong else "good", wrong, figures


def run_one(name: str, workload: Any, asked: Any) -> Any:
    """The exit status."""
    begun = time.monotonic()
    print(f"\n== {name} on {asked.store}, seed {asked.seed}", flush=True)

    def say(text: str) -> None:
        print(f"{time.monotonic() - begun:7.1f} s  {text}", flush=True)

    try:
        one = rig.Rig(asked, say)
    except OSError as broken:  # As of a history that cannot be written.
        print(f"WRONG: the rig failed: {broken}")
        return STATUS["WRONG"]
    try:
        verdict, wrong, figures = judged(workload, one)
    finally:
        one.close()
    for line in wrong:
        print(f"WRONG: {line}")
    print(f"{name} on {asked.store}: {verdict}; "
          + ", ".join(f"{key} {value}" for key, value in figures.items())
          + f"; {time.monotonic() - begun:.0f} s; again: {arguments.again(name, asked)}", flush=True)
    return STATUS[verdict]


def become_root_inside(network: Any) -> None:
    """Where a user may have namespaces of its own, those are enough."""
    os.environ["PATH"] += os.pathsep + "/usr/sbin"  # Debian's users have no iptables in theirs.
    mine = ["unshare", "--user", "--map-root-user", "--mount"]
    if network != "loopback" and shutil.which("ip"):
        mine.append("--net")
    if "DISTLOCK_FAULTS_INSIDE" in os.environ:
        # A new network has none that is up. In that of before it is, and this may not touch it.
        subprocess.run(["ip", "link", "set", "lo", "up"], capture_output=True)
    elif os.geteuid() != 0 and shutil.which(mine[0]):
        if subprocess.run([*mine, "true"], capture_output=True).returncode == 0:
            os.environ["DISTLOCK_FAULTS_INSIDE"] = "1"
            os.execvp(mine[0], [*mine, str(ROOT / "tools/faults"), *sys.argv[1:]])


def go_first() -> None:
    """So that distlock is measured, and not the machine's other work."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        print("measuring WITHOUT precedence over other programs, which takes root", flush=True)


def main() -> Any:
    known = workloads()
    asked = arguments.read(__doc__, known)
    signals.lead_to(lambda number: sys.exit(128 + number))
    if asked.planted:
        return planted.main(asked.workloads)
    if not asked.runs:
        for name, workload in known.items():
            print(f"{name:12} {workload.ABOUT} ({', '.join(workload.STORES)})")
        return 0
    become_root_inside(asked.network)
    if asked.measure:
        go_first()
    statuses = {run_one(name, known[name], arguments.of_run(asked, known, name, store))
                for name, store in asked.runs}
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
