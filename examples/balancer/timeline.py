"""Shows a judged ledger as text: who held when. drawing.py does it as a picture."""

import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

from examples.balancer import judge

WIDTH_MOST = 72
LEFT = 6  # columns before the chart: a process's name
MARKS = {  # event: (letter of the text, word, CSS class)
    "killed": ("X", "killed (SIGKILL)", "kill"),
    "paused": ("S", "paused (SIGSTOP)", "pause"),
    "continued": ("C", "continued (SIGCONT)", "pause"),
    "cut": ("!", "store lost", "cut"),
    "mended": ("+", "store back", "cut"),
    "lost": ("?", "noticed that the hold had run out", "lost"),
}
MEMBER_MARKS = {  # of a member of a mirrored store
    "down": ("D", "member killed (SIGKILL)", "kill"),
    "back": ("B", "member is back", "cut"),
    "repaired": ("R", "member has every hold again", "lost"),
}
ALL_MARKS = MARKS | MEMBER_MARKS


class Timeline:
    """The data of both pictures: rows, holds, marks, and times in seconds since the first event."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.start = events[0]["at"]
        self.length = max((events[-1]["at"] - self.start) / 1e9, 0.001)
        self.holds = judge.holds_of(events)
        self.processes = sorted({event["process"] for event in events})
        self.marks = [event for event in events if event["event"] in ALL_MARKS]
        self.has_members = any(event["event"] == "up" for event in events)

    def seconds(self, at: int) -> Any:
        return (at - self.start) / 1e9

    def spans(self, begin: Any, end: int) -> Iterator[Any]:
        """(process, from, to) of what lies between two kinds of marks, such as pauses."""
        since = {}
        for mark in self.marks:
            if mark["event"] == begin:
                since[mark["process"]] = self.seconds(mark["at"])
            elif mark["event"] == end and mark["process"] in since:
                yield mark["process"], since.pop(mark["process"]), self.seconds(mark["at"])
        for process, began in since.items():
            yield process, began, self.length


def columns() -> Any:
    """Of the terminal; 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def as_text(events: list[dict[str, Any]], width: Any) -> str:
    timeline = Timeline(events)
    chart = _chart(timeline, min(WIDTH_MOST, width - LEFT - 1))
    return "\n".join([*_holds(timeline), "", *chart, *_legend(timeline, width), "", longest_gap(timeline)])


def _holds(timeline: Any) -> Iterator[Any]:
    yield "    from       to   who  fence  chunks  ended by"
    ends = {"done": "unlocking", "lost": "running out", "killed": "SIGKILL", "open": "the end"}
    taken = [id(hold) for hold in judge.takeovers_of(timeline.holds)]
    for hold in timeline.holds:
        since, until = timeline.seconds(hold.since), timeline.seconds(hold.until)
        note = " *" if id(hold) in taken else ""
        yield (f"{since:6.2f} s {until:6.2f} s  {hold.process:>4}  {hold.fence:5}  {hold.steps:6}"
               f"  {ends[hold.end]}{note}")
    if taken:
        yield "* had taken the lock over"


def _chart(timeline: Any, width: Any) -> Iterator[Any]:
    per_cell = timeline.length / width
    step = tick_step(timeline.length, width // 12)
    scale = [" "] * width
    for i in range(int(timeline.length / step) + 1):
        label = f"{i * step:g} s"
        at = int(i * step / per_cell)
        if at + len(label) <= width:
            scale[at:at + len(label)] = label
    yield "      " + "".join(scale).rstrip()
    for process in timeline.processes:
        row = ["·"] * width
        for hold in timeline.holds:
            if hold.process == process:
                first, last = (min(int(timeline.seconds(at) / per_cell), width - 1)
                               for at in (hold.since, hold.until))
                row[first:last + 1] = "█" * (last + 1 - first)
        for mark in timeline.marks:
            if mark["process"] == process:
                row[min(int(timeline.seconds(mark["at"]) / per_cell), width - 1)] = \
                    ALL_MARKS[mark["event"]][0]
        yield f"{process:>4}  " + "".join(row)


def _legend(timeline: Timeline, width: Any) -> Iterator[Any]:
    # Its spaces do not break within an entry.
    marks = ALL_MARKS if timeline.has_members else MARKS
    entries = [("█", "holds"), *((letter, word) for letter, word, _ in marks.values())]
    text = "  ".join(f"{letter} {word}".replace(" ", "\u00a0") for letter, word in entries)
    indent = " " * LEFT
    for line in textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent):
        yield line.replace("\u00a0", " ")


def longest_gap(timeline: Any) -> str:
    gap, began = judge.longest_gap_of(timeline.holds)
    return (f"longest gap: {gap / 1e9:.2f} s without a holder, "
            f"from {timeline.seconds(began):.2f} s on")


def tick_step(length: Any, most: Any) -> Any:
    """A round number of seconds that fits `length` at most `most` times."""
    for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60):
        if length / step <= most:
            return step
    return 120
