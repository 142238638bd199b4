#!/usr/bin/env python3
"""Prints when this machine, or this processor of it, stood still: BEGIN END on CLOCK_BOOTTIME in
nanoseconds, for each time that a process which wanted to run every 2 ms was kept from it.

    standstill.py PROCESSOR
"""

import os
import sys
import threading
import time
from typing import Any

EVERY = 2 * 10**6
LONG = 10 * 10**6


def main(processor: Any) -> None:
    os.sched_setaffinity(0, {processor})
    never = threading.Event()
    last = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    while True:
        never.wait(EVERY / 1e9)
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        if now - last > LONG:
            print(last + EVERY, now, flush=True)
        last = now


main(int(sys.argv[1]))
