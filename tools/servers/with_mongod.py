"""usage: with-mongod [--version VERSION] MODE -- COMMAND...

Runs COMMAND with real MongoDB servers beside it and exits with its status. The servers listen on
127.0.0.1 only and end with COMMAND, also on Ctrl-C and when this script is killed.

MODE                what COMMAND finds in its environment
standalone          DISTLOCK_MONGODB_STANDALONE_URI
replica-set         DISTLOCK_MONGODB_REPLICA_SET_URI (3 members, the primary is writable)
both                both
mirrored            DISTLOCK_MONGODB_MIRRORED_URI: the members of a mirrored store, 3 servers that
                    do not know each other, none of them founded yet
all                 both, mirrored, and DISTLOCK_MONGODB_AHEAD_SET_URI: a member with the right
                    time, one whose clock is 10 minutes ahead (needs libfaketime), and an arbiter
cluster             DISTLOCK_MONGODB_CONFIG_SERVER_URI, DISTLOCK_MONGODB_SHARD_URI: a config server
                    and a shard server, each a set of one member
secured             DISTLOCK_MONGODB_SECURED_URI: with users and TLS; the URI's is root. Beside its
                    tlsCAFile are client.pem, a user that may write to the database x509, and
                    stranger.pem and strange-client.pem, which nobody trusts
                    DISTLOCK_MONGODB_EXPIRED_URI: with a certificate that has run out
in every mode       DISTLOCK_MONGODB_PIDS: PORT=PID of each server started, apart by spaces
                    DISTLOCK_MONGOD: the program, for a test that needs one more
                    DISTLOCK_WITH_MONGOD: whom to send SIGUSR1 to have servers that were killed
                    started again

With --version, or $DISTLOCK_MONGOD_VERSION, all servers are genuine ones of that version, whatever
the machine has; mongod-fetch --versions names those that can be had. Otherwise
$DISTLOCK_TEST_MONGODB_URI, if set, is used instead of starting a server of its kind (a replica set
if it says replicaSet=). Where mongod comes from otherwise: see mongod-fetch.
"""

import os
import shutil
import signal
import sys
from typing import Any, NoReturn

from tools.servers import children, compose, mongod_program
from tools.servers.mongod_cluster import cluster
from tools.servers.mongod_secured import secured
from tools.servers.mongod_servers import AHEAD, Servers, replica_set

KINDS = {
    "standalone": ["STANDALONE"],
    "replica-set": ["REPLICA_SET"],
    "both": ["STANDALONE", "REPLICA_SET"],
    "mirrored": ["MIRRORED"],
    "all": ["STANDALONE", "REPLICA_SET", "AHEAD_SET", "MIRRORED"],
    "cluster": ["CLUSTER"],
    "secured": ["SECURED"],
}


def start(servers: Any, kind: Any) -> Any:
    """Starts the servers of one kind and gives their URIs by name."""
    if kind == "STANDALONE":
        return {kind: f"mongodb://127.0.0.1:{servers.start()}/"}
    if kind == "MIRRORED":
        hosts = ",".join(f"127.0.0.1:{servers.start()}" for _ in range(3))
        return {kind: f"mirrored+mongodb://{hosts}/config"}
    if kind == "REPLICA_SET":
        return {kind: replica_set(servers, "distlock", [{}, {}, {}])}
    if kind == "AHEAD_SET":
        members = [{}, {"clock": AHEAD}, {"arbiter": True}]
        return {kind: replica_set(servers, "distlock-ahead", members)}
    return cluster(servers) if kind == "CLUSTER" else secured(servers)


def given_uris() -> dict[str, str]:
    """The server that DISTLOCK_TEST_MONGODB_URI names, if any."""
    uri = os.environ.get("DISTLOCK_TEST_MONGODB_URI")
    if not uri or mongod_program.wanted_version():
        return {}
    return {"REPLICA_SET" if "replicaSet=" in uri else "STANDALONE": uri}


def own_mongod() -> Any:
    """Whether a mongod is to be started here, which comes before docker compose."""
    return mongod_program.wanted_version() or os.environ.get("MONGOD") or shutil.which("mongod")


def fail(message: object) -> NoReturn:
    sys.exit(f"with-mongod: {message}")


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--version"] and len(arguments) > 1:
        os.environ[mongod_program.VERSION] = arguments[1]
        arguments = arguments[2:]
    if len(arguments) < 3 or arguments[0] not in KINDS or arguments[1] != "--":
        sys.exit(__doc__.strip())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(128 + signal.SIGHUP))
    uris = given_uris()
    missing = [kind for kind in KINDS[arguments[0]] if kind not in uris]
    by_compose = {}
    servers = None
    try:
        if missing and not own_mongod() and compose.engine_answers():
            by_compose = compose.start(missing)
            uris |= by_compose
            missing = [kind for kind in missing if kind not in uris]
        servers = Servers() if missing else None
        for kind in missing:
            uris |= start(servers, kind)
        # Without, the driver leaves a file in /dev/shm behind each program that is killed.
        environment = os.environ | {"MONGOC_DISABLE_SHM": "1"}
        environment |= {f"DISTLOCK_MONGODB_{k}_URI": u for k, u in uris.items()}
        if servers:
            pids = [f"{port}={process.pid}" for port, process in servers.running.items()]
            environment |= {"DISTLOCK_MONGOD": servers.mongod,
                            "DISTLOCK_MONGODB_PIDS": " ".join(pids),
                            "DISTLOCK_WITH_MONGOD": str(os.getpid())}
            signal.signal(signal.SIGUSR1, lambda *_: servers.bring_back())
        return children.run(arguments[2:], environment)
    except FileNotFoundError as error:
        fail(f"{error.filename}: no such command")
    except (children.Broken, children.Missing) as lack:
        fail(lack)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        if servers:
            servers.stop()
        if by_compose:
            compose.stop()


sys.exit(main(sys.argv[1:]))
