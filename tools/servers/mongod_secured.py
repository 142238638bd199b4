"""A server with users and TLS, with certificates made on the spot, for tests of security."""

import pathlib
import secrets
import socket
import ssl
import subprocess
import urllib.parse
from typing import Any

from tools.servers.mongod_servers import at_another_time, command, replica_set, wait_for

ADMIN = "admin"
HOST = "subjectAltName=IP:127.0.0.1"
SERVER = "/O=distlock/OU=servers/CN=127.0.0.1"
CLIENT = "/O=distlock/OU=clients/CN=ann"
PASSWORD = "p%ss/w:rd@"  # All that has to be encoded in a URI, before a random part.
KEY_PASSWORD = "a%key&word"  # As tests/security has it.
LONG_AGO = "-100d"  # So that what is made for 30 days has run out by now.


class Authority:
    """Makes certificates, each in one file with its key."""

    def __init__(self, folder: pathlib.Path, name: str, clock: Any = None) -> None:
        self.folder = folder
        self.clock = clock
        self.file = folder / f"{name}.pem"
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650",
                      "-subj", f"/CN={name}", "-keyout", self.file, "-out", f"{self.file}.crt",
                      "-addext", "basicConstraints=critical,CA:TRUE")
        self._join(self.file, f"{self.file}.crt")

    def sign(self, name: str, subject: str) -> pathlib.Path:
        """NAME.pem, for clients and for the server on 127.0.0.1 alone."""
        key, request, signed = (self.folder / f"{name}.{end}" for end in ("pem", "csr", "crt"))
        extensions = self.folder / "extensions"
        extensions.write_text(HOST + "\n")
        self._openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", key,
                      "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.file,
                      "-CAcreateserial", "-days", "30", "-extfile", extensions, "-out", signed)
        self._join(key, signed)
        return key

    def lock(self, name: str, password: str) -> None:
        """locked-NAME.pem: NAME.pem, with a password on its key."""
        locked = self.folder / f"locked-{name}.pem"
        self._openssl("rsa", "-aes256", "-in", self.folder / f"{name}.pem", "-out", locked,
                      "-passout", f"pass:{password}")
        self._join(locked, self.folder / f"{name}.crt")

    def _openssl(self, *words: Any) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True,
                       env=at_another_time(self.clock) if self.clock else None)

    @staticmethod
    def _join(key: pathlib.Path, certificate: str | pathlib.Path) -> None:
        with open(key, "a") as joint, open(certificate) as added:
            joint.write(added.read())


def tls_arguments(certificate: Any, authority: Any) -> tuple:
    return ("--tlsMode", "requireTLS", "--tlsCertificateKeyFile", certificate, "--tlsCAFile",
            authority, "--tlsAllowConnectionsWithoutCertificates")


def speaks_tls(port: int, context: Any) -> bool:
    with socket.create_connection(("127.0.0.1", port), 5) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1"):
            return True


def add_users(port: int, password: Any) -> None:
    command(port, {"createUser": ADMIN, "pwd": password, "mechanisms": ["SCRAM-SHA-256"],
                   "roles": ["root"]})
    command(port, {"createUser": "CN=ann,OU=clients,O=distlock", "roles": [
        {"role": "readWrite", "db": "x509"}]}, db="$external")


def start_secured(servers: Any, folder: pathlib.Path) -> str:
    """One member with users and TLS. Of its users, a SCRAM one is root, and an X.509 one may write
    to the database `x509`."""
    ours = Authority(folder, "authority")
    ours.sign("client", CLIENT)
    ours.lock("client", KEY_PASSWORD)
    Authority(folder, "stranger").sign("strange-client", CLIENT)
    key = folder / "key"
    key.write_text(secrets.token_hex(64))
    key.chmod(0o600)
    password = PASSWORD + secrets.token_urlsafe(12)
    replica_set(servers, "distlock-secured", [{}])
    port = list(servers.running)[-1]
    add_users(port, password)
    servers.start_again(port, "--replSet", "distlock-secured", "--keyFile", key, "--setParameter",
                        "authenticationMechanisms=SCRAM-SHA-256,MONGODB-X509",
                        *tls_arguments(ours.sign("server", SERVER), ours.file))
    trusting = ssl.create_default_context(cafile=ours.file)
    wait_for("the server with TLS", lambda: speaks_tls(port, trusting))
    return (f"mongodb://{ADMIN}:{urllib.parse.quote(password, safe='')}@127.0.0.1:{port}/"
            f"?authSource={ADMIN}&tls=true&tlsCAFile={ours.file}")


def start_expired(servers: Any, folder: pathlib.Path) -> str:
    """A server whose certificate has run out, to which only its own clock is blind."""
    old = Authority(folder, "old-authority", LONG_AGO)
    blind = ssl.create_default_context()
    blind.check_hostname = False
    blind.verify_mode = ssl.CERT_NONE
    port = servers.start(*tls_arguments(old.sign("old-server", SERVER), old.file), clock="-90d",
                         answers=lambda port: speaks_tls(port, blind))
    return f"mongodb://127.0.0.1:{port}/?tls=true&tlsCAFile={old.file}"


def secured(servers: Any) -> dict[str, str]:
    """Starts both, and gives their URIs."""
    folder = servers.data("tls")
    folder.mkdir()
    return {"SECURED": start_secured(servers, folder), "EXPIRED": start_expired(servers, folder)}
