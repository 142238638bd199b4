"""The mongod that tests start: where it is, what it is told, and a clock of its own for it."""

import glob
import os
import pathlib
import re
import subprocess
from typing import Any

from tools.servers.children import Broken, Missing, sweep_too

OPTIONS = ("--nounixsocket", "--wiredTigerCacheSizeGB", "0.25",
           "--setParameter", "enableTestCommands=1",
           "--setParameter", "diagnosticDataCollectionEnabled=false")
VERSION = "DISTLOCK_MONGOD_VERSION"
FAST_ELECTIONS = {"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500}
NO_ELECTIONS = FAST_ELECTIONS | {"electionTimeoutMillis": 3_600_000}


def wanted_version() -> str:
    """Of the mongod, or nothing if any will do. mongod-fetch heeds it too."""
    return os.environ.get(VERSION)


def program() -> str:
    fetch = pathlib.Path(__file__).with_name("mongod-fetch")
    done = subprocess.run([fetch], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Missing("no mongod; see above")
    return done.stdout.strip()


def version_of(mongod: str) -> str:
    done = subprocess.run([mongod, "--version"], capture_output=True, text=True)
    found = re.match(r"db version v(\d+\.\d+\.\d+)", done.stdout)
    if not found:
        raise Broken(f"{mongod} is no mongod: it does not say 'db version vX.Y.Z'")
    return found.group(1)


def is_older(version: str, other: str) -> bool:
    numbers, others = (tuple(map(int, v.split("."))) for v in (version, other))
    return numbers < others


def clock_library() -> str:
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    if not found:
        raise Missing("no libfaketime (package libfaketime)")
    return found[0]


def clock_variables() -> dict[str, str]:
    """The environment of a program whose wall clock is another; what it is, FAKETIME says or
    FAKETIME_TIMESTAMP_FILE. Its steady clocks stay right. Without the last, waits with a limit end at
    once: such a mongod keeps two processors busy."""
    return {"LD_PRELOAD": clock_library(), "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_FORCE_MONOTONIC_FIX": "0"}


def shared_by_clock(process: subprocess.Popen) -> Any:
    """The files that libfaketime leaves behind of a killed process, or of a mongod that ends itself."""
    return [f"/dev/shm/{kind}_{process.pid}" for kind in ("faketime_shm", "sem.faketime_sem")]


def sweep_clock(folder: pathlib.Path, process: subprocess.Popen) -> None:
    """Has that removed with a swept folder."""
    sweep_too(folder, *shared_by_clock(process))
