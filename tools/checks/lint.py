"""Runs clang-tidy over the library and the command (.clang-tidy), pyflakes and mypy over all Python.

    tools/lint              src, include, and Python
    tools/lint --python     Python alone, which takes seconds
    tools/lint --all        tests, examples and benchmarks as well, with tests/.clang-tidy
    tools/lint --analyze    either of them with clang's static analyzer, which takes much longer
    tools/lint --self-test  plants faults and looks whether they are found

It prints FILE:LINE and what is wrong; exit status 1 if anything is. The preset `lint` makes unity
files, so that the headers of Boost are parsed for two dozen sources at a time.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "lint"
TIDY = "clang-tidy-14"
FINDING = re.compile(r"^(?=\S+:\d+:\d+: (?:warning|error): )", re.MULTILINE)
NOT_OURS = re.compile(r"verify_interface_header_sets|/compile_fail/")  # Made by cmake; no C++ on purpose.


def units() -> Iterator[tuple[str, pathlib.Path, bool]]:
    """The files to compile, each once, the longest first, with its set of checks."""
    subprocess.run(["cmake", "--preset", "lint"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    listed = json.loads((BUILD / "compile_commands.json").read_text())
    names = {entry["file"] for entry in listed if not NOT_OURS.search(entry["file"])}
    for name in sorted(names, key=lambda name: (not name.startswith(f"{BUILD}/src"), name)):
        library = name.startswith((f"{BUILD}/src/", f"{ROOT}/src/"))
        yield name, ROOT / (".clang-tidy" if library else "tests/.clang-tidy"), library


def findings(source: str, config: pathlib.Path, *arguments: Any) -> list[str]:
    """The texts of what clang-tidy says of a source and of the files of ours that it includes."""
    done = subprocess.run([TIDY, "--quiet", f"--config-file={config}", source, *arguments],
                          capture_output=True, text=True)
    found = FINDING.split(done.stdout.replace(f"{ROOT}/", ""))[1:]
    if done.returncode != 0 and not found:
        return [f"{source}: {TIDY} ended with {done.returncode}:\n{done.stderr}"]
    return found


def lint(everything: bool, *arguments: Any) -> list[str]:
    chosen = [(name, config) for name, config, library in units() if library or everything]
    if not chosen:
        return ["no sources found"]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        runs = [pool.submit(findings, name, config, f"-p={BUILD}", *arguments)
                for name, config in chosen]
        # A header is looked at by each that includes it.
        return sorted({text for run in runs for text in run.result()})


def python_findings(root: str | pathlib.Path, names: list[str]) -> Iterator[str]:
    """Of modules: what pyflakes and mypy say; every function has its types."""
    config = pathlib.Path(__file__).with_name("mypy.ini")
    for command in (["pyflakes3"], ["mypy", f"--config-file={config}", "--no-error-summary",
                                    f"--cache-dir={BUILD}/mypy"]):
        done = subprocess.run([*command, *names], cwd=root, capture_output=True, text=True)
        yield from done.stdout.splitlines(keepends=True)
        if done.returncode != 0 and not done.stdout:
            yield f"{command[0]} ended with {done.returncode}:\n{done.stderr}"


def lint_python() -> list[str]:
    names = [str(path.relative_to(ROOT)) for room in ("tools", "tests", "examples")
             for path in sorted((ROOT / room).rglob("*.py"))]
    return list(python_findings(ROOT, names))


SOUND = {"src/a.h": "#pragma once\nint half(int number);\n",
         "src/a.cpp": '#include "a.h"\nint half(int number) { return number / 2; }\n'}
PLANTED = [("bugprone-suspicious-semicolon", "src/a.cpp",
            '#include "a.h"\nint half(int number) {\n  if (number < 0);\n    return 0;\n}\n'),
           ("readability-identifier-naming", "src/a.cpp", "int Half(int number);\n"),
           ("readability-identifier-naming", "src/a.h", "int half(int number);\nint Half();\n"),
           ("clang-diagnostic-error", "src/a.cpp", "int half(int number) { return nothing; }\n")]


def findings_in(files: dict[str, str]) -> list[str]:
    with tempfile.TemporaryDirectory() as root:
        pathlib.Path(root, "src").mkdir()
        for name, text in {"unity.cxx": '#include "src/a.cpp"\n', **files}.items():
            pathlib.Path(root, name).write_text(text)
        return findings(f"{root}/unity.cxx", ROOT / ".clang-tidy", "--", "-std=c++20")


HALF = "def half(number: float) -> float:\n    return number / 2\n"
PYTHON = [("", HALF),
          ("a function without types", "def half(number):\n    return number / 2\n"),
          ("an import that nothing uses", "import os\n"),
          ("a wrong argument", HALF + "\n\nhalf('2')\n")]


def missed_in_python() -> Iterator[str]:
    for what, text in PYTHON:
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, "a.py").write_text(text)
            found = "".join(python_findings(root, ["a.py"]))
            if bool(what) != ("a.py:" in found):
                yield f"{what or 'the sound module'}: {found or 'is not found'}\n"


def self_test() -> list[str]:
    missed = [f"the sound file: {text}" for text in findings_in(SOUND)]
    missed += missed_in_python()
    for check, name, text in PLANTED:
        if not any(check in said and name in said for said in findings_in({**SOUND, name: text})):
            missed.append(f"{check} is not found in {name}\n")
    return missed


def main(arguments: list[str]) -> int:
    if arguments == ["--self-test"]:
        problems = self_test()
    elif arguments == ["--python"]:
        problems = lint_python()
    elif set(arguments) <= {"--all", "--analyze"}:
        more = ["--checks=clang-analyzer-*"] if "--analyze" in arguments else []
        problems = lint_python() + lint("--all" in arguments, *more)
    else:
        print(__doc__, file=sys.stderr)
        return 64
    print("".join(problems), end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
