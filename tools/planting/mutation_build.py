"""The build of tools/mutation: sources that hold many mistakes, or one, in a copy of the tree."""

import concurrent.futures
import hashlib
import json
import re
import shutil
from collections.abc import Iterable
from typing import Any

from tools.planting import mutation_forms, mutation_points
from tools.planting.mutant_build import DEV, IN_LIBRARIES, ROOT, Build, Lane, Spoiled, must

WORK = ROOT / "build/mutation"
HEAD = ROOT / "tests/mutation/planted.h"
COMMAND = re.compile(r"src/cli/CMakeFiles/distlock_cli\.dir/")
QUIETLY = ["nice", "-n", "19"]
CACHED = ["ccache"] if shutil.which("ccache") else []
# Or the compiler takes it that no mistake can leave a function without its result.
TRAPS = ["-fsanitize=return", "-fsanitize-undefined-trap-on-error"]
EXTRA = ("mutation_planted", "mutation_listener")


class Sources:
    """The mistakes that fit each source, remembered by its text and that of the tools."""

    def __init__(self, build: Any) -> None:
        self.build = build
        tools = [mutation_points.__file__, mutation_forms.__file__]
        self.tools = "".join(open(name).read() for name in tools)

    def mutants(self, name: str) -> Any:
        """Of a file: those to select at a start, and those to compile one by one."""
        text = (ROOT / name).read_bytes()
        kept = WORK / "points" / hashlib.sha1(self.tools.encode() + text + name.encode()).hexdigest()
        if not kept.exists():
            found = self._look(name, text.decode("latin-1"))
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps([[vars(one) for one in part] for part in found]))
        return [[mutation_points.Mutant(**one) for one in part]
                for part in json.loads(kept.read_text())]

    def _look(self, name: str, text: str) -> Any:
        path = str(ROOT / name)
        unit = mutation_points.parse(path, text, self._arguments(name))
        wrong = [str(one) for one in unit.diagnostics if one.severity >= 3]
        if wrong:
            raise Spoiled(f"{name}: {wrong[0]}")
        return mutation_forms.sorted_out(unit, path, text,
                                         mutation_points.mutants_of(unit, path, text))

    def _arguments(self, name: str) -> Any:
        own = str(ROOT / name)
        like = own if own in self.build.compilers else next(
            path for path in self.build.compilers if path.startswith(own.rpartition("/")[0]))
        words = without_precompiled(self.build.compiler(like)[1:])
        return [*words, "-w", "-ferror-limit=0", "-include", str(HEAD), "-x", "c++"]


def without_precompiled(words: Any) -> Any:
    """Headers made beforehand are for the flags of the build, and nothing that clang can read."""
    if "-include" in words:
        at = words.index("-include")
        words = words[:at] + words[at + 2:]
    return words


class Planted(Lane):
    """A lane whose sources hold mistakes that are given as text."""

    def __init__(self, name: str, build: Any) -> None:
        super().__init__(name, build)
        self.tree = WORK / name

    def write(self, texts: Any) -> None:
        """Each file's text in the place of that of the tree."""
        for folder in ("src", "include"):
            shutil.rmtree(self.tree / folder, ignore_errors=True)
            shutil.copytree(ROOT / folder, self.tree / folder)
        for name, text in texts.items():
            (self.tree / name).write_text(text, encoding="latin-1")
        changed = self.build.objects_of({str(ROOT / name) for name in texts})
        self.made = {made: (source, self.tree / (made.replace("/", "+")))
                     for made, source in changed.items()}
        for _, target in self.made.values():
            target.unlink(missing_ok=True)

    def compile(self, lanes: Any, programs: Iterable[str]) -> None:
        """All that these programs need, at so many at once."""
        wanted = [made for made in self.made if COMMAND.match(made) or IN_LIBRARIES[False].match(made)
                  or any(made in self.build.links[name] for name in programs)]
        with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
            list(pool.map(self._compile, wanted))

    def _compile(self, made: Any) -> str:
        source, target = self.made[made]
        if not target.exists():
            name = source.relative_to(ROOT)
            own = [f"-I{self.tree / 'include'}", f"-I{self.tree / 'src'}"]
            first, *words = self.build.compiler(source)
            words = without_precompiled(words)
            source = self.tree / name if name.parts[0] == "src" else source
            # An optional that is empty, and used, is then an error that shows.
            must([*QUIETLY, *CACHED, first, *own, *words, "-w", "-D_GLIBCXX_ASSERTIONS", *TRAPS, "-include",
                  str(HEAD), "-c", str(source), "-o", str(target)], DEV)
        return str(target)

    def program(self, name: str) -> str:
        words = list(self.build.links[name])
        command = any("libdistlock_cli" in word for word in words)
        mine = [self._compile(made) for made in self.made
                if IN_LIBRARIES[name == "sim"].match(made) or (command and COMMAND.match(made))]
        words = [self._compile(word) if word in self.made else word for word in words]
        mine += [str(path) for extra in EXTRA if name != "sim" or extra == EXTRA[0]
                 for path in (DEV / f"tests/mutation/CMakeFiles/{extra}.dir").rglob("*.o")]
        at = words.index("-o")
        target = self.tree / name
        must([*QUIETLY, *words[:at], *mine, "-o", str(target), *words[at + 2:]], DEV)
        return str(target)


def build_of(programs: Iterable[str]) -> Any:
    must(["tools/build", "dev", *programs, *EXTRA], ROOT)
    return Build(programs)
