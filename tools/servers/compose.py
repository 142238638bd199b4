"""The servers of docker-compose.yml, for whoever has a container engine."""

import pathlib
import shutil
import subprocess
import sys
from typing import Any

FILE = pathlib.Path(__file__).resolve().parents[2] / "docker-compose.yml"
SERVICES = {"STANDALONE": ["standalone"], "REPLICA_SET": ["member1", "member2", "member3"]}
URIS = {
    "STANDALONE": "mongodb://127.0.0.1:27117/",
    "REPLICA_SET": "mongodb://127.0.0.1:27121,127.0.0.1:27122,127.0.0.1:27123/"
                   "?replicaSet=distlock",
}


def _compose(*arguments: Any, **options: Any) -> subprocess.CompletedProcess:
    return subprocess.run(["docker", "compose", "--file", FILE, *arguments],
                          stdin=subprocess.DEVNULL, stdout=sys.stderr, **options)


def engine_answers() -> bool:
    """Whether there are an engine and the compose plugin."""
    if not shutil.which("docker"):
        return False
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
             "stderr": subprocess.DEVNULL, "timeout": 10}
    try:
        return all(subprocess.run(["docker", *words], **quiet).returncode == 0
                   for words in (["compose", "version"], ["info"]))
    except (OSError, subprocess.TimeoutExpired):
        return False


def start(kinds: list[str]) -> dict[str, str]:
    """Starts the servers of these kinds and gives the URI of each; nothing if they do not come up."""
    services = [service for kind in kinds for service in SERVICES.get(kind, [])]
    if not services:
        return {}
    if _compose("up", "--detach", "--wait", *services).returncode != 0:
        stop()
        print("docker compose did not bring the servers up; going on without it", file=sys.stderr)
        return {}
    return {kind: URIS[kind] for kind in kinds if kind in URIS}


def stop() -> None:
    _compose("down", "--volumes", "--timeout", "1", stderr=subprocess.DEVNULL)
