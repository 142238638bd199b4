"""Runs the balancer demo: starts the balancers, makes things go wrong, and judges their ledger.

Started by tools/demo, which builds what is needed. Exit status 1 if two ever held at once, or if
something that should have happened did not.
"""

import argparse
import os
import pathlib
import signal
import sys
import tempfile
import time
from typing import Any

from examples.balancer import drawing, judge, mirror, outage, timeline
from examples.balancer.balancers import Balancers, Surprise
from examples.balancer.show import Show
from examples.balancer.story import Story

PLANS = {"mirrored": "A member of the store will be killed and come back.\n"
                     "One balancer will be killed, one paused."}


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
    parser.add_argument("--planted-absence", action="store_true",
                        help="leave the member that was killed away, to see that the demo fails")
    parser.add_argument("--balancer", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--distlock", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--say-store", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.processes < 3:
        parser.error("it takes 3 processes: one is killed, and two must be left to compete")
    if options.folder and options.folder.exists() and any(options.folder.iterdir()):
        parser.error(f"{options.folder} is not empty: name a new folder")
    if options.planted_absence and options.store != "mirrored":
        parser.error("--planted-absence goes with --store mirrored")
    options.takeover_ms, options.ping_ms = 3000, 300
    return options


def uri_of(options: argparse.Namespace, folder: pathlib.Path) -> Any:
    if options.store == "sqlite":
        return f"sqlite:{folder}/locks.db"
    variable = {"mongodb": "DISTLOCK_MONGODB_STANDALONE_URI",
                "replica-set": "DISTLOCK_MONGODB_REPLICA_SET_URI",
                "mirrored": "DISTLOCK_MONGODB_MIRRORED_URI"}[options.store]
    if variable not in os.environ:
        sys.exit(f"tools/demo: ${variable} is not set; tools/demo runs this under tools/with-mongod")
    # A member that has not become one in time is kept out (M6); here not for an hour.
    return os.environ[variable] + ("?longestTakeoverMS=30000" if options.store == "mirrored" else "")


def run(options: argparse.Namespace, folder: pathlib.Path) -> Any:
    """Runs the story. Gives the events, what did not go as it should, and texts for the report."""
    trouble = outage.OF_STORE[options.store]()
    if options.planted_absence:
        trouble.missing = lambda: ["nobody starts it"]
    balancers = Balancers(options, folder, trouble)
    story = (mirror.MirrorStory(balancers, trouble, options, folder)
             if options.store == "mirrored" else Story(balancers, trouble))
    surprise = None
    try:
        Show(balancers, story.rows)
        began = time.monotonic()
        if not options.planted_bug:
            story.tell()
        balancers.listen_for(began + options.seconds - time.monotonic())
        balancers.stop()
    except (Surprise, outage.CannotBegin) as what:
        surprise = str(what)
    finally:
        story.close()
        trouble.close()
        balancers.kill()
    return balancers.events, surprise, story.shown


def report(options: argparse.Namespace, folder: pathlib.Path, events: list[dict[str, Any]],
           surprise: Any, shown: list[str]) -> Any:
    events = sorted(events, key=lambda event: event["at"])
    holds = judge.holds_of(events)
    title = f"The balancer's lock on {options.store}: {options.processes} processes compete"
    picture = folder / "timeline.svg"
    picture.write_text(drawing.as_svg(events, title))
    print("\n" + timeline.as_text(events, timeline.columns()))
    print("".join(f"\n{text}" for text in shown), end="")
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
          f"{PLANS.get(options.store, 'One will be killed, one paused, one lose its store.')}",
          flush=True)
    try:
        events, surprise, shown = run(options, folder)
    except (KeyboardInterrupt, SystemExit) as end:
        clean(folder)
        return getattr(end, "code", 128 + signal.SIGINT)
    if not events:
        print(f"tools/demo: {surprise or 'no balancer said anything'}", file=sys.stderr)
        clean(folder)
        return 1
    status = report(options, folder, events, surprise, shown)
    if not surprise:
        clean(folder, keep=("ledger.jsonl", "timeline.svg"))
    return status


if __name__ == "__main__":
    sys.exit(main())
