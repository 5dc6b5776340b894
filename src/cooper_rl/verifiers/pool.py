"""RuleVerifier: verdicts from a pool of worker processes that can be killed.

math-verify's own time-out works in the main thread only, and some inputs hang in spite of it. So each item has a hard
deadline here. A worker that misses it is killed and replaced, and only that item gets the verdict TIMEOUT.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any
from weakref import WeakSet

from cooper_rl.errors import BadInputError
from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.kinds import import_path
from cooper_rl.verifiers.pipe import Worker

Reference = str | Sequence[str]  # a text, or several texts of which each is right

BATCH = 64
RECYCLE_AFTER = 20_000  # items after which a worker is replaced
HANGS = 3  # times that a reference may run into the deadline in a batch with a limit, where it never was in time
MAX_CHARACTERS = 200_000  # a worker gets only the end of a longer text, since that is where the answer is
LATE = Verification(Verdict.TIMEOUT, Reason.DEADLINE)
_OPEN: WeakSet[RuleVerifier] = WeakSet()  # those of this process; a fork gives each of them workers of its own


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
        batch_seconds: limit for all items of one call, from when a worker begins with them. What is not judged by then
            is TIMEOUT. So is, with a limit, what is left of a reference that was `HANGS` times past the deadline, and
            never in time. None means no limit.
        memory_limit_mb: limit of a worker's address space; an item that needs more gets the verdict ERROR.

    Raises:
        BadInputError: there is no verifier of this kind, a number cannot be used, or a worker cannot load the verifier.
    """

    def __init__(
        self,
        kind: str = "math",
        *,
        workers: int = 2,
        deadline_seconds: float = 5.0,
        batch_seconds: float | None = None,
        memory_limit_mb: int = 2048,
    ) -> None:
        check_limits(workers, deadline_seconds, memory_limit_mb, batch_seconds)
        self.kind = kind
        self.deadline_seconds = deadline_seconds
        self.batch_seconds = batch_seconds
        self._path = import_path(kind)
        self._memory_limit_mb = memory_limit_mb
        self._size = workers
        self._open()
        _OPEN.add(self)

    def _open(self) -> None:
        self._slots: queue.SimpleQueue[Worker | None] = queue.SimpleQueue()
        for _ in range(self._size):
            self._slots.put(None)
        self._threads = ThreadPoolExecutor(self._size, thread_name_prefix="rule-verifier")
        ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # of this machine, each with a pool of its own
        self._turns = threading.Semaphore(max(1, (os.cpu_count() or 1) // ranks))  # a start is a second or two of work

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(
            RuleVerifier,
            self.kind,
            workers=self._size,
            deadline_seconds=self.deadline_seconds,
            batch_seconds=self.batch_seconds,
            memory_limit_mb=self._memory_limit_mb,
        )
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
            BadInputError: the numbers of references and completions differ, or an item is neither a text nor a number.
        """
        return self.begin_many(references, completions)()

    def begin_many(
        self, references: Sequence[Reference], completions: Sequence[str]
    ) -> Callable[[], list[Verification]]:
        """`explain_many` for a caller that does something else meanwhile: the result waits for the verifications."""
        request = _Request(references, completions)
        judging = self._submit(request)
        return lambda: request.answer([future.result() for future in judging])

    async def averify(self, reference: Reference, completion: str) -> Verdict:
        """`verify` for asyncio. It does not block the event loop."""
        return (await self.aexplain(reference, completion)).verdict

    async def averify_many(self, references: Sequence[Reference], completions: Sequence[str]) -> list[Verdict]:
        """`verify_many` for asyncio."""
        return [verification.verdict for verification in await self.aexplain_many(references, completions)]

    async def aexplain(self, reference: Reference, completion: str) -> Verification:
        """`explain` for asyncio."""
        return (await self.aexplain_many([reference], [completion]))[0]

    async def aexplain_many(self, references: Sequence[Reference], completions: Sequence[str]) -> list[Verification]:
        """`explain_many` for asyncio. Where it is cancelled, what no worker has begun is not judged."""
        import asyncio  # here, since it makes up half of this module's import time

        request = _Request(references, completions)
        return request.answer(await asyncio.gather(*map(asyncio.wrap_future, self._submit(request))))

    def _submit(self, request: _Request) -> list[Future[list[Verification]]]:
        size = max(1, min(BATCH, -(-len(request.items) // self._size)))
        starts = range(0, len(request.items), size)
        limits = _Limits(self.deadline_seconds, self.batch_seconds)
        return [self._threads.submit(self._run, request.items[start : start + size], limits) for start in starts]

    def _start(self) -> Worker:
        with self._turns:
            return Worker(self._path, self._memory_limit_mb)

    def _run(self, items: list[tuple[str, str]], limits: _Limits) -> list[Verification]:
        """Judges a part of a call on one worker. A worker that dies or hangs is replaced, and the part is continued."""
        worker, whole = self._slots.get(), False
        done: list[Verification] = []
        try:
            if worker and worker.ended:
                worker.kill()
                worker = None
            while len(done) < len(items):
                if limits.leave_out(items[len(done)][0]):
                    done.append(LATE)
                    continue
                worker = worker or self._start()
                try:
                    limits.begin()
                    worker.send(items[len(done) :])
                    while len(done) < len(items):
                        worker.wait_for_several(len(items) - len(done))
                        done.append(_verification(worker.receive(limits.seconds())))
                        limits.count(items[len(done) - 1][0], late=False)
                        worker.items += 1
                except (TimeoutError, EOFError, OSError) as error:
                    worker.kill()
                    worker = None
                    late = isinstance(error, TimeoutError)
                    limits.count(items[len(done)][0], late=late)
                    done.append(LATE if late else Verification(Verdict.ERROR, Reason.CRASH))
            whole = True
        finally:
            if worker and not (whole and worker.items <= RECYCLE_AFTER):  # it may still have answers of this batch
                worker.kill()
                worker = None
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


class _Limits:
    """What one call may take: each item, and all together. Its parts on several workers share it."""

    def __init__(self, deadline_seconds: float, batch_seconds: float | None) -> None:
        self._each, self._all = deadline_seconds, math.inf if batch_seconds is None else batch_seconds
        self._end = math.inf
        self._late, self._in_time = Counter[str](), set[str]()

    def begin(self) -> None:
        """Starts the clock of the call, if it has not started."""
        if self._end == math.inf:
            self._end = time.monotonic() + self._all

    def seconds(self) -> float:
        """How long the next item may take."""
        return min(self._each, max(0.0, self._end - time.monotonic()))

    def count(self, reference: str, *, late: bool) -> None:
        """Takes note of an item that was judged in time, or that was late."""
        if late:
            self._late[reference] += 1
        else:
            self._in_time.add(reference)

    def leave_out(self, reference: str) -> bool:
        """Whether an item of this reference is not asked any more."""
        if self._all == math.inf:
            return False
        hangs = self._late[reference] >= HANGS and reference not in self._in_time
        return hangs or time.monotonic() >= self._end


class _Request:
    """The items of one call, in the order in which they are judged."""

    def __init__(self, references: Sequence[Reference], completions: Sequence[str]) -> None:
        several = [r if isinstance(r, list | tuple) else [r] for r in _column(references, "references")]
        said = [[completion] for completion in _column(completions, "completions")]
        if len(several) != len(said):
            raise BadInputError(f"{len(several)} references for {len(said)} completions; give one for each")
        golds, texts = _texts(several, "references"), [text for (text,) in _texts(said, "completions")]
        pairs = [(_tail(gold), _tail(text)) for each, text in zip(golds, texts, strict=True) for gold in each]
        self._counts = [len(each) for each in golds]
        # completions of the same reference go to the same worker, which then parses the reference once
        self._order = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
        self.items = [pairs[i] for i in self._order]

    def answer(self, batches: Iterable[list[Verification]]) -> list[Verification]:
        """A verification for each completion, in the order in which they were given."""
        found = dict(zip(self._order, (each for batch in batches for each in batch), strict=True))
        ordered = iter([found[i] for i in range(len(found))])
        return [by_several(list(islice(ordered, count))) for count in self._counts]


def check_limits(
    workers: int, deadline_seconds: float, memory_limit_mb: int, batch_seconds: float | None = None
) -> None:
    """Refuses limits with which nothing could be judged.

    Raises:
        BadInputError: a number is too small, or not a number.
    """
    for name, value in (("workers", workers), ("memory_limit_mb", memory_limit_mb)):
        if not isinstance(value, int) or value < 1:
            raise BadInputError(f"{name}: give a whole number of at least 1, not {value!r}")
    given = {"deadline_seconds": deadline_seconds} | ({} if batch_seconds is None else {"batch_seconds": batch_seconds})
    for name, seconds in given.items():
        if not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
            raise BadInputError(f"{name}: give a number of seconds above 0, not {seconds!r}")


def _column(given: Iterable[Any], name: str) -> list[Any]:
    """A column as a list. One text alone is refused, since its characters would be taken for the items."""
    if isinstance(given, str | bytes | dict) or not hasattr(given, "__iter__"):
        raise BadInputError(f"{name}: give a list with an item for each completion, not {type(given).__name__}")
    return list(given)


def _texts(column: Sequence[Sequence[Any]], name: str) -> list[list[str]]:
    """A column of one or several texts an item; numbers are written out."""
    for place, several in enumerate(column):
        if not several:
            raise BadInputError(f"{name}: item {place} has no text")
        for each in several:
            if not isinstance(each, str | int | float):
                raise BadInputError(f"{name}: item {place} is of type {type(each).__name__}; give a text")
    return [[str(each) for each in several] for several in column]


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


def _after_fork() -> None:
    """The workers and threads are the parent's: each verifier of a forked process starts its own."""
    for verifier in _OPEN:
        verifier._open()


os.register_at_fork(after_in_child=_after_fork)
