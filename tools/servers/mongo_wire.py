"""Just enough of MongoDB's wire protocol to ask a server something before anything is built."""

import socket
import struct
from typing import Any


def _element(kind: int, name: str, payload: bytes) -> bytes:
    return bytes([kind]) + name.encode() + b"\0" + payload


def _field(name: str, value: Any) -> bytes:
    if isinstance(value, bool):
        return _element(8, name, bytes([value]))
    if isinstance(value, int):
        small = -2**31 <= value < 2**31
        return _element(16 if small else 18, name, struct.pack("<i" if small else "<q", value))
    if isinstance(value, float):
        return _element(1, name, struct.pack("<d", value))
    if isinstance(value, str):
        text = value.encode() + b"\0"
        return _element(2, name, struct.pack("<i", len(text)) + text)
    if isinstance(value, dict):
        return _element(3, name, encode(value))
    if isinstance(value, list):
        return _element(4, name, encode({str(i): v for i, v in enumerate(value)}))
    raise TypeError(f"{name}: {type(value)}")


def encode(document: dict[str, Any]) -> bytes:
    body = b"".join(_field(name, value) for name, value in document.items())
    return struct.pack("<i", len(body) + 5) + body + b"\0"


# By type: what of a fixed size is unpacked or, where nobody here needs it, kept as bytes.
_FIXED = {1: "<d", 7: "12s", 8: "<?", 9: "<q", 10: "", 16: "<i", 17: "<Q", 18: "<q", 19: "16s"}


def _value(kind: int, data: bytes, at: int) -> tuple[Any, int]:
    if kind in _FIXED:
        form = _FIXED[kind]
        return (struct.unpack_from(form, data, at) or (None,))[0], at + struct.calcsize(form)
    (size,) = struct.unpack_from("<i", data, at)
    if kind == 2:
        return data[at + 4:at + 3 + size].decode(), at + 4 + size
    if kind == 5:
        return data[at + 5:at + 5 + size], at + 5 + size
    if kind in (3, 4):
        inner = decode(data[at:at + size])
        return (inner if kind == 3 else list(inner.values())), at + size
    raise ValueError(f"BSON type {kind}")


def decode(data: bytes) -> dict[str, Any]:
    document, at = {}, 4
    while data[at]:
        end = data.index(0, at + 1)
        document[data[at + 1:end].decode()], at = _value(data[at], data, end + 1)
    return document


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("the server closed the connection")
        data += part
    return data


def ask(port: int, command: dict[str, Any], db: str = "admin", timeout: float = 5.0) -> dict[str, Any]:
    """Sends one command to 127.0.0.1:port and gives the reply, whether ok or not."""
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        return ask_on(connection, command, db)


def ask_on(connection: socket.socket, command: dict[str, Any], db: str = "admin") -> dict[str, Any]:
    """As ask(), on a connection that is there already."""
    body = struct.pack("<i", 0) + b"\0" + encode({**command, "$db": db})
    connection.sendall(struct.pack("<iiii", len(body) + 16, 1, 0, 2013) + body)
    size = struct.unpack("<i", _read(connection, 4))[0]
    return decode(_read(connection, size - 4)[12 + 5:])
