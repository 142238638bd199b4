"""Where a source can be changed by one small mistake, found in the compiler's syntax tree."""

import dataclasses
import re
from typing import Any

from clang.cindex import Config, CursorKind, Index, TokenKind, TranslationUnit  # noqa: E402

Config.set_library_file("libclang-14.so.1")

OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
         "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&": "|", "|": "&",
         "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|="}
LOOPS = (CursorKind.WHILE_STMT, CursorKind.FOR_STMT, CursorKind.DO_STMT, CursorKind.CXX_FOR_RANGE_STMT)
FUNCTIONS = (CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD, CursorKind.CONSTRUCTOR,
             CursorKind.DESTRUCTOR, CursorKind.FUNCTION_TEMPLATE, CursorKind.CONVERSION_FUNCTION)
STATEMENTS = (CursorKind.CALL_EXPR, CursorKind.BINARY_OPERATOR, CursorKind.UNARY_OPERATOR,
              CursorKind.COMPOUND_ASSIGNMENT_OPERATOR, CursorKind.CXX_THROW_EXPR,
              CursorKind.CXX_DELETE_EXPR, CursorKind.UNEXPOSED_EXPR)
JUMPS = (CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT)
BINARY = (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR)
OPTIONS = TranslationUnit.PARSE_PRECOMPILED_PREAMBLE
SIZE = re.compile(r", \d+>$")  # Of an array: with another, it is another type.
ROOM = re.compile(r"[\w.>-]+\.reserve\([^;]*\);")  # A matter of speed only.
ASSIGNMENT = re.compile(r"([\w.>()-]+) = ((?:std::(?:move|min|max)\([^()]*\)|[^;(])*);$")
SHOWN_MOST = 60
EMPTY = ("", "{}", "std::nullopt", "nullopt", "nullptr", "0", '""', "true", "false")
ZERO = re.compile(r"(std::|[a-z])[\w:]*\{0?\}")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One mistake. `form` says how it stands beside what is right: mutation_forms.py."""
    start: int
    end: int
    form: str  # expression, condition, declared, statement, guard
    planted: str
    what: str


def shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_MOST else text[:SHOWN_MOST - 1].rstrip() + "…"


class Points:
    """Of one file, whose text is latin-1 so that places count bytes as the compiler does."""

    def __init__(self, unit: Any, path: Any, text: str) -> None:
        self.text = text
        self.found = {}
        self.tokens = [token for token in unit.get_tokens(extent=unit.get_extent(
            path, (0, len(text)))) if token.kind != TokenKind.COMMENT]
        self.expressions = []
        # The compiler looks inside these only where they are used, which is elsewhere.
        self.passed_over = (CursorKind.CLASS_TEMPLATE, CursorKind.FUNCTION_TEMPLATE) * path.endswith(".h")
        for cursor in unit.cursor.get_children():
            if cursor.location.file and cursor.location.file.name == path:
                self._look(cursor, None, None)
        self._operators()

    def _add(self, start: int, end: int, form: str, planted: str, what: str) -> None:
        self.found.setdefault((start, end, form, planted), Mutant(start, end, form, planted, what))

    def _of(self, cursor: Any) -> tuple[int, int, str]:
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        return start, end, self.text[start:end]

    def _ended(self, cursor: Any) -> tuple[int, int]:
        """The statement with its semicolon, or None if there is none."""
        start, end, _ = self._of(cursor)
        semicolon = re.compile(r"\s*;").match(self.text, end)
        return (start, semicolon.end()) if semicolon else None

    def _look(self, cursor: Any, parent: Any, function: Any) -> None:
        kind = cursor.kind
        if kind in self.passed_over:
            return
        if kind in FUNCTIONS or kind == CursorKind.LAMBDA_EXPR:
            function = cursor
        children = list(cursor.get_children())
        if kind.is_expression():
            self.expressions.append(cursor)
            self._expression(cursor, children)
        elif kind in (CursorKind.IF_STMT, CursorKind.WHILE_STMT, CursorKind.FOR_STMT):
            self._condition(cursor, children)
        elif kind == CursorKind.RETURN_STMT:
            self._return(cursor, children, function)
        elif kind == CursorKind.COMPOUND_STMT:
            self._statements(children, cursor, parent, function)
        elif kind == CursorKind.DO_STMT:
            self._statements(children[:1], cursor, parent, function)
        elif kind in (CursorKind.CXX_FOR_RANGE_STMT, CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT):
            self._statements(children[-1:], cursor, parent, function)
        if kind == CursorKind.CASE_STMT:
            children = children[1:]  # The value of a case has to be constant.
        for child in children:
            self._look(child, cursor, function)

    def _expression(self, cursor: Any, children: list[Any]) -> None:
        start, end, text = self._of(cursor)
        kind = cursor.kind
        if re.fullmatch(r"[0-9][0-9']*[a-zA-Z]*", text):
            if SIZE.match(self.text[start - 2:end + 1]):
                return
            digits = re.match(r"[0-9']+", text).group()
            planted = str(int(digits.replace("'", "")) + 1) + text[len(digits):]
            self._add(start, end, "expression", planted, f"{text} to {planted}")
        elif kind == CursorKind.CXX_BOOL_LITERAL_EXPR:
            planted = "false" if text == "true" else "true"
            self._add(start, end, "expression", planted, f"{text} to {planted}")
        elif kind == CursorKind.DECL_REF_EXPR and cursor.referenced:
            self._named(cursor, start, end, text)
        elif kind == CursorKind.UNARY_OPERATOR or (
                kind == CursorKind.CALL_EXPR and cursor.spelling in ("operator++", "operator--")):
            self._unary(start, end, text)
        elif kind == CursorKind.CONDITIONAL_OPERATOR:
            inside = self._of(children[0])
            for planted in ("true", "false"):
                self._add(inside[0], inside[1], "condition", planted, f"{shown(inside[2])} taken for {planted}")

    def _named(self, cursor: Any, start: int, end: int, text: str) -> None:
        named = cursor.referenced
        if named.kind == CursorKind.ENUM_CONSTANT_DECL:
            values = [one.spelling for one in named.semantic_parent.get_children()
                      if one.kind == CursorKind.ENUM_CONSTANT_DECL]
            other = values[(values.index(named.spelling) + 1) % len(values)]
            planted = text[:len(text) - len(named.spelling)] + other
            if other != named.spelling:
                self._add(start, end, "expression", planted, f"{text} to {planted}")
        elif text in ("std::min", "std::max"):
            other = "std::max" if text == "std::min" else "std::min"
            call = next((one for one in reversed(self.expressions)
                         if one.kind == CursorKind.CALL_EXPR and one.extent.start.offset == start
                         and one.extent.end.offset > end), None)
            if call:
                _, until, whole = self._of(call)
                self._add(start, until, "expression", other + whole[len(text):],
                          f"{text} to {other}")

    def _unary(self, start: int, end: int, text: str) -> None:
        for sign, planted in (("!", text[1:]), ("-", text[1:]), ("~", text[1:]),
                              ("++", "--" + text[2:]), ("--", "++" + text[2:])):
            if text.startswith(sign) and not text.startswith("!="):
                form = "condition" if sign == "!" else "expression"
                self._add(start, end, form, planted, f"{shown(text)} to {shown(planted)}")
                return
        if text.endswith(("++", "--")):
            planted = text[:-2] + ("--" if text.endswith("++") else "++")
            self._add(start, end, "expression", planted, f"{shown(text)} to {shown(planted)}")

    def _condition(self, cursor: Any, children: list[Any]) -> None:
        """Its values; and its bodies, where they are no blocks."""
        at = next((i for i, child in enumerate(children) if child.kind == CursorKind.VAR_DECL
                   or child.kind.is_expression()), None)
        if cursor.kind == CursorKind.FOR_STMT:
            at = next((i for i, child in enumerate(children[:-1]) if child.kind.is_expression()
                       and self._ended(child)), None)
            self._statements(children[-1:], cursor, None, None)
        if at is None:
            return
        start, end, text = self._of(children[at])
        form = "condition"
        values: tuple[str, ...] = ("true", "false")
        if children[at].kind == CursorKind.VAR_DECL:
            form, values = f"declared {children[at].spelling}", ("false",)
        elif cursor.kind == CursorKind.WHILE_STMT:
            self._statements(children[-1:], cursor, None, None)
        elif len(children) == at + 3:  # Without an else, it is its condition that is false.
            self._statements(children[at + 1:], cursor, None, None)
        if cursor.kind != CursorKind.IF_STMT:
            values = ("false",)
        if form == "condition" or cursor.kind == CursorKind.IF_STMT:
            for planted in values:
                self._add(start, end, form, planted, f"{shown(text)} taken for {planted}")

    def _return(self, cursor: Any, children: list[Any], function: Any) -> None:
        ended = self._ended(cursor)
        if not children or not ended:
            return
        start, end, text = self._of(children[0])
        if text.strip() in EMPTY or ZERO.fullmatch(text):
            return
        if children[0].type.spelling.removeprefix("const ") == "bool":
            self._add(start, end, "expression", f"!({text})", f"return {shown(text)} negated")
        elif function is None or function.kind != CursorKind.CONSTRUCTOR:
            self._add(*ended, "statement", "return {};", f"return {shown(text)} to return {{}}")

    def _statements(self, children: list[Any], within: Any, parent: Any, function: Any) -> None:
        last: tuple[int, int] = None  # The place of the statement before.
        for child in children:
            ended = self._ended(child)
            if child.kind == CursorKind.DECL_STMT:
                self._guard(child)
                ended = None
            elif ended and (child.kind in JUMPS or (child.kind == CursorKind.RETURN_STMT
                                                    and not list(child.get_children()))):
                self._left_out(*ended, "", function)
                ended = None
            elif not ended or child.kind not in STATEMENTS:
                ended = None
            else:
                at_end = parent == function and child == children[-1]
                returns = function is not None and function.kind != CursorKind.LAMBDA_EXPR and \
                    function.result_type.spelling not in ("", "void")
                self._left_out(*ended, "return {};" if at_end and returns else "", function)
            one, other = (self.text[slice(*place)] if place else "" for place in (last, ended))
            if one and other and within.kind == CursorKind.COMPOUND_STMT and not apart(one, other):
                self._add(last[0], ended[1], "statement", f"{other} {one}",
                          f"{shown(one)} exchanged with the next")
            last = ended

    def _left_out(self, start: int, end: int, planted: Any, function: Any) -> None:
        text = self.text[start:end]
        if not never_returns(function):
            self._add(start, end, "statement", planted, f"{shown(text)} left out")

    def _guard(self, cursor: Any) -> None:
        start, end, text = self._of(cursor)
        parts = re.fullmatch(r"(?:const )?([\w:<>]*(?:[Gg]uard|_lock)\b[\w:<>]*) (\w+)\((.*)\);", text)
        if parts:
            self._add(start, end, "guard", " ".join(parts.groups()), f"{shown(text)} left out")

    def _operators(self) -> None:
        for token in self.tokens:
            if token.kind == TokenKind.PUNCTUATION and token.spelling in OTHER:
                self._operator(token.spelling, token.extent.start.offset)

    def _operator(self, sign: Any, at: Any) -> None:
        around = [one for one in self.expressions if one.extent.start.offset < at
                  and at + len(sign) < one.extent.end.offset]
        least = min((one.extent.end.offset - one.extent.start.offset for one in around), default=0)
        cursor = next((one for one in around if (one.kind in BINARY or one.spelling.startswith(
            "operator")) and one.extent.end.offset - one.extent.start.offset == least), None)
        if cursor is None:
            return
        if sign in ("+", "-", "*", "/", "%", "+=") and re.search("string|char", cursor.type.spelling):
            return
        start, end, text = self._of(cursor)
        left, right = self.text[start:at].strip(), self.text[at + len(sign):end].strip()
        if left.count("(") != left.count(")") or left[-1] in "(,-+*/%<>=!&|?:":
            return
        planted = f"({left}) {OTHER[sign]} ({right})"
        self._add(start, end, "expression", planted,
                  f"{shown(text)} to {shown(f'{left} {OTHER[sign]} {right}')}")
        if sign in ("&&", "||"):
            for part, other in ((left, right), (right, left)):
                self._add(start, end, "condition", part, f"{shown(text)} without {shown(other)}")


def apart(one: str, other: str) -> bool:
    """Two assignments of which neither reads what the other writes."""
    both = [ASSIGNMENT.match(statement) for statement in (one, other)]
    return all(both) and not any(re.search(rf"\b{re.escape(first.group(1))}\b", second.string)
                                 for first, second in (both, both[::-1]))


def never_returns(function: Any) -> Any:
    """Then the compiler leaves out what would follow, and the way there."""
    return function is not None and any(
        child.kind == CursorKind.UNEXPOSED_ATTR and "noreturn" in "".join(
            token.spelling for token in child.get_tokens()) for child in function.get_children())


def negates(text: str, mutant: Mutant) -> Any:
    """Then it is less than taking the condition for true and for false."""
    return text[mutant.start] == "!" and mutant.planted == text[mutant.start + 1:mutant.end] or \
        re.search(r"[=!]= \(", mutant.planted) and "&&" not in mutant.what and "||" not in mutant.what


def parse(path: Any, text: str, arguments: list[str]) -> Any:
    return Index.create().parse(path, args=arguments, unsaved_files=[(path, text)], options=OPTIONS)


def mutants_of(unit: Any, path: Any, text: str) -> Any:
    found = list(Points(unit, path, text).found.values())
    rooms = [place.span() for place in ROOM.finditer(text)]
    found = [one for one in found
             if not any(start <= one.start and one.end <= end for start, end in rooms)]
    values = {(one.start, one.end) for one in found
              if one.form == "condition" and one.planted in ("true", "false")}
    found = [one for one in found if (one.start, one.end) not in values or not negates(text, one)]
    return sorted(found, key=lambda one: (one.start, -one.end, one.form, one.planted))
