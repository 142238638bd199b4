"""usage: with-postgres -- COMMAND...

Runs COMMAND with a new, empty PostgreSQL server beside it and exits with its status. COMMAND finds
in its environment DISTLOCK_POSTGRES, a connection string for libpq.

The server listens on a socket in a temporary folder of its own and nowhere else. It and the folder
end with COMMAND, also on Ctrl-C and when this script is killed. PostgreSQL refuses to run as root:
for root it runs as the user postgres, else as nobody. Nothing that it stores is to be kept, so it
does not wait for the disk.
"""

import glob
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, NoReturn

from tools.servers.children import PATIENCE, SweptFolder, die_with_parent, run


def fail(message: str) -> NoReturn:
    sys.exit(f"with-postgres: {message}")


def programs() -> pathlib.Path:
    """The folder of initdb and postgres: Debian keeps them off the PATH."""
    found = shutil.which("postgres")
    if found:
        return pathlib.Path(found).resolve().parent
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    if not folders:
        fail("PostgreSQL is needed: install the package postgresql")
    return pathlib.Path(max(folders, key=lambda name: int(re.search(r"/(\d+)/bin", name)[1])))


def server_user() -> Any:
    """Whom subprocess shall run the server as."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    fail("there is no user postgres or nobody to run the server as")


class Server:
    def __init__(self) -> None:
        self.bin = programs()
        user = server_user()
        self.as_user = {} if user is None else {
            "user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        # The name of a socket may have 107 bytes only, which $TMPDIR could use up.
        self.swept = SweptFolder("distlock-postgres-", "/tmp")
        self.folder = str(self.swept.path)
        self.process: subprocess.Popen = None
        if user is not None:
            os.chown(self.folder, user.pw_uid, user.pw_gid)

    def start(self) -> str:
        data = f"{self.folder}/data"
        made = subprocess.run(
            [self.bin / "initdb", "-D", data, "-U", "distlock", "-A", "trust", "-E", "UTF8",
             "--locale=C", "--no-sync"],
            cwd=self.folder, capture_output=True, text=True, **self.as_user)
        if made.returncode != 0:
            fail("initdb: " + made.stderr)
        log = open(f"{self.folder}/log", "w")
        # SIGQUIT ends it at once, all its processes and shared memory included.
        self.process = subprocess.Popen(
            [self.bin / "postgres", "-D", data, "-k", self.folder, "-c", "listen_addresses=",
             "-c", "fsync=off"],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, preexec_fn=die_with_parent(signal.SIGQUIT),
            **self.as_user)
        self.wait_ready()
        return f"host={self.folder} user=distlock dbname=postgres"

    def wait_ready(self) -> None:
        limit = time.monotonic() + PATIENCE
        ready: list[Any] = [self.bin / "pg_isready", "-q", "-h", self.folder]
        while subprocess.run(ready).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > limit:
                fail("the server does not start; its last words:\n" +
                     pathlib.Path(self.folder, "log").read_text()[-2000:])
            time.sleep(0.05)

    def stop(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
        self.swept.close()


def main(arguments: list[str]) -> int:
    if len(arguments) < 2 or arguments[0] != "--":
        sys.exit(__doc__.strip())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(128 + signal.SIGHUP))
    server = Server()
    try:
        uri = server.start()
        return run(arguments[1:], os.environ | {"DISTLOCK_POSTGRES": uri})
    except FileNotFoundError as error:
        fail(f"{error.filename}: no such command")
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        server.stop()


sys.exit(main(sys.argv[1:]))
