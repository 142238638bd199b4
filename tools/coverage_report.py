"""docs/coverage.md, from what tools/coverage found."""

import datetime
import os
import pathlib
import platform
import re
import subprocess

HEAD = """# Coverage

Written by `tools/coverage`, and not by hand: what of `src/` the tests of the layers below reach. The simulation, the fault rig and
the sanitizers' runs are not counted, nor is what a process reaches that is killed or calls `_exit()`. A branch is a way out of a
condition; those by which an exception leaves are not counted. “Curly quotes” name a test.
"""
PLACES = """
## What no test reaches

Lines that no test reaches, and conditions that never came out both ways, each with the reason why that may be so, from
[unreached.txt](../tests/coverage/unreached.txt). Those that begin with *Sometimes* are reached by chance, and not this time.
"""


def said_by(root, *command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    return done.stdout.strip()


def machine():
    processors = re.findall(r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text()).group(1)
    return (f"{len(processors)} × {processors[0]}, {system}, Linux {platform.release()}, "
            f"load {os.getloadavg()[0]:.1f} at the end")


def versions(root):
    packages = ("g++", "gcovr", "libmongoc-1.0-0", "libsqlite3-0")
    found = [said_by(root, "dpkg-query", "-W", "-f", "${Package} ${Version}", one) for one in packages]
    return ", ".join([f"commit {said_by(root, 'git', 'rev-parse', '--short=10', 'HEAD')}", *found])


def figures(lines):
    """Lines reached, lines, branches taken, branches."""
    branches = [count for _, some in lines.values() for _, count in some]
    return (sum(count > 0 for count, _ in lines.values()), len(lines),
            sum(count > 0 for count in branches), len(branches))


def share(part, whole):
    return f"{100 * part / whole:.1f} % ({part} of {whole})" if whole else "–"


def total(files):
    reached, lines, taken, branches = map(sum, zip(*map(figures, files.values())))
    return f"Lines: {share(reached, lines)}. Branches: {share(taken, branches)}."


def table(head, rows):
    cells = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(row)} |" for row in cells]


def document(root, layers, files, unreached):
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    by_file = []
    for name, lines in sorted(files.items()):
        reached, all_lines, taken, branches = figures(lines)
        by_file.append((f"`{name}`", share(reached, all_lines), share(taken, branches)))
    argued = [(f"`{name}`", "`" + line.replace("|", "\\|") + "`", why or "**not argued**")
              for name, _, line, why in unreached]
    return [HEAD, "    tools/coverage", "",
            f"{day}. {machine()}; {versions(root)}. Layers: {', '.join(layers)}.", "",
            f"**{total(files)}** {len(argued)} places are argued for below.", "",
            *table(("file", "lines", "branches"), by_file),
            PLACES, *table(("file", "line", "why"), argued)]


def write(root, layers, files, unreached, whole):
    print(total(files))
    if whole:
        lines = document(root, layers, files, unreached)
        (root / "docs/coverage.md").write_text("\n".join(lines) + "\n")
