"""The checks of tools/tidy: each gives a line for each place that it objects to."""

import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

FOLDERS = ("include", "src", "tests", "bench", "examples", "tools", "cmake", ".ci")
RULES = [f"R{n}" for n in range(1, 24)] + [f"M{n}" for n in range(1, 10)]
LINES_MOST = 300
HEADER_LINES_MOST = 200  # Of a public header.

CXX = (".h", ".cpp")
# Values and pure functions. Of clock.h and store.h that means the types of time and of documents.
OUR_HEADERS_IN_PROTOCOL = {
    "turns.h", "protocol/deadlock.h", "protocol/member_judgements.h", "protocol/protocol.h", "protocol/store_clock_history.h", "call_limit.h", "enumerator.h",
    "local_span.h",
    "in_milliseconds.h", "saturating.h", "text.h"} | {
    f"distlock/{part}.h" for part in ("record", "options", "error", "store", "clock", "loss")}

# Where an include may stand: (what it starts with, where it may stand, how to say so).
INCLUDE_HOMES = [
    (r"(mongoc|bson)\b", r"(src|tests|bench|examples)/.*mongo\w*(/.*)?\.(h|cpp)|src/stores/mongodb/.*",
     "belongs into src/stores/mongodb"),
    (r"sqlite3\.h", r"src/stores/sqlite/.*|(tests|bench|examples)(/.*)?/?sqlite_.*",
     "belongs into src/stores/sqlite"),
    (r"libpq-fe\.h", r"(tests|examples)(/.*)?/postgres_.*", "belongs into examples/*/postgres_*"),
    (r"boost/log/", r"src/log_sinks\.cpp|src/cli/.*|tests/.*", "belongs into src/log_sinks.cpp or src/cli"),
    (r"boost/", r"(src|tests|bench|examples)/.*", "must not be needed by users of the library"),
]

# Which wing of src/ may include which others.
ROOMS_OF_STORES = ("stores/memory", "stores/mirrored", "stores/mongodb", "stores/sqlite")
REACHES = {
    "lock": ("pinger", "protocol", "the root"),
    "pinger": ("protocol", "the root"),
    "protocol": ("the root",),
    "uri": ("the root",),
    "stores": ("the root",),
    **{room: ("stores", "the root") for room in ROOMS_OF_STORES},
    "stores/open": (*ROOMS_OF_STORES, "stores", "the root"),
    "cli": ("protocol", "uri", "the root"),
}

CLOCKS = re.compile(
    r"\b(?:system|steady|high_resolution|thread|process_\w+)_clock::now\b|\bclock_gettime\b"
    r"|\bgettimeofday\b|\bstd::time\(|\b(?:std::)?time\((?:nullptr|NULL|0)\)"
    r"|\bmicrosec_clock\b")
SLEEPS = re.compile(
    r"\b(?:sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep|sleep)\s*\("
    r"|\.wait_(?:for|until)\(\s*\w*(?:lock|guard),")
CLOCK_HOMES = re.compile(
    r"src/clock\.cpp|src/line_writer\.cpp|src/stores/sqlite/sqlite_(clock|syncs)\.(h|cpp)"
    r"|src/stores/nap\.h|src/stores/mongodb/mongo_room\.cpp")
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")  # tidy: names them


class Tree:
    """The files below a root, by their names from there."""

    def __init__(self, root: str|pathlib.Path) -> None:
        self.root = pathlib.Path(root)
        self.files = {}
        for folder in FOLDERS:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    self.files[path.relative_to(self.root).as_posix()] = self._text(path)

    @staticmethod
    def _text(path: pathlib.Path) -> str:
        try:
            return path.read_text()
        except UnicodeDecodeError:
            return ""

    def lines(self, *suffixes: str, under: str = "") -> Iterator[tuple[str, int, str]]:
        for name, text in self.files.items():
            if name.startswith(under) and name.endswith(suffixes or ("",)):
                for number, line in enumerate(text.splitlines(), 1):
                    yield name, number, line


def code_of(line: str) -> str:
    """The line without strings and without a comment at its end."""
    return re.sub(r"//.*", "", re.sub(r'"(?:[^"\\]|\\.)*"', '""', line))


def includes(tree: Tree, under: str = "") -> Iterator[tuple[str, int, str]]:
    for name, number, line in tree.lines(*CXX, under=under):
        found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if found:
            yield name, number, found.group(1)


def check_include_homes(tree: Tree) -> Iterator[str]:
    for name, number, header in includes(tree):
        for start, home, where in INCLUDE_HOMES:
            if re.match(start, header):
                if not re.fullmatch(home, name):
                    yield f"{name}:{number}: {header} {where}"
                break


def check_public_headers(tree: Tree) -> Iterator[str]:
    for name, number, header in includes(tree, under="include/"):
        if not header.startswith("distlock/") and not re.fullmatch(r"[a-z_]+", header):
            yield f"{name}:{number}: a public header includes {header}: std and distlock only"


def check_arrows(tree: Tree) -> Iterator[str]:
    """Wings of src/ reach only the wings below them; the root is what all use."""
    for name, number, header in includes(tree, under="src/"):
        path = f"src/{header}"
        if path not in tree.files:
            continue
        here, there = wing_of(name), wing_of(path)
        if there != here and there not in REACHES.get(here, ()):
            yield f"{name}:{number}: an arrow upwards: {here} must not reach {there}"


def unit_of(name: str) -> str:
    """A header and its source are one."""
    return name.rpartition(".")[0]


def reached_from(part: str, edges: dict[str, set[str]]) -> set[str]:
    """That part, and all that it reaches by any way."""
    found, left = {part}, [part]
    while left:
        fresh = edges.get(left.pop(), set()) - found
        found |= fresh
        left += fresh
    return found


def check_circles(tree: Tree) -> Iterator[str]:
    """No room and no header reaches itself by way of others."""
    ours = [(name, number, path) for folder in ("src/", "include/")
            for name, number, header in includes(tree, under=folder)
            for path in (f"src/{header}", f"include/{header}") if path in tree.files]
    for part_of in (wing_of, unit_of):
        edges: dict[str, set[str]] = {}
        for name, _, path in ours:
            if part_of(name) != part_of(path):
                edges.setdefault(part_of(name), set()).add(part_of(path))
        reached = {part: reached_from(part, edges) for part in {*edges, *set().union(*edges.values())}}
        for name, number, path in ours:
            here, there = part_of(name), part_of(path)
            if here != there and here in reached[there]:
                yield f"{name}:{number}: a circle: {here} reaches {there}, which reaches {here}"


def wing_of(name: str) -> str:
    """lock, pinger, …, stores/mongodb; "the root" for src/log.h; the stores' common files are "stores"."""
    folders = name.split("/")[1:-1]
    return "/".join(folders) or "the root"


def check_examples(tree: Tree) -> Iterator[str]:
    ours = {name.removeprefix("src/") for name in tree.files if name.startswith("src/")}
    for name, number, header in includes(tree, under="examples/"):
        if header in ours:
            yield f"{name}:{number}: an example includes {header}: the public headers only"


def check_protocol(tree: Tree) -> Iterator[str]:
    for name, number, header in includes(tree, under="src/protocol/"):
        ours = header.startswith("distlock/") or f"src/{header}" in tree.files
        if ours and header not in OUR_HEADERS_IN_PROTOCOL:
            yield f"{name}:{number}: the protocol is pure, and includes {header}"
    for name, number, line in tree.lines(*CXX, under="src/protocol/"):
        if re.search(r"\b(?:Clock|Store|host_clock)\b", code_of(line)):
            yield f"{name}:{number}: the protocol is pure, and reaches for a clock or a store"


def check_clocks(tree: Tree) -> Iterator[str]:
    for name, number, line in tree.lines(*CXX, under="src/"):
        if CLOCK_HOMES.fullmatch(name):
            continue
        for pattern, what in ((CLOCKS, "reads a clock"), (SLEEPS, "waits")):
            if pattern.search(code_of(line)):
                yield f"{name}:{number}: {what}; only Clock may (src/clock.cpp)"


def check_sleepless_tests(tree: Tree) -> Iterator[str]:
    for name, number, line in tree.lines(*CXX, under="tests/"):
        if SLEEPS.search(code_of(line)):
            yield f"{name}:{number}: a test waits for time to pass, not for something to happen"


def sources_built(tree: Tree) -> Iterator[str]:
    """A pattern for each source that some CMakeLists.txt names, as a path from the root."""
    for name, text in tree.files.items():
        if not name.endswith("CMakeLists.txt"):
            continue
        folder = name.rpartition("/")[0]
        for source in re.findall(r"[\w./${}-]+\.cpp", text):
            source = source.replace("${PROJECT_SOURCE_DIR}/", "/")
            source = source.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
            path = posixpath.normpath(posixpath.join(f"/{folder}", source))[1:]
            # Another variable stands, in a loop, for a part of the name.
            yield re.sub(r"\\\$\\{\w+\\}", r"\\w+", re.escape(path))


def check_built(tree: Tree) -> Iterator[str]:
    built = re.compile("|".join(sources_built(tree)))
    for name in tree.files:
        if name.endswith(".cpp") and not built.fullmatch(name):
            yield f"{name}:1: in no CMakeLists.txt: nobody builds it"


def check_rules(tree: Tree) -> Iterator[str]:
    tags = set()
    for name, text in tree.files.items():
        if name.startswith("tests/") and name.endswith(".cpp"):
            tags |= set(re.findall(r"\[([RM]\d+)\]", text))
    for rule in RULES:
        if rule not in tags:
            yield f"tests:1: no test has the tag [{rule}]"
    for tag in sorted(tags - set(RULES)):
        yield f"tests:1: a test has the tag [{tag}], but there is no such rule"


def check_planted(tree: Tree) -> Iterator[str]:
    """A planted bug that does not apply any more tests nothing, nor does one whose file is not said."""
    for name, text in tree.files.items():
        if name.startswith("tests/mutants/") and "\ndiff --git a/" not in text:
            yield f'{name}:1: has no line "diff --git a/FILE b/FILE", so that nothing would be compiled'
        if name.endswith(".patch"):
            done = subprocess.run(["git", "apply", "--check", name], cwd=tree.root,
                                  capture_output=True, text=True)
            if done.returncode != 0:
                yield f"{name}:1: does not apply: {done.stderr.strip().splitlines()[-1]}"


def check_finished(tree: Tree) -> Iterator[str]:
    for name, number, line in tree.lines():
        if UNFINISHED.search(line) and "tidy: names them" not in line:
            yield f"{name}:{number}: unfinished; open an issue instead"


def check_sizes(tree: Tree) -> Iterator[str]:
    for name, text in tree.files.items():
        most = HEADER_LINES_MOST if name.startswith("include/") else LINES_MOST
        if text.count("\n") > most:
            yield f"{name}:{most + 1}: longer than {most} lines"


def check_headers_once(tree: Tree) -> Iterator[str]:
    for name, text in tree.files.items():
        if name.endswith(".h") and not text.startswith("#pragma once\n"):
            yield f"{name}:1: does not start with #pragma once"


def check_format(tree: Tree) -> Iterator[str]:
    program = shutil.which("clang-format")
    names = [tree.root / name for name in tree.files if name.endswith(CXX)]
    if not program:
        print("tools/tidy: formatting NOT checked: clang-format is not installed", file=sys.stderr)
        return
    done = subprocess.run([program, "--dry-run", *names], capture_output=True, text=True)
    first = {}
    for line in done.stderr.splitlines():
        found = re.match(r"(.+?):(\d+):\d+: .*-Wclang-format-violations", line)
        if found:
            first.setdefault(pathlib.Path(found.group(1)).relative_to(tree.root), found.group(2))
    for name, line in first.items():
        yield f"{name}:{line}: not as clang-format would have it (from here on)"


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]
