"""The work of a holder that may be killed: worker.py FILE plain|bare

Writes its number and CLOCK_BOOTTIME into FILE about every millisecond: while it does it can act. With
`bare` it is a daemon, which has closed its descriptors and has a session and a parent of its own."""

import os
import signal
import sys
import time

STEP = 0.001  # Seconds.
LONGEST = 600  # The rig may have been killed, too.


def main() -> None:
    _, file, way = sys.argv
    if way == "bare":
        os.closerange(0, 1 << 16)
        if os.fork() != 0:
            signal.pause()  # The command goes on.
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
    signal.alarm(LONGEST)
    notes = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while True:
        os.write(notes, b"%d %d\n" % (os.getpid(), time.clock_gettime_ns(time.CLOCK_BOOTTIME)))
        time.sleep(STEP)


if __name__ == "__main__":
    main()
