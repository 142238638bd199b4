"""The build of tools/mutants: to that of the tree, a bug adds the few objects that it changes."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEV = ROOT / "build/dev"
LANES = ROOT / "build/mutants"
# Objects that come out of static libraries, by whether they are for the simulation: that has a log
# and a fork guard of its own.
IN_LIBRARIES = {
    False: re.compile(r"src/CMakeFiles/|tests/contract/CMakeFiles/contract_words"),
    True: re.compile(r"src/CMakeFiles/distlock(?:_inner)?.dir/(?!log\.|fork_guard\.)"
                     r"|tests/sim/CMakeFiles/simulation"),
}
# The tool has the library as a shared one.
OF_THE_TOOL = re.compile(r"src/cli/CMakeFiles/distlock_cli|src/CMakeFiles/distlock_inner")


class Spoiled(Exception):
    """The bug cannot be planted, so that nothing is known about it."""


def must(command: list[str], folder: pathlib.Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace",
                          env=dict(os.environ, GIT_CEILING_DIRECTORIES=str(LANES)))
    if done.returncode != 0:
        said = done.stdout + done.stderr
        error = re.search(r".*error:.*", said)
        raise Spoiled(error.group(0) if error else said.strip()[-2000:])
    return done.stdout


class Build:
    """Of the tree as it is, without a bug."""

    def __init__(self, programs: Iterable[str]) -> None:
        must(["tools/build", "dev", *programs], ROOT)
        commands = json.loads((DEV / "compile_commands.json").read_text())
        self.compilers = {one["file"]: shlex.split(one["command"]) for one in commands}
        self.sources = {re.search(r" -o (\S+)", one["command"]).group(1): pathlib.Path(one["file"])
                        for one in commands}
        self.links = {name: self._link(name) for name in programs}
        self.programs = {name: str(DEV / words[words.index("-o") + 1])
                         for name, words in self.links.items()}
        self.includes = {}  # Of each object, what it was made from.
        for block in must(["ninja", "-t", "deps"], DEV).split("\n\n"):
            made, *of = block.strip().splitlines() or [""]
            self.includes[made.split(":")[0]] = {os.path.normpath(DEV / one.strip()) for one in of}

    @staticmethod
    def _link(name: str) -> Any:
        lines = must(["ninja", "-t", "commands", name], DEV).strip().splitlines()
        line = [one for one in lines if one.startswith(": && ") and " -o " in one][-1]
        words = shlex.split(line.removeprefix(": && ").split(" && ")[0])
        # Without what is for debuggers, linking takes a fifth of the time. An object of a library may
        # be taken for a template of the standard library's that its changed one lacks: the first
        # definition counts.
        return [words[0], "-fuse-ld=gold", "-Wl,-S,--allow-multiple-definition", *words[1:]]

    def compiler(self, source: str) -> list[str]:
        words = self.compilers[str(source)]
        words = words[next(i for i, word in enumerate(words) if word.endswith("c++")):]
        return words[:words.index("-o")]

    def objects_of(self, changed: Any) -> Any:
        """The objects that a bug in these files changes, each with its source."""
        return {made: self.sources[made] for made, of in self.includes.items()
                if made in self.sources and of & changed}


class Lane:
    """A copy of the sources, in which one bug at a time is planted, and the programs with it."""

    def __init__(self, name: int | str, build: Any) -> None:
        self.tree = LANES / str(name)
        self.build = build
        self.made = {}

    def plant(self, patch: Any, files: Any) -> None:
        for folder in ("src", "include"):
            shutil.rmtree(self.tree / folder, ignore_errors=True)
            shutil.copytree(ROOT / folder, self.tree / folder)
        must(["git", "apply", str(patch)], self.tree)
        self.made = {}
        changed = {str(ROOT / name) for name in files}
        for number, (made, source) in enumerate(self.build.objects_of(changed).items()):
            self.made[made] = (source, self.tree / f"{number}.o")
            self.made[made][1].unlink(missing_ok=True)

    def _compile(self, made: Any) -> str:
        source, target = self.made[made]
        if not target.exists():
            name = source.relative_to(ROOT)
            own = [f"-I{self.tree / 'include'}", f"-I{self.tree / 'src'}"]
            first, *words = self.build.compiler(source)
            if name.parts[0] == "src":
                source = self.tree / name
            must([first, *own, *words, "-c", str(source), "-o", str(target)], DEV)
        return str(target)

    def for_processes(self) -> dict[str, str]:
        """Variables for tests that start programs: tool, library and scripts have the bug."""
        library = pathlib.Path(self.program("distlock"))
        words = " ".join(self.build.links["distlock"])
        library.rename(self.tree / re.search(r"-Wl,-soname,(\S+)", words).group(1))
        return {"DISTLOCK_TOOL": self.program("distlock_tool"), "LD_LIBRARY_PATH": str(self.tree),
                "DISTLOCK_SOURCES": str(self.tree)}

    @staticmethod
    def _from_a_static_library(made: str, name: str) -> bool:
        if name == "distlock":
            return False
        if name in ("distlock_tool", "cli_tests") and OF_THE_TOOL.match(made):
            return True
        return name != "distlock_tool" and bool(IN_LIBRARIES[name == "sim"].match(made))

    def program(self, name: str) -> str:
        """Linked with the bug: changed objects stand before the libraries, which then have no use
        for their own."""
        words = self.build.links[name]
        mine = [self._compile(made) for made in self.made if self._from_a_static_library(made, name)]
        words = [self._compile(word) if word in self.made else word for word in words]
        at = words.index("-o")
        must([*words[:at], *mine, "-o", str(self.tree / name), *words[at + 2:]], DEV)
        return str(self.tree / name)
