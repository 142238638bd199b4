"""The command line of tools/faults. An unknown word ends it before it begins, with one line
that lists the known ones: a run that was asked for something else would show nothing."""

import argparse
import math
import os
import pathlib
import shlex
import sys
from typing import Any

from tests.faults import planted, rig
from tests.faults.nemesis import plan

BUILT = pathlib.Path(__file__).resolve().parents[2] / "build/dev/tests/faults"
USAGE, UNAVAILABLE = 64, 69
YEAR = 60 * 60 * 24 * 365


class Parser(argparse.ArgumentParser):
    def error(self, message: Any) -> None:
        print(f"{self.prog}: {message}; see --help", file=sys.stderr)
        sys.exit(USAGE)

    def must_know(self, what: str, asked: Any, known: Any) -> None:
        unknown = [one for one in asked if one not in known]
        if unknown:
            self.error(f"no such {what}: '{unknown[0]}'; known: {', '.join(known) or 'none'}")


def positive(kind: Any) -> Any:
    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not 0 < value <= YEAR:
            whole = "whole number" if kind is int else "number"
            raise argparse.ArgumentTypeError(f"'{text}' is no {whole} above 0 and up to {YEAR}")
        return value
    return read


def listed(text: str) -> Any:
    return text.split(",")


def program(text: str) -> Any:
    return pathlib.Path(text).absolute()


def make_parser(usage: Any) -> Any:
    parser = Parser(prog="tools/faults", usage=usage)
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--store", choices=("mongod", "sqlite", "mirrored"))
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--count", type=positive(int))
    parser.add_argument("--seconds", type=positive(float), default=math.inf)
    parser.add_argument("--rounds", type=positive(int), default=1)
    parser.add_argument("--history")
    parser.add_argument("--only", type=listed, default=[])
    parser.add_argument("--without", type=listed, default=[])
    parser.add_argument("--network", default=os.environ.get("DISTLOCK_FAULTS_NETWORK") or "auto")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--require-all", action="store_true", default=bool(os.environ.get("CI")))
    parser.add_argument("--client", type=program, default=BUILT / "faults_client")
    parser.add_argument("--remote", type=program, default=BUILT / "faults_remote")
    return parser


def read(usage: Any, known: Any) -> Any:
    """The arguments, with `runs`: workloads and stores, none if it was for the list. `known` are
    the workloads. Ends the program if it cannot be used."""
    parser = make_parser(usage)
    asked = parser.parse_args()
    parser.must_know("piece of a machine", asked.without, rig.PIECES)
    parser.must_know("network", [asked.network], rig.NETWORKS)
    asked.runs = []
    if asked.planted:
        bugs = [bug for bug, *_ in planted.TABLE]
        parser.must_know("planted bug", [name for name in asked.workloads
                                         if not any(name in bug for bug in bugs)], bugs)
    elif not asked.list and len(sys.argv) > 1:
        asked.runs = runs_of(parser, asked, known)
        must_be_built(asked)
    return asked


def runs_of(parser: Any, asked: Any, known: Any) -> Any:
    if not asked.workloads:
        parser.error(f"no workload; known: {', '.join(sorted(known))}")
    parser.must_know("workload", asked.workloads, sorted(known))
    runs = []
    for name in asked.workloads:
        stores = known[name].STORES
        if asked.store not in (None, *stores):
            parser.error(f"{name} does not run on {asked.store}; known: {', '.join(stores)}")
        runs += [(name, store) for store in stores if asked.store in (None, store)]
    if asked.only:
        must_have_faults(parser, asked.only, {run: faults_of(known, *run) for run in runs})
    if asked.history and len(runs) > 1:
        parser.error("--history is for one workload on one store")
    return runs


def faults_of(known: Any, name: str, store: Any) -> Any:
    """Of the nemesis, in a workload that has one."""
    return [plan.name_of(kind) for kind in getattr(known[name], "KINDS", {}).get(store, ())]


def must_have_faults(parser: Any, only: Any, of_runs: Any) -> None:
    """Each fault is of some run, and each run has one of them."""
    parser.must_know("fault", only, sorted(set().union(*of_runs.values())))
    for (name, store), faults in of_runs.items():
        if not set(only) & set(faults):
            parser.error(f"{name} on {store} has no fault of --only; known: "
                         f"{', '.join(sorted(faults)) or 'none'}")


def of_run(asked: Any, known: Any, name: str, store: Any) -> Any:
    """Of what was asked, that for one run."""
    only = [fault for fault in asked.only if fault in faults_of(known, name, store)]
    return argparse.Namespace(**{**vars(asked), "store": store, "only": only})


def must_be_built(asked: Any) -> None:
    for file in (asked.client, asked.remote):
        if not file.exists():
            print(f"tools/faults: no {file.name}; run tools/build first", file=sys.stderr)
            sys.exit(UNAVAILABLE)


def again(name: str, asked: Any) -> str:
    """The command that repeats one run."""
    words = ["tools/faults", name]
    plain = make_parser("").parse_args(["--network", "auto"])
    for option in ("store", "seed", "count", "seconds", "rounds", "only", "without", "network",
                   "client", "remote"):
        value = getattr(asked, option)
        if value != getattr(plain, option) or option == "seed":
            words += [f"--{option}", ",".join(value) if isinstance(value, list) else str(value)]
    words += [f"--{option.replace('_', '-')}" for option in ("bare", "measure", "require_all")
              if getattr(asked, option)]
    return shlex.join(words)
