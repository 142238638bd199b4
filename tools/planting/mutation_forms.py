"""A source with many mistakes in it, of which the environment selects one when a program starts."""

import re
from typing import Any

from tools.planting.mutation_points import OPTIONS

POINT = "::distlock_mutation::planted"


def crossing(one: Any, other: Any) -> Any:
    return one.start < other.start < one.end < other.end or other.start < one.start < other.end < one.end


def in_layers(mutants: Any) -> Any:
    """Mistakes whose places cross cannot stand in one source. A guard has no place for others."""
    layers = []
    for mutant in mutants:
        for layer in layers:
            if not any(crossing(mutant, other) or hides(mutant, other) for other in layer):
                layer.append(mutant)
                break
        else:
            layers.append([mutant])
    return layers


def hides(one: Any, other: Any) -> Any:
    guard, inner = (one, other) if one.form == "guard" else (other, one)
    return guard.form == "guard" and guard.start <= inner.start and inner.end <= guard.end


def plain(text: str, mutant: Any) -> Any:
    """The source with this mistake only, always made."""
    planted = mutant.planted or ";"
    if mutant.form == "guard":
        planted = ""
    elif mutant.form.startswith("declared"):
        planted = f"{text[mutant.start:mutant.end]}; {planted}"
    elif mutant.form == "expression":
        planted = f"({planted})"
    return text[:mutant.start] + planted + text[mutant.end:]


class Written:
    """The source with these mistakes, each under its number. `places` has the range in `text` of
    each group of mistakes that share a place."""

    def __init__(self, text: str, numbered: Any) -> None:
        self.source = text
        self.text = ""
        self.places = []
        groups = {}
        for number, mutant in numbered:
            groups.setdefault((mutant.start, mutant.end), []).append((number, mutant))
        self.groups = sorted(groups.items(), key=lambda item: (item[0][0], -item[0][1]))
        self.constants = constants_with(text, [place for place, _ in self.groups])
        self._write(0, len(text), 0)

    def _write(self, start: int, end: int, first: int) -> int:
        """Writes the text between, with the groups from `first` on that are inside. Gives the next group."""
        at = start
        while first < len(self.groups) and self.groups[first][0][1] <= end:
            place, group = self.groups[first]
            self._copy(at, place[0])
            begun = len(self.text)
            first = self._group(place, group, first + 1)
            self.places.append((begun, len(self.text), [mutant for _, mutant in group]))
            at = place[1]
        self._copy(at, end)
        return first

    def _copy(self, start: int, end: int) -> None:
        for at in (one for one in self.constants if start <= one < end):
            self.text += self.source[start:at] + self.constants[at]
            start = at + len("constexpr")
        self.text += self.source[start:end]

    def _group(self, place: tuple[int, int], group: Any, first: int) -> int:
        statements = [pair for pair in group if pair[1].form == "statement"]
        if statements:
            return self._statement(place, statements, first)
        form = group[0][1].form
        if form == "guard":
            number, mutant = group[0]
            kind, name, arguments = mutant.planted.split(" ", 2)
            made = f"{kind}({arguments})"
            self.text += (f"const std::unique_ptr<decltype({made})> {name}({POINT}({number}) ? nullptr"
                          f" : new auto({made}));")
            return first
        if form.startswith("declared"):
            first = self._write(place[0], place[1], first)
            self.text += "; "
            for number, mutant in group:
                self.text += f"{POINT}({number}) ? {mutant.planted} : "
            self.text += f"static_cast<bool>({form.split()[1]})"
            return first
        self.text += "("
        logical = any(mutant.form == "condition" for _, mutant in group)
        cast = "static_cast<bool>" if logical else ""
        for number, mutant in group:
            self.text += f"{POINT}({number}) ? {cast}({mutant.planted}) : "
        self.text += f"{cast}("
        first = self._write(place[0], place[1], first)
        self.text += "))"
        return first

    def _statement(self, place: tuple[int, int], group: Any, first: int) -> int:
        self.text += "{ "
        for number, mutant in group:
            self.text += f"if ({POINT}({number})) {{ {mutant.planted} }} else "
        self.text += "{ "
        first = self._write(place[0], place[1], first)
        self.text += " } }"
        return first


def constants_with(text: str, places: Any) -> Any:
    """Constants with a mistake in them become variables: where "constexpr" stands, and what instead."""
    instead = {}
    for found in re.finditer(r"\bconstexpr\b(?! *\()(?=[^;{}()]*[\s\w][={])[^;]*;", text):
        if any(found.start() <= start and end <= found.end() for start, end in places):
            members = re.search(r"static\s+$", text[:found.start()])
            pointer = re.match(r"constexpr\s+const\b", found.group())
            instead[found.start()] = "inline " * bool(members) + "" if pointer else \
                "inline " * bool(members) + "const"
    return instead


def errors_of(unit: Any, path: Any, text: str) -> Any:
    """Where in the text the compiler finds errors."""
    unit.reparse([(path, text)], options=OPTIONS)
    return [one.location.offset if one.location.file and one.location.file.name == path else None
            for one in unit.diagnostics if one.severity >= 3]


def sorted_out(unit: Any, path: Any, text: str, mutants: Any) -> Any:
    """Those that can be selected at a start, and those that can only be compiled one by one. Of the
    rest the compiler wants nothing to know."""
    left, selected, single = list(mutants), [], []
    doubtful = []
    for layer in in_layers(left):
        layer = list(layer)
        while layer:
            written = Written(text, list(enumerate(layer)))
            errors = errors_of(unit, path, written.text)
            if not errors:
                break
            blamed = blame(errors, written.places) or set(layer)
            doubtful += [mutant for mutant in layer if mutant in blamed]
            layer = [mutant for mutant in layer if mutant not in blamed]
        selected += layer
    for mutant in doubtful:
        if not errors_of(unit, path, Written(text, [(0, mutant)]).text):
            selected.append(mutant)
        elif not errors_of(unit, path, plain(text, mutant)):
            single.append(mutant)
    return selected, single


def blame(errors: Any, places: Any) -> Any:
    blamed = set()
    for error in errors:
        around = [place for place in places if error is not None and place[0] <= error <= place[1]]
        if around:
            blamed |= set(min(around, key=lambda place: place[1] - place[0])[2])
    return blamed
