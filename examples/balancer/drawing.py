"""Shows a judged ledger as an SVG file that needs nothing beside it."""

import html
import subprocess
from collections.abc import Iterator
from typing import Any

from examples.balancer import judge
from examples.balancer.timeline import (
    ALL_MARKS, MARKS, MEMBER_MARKS, Timeline, longest_gap, tick_step)

# Plain rules and a second set for dark pages, so that drawing programs show it as browsers do.
COLOURS = {  # name: (what it colours, on light paper, on dark paper)
    "paper": (".paper, .fence {{ fill: {} }}", "#ffffff", "#14181d"),
    "ink": ("text {{ fill: {} }}", "#1f2933", "#e6eaef"),
    "faint": (".faint, .axis {{ fill: {} }}", "#66727f", "#93a0ae"),
    "line": (".grid {{ stroke: {} }}", "#dde3ea", "#333c46"),
    "band": (".band {{ fill: {} }}", "#f5f7fa", "#1b2127"),
    "hold": (".hold {{ fill: {} }}", "#2f6fb2", "#6aa9e9"),
    "taken": (".taken {{ fill: {} }}", "#b4540a", "#f0a05a"),
    "kill": (".kill {{ stroke: {} }}", "#c62828", "#ff6b6b"),
    "pause": (".pause {{ fill: {} }}", "#7b4fb5", "#b794f0"),
    "cut": (".cut {{ fill: {} }}", "#8a6d00", "#d9b93b"),
    "lost": (".lost {{ stroke: {} }}", "#1f2933", "#e6eaef"),
}


def _rules(column: Any) -> str:
    return "\n".join(colour[0].format(colour[column]) for colour in COLOURS.values())


STYLE = f"""
text {{ font: 13px system-ui, "DejaVu Sans", sans-serif }}
{_rules(1)}
.title {{ font-size: 17px; font-weight: 600 }}
.fence {{ font-size: 10px; text-anchor: middle }}
.axis {{ text-anchor: middle }}
.kill {{ fill: none; stroke-width: 2.5 }}
.lost {{ fill: none; stroke-width: 1.5 }}
.span {{ opacity: .25 }}
@media (prefers-color-scheme: dark) {{
{_rules(2)}
}}
"""
LEFT, TOP, ROW, BAR, PLOT, LEGEND = 64, 92, 52, 24, 1000, 92


def as_svg(events: list[dict[str, Any]], title: str) -> Any:
    timeline = Timeline(events)
    height = TOP + ROW * len(timeline.processes) + 40 + LEGEND
    width = LEFT + PLOT + 36
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        f'<text class="title" x="{LEFT}" y="34">{html.escape(title)}</text>',
        f'<text class="faint" x="{LEFT}" y="56">{judge.verdict(timeline.holds)} · '
        f"{longest_gap(timeline)}</text>",
        *_grid(timeline), *_spans(timeline), *_bars(timeline), *_marks(timeline),
        *_legend(timeline, height - LEGEND + 22), "</svg>"]
    return "\n".join(parts) + "\n"


def _x(timeline: Any, seconds: float) -> int:
    return round(LEFT + PLOT * seconds / timeline.length, 1)


def _y(timeline: Any, process: subprocess.Popen) -> Any:
    return TOP + ROW * timeline.processes.index(process) + ROW // 2


def _grid(timeline: Any) -> Iterator[Any]:
    bottom = TOP + ROW * len(timeline.processes)
    for i, process in enumerate(timeline.processes):
        if i % 2 == 0:
            yield f'<rect class="band" x="{LEFT}" y="{TOP + ROW * i}" width="{PLOT}" height="{ROW}"/>'
        yield (f'<text x="{LEFT - 12}" y="{_y(timeline, process) + 5}" text-anchor="end">'
               f"{html.escape(process)}</text>")
    step = tick_step(timeline.length, 20)
    for i in range(int(timeline.length / step) + 1):
        x = _x(timeline, i * step)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}"/>'
        yield f'<text class="axis" x="{x}" y="{bottom + 20}">{i * step:g} s</text>'


def _spans(timeline: Any) -> Iterator[Any]:
    for begin, end, style in (("paused", "continued", "pause span"), ("cut", "mended", "cut span"),
                              ("down", "back", "cut span")):
        for process, since, until in timeline.spans(begin, end):
            x = _x(timeline, since)
            yield (f'<rect class="{style}" x="{x}" y="{_y(timeline, process) - ROW // 2 + 3}" '
                   f'width="{max(_x(timeline, until) - x, 1):.1f}" height="{ROW - 6}"/>')


def _bars(timeline: Any) -> Iterator[Any]:
    taken = {id(hold) for hold in judge.takeovers_of(timeline.holds)}
    for hold in timeline.holds:
        since, until = timeline.seconds(hold.since), timeline.seconds(hold.until)
        x, y = _x(timeline, since), _y(timeline, hold.process)
        width = max(_x(timeline, until) - x, 2)
        style = "taken" if id(hold) in taken else "hold"
        yield (f'<rect class="{style}" x="{x}" y="{y - BAR // 2}" width="{width:.1f}" '
               f'height="{BAR}" rx="2"><title>{hold.who}: {since:.3f} s to {until:.3f} s, '
               f"{hold.steps} chunks, {hold.end}</title></rect>")
        if width > 7 * len(str(hold.fence)):
            yield (f'<text class="fence" x="{x + width / 2:.1f}" y="{y + 4}">{hold.fence}</text>')


def _marks(timeline: Any) -> Iterator[Any]:
    for mark in timeline.marks:
        x, y = _x(timeline, timeline.seconds(mark["at"])), _y(timeline, mark["process"])
        # An event that the process notices stands below its bar, one that happens to it above.
        y += BAR // 2 + 7 if mark["event"] == "lost" else -BAR // 2 - 7
        yield (f"<g><title>{ALL_MARKS[mark['event']][1]}</title>"
               f"{_symbol(mark['event'], x, y)}</g>")


def _symbol(event: str, x: Any, y: Any) -> str:
    style = ALL_MARKS[event][2]
    shape = {
        "killed": f"M{x - 5},{y - 5}l10,10m0,-10l-10,10",
        "paused": f"M{x - 5},{y - 5}h3.5v10h-3.5zm6.5,0h3.5v10h-3.5z",
        "continued": f"M{x - 4},{y - 5}l9,5l-9,5z",
        "cut": f"M{x - 6},{y - 5}h12l-6,10z",
        "mended": f"M{x - 6},{y + 5}h12l-6,-10z",
        "lost": f"M{x - 4.5},{y}a4.5,4.5 0 1 0 9,0a4.5,4.5 0 1 0 -9,0",
        "down": f"M{x - 5},{y - 5}l10,10m0,-10l-10,10",
        "back": f"M{x - 6},{y + 5}h12l-6,-10z",
        "repaired": f"M{x - 5},{y}l4,5l6,-10",
    }[event]
    return f'<path class="{style}" d="{shape}"/>'


def _legend(timeline: Timeline, y: Any) -> Iterator[Any]:
    x = LEFT
    for style, text in (("hold", "holds the lock, after an unlock; the number is the fence"),
                        ("taken", "holds the lock, taken over"),
                        ("pause span", "stands still"), ("cut span", "is away" if timeline.has_members else "without its store")):
        yield f'<rect class="{style}" x="{x}" y="{y}" width="22" height="14" rx="2"/>'
        yield f'<text x="{x + 30}" y="{y + 12}">{text}</text>'
        x += 56 + int(6.9 * len(text))
    for marks in (MARKS, MEMBER_MARKS) if timeline.has_members else (MARKS,):
        x, y = LEFT, y + (38 if marks is MARKS else 24)
        for event, (_, text, _) in marks.items():
            yield _symbol(event, x + 8, y - 5)
            yield f'<text x="{x + 22}" y="{y}">{text}</text>'
            x += 48 + int(6.9 * len(text))
