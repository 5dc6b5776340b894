"""RuleVerifier: verdicts from a pool of worker processes that can be killed.

math-verify's own time-out works in the main thread only, and some inputs hang in spite of it. So each item has a hard
deadline here. A worker that misses it is killed and replaced, and only that item gets the verdict TIMEOUT.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import IO, Any

from cooper_rl.errors import BadInputError
from cooper_rl.records import Reason, Verdict, Verification, texts
from cooper_rl.verifiers.kinds import import_path
from cooper_rl.verifiers.worker import HEADER

Reference = str | Sequence[str]  # a text, or several texts of which each is right

BATCH = 64
START_SECONDS = 120.0
RECYCLE_AFTER = 20_000  # items after which a worker is replaced
MAX_CHARACTERS = 200_000  # a worker gets only the end of a longer text, since that is where the answer is


class _Worker:
    """One process and its two pipes."""

    def __init__(self, path: str, memory_limit_mb: int) -> None:
        with tempfile.TemporaryFile() as errors:  # a worker writes no more into it once it is ready
            self._start(path, memory_limit_mb, errors)

    def _start(self, path: str, memory_limit_mb: int, errors: IO[bytes]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cooper_rl.verifiers.worker", path, str(memory_limit_mb), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
        )
        self.items = 0
        self._received = bytearray()
        try:
            self.receive(START_SECONDS)  # "ready"
        except (EOFError, TimeoutError) as error:
            self.kill()
            errors.seek(0)
            said = errors.read().decode(errors="replace").split("\n")
            why = next((line for line in reversed(said) if line.strip()), f"it did not start in {START_SECONDS:g} s")
            raise BadInputError(f"the verifier {path} cannot be loaded in a worker process: {why}") from error

    def send(self, message: Any) -> None:
        payload = json.dumps(message).encode("ascii")
        data = memoryview(HEADER.pack(len(payload)) + payload)
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
        return message

    def wait_for_several(self, expected: int) -> None:
        """Waits a moment if many answers are expected, since waking up for each costs more than reading it."""
        if expected > 8 and len(self._received) < HEADER.size:
            time.sleep(0.002)

    def _fill(self, count: int, deadline: float) -> None:
        """Reads until the buffer has at least `count` bytes."""
        assert self.process.stdout
        descriptor = self.process.stdout.fileno()
        while len(self._received) < count:
            if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            piece = os.read(descriptor, 65536)
            if not piece:
                raise EOFError
            self._received += piece

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


class RuleVerifier:
    """Judges completions against reference answers by rule.

    It can be used from several threads, from asyncio and from several processes. A forked or unpickled copy starts
    workers of its own.

    Args:
        kind: `math` (the default), `text` (names and other words), `auto` (`math`, `text` or `choice` by each
            reference), `math_verify` (math-verify alone), `exact`, `choice`, `gsm8k_strict`, `gsm8k_flexible`,
            `reasoning_gym:<task>`, the name of an entry point of the group `cooper_rl.verifiers`, or
            `module:function`. A verifier is a function `explain(reference, completion) -> Verification`.
            `math+module:class` is `math` with an answer form of your own (docs/extending-forms.md).
        workers: number of processes; they are started when first needed.
        deadline_seconds: hard limit for one item; past it the verdict is TIMEOUT.
        memory_limit_mb: limit of a worker's address space; an item that needs more gets the verdict ERROR.

    Raises:
        BadInputError: there is no verifier of this kind, or a worker cannot load it.
    """

    def __init__(
        self,
        kind: str = "math",
        *,
        workers: int = 2,
        deadline_seconds: float = 5.0,
        memory_limit_mb: int = 2048,
    ) -> None:
        self.kind = kind
        self.deadline_seconds = deadline_seconds
        self._path = import_path(kind)
        self._memory_limit_mb = memory_limit_mb
        self._size = workers
        self._open()

    def _open(self) -> None:
        self._process = os.getpid()
        self._slots: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
        for _ in range(self._size):
            self._slots.put(None)
        self._threads = ThreadPoolExecutor(self._size, thread_name_prefix="rule-verifier")

    def __reduce__(self) -> tuple[Any, ...]:
        seconds, megabytes = self.deadline_seconds, self._memory_limit_mb
        make = partial(RuleVerifier, self.kind, workers=self._size, deadline_seconds=seconds, memory_limit_mb=megabytes)
        return make, ()

    def verify(self, reference: Reference, completion: str) -> Verdict:
        """The verdict on one completion."""
        return self.explain(reference, completion).verdict

    def verify_many(self, references: Sequence[Reference], completions: Sequence[str]) -> list[Verdict]:
        """Verdicts in the order of the arguments."""
        return [verification.verdict for verification in self.explain_many(references, completions)]

    def explain(self, reference: Reference, completion: str) -> Verification:
        """The verdict with its reason and both parsed answers."""
        return self.explain_many([reference], [completion])[0]

    def explain_many(self, references: Sequence[Reference], completions: Sequence[str]) -> list[Verification]:
        """Verifications in the order of the arguments. All workers share the items.

        Args:
            references: a text for each completion, or several texts that are all right (`by_several`).

        Raises:
            ValueError: the numbers of references and completions differ, or an item is neither a text nor a number.
        """
        several = [list(r) if isinstance(r, list | tuple) else [r] for r in references]
        if not all(several):
            raise ValueError(f"references: item {several.index([])} has no text")
        flat, completions = (
            texts([r for each in several for r in each], "references"),
            texts(completions, "completions"),
        )
        if len(several) != len(completions):
            raise ValueError(f"{len(several)} references for {len(completions)} completions")
        repeated = [completion for each, completion in zip(several, completions, strict=True) for _ in each]
        found = iter(self._explained(flat, repeated))
        return [by_several(list(islice(found, len(each)))) for each in several]

    def _explained(self, references: list[str], completions: list[str]) -> list[Verification]:
        if self._process != os.getpid():  # this is a fork, and the pipes belong to the parent
            self._open()
        # completions of the same reference go to the same worker, which then parses the reference once
        order = sorted(range(len(references)), key=lambda i: references[i])
        items = [(_tail(references[i]), _tail(completions[i])) for i in order]
        size = max(1, min(BATCH, -(-len(items) // self._size)))
        futures = [self._threads.submit(self._run, items[start : start + size]) for start in range(0, len(items), size)]
        found = [verification for future in futures for verification in future.result()]
        return [verification for _, verification in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]

    async def averify(self, reference: Reference, completion: str) -> Verdict:
        """`verify` for asyncio. It does not block the event loop."""
        return await asyncio.to_thread(self.verify, reference, completion)

    def _run(self, items: list[tuple[str, str]]) -> list[Verification]:
        """Judges one batch on one worker. A worker that dies or hangs is replaced, and the batch is continued."""
        worker = self._slots.get()
        done: list[Verification] = []
        try:
            while len(done) < len(items):
                worker = worker or _Worker(self._path, self._memory_limit_mb)
                try:
                    worker.send(items[len(done) :])
                    while len(done) < len(items):
                        worker.wait_for_several(len(items) - len(done))
                        done.append(_verification(worker.receive(self.deadline_seconds)))
                        worker.items += 1
                except (TimeoutError, EOFError, OSError) as error:
                    worker.kill()
                    worker = None
                    late = isinstance(error, TimeoutError)
                    verdict, reason = (Verdict.TIMEOUT, Reason.DEADLINE) if late else (Verdict.ERROR, Reason.CRASH)
                    done.append(Verification(verdict, reason))
            if worker and worker.items > RECYCLE_AFTER:
                worker.kill()
                worker = None
        finally:
            self._slots.put(worker)
        return done

    def close(self) -> None:
        """Waits for batches in progress, then ends the workers."""
        self._threads.shutdown(wait=True)
        while not self._slots.empty():
            worker = self._slots.get()
            if worker:
                worker.kill()

    def __enter__(self) -> RuleVerifier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def by_several(found: Sequence[Verification]) -> Verification:
    """The verification of a completion that has several right references, from its verifications by each of them.

    One CORRECT makes it CORRECT. It is wrong only if it is surely wrong by all. Otherwise it is the first that is open.
    """
    right = (each for each in found if each.verdict is Verdict.CORRECT)
    open_ = (each for each in found if not each.surely_wrong)
    wrong = (each for each in found if each.verdict is Verdict.INCORRECT)
    return next((each for each in (*right, *open_, *wrong)), found[0])


def _tail(text: str) -> str:
    return text[-MAX_CHARACTERS:]


def _verification(message: list[Any]) -> Verification:
    verdict, reason, *rest = message
    return Verification(Verdict(verdict), Reason(reason), *rest)
