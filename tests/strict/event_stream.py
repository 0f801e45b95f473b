"""AWS event-stream frames: total length, header length and checksum; headers; payload; checksum."""

import json
import struct
from binascii import crc32
from typing import Any

_STRING = 7


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """One message, checksums right."""
    encoded = b"".join(_header(name, entry) for name, entry in headers.items())
    prelude = struct.pack("!II", len(encoded) + len(payload) + 16, len(encoded))
    head = prelude + struct.pack("!I", crc32(prelude))
    body = head + encoded + payload
    return body + struct.pack("!I", crc32(body))


def event(name: str, data: Any) -> bytes:
    """A modelled event."""
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps(data).encode())


def exception(kind: str, data: Any) -> bytes:
    """A modelled exception, in mid-stream."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps(data).encode())


def _header(name: str, entry: str) -> bytes:
    said = entry.encode()
    return bytes([len(name)]) + name.encode() + bytes([_STRING]) + struct.pack("!H", len(said)) + said
