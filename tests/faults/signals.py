"""SIGINT, SIGTERM and SIGHUP end what the main thread does, by an exception."""

import contextlib
import signal

_end = _came = None
_held = False


def lead_to(end):
    """Has it called with the signal's number; it raises."""
    global _end
    _end = end
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _arrived)


def _arrived(number, _):
    global _came
    if _held:
        _came = number
    else:
        _end(number)


@contextlib.contextmanager
def held():
    """For the main thread while it forks: exceptions in what Python itself does then are ignored,
    and with them the signal. It takes effect afterwards."""
    global _came, _held
    _held = True
    try:
        yield
    finally:
        _held = False
        if _came is not None:
            number, _came = _came, None
            _end(number)
