"""The first SIGINT, SIGTERM or SIGHUP ends what the main thread does, by an exception. Those after it
do nothing: an exception in the middle of ending would leave things behind."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

_end = _came = None
_held = _ending = False


def lead_to(end: Callable[[int], Any]) -> None:
    """Has it called with the signal's number; it raises."""
    global _end
    _end = end
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _arrived)


def _arrived(number: int, _: Any) -> None:
    global _came
    _came = _came or number
    if not _held:
        _begin_to_end()


def _begin_to_end() -> None:
    global _ending
    if _came and not _ending:
        _ending = True
        _end(_came)


@contextlib.contextmanager
def held() -> Iterator[Any]:
    """For the main thread while it forks: exceptions in what Python itself does then are ignored,
    and with them the signal. It takes effect afterwards."""
    global _held
    _held = True
    try:
        yield
    finally:
        _held = False
        _begin_to_end()
