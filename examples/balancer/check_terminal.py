"""check_terminal COLUMNS DIRECTOR-COMMAND...: runs the demo on a terminal of that width. Fails
if a line does not fit or is not redrawn in place, or if more files stay than the two that it
names."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import sys
import tempfile
import termios
from collections.abc import Iterator
from typing import Any

from examples.balancer import judge, timeline

SEQUENCE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def run_on_terminal(columns: Any, command: Any, folder: str) -> Any:
    """Gives the status and everything that was written."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.environ.update(TERM="xterm", TMPDIR=folder)
        os.environ.pop("COLUMNS", None)
        os.execvp(command[0], command)
    written = bytearray()
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # The other end is closed.
            piece = b""
        if not piece:
            break
        written += piece
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), written.decode()


def faults_of(columns: Any, text: str, folder: str) -> Iterator[Any]:
    if "\x1b[4F" not in text:
        yield "it never went back to draw in place"
    for line in SEQUENCE.sub("", text).splitlines():
        if len(line) > columns and not line.startswith(("ledger:", "picture:")):
            yield f"{len(line)} columns: {line}"
    left = sorted(path.name for path in pathlib.Path(folder).rglob("*") if path.is_file())
    if left != ["ledger.jsonl", "timeline.svg"]:
        yield f"it left {left}"
        return
    with open(next(pathlib.Path(folder).rglob("ledger.jsonl"))) as ledger:
        events = sorted(judge.parse(ledger), key=lambda event: event["at"])
    for width in (60, 80, 120):
        for line in timeline.as_text(events, width).splitlines():
            if len(line) > width:
                yield f"{len(line)} columns of {width}: {line}"


def main() -> Any:
    columns = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        status, text = run_on_terminal(columns, sys.argv[2:], folder)
        print(SEQUENCE.sub("", text)[-4000:])
        faults = list(faults_of(columns, text, folder)) if status == 0 else [f"status {status}"]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
