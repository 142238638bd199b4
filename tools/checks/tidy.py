"""Checks what no compiler checks: the boundaries of docs/developer/design.md and the house rules.

    tools/tidy              prints FILE:LINE: what is wrong; exit status 1 if anything is
    tools/tidy --self-test  plants every fault in a small tree of its own and looks whether it is found
"""

import pathlib
import shutil
import sys
import tempfile

from tools.checks import tidy_checks, tidy_documents
from tools.checks.tidy_checks import (
    LINES_MOST, RULES, Tree, check_arrows, check_built, check_circles, check_clocks, check_examples,
    check_finished, check_format, check_headers_once, check_include_homes, check_planted, check_protocol,
    check_public_headers, check_rules, check_sizes, check_sleepless_tests)
from tools.checks.tidy_documents import (
    check_links, check_map, check_names_of_tests, check_port, check_promises, check_quoted_tests,
    check_words)

CHECKS = [*tidy_checks.CHECKS, *tidy_documents.CHECKS]

PATCH = """Rule: R1
Idea: a header twice.

diff --git a/src/log.h b/src/log.h
--- a/src/log.h
+++ b/src/log.h
@@ -1 +1,2 @@
 #pragma once
+#pragma once
"""
# For the self-test: which check must object to which file.
FAULTS = [
    (check_include_homes, "src/pinger/pinger.cpp", "#include <mongoc/mongoc.h>\n"),
    (check_include_homes, "src/pinger/pinger.cpp", "#include <sqlite3.h>\n"),
    (check_include_homes, "src/pinger/pinger.cpp", "#include <libpq-fe.h>\n"),
    (check_include_homes, "src/pinger/pinger.cpp", "#include <boost/log/core.hpp>\n"),
    (check_include_homes, "include/distlock/a.h", "#include <boost/thread/mutex.hpp>\n"),
    (check_public_headers, "include/distlock/a.h", '#include "log.h"\n'),
    (check_arrows, "src/pinger/pinger.cpp", '#include "stores/mongodb/mongo_store.cpp"\n'),
    (check_circles, "src/log.h", '#pragma once\n\n#include "pinger/pinger.cpp"\n'),
    (check_circles, "src/protocol/protocol.cpp", '#include "protocol/deadlock.h"\n'),
    (check_examples, "examples/a/main.cpp", '#include "protocol/protocol.h"\n'),
    (check_protocol, "src/protocol/protocol.cpp", '#include "log.h"\n'),
    (check_protocol, "src/protocol/protocol.cpp", "void decide(Clock& clock);\n"),
    (check_clocks, "src/pinger/pinger.cpp", "auto now = std::chrono::system_clock::now();\n"),
    (check_clocks, "src/pinger/pinger.cpp", "boost::this_thread::sleep_for(a);\n"),
    (check_clocks, "src/pinger/pinger.cpp", "stopped.wait_for(lock, a);\n"),
    (check_sleepless_tests, "tests/unit/a_test.cpp", "std::this_thread::sleep_for(a);\n"),
    (check_built, "src/forgotten.cpp", "int forgotten;\n"),
    (check_built, "tests/unit/part/forgotten.cpp", "int forgotten;\n"),
    (check_rules, "tests/unit/a_test.cpp", 'TEST_CASE("a", "[R99]") {}\n'),
    (check_rules, "tests/unit/b_test.cpp", 'TEST_CASE("a", "[log]") {}\n'),
    (check_quoted_tests, "docs/a.md", "“Curly quotes” name a test: “a renamed\none”\n"),
    (check_names_of_tests, "tests/unit/a_test.cpp", 'TEST_CASE("who waits "\n"longest is first", "[line]") {}\n'),
    (check_links, "docs/a.md", "[a](gone.md)\n"),
    (check_promises, "docs/guarantees.md", "## 1. One holder\n\nHolds.\n"),
    (check_promises, "docs/guarantees.md", "## One holder\n\nHolds, by “a test”.\n"),
    (check_map, "src/gone.h", "#pragma once\n"),
    (check_map, "docs/developer/design.md", "```\nsrc/\n  pinger/\n  protocol/\n  stores/\n  log.h gone.h\n```\n"),
    (check_port, "include/distlock/store.h", "class Store {\n  virtual Token claim(Token ts) = 0;\n"),
    (check_words, "docs/a.md", "A word" + " and a word" * 8 + ".\n"),
    (check_words, "docs/a.md", "- It waits, unless told not to.\n"),
    (check_words, "docs/a.md", "It waits. Who comes first is served first.\n"),
    (check_words, "docs/a.md", "One that waits is served.\n"),
    (check_words, "include/distlock/a.h", "#pragma once\n\n/// A name.\n/// What it means is told below.\n"),
    (check_words, "include/distlock/a.h", "#pragma once\n\nint a;  ///< A word" + " and a word" * 8 + ".\n"),
    (check_words, "tests/unit/a_test.cpp", "// What a test needs.\n"),
    (check_words, "tools/a.py", '"""Tools.\n\nWhat they take stands here."""\n'),
    (check_words, "tools/a.py", "a = 1  # What it means.\n"),
    (check_words, "tools/a.py", "# A word" + " and a word" * 4 + "\n#" + " and a word" * 4 + ".\n"),
    (check_planted, "tests/mutants/a.patch", PATCH.replace("log.h", "gone.h")),
    (check_planted, "tests/mutants/a.patch", PATCH.replace("diff --git a/src/log.h b/src/log.h\n", "")),
    (check_finished, "src/pinger/pinger.cpp", "// TODO later\n"),  # tidy: names them
    (check_sizes, "src/log.h", "\n" * (LINES_MOST + 1)),
    (check_sizes, "include/distlock/a.h", "\n" * (LINES_MOST - 1)),
    (check_headers_once, "src/log.h", "int log;\n"),
    (check_format, "src/pinger/pinger.cpp", "int  a ;\n"),
]


MAP = """```
include/distlock/
  *.h               all of them
src/
  pinger/           keeps
    *.cpp           alive
  protocol/
  stores/           one word
                    src/more words of it
  log.h             logging
```
"""


def objections(root: str|pathlib.Path) -> list[str]:
    tree = Tree(root)
    return [problem for check in CHECKS for problem in check(tree)]


def plant(root: str, name: str, text: str) -> None:
    path = pathlib.Path(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def sound_tree(root: str) -> None:
    """A tree to which there is no objection."""
    tags = "".join(f"[{rule}]" for rule in RULES)
    plant(root, "src/CMakeLists.txt",
          "pinger/pinger.cpp protocol/protocol.cpp stores/mongodb/mongo_store.cpp\n")
    plant(root, "src/pinger/pinger.cpp", '#include "log.h"\n')
    plant(root, "src/protocol/protocol.cpp", '#include "protocol/protocol.h"\n')
    plant(root, "src/protocol/protocol.h", '#pragma once\n\n#include "distlock/record.h"\n')
    plant(root, "src/protocol/deadlock.h", '#pragma once\n\n#include "protocol/protocol.h"\n')
    plant(root, "src/log.h", "#pragma once\n")
    plant(root, "src/stores/mongodb/mongo_store.cpp", "#include <mongoc/mongoc.h>\n")
    plant(root, "include/distlock/a.h", "#pragma once\n\n#include <chrono>\n")
    plant(root, "docs/developer/design.md", MAP)
    plant(root, "examples/a/CMakeLists.txt", "main.cpp\n")
    plant(root, "examples/a/main.cpp", '#include "distlock/a.h"\n')
    plant(root, "tests/unit/CMakeLists.txt", "a_test.cpp b_test.cpp\n")
    plant(root, "tests/unit/a_test.cpp", 'TEST_CASE("a "\n          "test") {}\n')
    plant(root, "tests/mutants/sound.patch", PATCH)
    plant(root, "docs/b.md", "“Curly quotes” name a test: “a\ntest”\n")
    plant(root, "tests/unit/b_test.cpp", f'// "{tags}"\n')


def self_test() -> list[str]:
    missed = []
    with tempfile.TemporaryDirectory() as root:
        sound_tree(root)
        missed += [f"the sound tree: {problem}" for problem in objections(root)]
    for check, name, text in FAULTS:
        with tempfile.TemporaryDirectory() as root:
            sound_tree(root)
            plant(root, name, text)
            if check is check_format and not shutil.which("clang-format"):
                continue
            if not list(check(Tree(root))):
                missed.append(f"{check.__name__} misses {text.strip() or 'its fault'!r} in {name}")
    missed += [f"{check.__name__} has no fault planted for it"
               for check in CHECKS if check not in {fault[0] for fault in FAULTS}]
    return missed


def main(arguments: list[str]) -> int:
    root = pathlib.Path(__file__).resolve().parents[2]
    problems = self_test() if arguments == ["--self-test"] else objections(root)
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
