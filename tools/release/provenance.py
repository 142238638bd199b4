"""The origin of the figures in a generated document, and its tables."""

import os
import pathlib
import platform
import re
import subprocess
from collections.abc import Iterable, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]


def said_by(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return done.stdout.strip()


def machine(when: str) -> str:
    """`when` the load is asked for: "at the start"."""
    processors = re.findall(r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1))
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text()).group(1)
    return (f"{len(processors)} × {processors[0]}, {memory / 2**20:.0f} GiB, {system}, "
            f"Linux {platform.release()}, load {os.getloadavg()[0]:.1f} {when}")


def versions(*packages: str) -> str:
    found = [said_by("dpkg-query", "-W", "-f", "${Package} ${Version}", one) for one in packages]
    return ", ".join([f"commit {said_by('git', 'rev-parse', '--short=10', 'HEAD')}", *found])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
