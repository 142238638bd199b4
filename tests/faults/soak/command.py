"""Everything at once, for as long as you like: docs/developer/faults.md.

    tools/torture --minutes M --store sqlite|mongod|memory|all [--seed N] [--history FILE]

Clients with several threads lock, wait, think, count up guarded numbers, list, break holds; they
are killed, stopped, mis-clocked; the store fails, restarts, is blocked. Prints what was done and
what came of it, also when Ctrl-C ends it early. FILE keeps all events, one JSON object a line; with
"all" its name gets an ending for each store.

Exit status: 0 no rule was broken and nothing grew; 1 one was, or did; 64 the command line cannot be
used; 69 the machine lacks something or stood still for too long; 130 ended by Ctrl-C (143 by
SIGTERM).
"""

import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import threading
import time
from typing import Any

from tests.faults import processes, rig, signals
from tests.faults.soak import run as soak_run
from tools.servers.children import Missing

ROOT = pathlib.Path(__file__).resolve().parents[3]

STORES = ("sqlite", "mongod", "memory")
USAGE, UNAVAILABLE = 64, 69


class Parser(argparse.ArgumentParser):
    def error(self, message: Any) -> None:
        print(f"tools/torture: {message}; see --help", file=sys.stderr)
        sys.exit(USAGE)


def minutes(text: str) -> Any:
    value = float(text)
    if not 0 < value <= 60 * 24 * 365:
        raise ValueError
    return value


def arguments() -> Any:
    parser = Parser(usage=__doc__, add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--minutes", type=minutes)
    parser.add_argument("--store", choices=(*STORES, "all"))
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--history")
    parser.add_argument("--torturer", type=pathlib.Path,
                        default=ROOT / "build/dev/tests/faults/faults_torturer")
    parser.add_argument("--tool", type=pathlib.Path, default=ROOT / "build/dev/src/cli/distlock")
    options = parser.parse_args()
    if options.help:
        print(__doc__.strip())
        sys.exit(0)
    if options.minutes is None or options.store is None:
        parser.error("--minutes and --store are needed")
    for program in (options.torturer, options.tool):
        if not program.exists():
            print(f"tools/torture: no {program.name}; run tools/build first", file=sys.stderr)
            sys.exit(UNAVAILABLE)
    if options.seed is None:
        options.seed = time.time_ns() % 10**6
    return options


class Early(BaseException):
    """A signal has asked for the end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


def again(options: Any) -> str:
    words = ["tools/torture", "--minutes", f"{options.minutes:g}", "--store", options.store,
             "--seed", str(options.seed)]
    return shlex.join(words)


def torture(options: Any, say: Any) -> Any:
    """On one store. The exit status."""
    asked = argparse.Namespace(seed=options.seed, store=options.store, seconds=None, rounds=None,
                               history=None, without=(), network="auto",
                               require_all=bool(os.environ.get("CI")))
    one = rig.Rig(asked, say)
    run, status = None, 0
    try:
        run = soak_run.Soak(one, options, say)
        try:
            run.start()
            say(f"seed {options.seed}, for {options.minutes:g} minutes")
            run.torment(60 * options.minutes)
        except Early as early:
            status = early.status
            say("ended early")
        run.end()
        for line in run.figures():
            say(line)
        for line in sorted(run.book.wrong):
            say(f"WRONG: {line}")
        say(f"{'WRONG' if run.book.wrong else 'good'}; again: {again(options)}")
        return 1 if run.book.wrong else status
    finally:
        if run:
            run.close()
        one.close()


def torture_all(options: Any) -> Any:
    """Side by side. The first exit status that is not 0."""
    words = ["--minutes", str(options.minutes), "--seed", str(options.seed), "--torturer",
             str(options.torturer), "--tool", str(options.tool)]
    runs, asked = [], 0
    try:
        for store in STORES:
            history = ["--history", f"{options.history}.{store}"] if options.history else []
            # In sessions of their own: Ctrl-C reaches them by this process alone, once.
            runs.append(processes.spawn(
                [str(ROOT / "tools/torture"), "--store", store, *words, *history]))
        for run in runs:
            run.wait()
    except Early as early:
        asked = early.status
        for run in runs:
            if run.poll() is None:
                run.terminate()
    for run in runs:
        run.wait()
    statuses = [run.returncode for run in runs]
    return 1 if 1 in statuses else asked or next((status for status in statuses if status), 0)


def main() -> Any:
    options = arguments()

    def early(number: int) -> None:
        raise Early(number)

    signals.lead_to(early)
    if options.store == "all":
        return torture_all(options)
    begun, mutex = time.monotonic(), threading.Lock()

    def say(text: str) -> None:
        with mutex:
            print(f"{options.store:7}{time.monotonic() - begun:7.1f} s  {text}", flush=True)

    try:
        return torture(options, say)
    except (processes.Broken, Missing, OSError, subprocess.TimeoutExpired) as lack:
        say(f"WRONG: {lack}")
        return UNAVAILABLE
    except Early as again:
        return again.status


if __name__ == "__main__":
    sys.exit(main())
