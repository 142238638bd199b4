"""Runs clang-tidy over the library and the command, with the project's set: .clang-tidy.

    tools/lint              src and include
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "lint"
TIDY = "clang-tidy-14"
FINDING = re.compile(r"^(?=\S+:\d+:\d+: (?:warning|error): )", re.MULTILINE)
NOT_OURS = re.compile(r"verify_interface_header_sets|/compile_fail/")  # Made by cmake; no C++ on purpose.


def units():
    """What there is to compile, each once, the longest first, with its set of checks."""
    subprocess.run(["cmake", "--preset", "lint"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    listed = json.loads((BUILD / "compile_commands.json").read_text())
    names = {entry["file"] for entry in listed if not NOT_OURS.search(entry["file"])}
    for name in sorted(names, key=lambda name: (not name.startswith(f"{BUILD}/src"), name)):
        library = name.startswith((f"{BUILD}/src/", f"{ROOT}/src/"))
        yield name, ROOT / (".clang-tidy" if library else "tests/.clang-tidy"), library


def findings(source, config, *arguments):
    """The texts of what clang-tidy says of a source and of the files of ours that it includes."""
    done = subprocess.run([TIDY, "--quiet", f"--config-file={config}", source, *arguments],
                          capture_output=True, text=True)
    found = FINDING.split(done.stdout.replace(f"{ROOT}/", ""))[1:]
    if done.returncode != 0 and not found:
        return [f"{source}: {TIDY} ended with {done.returncode}:\n{done.stderr}"]
    return found


def lint(everything, *arguments):
    chosen = [(name, config) for name, config, library in units() if library or everything]
    if not chosen:
        return ["no sources found"]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        runs = [pool.submit(findings, name, config, f"-p={BUILD}", *arguments)
                for name, config in chosen]
        # A header is looked at by each that includes it.
        return sorted({text for run in runs for text in run.result()})


SOUND = {"src/a.h": "#pragma once\nint half(int number);\n",
         "src/a.cpp": '#include "a.h"\nint half(int number) { return number / 2; }\n'}
PLANTED = [("bugprone-suspicious-semicolon", "src/a.cpp",
            '#include "a.h"\nint half(int number) {\n  if (number < 0);\n    return 0;\n}\n'),
           ("readability-identifier-naming", "src/a.cpp", "int Half(int number);\n"),
           ("readability-identifier-naming", "src/a.h", "int half(int number);\nint Half();\n"),
           ("clang-diagnostic-error", "src/a.cpp", "int half(int number) { return nothing; }\n")]


def findings_in(files):
    with tempfile.TemporaryDirectory() as root:
        pathlib.Path(root, "src").mkdir()
        for name, text in {"unity.cxx": '#include "src/a.cpp"\n', **files}.items():
            pathlib.Path(root, name).write_text(text)
        return findings(f"{root}/unity.cxx", ROOT / ".clang-tidy", "--", "-std=c++20")


def self_test():
    missed = [f"the sound file: {text}" for text in findings_in(SOUND)]
    for check, name, text in PLANTED:
        if not any(check in said and name in said for said in findings_in({**SOUND, name: text})):
            missed.append(f"{check} is not found in {name}\n")
    return missed


def main(arguments):
    if arguments == ["--self-test"]:
        problems = self_test()
    elif set(arguments) <= {"--all", "--analyze"}:
        more = ["--checks=clang-analyzer-*"] if "--analyze" in arguments else []
        problems = lint("--all" in arguments, *more)
    else:
        print(__doc__, file=sys.stderr)
        return 64
    print("".join(problems), end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
