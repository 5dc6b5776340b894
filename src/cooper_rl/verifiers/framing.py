"""How the pool and its worker processes talk: four bytes of length, then JSON."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

HEADER = struct.Struct("<I")
LOADING = "loading"  # a worker loads a library: its next message says that it has, and the one after is the answer


def framed(message: Any) -> bytes:
    """A message as bytes."""
    payload = json.dumps(message).encode("ascii")
    return HEADER.pack(len(payload)) + payload


def send(stream: BinaryIO, message: Any) -> None:
    """Writes one message."""
    stream.write(framed(message))
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """The next message, or None at the end of the stream."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    payload = stream.read(HEADER.unpack(header)[0])
    return json.loads(payload)
