"""Which of the planted bugs are asked for: by name, or a sample that can be had again."""

import argparse
import hashlib
import subprocess
from typing import Any


def chosen(bugs: list[Any], asked: argparse.Namespace) -> list[Any]:
    if asked.names:
        bugs = [bug for bug in bugs if any(name in bug.name for name in asked.names)]
    return sample(bugs, asked.sample, asked.seed) if asked.sample else bugs


def sample(bugs: list[Any], number: int, seed: str | None) -> list[Any]:
    """As many, one of each rule first. A new bug leaves the others where they are."""
    seed = seed or subprocess.getoutput("git rev-parse HEAD")
    print(f"a sample of {number} of {len(bugs)} bugs; --sample {number} --seed {seed}", flush=True)
    shuffled = sorted(bugs, key=lambda bug: hashlib.sha256(f"{seed} {bug.name}".encode()).digest())
    first = {bug.rule: bug for bug in reversed(shuffled)}.values()
    others = [bug for bug in shuffled if bug not in first]
    return sorted([*first, *others][:max(number, len(first))], key=lambda bug: bug.name)
