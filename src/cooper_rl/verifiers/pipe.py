"""A worker process of the pool, seen from outside: it is started, asked, waited for up to a deadline, and killed.

The two talk in messages: four bytes of length, then JSON.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any, BinaryIO

from cooper_rl.errors import BadInputError

START_SECONDS = 120.0
# A worker finds the modules that its parent finds, also those of a script's folder or of Ray's working directory.
PROGRAM = (
    "import sys; sys.path[:] = dict.fromkeys([*{paths!r}, *sys.path]);"
    " from cooper_rl.verifiers.worker import main; main()"
)
HEADER = struct.Struct("<I")
LOADING = "loading"  # a worker loads a library: its next message says that it has, and the one after is the answer
# A context around the loading of a slow library. A worker sets one that tells its pool, which then waits.
around_loading: Callable[[], AbstractContextManager[None]] = nullcontext


class Worker:
    """One process and its two pipes.

    Raises:
        BadInputError: the verifier of this import path cannot be loaded.
    """

    def __init__(self, path: str, memory_limit_mb: int) -> None:
        with tempfile.TemporaryFile() as errors:  # a worker writes no more into it once it is ready
            self._start(path, memory_limit_mb, errors)

    def _start(self, path: str, memory_limit_mb: int, errors: IO[bytes]) -> None:
        program = PROGRAM.format(paths=sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", program, path, str(memory_limit_mb), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
        )
        assert self.process.stdout
        self._readable = select.poll()  # `select.select` fails in a program that holds more than 1,024 files open
        self._readable.register(self.process.stdout, select.POLLIN)
        self.items = 0
        self._received = bytearray()
        try:
            self.receive(START_SECONDS)  # "ready"
        except (EOFError, TimeoutError) as error:
            self.kill()
            errors.seek(0)
            said = errors.read().decode(errors="replace").split("\n")
            why = next((line for line in reversed(said) if line.strip()), "it ended without a word")
            if isinstance(error, TimeoutError):
                why = f"it did not start in {START_SECONDS:g} s"
            raise BadInputError(f"the verifier {path} cannot be loaded in a worker process: {why}") from error

    @property
    def ended(self) -> bool:
        """Whether the process has ended while nothing was asked of it: the system may kill it for memory."""
        return self.process.poll() is not None

    def send(self, message: Any) -> None:
        """Sends one message whole."""
        data = memoryview(frame(message))
        assert self.process.stdin
        while data:
            data = data[self.process.stdin.write(data) :]

    def receive(self, seconds: float) -> Any:
        """The next message.

        Raises:
            TimeoutError: no message came within `seconds`.
            EOFError: the process has ended.
        """
        deadline = time.monotonic() + seconds
        self._fill(HEADER.size, deadline)
        (length,) = HEADER.unpack_from(self._received)
        end = HEADER.size + length
        self._fill(end, deadline)
        message = json.loads(self._received[HEADER.size : end])
        del self._received[:end]
        if message == LOADING:  # a library is loaded once, and counts against no item's deadline
            self.receive(START_SECONDS)
            return self.receive(seconds)
        return message

    def wait_for_several(self, expected: int) -> None:
        """Waits a moment if many answers are expected, since waking up for each costs more than reading it."""
        if expected > 8 and len(self._received) < HEADER.size:
            time.sleep(0.002)

    def _fill(self, count: int, deadline: float) -> None:
        """Reads until the buffer has at least `count` bytes."""
        assert self.process.stdout
        while len(self._received) < count:
            seconds = min(max(0.0, deadline - time.monotonic()), 1e6)
            if not self._readable.poll(math.ceil(1000 * seconds)):
                raise TimeoutError
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                raise EOFError
            self._received += piece

    def kill(self) -> None:
        """Ends the process at once and closes its pipes."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


def frame(message: Any) -> bytes:
    """A message as bytes."""
    payload = json.dumps(message).encode("ascii")
    return HEADER.pack(len(payload)) + payload


def send(stream: BinaryIO, message: Any) -> None:
    """Writes one message."""
    stream.write(frame(message))
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """The next message, or None at the end of the stream."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    payload = stream.read(HEADER.unpack(header)[0])
    return json.loads(payload)
