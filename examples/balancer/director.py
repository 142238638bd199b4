"""Runs the balancer demo: starts the balancers, makes things go wrong, and judges their ledger.

Started by tools/demo, which builds what is needed. Exit status 1 if two ever held at once, or if
something that should have happened did not.
"""

import argparse
import collections
import os
import pathlib
import signal
import sys
import tempfile
import time
from typing import Any

from examples.balancer import drawing, judge, outage, timeline
from examples.balancer.balancers import Balancers, Surprise
from examples.balancer.show import Show


GIVE_UP = 100  # Seconds, for what the director tries again and again.


class Story:
    """The troubles of the demo, one after the other. Each waits for what it takes to begin with and
    for what must come of it, never for a time."""

    def __init__(self, balancers: Any, trouble: Any) -> None:
        self.balancers = balancers
        self.trouble = trouble

    def tell(self) -> None:
        self.everybody_starts()
        self.holder_is_killed()
        self.holder_is_paused()
        self.holder_loses_its_store()

    def everybody_starts(self) -> None:
        waiting = set(self.balancers.processes)

        def last_one(event: dict[str, Any]) -> bool:
            waiting.discard(event["process"])
            return not waiting

        self.balancers.wait_for("all balancers to start", last_one)
        self.a_clean_unlock()

    def a_clean_unlock(self) -> None:
        self.balancers.wait_for("a clean unlock", lambda e: e["event"] == "done")

    def _stop_holder_in_mid_round(self, chunks_least: int = 0) -> Any:
        """Stops somebody who holds the lock and has work left; gives its name and fence."""
        steps, to_do = collections.Counter(), {}

        def third_step(event: dict[str, Any]) -> Any:
            hold = event["process"], event["fence"]
            if event["event"] == "grant":
                to_do[hold] = int(event["detail"].split()[0])
            steps[hold] += event["event"] == "step"
            return event["event"] == "step" and steps[hold] >= 3 and \
                to_do.get(hold, 0) - steps[hold] >= chunks_least

        limit = time.monotonic() + GIVE_UP
        while time.monotonic() < limit:
            step = self.balancers.wait_for("somebody in the middle of a round", third_step)
            if self.balancers.stop_in_mid_round(step["process"]):
                return step["process"], step["fence"]
        raise Surprise(f"in {GIVE_UP} s no holder could be stopped in the middle of a round: "
                       f"{self.balancers.why_not}")

    def _another_works(self, than: Any) -> Any:
        return self.balancers.wait_for(
            f"another than {than} to take over",
            lambda e: e["event"] == "step" and e["process"] != than)

    def holder_is_killed(self) -> None:
        name, fence = self._stop_holder_in_mid_round()
        self.balancers.processes[name].kill()
        self.balancers.processes[name].wait()
        self.balancers.note("killed", name, fence)
        self._another_works(name)
        self.a_clean_unlock()

    def holder_is_paused(self) -> None:
        name, fence = self._stop_holder_in_mid_round()
        self.balancers.note("paused", name, fence)
        self._another_works(name)
        os.kill(self.balancers.pid(name), signal.SIGCONT)
        self.balancers.note("continued", name, fence)
        self.balancers.wait_for(f"{name} to notice that it was paused too long",
                                lambda e: e["event"] == "lost" and e["process"] == name)
        self.a_clean_unlock()

    def holder_loses_its_store(self) -> None:
        # With so much to do that it cannot finish before its hold runs out.
        name, fence = self._stop_holder_in_mid_round(chunks_least=50)
        self.trouble.begin(name, self.balancers.pid(name))
        self.balancers.note("cut", name, fence, self.trouble.what)
        os.kill(self.balancers.pid(name), signal.SIGCONT)
        if self.trouble.only_the_holder:
            self.balancers.wait_for(f"{name} to notice that it can no longer ping",
                                    lambda e: e["event"] == "lost" and e["process"] == name)
            self._another_works(name)
        else:
            self.balancers.wait_for("work to go on", lambda e: e["event"] == "done")
        self.trouble.end(name, self.balancers.pid(name))
        self.balancers.note("mended", name, fence)
        self.balancers.wait_for(f"{name} to compete again", lambda e: e["process"] == name and
                                e["event"] in ("busy", "grant"))


def arguments() -> Any:
    parser = argparse.ArgumentParser(prog="tools/demo", description=__doc__.splitlines()[0],
                                     allow_abbrev=False)
    parser.add_argument("--store", choices=sorted(outage.OF_STORE), default="sqlite")
    parser.add_argument("--processes", type=int, default=4, metavar="N")
    parser.add_argument("--seconds", type=float, default=0,
                        help="go on for so long, if the story is over earlier")
    parser.add_argument("--folder", type=pathlib.Path, help="for ledger and picture; else a new one")
    parser.add_argument("--planted-bug", action="store_true",
                        help="give each process a lock of its own, to see that the judge sees it")
    parser.add_argument("--balancer", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--say-store", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.processes < 3:
        parser.error("it takes 3 processes: one is killed, and two must be left to compete")
    if options.folder and options.folder.exists() and any(options.folder.iterdir()):
        parser.error(f"{options.folder} is not empty: name a new folder")
    options.takeover_ms, options.ping_ms = 3000, 300
    return options


def uri_of(options: argparse.Namespace, folder: pathlib.Path) -> Any:
    if options.store == "sqlite":
        return f"sqlite:{folder}/locks.db"
    variable = {"mongodb": "DISTLOCK_MONGODB_STANDALONE_URI",
                "replica-set": "DISTLOCK_MONGODB_REPLICA_SET_URI"}[options.store]
    if variable not in os.environ:
        sys.exit(f"tools/demo: ${variable} is not set; tools/demo runs this under tools/with-mongod")
    return os.environ[variable]


def run(options: argparse.Namespace, folder: pathlib.Path) -> Any:
    """Runs the story and gives the events, and what did not go as it should."""
    trouble = outage.OF_STORE[options.store]()
    balancers = Balancers(options, folder, trouble)
    surprise = None
    try:
        Show(balancers)
        began = time.monotonic()
        if not options.planted_bug:
            Story(balancers, trouble).tell()
        balancers.listen_for(began + options.seconds - time.monotonic())
        balancers.stop()
    except (Surprise, outage.CannotBegin) as what:
        surprise = str(what)
    finally:
        trouble.close()
        balancers.kill()
    return balancers.events, surprise


def report(options: argparse.Namespace, folder: pathlib.Path, events: list[dict[str, Any]], surprise: Any) -> Any:
    events = sorted(events, key=lambda event: event["at"])
    holds = judge.holds_of(events)
    title = f"The balancer's lock on {options.store}: {options.processes} processes compete"
    picture = folder / "timeline.svg"
    picture.write_text(drawing.as_svg(events, title))
    print("\n" + timeline.as_text(events, timeline.columns()))
    print(f"\nledger:  {folder / 'ledger.jsonl'}\npicture: {picture}")
    for overlap in judge.overlaps_of(holds):
        print(f"OVERLAP: {overlap}")
    for hold in judge.stale_fences_of(holds):
        print(f"STALE FENCE: {hold.who} is not above the one before")
    if surprise:
        print(f"NOT AS PLANNED: {surprise}; see the logs in {folder}")
    print(judge.verdict(holds))
    sound = holds and not (judge.overlaps_of(holds) or judge.stale_fences_of(holds) or surprise)
    return 0 if sound else 1


def clean(folder: pathlib.Path, keep: Any = ()) -> None:
    """Removes what the run has left in the folder, and the folder if nothing is kept."""
    for path in folder.iterdir():
        if path.name not in keep:
            path.unlink()
    if not keep:
        folder.rmdir()


def main() -> Any:
    options = arguments()
    if options.say_store:
        print(options.store)
        return 0
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="distlock-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    options.uri = uri_of(options, folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print(f"{options.processes} balancers compete on {options.store}.\n"
          "One will be killed, one paused, one lose its store.", flush=True)
    try:
        events, surprise = run(options, folder)
    except (KeyboardInterrupt, SystemExit) as end:
        clean(folder)
        return getattr(end, "code", 128 + signal.SIGINT)
    if not events:
        print(f"tools/demo: {surprise or 'no balancer said anything'}", file=sys.stderr)
        clean(folder)
        return 1
    status = report(options, folder, events, surprise)
    if not surprise:
        clean(folder, keep=("ledger.jsonl", "timeline.svg"))
    return status


if __name__ == "__main__":
    sys.exit(main())
