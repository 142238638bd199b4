"""Has Spin visit every state of the models in tests/model, and find each bug that is planted there.

    tools/model [--claims N]   the sound models with N claims in all (3 to 5, else 4), then what must
                               happen in them, then the bugs; exit status 1 if anything is not as it
                               should be
    tools/model --trail NAME   the steps to one of the bugs or of what must happen, as line/GOAL=1
"""

import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/model"
SOUND = "SOUND"


@dataclasses.dataclass(frozen=True)
class Model:
    """A file of tests/model, and what is to be found in it."""

    name: str
    sound: str  # Said of it if nothing is found.
    goals: dict[str, str]  # Events that some run must reach, or it would show nothing.
    bugs: dict[str, str]  # With the rule that each breaks.
    violations: list[tuple[str, str]]  # Each assertion, as pan writes it, and its name.

    @property
    def file(self) -> str:
        return str(FOLDER / f"{self.name}.pml")

    @property
    def variants(self) -> dict[str, str]:
        return {**self.goals, **self.bugs}


LOCK = Model("lock", "never two holders, never stuck", {
    "GOAL=1": "a dead holder's lock is taken over",
    "GOAL=2": "a hold that ran out is claimed anew",
    "GOAL=3": "a claim is read back and found",
    "GOAL=4": "a claim is given back, being too late",
    "GOAL=5": "a claim arrives after it was given up",
    "GOAL=6": "the third process holds with the last fence",
}, {
    "TAKEOVER_BY_NAME": "R2: a takeover claims whatever is there by then",
    "RELEASE_BY_NAME": "R3: a release frees whoever holds by then",
    "STALE_READ": "R6: a holder is judged by pings of long ago",
    "CLAIM_BEFORE_PING": "R7: a claim does not ask for a ping first",
    "UNKNOWN_IS_NO": "R8: a claim of unknown outcome counts as refused",
    "UNKNOWN_IS_YES": "R8: a claim of unknown outcome counts as held",
    "PENDING_ENDS_EARLY": "R8: a release ends while its claim may arrive",
    "SETTLED_AFTER_ONE_SKEW": "R8: the same, by a clock that falls back",
    "NO_CUTOFF": "R8: a claim may take effect however late",
    "NO_ALLOWANCE": "R9: a hold is valid for the whole window",
    "SKEW_ON_ONE_SIDE": "R9: the allowance counts the skew once",
    "NO_CALL_IN_ALLOWANCE": "R9: the allowance has no ping that got stuck",
    "DEADLINE_FROM_REPLY": "R9: a deadline counts from the ping's reply",
    "CLAIM_EXTENDS": "R9: a deadline counts from the claim",
    "PING_COUNTS_FOR_CLAIM": "R9: a ping counts for the claim under way",
    "PING_REVIVES": "R9: a ping revives a hold that ran out",
    "FENCE_BEGINS_ANEW": "R10: a claim does not add to the fence",
    "STOP_FORGETS_PENDING": "R12: a stop with a release pending removes the ping",
}, [
    (r"\(\d+!=\d+\)", "happens"),
    (r"<=1\)", "two valid holders"),
    (r">greatest_fence", "a fence that is not greater"),
    (r"age\[doc_owner\]!=255", "stuck: the holder has no ping"),
    (r"^\(\( !\(doc_taken\)|^\( !\(doc_taken\)", "stuck: the holder does not know"),
    (r"doc_ts==", "another's hold is freed"),
])
LINE = Model("line", "in order, never stuck, no place of nobody", {
    "GOAL=1": "a waiter gets the lock past those who were not there",
    "GOAL=2": "a waiter that was passed over is let in at once",
    "GOAL=3": "a request that was given up takes a place",
    "GOAL=4": "a request that was given up gets the lock",
    "GOAL=5": "a waiter takes over from a dead holder",
    "GOAL=6": "a waiter looks by itself, the ring being lost",
}, {
    "NEWCOMER_PUSHES_IN": "R17: a claim from outside the line goes before it",
    "DEAD_FIRST_BLOCKS": "R17: the first in line is waited for without end",
    "MARK_THROWS_OUT": "R17: who is passed over loses its place",
    "TAKEOVER_KEEPS_THE_PLACE": "R17: who takes over stays in line",
    "LEAVE_IS_BELIEVED": "R17: a wait that ends forgets an unheard leave",
    "DOUBT_IS_FORGOTTEN": "R18: a ticket of unknown outcome is forgotten",
    "PENDING_ENDS_EARLY": "R18: the same, while its request may arrive",
    "BELL_IS_BELIEVED": "R19: a waiter looks at a ring alone",
}, [
    (r"\(\d+!=\d+\)", "happens"),
    (r"before==0", "a waiter is passed over in its turn"),
    (r"before<", "a waiter's turn never comes"),
    (r"^stands", "a waiter has lost its place"),
    (r"^ !\(\(\(stands&&taken", "the holder stands in line"),
    (r"pending\[", "a place of nobody"),
    (r"rung\[|at\[0\]==\d\)\|\|", "nobody will ever look"),
])
MEMBERS = Model("members", "never two holders, one fence, never stuck", {
    "GOAL=1": "a dead holder's lock is taken over",
    "GOAL=2": "a hold is written to a third member",
    "GOAL=3": "a claim is granted while a member is kept out",
    "GOAL=4": "a member that came back grants a claim",
    "GOAL=5": "a claim arrives after it was given up",
    "GOAL=6": "the third process holds with the last fence",
}, {
    "MAJORITY_OF_THE_ANSWERS": "M1: a majority of those that answer grants a claim",
    "GREATEST_FENCE_WINS": "M2: the greatest claim is held, without a majority",
    "TOO_FEW_ARE_KEPT": "M2: a claim that one member granted is held",
    "LEFT_OVER_IS_FORGOTTEN": "M2: a claim of too few members is not freed",
    "LATE_CLAIM_IS_FORGOTTEN": "M2: a release ends while its claim may arrive",
    "FENCE_OF_ONE_MEMBER": "M3: a fence is one more than that of one member",
    "FENCE_OF_EACH_MEMBER": "M3: each member adds one to its own fence",
    "ONE_MEMBER_JUDGES_FOR_ALL": "M4: a holder is dead everywhere if it is on one",
    "DEADLINE_BY_NEWEST_PING": "M5: a deadline is the latest D",
    "PING_REVIVES": "M5: a ping after D makes a member protect again",
    "IDENTITY_IS_NOT_READ": "M6: an emptied member counts as before",
    "EMPTIED_VOTES_AT_ONCE": "M6: an emptied member is back without a wait",
    "WAIT_IS_TOO_SHORT": "M6: the wait is a tick less",
    "BACK_WITHOUT_FENCES": "M6: a member comes back knowing no fence",
    "REPAIR_OVER_A_RIVAL": "M9: a repair is no compare-and-set",
    "REPAIR_KEEPS_WHEN": "M9: a repair leaves the document as it is",
}, [
    (r"\(\d+!=\d+\)", "happens"),
    (r"<=1\)", "two valid holders"),
    (r">greatest_fence", "a fence that is not greater"),
    (r"==fence_of", "a fence that is another on each member"),
    (r"^\(phase\[", "stuck: nobody frees it"),
])
MODELS = (LOCK, LINE, MEMBERS)
CLAIMS_OF_OTHERS = 3  # Enough for every goal and bug, and quick.


class Failed(Exception):
    """The search did not come to its end, so that it says nothing."""


def run(arguments: list[str], folder: str | pathlib.Path) -> str:
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=500)
    return done.stdout + done.stderr


def claims_of(model: Model, asked: int) -> int:
    """More processes take too long in the model of members."""
    return 3 if model.name == "members" else asked


def defines(variant: str, claims: int) -> list[str]:
    return [f"-DCLAIMS={claims}"] + ([] if variant == SOUND else [f"-D{variant}"])


def build(model: Model, variant: str, claims: int, folder: pathlib.Path) -> None:
    """Of the few states of the others, compiling would take the longer part."""
    optimise = "-O2" if variant == SOUND else "-O0"
    said = run(["spin", "-a", *defines(variant, claims), model.file], folder)
    said += run(["gcc", "-w", optimise, "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=1900", "-o", "pan",
                 "pan.c"], folder)
    if not (folder / "pan").exists():
        raise Failed(said)


def visit(model: Model, variant: str, claims: int) -> Any:
    """The number of states, and what was violated or ""."""
    with tempfile.TemporaryDirectory() as name:
        build(model, variant, claims, pathlib.Path(name))
        said = run(["./pan", "-m100000"], name)
    states = re.search(r"^\s*(\d+) states, stored", said, re.M)
    violated = re.search(r"^pan:1: assertion violated (.*) \(at depth", said, re.M)
    stopped_early = re.search(r"too small|out of memory|MEMLIM|truncated", said)
    found = 1 if violated else 0
    if not states or stopped_early or f"errors: {found}\n" not in said:
        raise Failed(said)
    if not violated and "Search not completed" in said:
        raise Failed(said)
    what = violated.group(1) if violated else ""
    return int(states.group(1)), next((n for p, n in model.violations if re.search(p, what)), what)


def judge(model: Model, variant: str, claims: int) -> Any:
    """A line of the table, and whether it is as it should be."""
    name = f"{model.name}/{variant}"
    try:
        states, violated = visit(model, variant, claims)
    except (Failed, OSError, subprocess.TimeoutExpired) as failure:
        return f"{name}: could not be searched: {failure}", False
    said = violated or (model.sound if variant == SOUND else "NOT FOUND")
    right = bool(violated) == (variant != SOUND)
    right = right and (violated == "happens") == (variant in model.goals)
    what = {SOUND: f"{claims_of(model, claims)} claims", **model.variants}[variant]
    return f"{name:39} {what:52} {states:>9} {said}", right


def trail(name: str) -> Any:
    model, variant = next((m, v) for m in MODELS for v in m.variants if f"{m.name}/{v}" == name)
    with tempfile.TemporaryDirectory() as folder:
        build(model, variant, CLAIMS_OF_OTHERS, pathlib.Path(folder))
        run(["./pan", "-m100000", "-i"], folder)
        return run(["spin", "-k", f"{model.name}.pml.trail", "-p", "-g",
                    *defines(variant, CLAIMS_OF_OTHERS), model.file],
                   folder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/model", usage=__doc__)
    parser.add_argument("--claims", type=int, choices=(3, 4, 5), default=4)
    parser.add_argument("--trail", choices=[f"{m.name}/{v}" for m in MODELS for v in m.variants])
    asked = parser.parse_args()
    if asked.trail:
        print(trail(asked.trail))
        return 0
    print(f"{'variant':39} {'what':52} {'states':>9} found")
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        searches = [pool.submit(judge, model, SOUND, asked.claims) for model in MODELS]
        searches += [pool.submit(judge, model, variant, CLAIMS_OF_OTHERS)
                     for model in MODELS for variant in model.variants]
        for search in searches:
            line, right = search.result()
            wrong += not right
            print(line if right else f"{line}   <-- wrong", flush=True)
    print(f"{len(searches)} variants, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
