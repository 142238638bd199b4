"""The demo as a person sees it while it runs."""

import os
import sys
from typing import Any

from examples.balancer import timeline
from examples.balancer.balancers import boot_time


class Show:
    """On a terminal a line a process, in place; else plain lines of what matters."""

    PLAIN = ("killed", "paused", "continued", "cut", "mended", "lost", "overlap", *timeline.MEMBER_MARKS)
    SHOWN = {"grant": "holds", "step": "holds", "busy": "waits", "done": "unlocked",
             "error": "store away", "start": "started", "stop": "stopped", "leftover": "holds",
             "up": "is up", "down": "killed"}

    def __init__(self, balancers: Any, more_rows: Any = ()) -> None:
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.colour = self.live and not os.environ.get("NO_COLOR")
        self.began = boot_time()
        self.state = {name: ("starts", 0) for name in [*more_rows, *balancers.processes]}
        balancers.on_event = self.event
        if self.live:
            print("\n" * len(self.state), end="")

    def event(self, event: dict[str, Any]) -> None:
        kind, name = event["event"], event["process"]
        fence = event["fence"] if kind != "busy" else 0
        self.state[name] = (self.SHOWN.get(kind, kind), fence)
        if self.live:
            self.draw()
        elif kind in self.PLAIN:
            seconds = (event["at"] - self.began) / 1e9
            fence = "" if kind in timeline.MEMBER_MARKS else f" (fence {event['fence']})"
            print(f"{seconds:6.2f} s  {name}  {timeline.ALL_MARKS.get(kind, ('', kind))[1]}{fence}",
                  flush=True)

    def draw(self) -> None:
        seconds = (boot_time() - self.began) / 1e9
        width = timeline.columns() - 1  # A line that fills the terminal may go on in the next.
        lines = [f"\x1b[{len(self.state)}F"]
        for name, (state, fence) in self.state.items():
            text = f"{name:>4}  {'█' if state == 'holds' else '·'} {state}"
            text += f", fence {fence}" if fence and state == "holds" else ""
            text = f"{text.ljust(30)}{seconds:5.1f} s"[:width]
            if self.colour:
                code = {"holds": 32, "killed": 31, "paused": 35, "cut": 33}.get(state, 0)
                text = f"\x1b[{code}m{text}\x1b[0m"
            lines.append(f"{text}\x1b[K\n")
        sys.stdout.write("".join(lines))
        sys.stdout.flush()
