"""The checks of tools/tidy that are about documents."""

import ast
import fnmatch
import io
import posixpath
import re
import tokenize
from collections.abc import Iterator

from tools.checks.tidy_checks import CXX, Tree

MAP, PORT = "docs/developer/design.md", "include/distlock/store.h"
WORDS_MOST = 25  # In a sentence. A colon and a semicolon end one.
FORBIDDEN = re.compile(r"\bunless told\b", re.IGNORECASE)
# A pronoun alone as the subject. "One store" and "What next?" are none.
BARE = re.compile(
    r"(?:Who|Whoever|What|Whatever|Others)\b(?!.*\?)|(?:One|Another) "
    r"(?:is|are|was|were|has|had|may|can|must|might|will|would|does|did|that|which|who|whose|of|by|comes|gets|goes"
    r"|holds|takes|waits)\b")


def names_of_tests(text: str) -> set[str]:
    joined = re.sub(r'"\s+"', "", text)  # A long name is written as two literals.
    listed = r'\badd_\w*test\((?:NAME )?"(?:\w+\.)?([^"]*)"'  # Of programs and scripts.
    return {*re.findall(r'\bTEST_CASE\("([^"]*)"', joined), *re.findall(listed, text)}


def check_names_of_tests(tree: Tree) -> Iterator[str]:
    for path, text in tree.files.items():
        for test in names_of_tests(text) if path.startswith("tests/") else ():
            if BARE.match(test[:1].upper() + test[1:]):
                yield f"{path}:1: a bare subject: “{test}”; docs/developer/style.md, Words"


def check_quoted_tests(tree: Tree) -> Iterator[str]:
    legend = "“Curly quotes” name a test"  # Documents that say so keep to it.
    tests = "".join(text for name, text in tree.files.items() if name.startswith("tests/"))
    known = {"Curly quotes", *names_of_tests(tests)}
    for path, text in documents(tree):
        for quote in re.finditer(r"“([^”]*)”", text) if legend in text else ():
            test = " ".join(quote.group(1).split())
            if test not in known:
                line = text.count("\n", 0, quote.start()) + 1
                yield f"{path}:{line}: no test is called “{test}”"


def check_promises(tree: Tree) -> Iterator[str]:
    """docs/guarantees.md names tests for each promise, and in its last table only."""
    name = "docs/guarantees.md"
    text = dict(documents(tree)).get(name, "")
    promises, _, table = text.partition("\n## The tests of each promise\n")
    for quote in re.finditer(r"“(?!Curly quotes)", promises):
        line = text.count("\n", 0, quote.start()) + 1
        yield f"{name}:{line}: a test is named outside of the last table"
    for number in re.findall(r"^## (\d+)\. ", promises, re.M):
        if not re.search(rf"^\| {number} .*“", table, re.M):
            yield f"{name}:1: promise {number} has no test in the last table"


def documents(tree: Tree) -> Iterator[tuple[str, str]]:
    """The Markdown files below the root and docs/: their names from the root, and their texts."""
    for path in sorted([*tree.root.glob("*.md"), *(tree.root / "docs").rglob("*.md")]):
        yield path.relative_to(tree.root).as_posix(), path.read_text()


def check_links(tree: Tree) -> Iterator[str]:
    for name, text in documents(tree):
        for link in re.finditer(r"\]\(([^)\s#]+)[^)\s]*\)", text):
            target = posixpath.join(posixpath.dirname(name), link.group(1))
            if "://" not in target and not (tree.root / target).exists():
                line = text.count("\n", 0, link.start()) + 1
                yield f"{name}:{line}: a link to {link.group(1)}, which is not there"


def mapped(text: str) -> Iterator[tuple[str, int]]:
    """The patterns of files in the map of design.md, with their lines. Two blanks end the names."""
    folders: list[str] = []
    before, _, rest = text.partition("```\n")
    for number, line in enumerate(rest.partition("```")[0].splitlines(), before.count("\n") + 2):
        names, depth = line.strip().split("  ")[0].split(), len(line) - len(line.lstrip())
        if depth > 8 or not names:
            continue  # More words on the line above.
        for name in names:
            if name.endswith("/"):
                folders[depth // 2:] = [name]
            if not name.endswith("/") or len(names) == 1:
                yield "".join(folders) if name.endswith("/") else "".join(
                    folders[:depth // 2]) + name, number


def check_map(tree: Tree) -> Iterator[str]:
    """The map of design.md has every source of the library, and nothing that is not there."""
    text = dict(documents(tree)).get(MAP, "")
    patterns = dict(mapped(text))
    folders = [name for name in patterns if name.endswith("/")]
    listed = {folder for folder in folders
              if any(name != folder and name.startswith(folder) for name in patterns)}
    for name in tree.files:
        if not re.match(r"(?:include/distlock|src)/.*\.(?:h|cpp)$", name):
            continue
        if not any(fnmatch.fnmatch(name, pattern) if not pattern.endswith("/") else
                   pattern not in listed and name.startswith(pattern) for pattern in patterns):
            yield f"{MAP}:1: the map has no {name}"
    for pattern, number in patterns.items():
        whole = pattern + "*" if pattern.endswith("/") else pattern
        if not any(fnmatch.fnmatch(name, whole) for name in tree.files) and "docs/" not in pattern:
            yield f"{MAP}:{number}: the map has {pattern}, which is not there"


def check_port(tree: Tree) -> Iterator[str]:
    """The table of the port names every function of Store."""
    document = dict(documents(tree)).get(MAP, "")
    for function in re.findall(r"^  virtual .*?\b(\w+)\(", tree.files.get(PORT, ""), re.M):
        if function != "Store" and not re.search(rf"^\|[^|]*`{function}\(", document, re.M):
            yield f"{MAP}:1: the table of the port has no {function}()"


def units(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and cells of tables outside of code, with their first lines."""
    kept: list[str] = []
    start, fenced = 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        words = line.strip()
        fenced ^= words.startswith("```")
        code = fenced or words.startswith("```") or (line.startswith("    ") and not kept)
        item = re.match(r"(?:[-*]|\d+\.) ", words)
        if kept and (code or item or not words or words[0] in "#|"):
            yield start, " ".join(kept)
            kept = []
        if code or not words or words.startswith("#"):
            continue
        if words.startswith("|"):
            yield from ((number, cell.strip()) for cell in words.strip("|").split("|"))
            continue
        start = start if kept else number
        kept.append(words[item.end():] if item else words)


def sentences(text: str) -> list[str]:
    """A name of a test, a piece of code and a link each count as what stands in the text."""
    for pattern, stands in ((r"`[^`]*`", "code"), (r"“[^”]*”", "test"), (r"\]\([^)]*\)", "]")):
        text = re.sub(pattern, stands, text)
    return re.split(r"(?<=[.!?:;])[\"”)*_\]]*\s+", text)


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs of comments, with their first lines. A comment beside code goes on below it.
    Three blanks begin a line of a table or of an example."""
    kept: list[str] = []
    start = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        code, found, words = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).partition("//")
        words = words.removeprefix("/").removeprefix("<")
        words = "" if words.startswith("   ") else words.strip()
        begins = bool(code.strip()) or not kept
        if kept and (not words or code.strip() or words[0] in "|-`"):
            yield start, " ".join(kept)
            kept = []
        if words and not words.startswith(("|", "clang-format")):
            start = number if begins else start
            kept.append(words)


def python_prose(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs of docstrings and of comments, with their first lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            first, said = node.body[0], ast.get_docstring(node, clean=False) or ""
            said = said.replace("\n" + " " * first.col_offset, "\n")
            yield from ((first.lineno + at - 1, unit) for at, unit in units(said))
    kept: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, alone = token.start[0], not token.line[:token.start[1]].strip()
        if kept and not (alone and kept[-1][0] == line - 1):
            yield kept[0][0], " ".join(words for _, words in kept)
            kept = []
        kept.append((line, token.string.lstrip("#! ")))
    if kept:
        yield kept[0][0], " ".join(words for _, words in kept)


def prose(tree: Tree) -> Iterator[tuple[str, int, str]]:
    for name, text in documents(tree):
        if not name.startswith("docs/generated/") and name != "CHANGELOG.md":
            yield from ((name, line, unit) for line, unit in units(text))
    for name, text in tree.files.items():
        if name.endswith((*CXX, ".py")):
            found = python_prose(text) if name.endswith(".py") else comments(text)
            yield from ((name, line, unit) for line, unit in found)


def check_words(tree: Tree) -> Iterator[str]:
    for name, line, unit in prose(tree):
        for sentence in sentences(unit):
            length = len([word for word in sentence.split() if re.search(r"\w", word)])
            if length > WORDS_MOST:
                yield f"{name}:{line}: {length} words in a sentence: {sentence[:60]}…"
            said = re.sub(r'"[^"]*"', "quote", sentence)
            if found := FORBIDDEN.search(said) or BARE.match(said):
                yield f"{name}:{line}: “{found[0]}”; docs/developer/style.md, Words"


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]
