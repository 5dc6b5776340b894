"""A worker process: it reads requests on stdin and answers on stdout (`framing`), one item at a time.

The pool starts it (`process`). It ends when its stdin closes, so that it does not outlive a killed parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import lru_cache

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.framing import LOADING, receive, send
from cooper_rl.verifiers.kinds import Explain, load
from cooper_rl.verifiers.math import units
from cooper_rl.verifiers.math.markup import strip_markup, without_spaces
from cooper_rl.verifiers.math.number import number
from cooper_rl.verifiers.math.stated import has_answer, hedged, read

MAX_ERROR = 200  # characters of an error's message that are kept
FIELDS = [field.name for field in fields(Verification)]  # of an answer, in this order


def judge(explain: Explain, reference: str, completion: str) -> Verification:
    """The verification of one item, with `several_answers` and `answer` filled in.

    All is computed here, within the item's deadline, since a model's text can make a pattern slow. An exception in a
    library becomes the verdict ERROR. A verifier of few words calls a text without any answer a mismatch; it gets the
    reason `NO_ANSWER`, and keeps its verdict.
    """
    try:
        found, reading = explain(reference, completion), read(completion)
        if not isinstance(found, Verification):
            raise TypeError(f"a verifier must return a Verification, not {type(found).__name__}")
        mismatch = found.verdict is Verdict.INCORRECT and found.reason is Reason.MISMATCH
        if mismatch and not has_answer(reading.completion, reference):
            return replace(found, reason=Reason.NO_ANSWER)
        several = hedged(reading)
        stated = reading.stated or (found.parsed_answer if found.verdict is Verdict.CORRECT else None)
        if several or found.reason is Reason.CONTRADICTION:
            stated = None
        return replace(found, several_answers=several, answer=one_writing(stated) if stated else None)
    except Exception as error:  # a library's failure becomes a verdict and does not crash the worker
        told = f"{type(error).__name__}: {error}".split("\n")[0][:MAX_ERROR]
        return Verification(Verdict.ERROR, Reason.CRASH, parsed_answer=told)


@lru_cache(maxsize=4096)
def one_writing(answer: str) -> str | None:
    """The answer as a text that is the same for answers that differ in markup, case and spaces, or are one number."""
    text = strip_markup(answer)
    found = number(text)
    bare = found and not (found.unit or found.base or found.clock)
    return str(found.value) if found and bare else without_spaces(text).casefold() or None


def die_with_parent() -> None:
    """On Linux the kernel kills this process when its parent dies, even in the middle of an item."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main() -> None:
    path, memory_mb = sys.argv[1], int(sys.argv[2])
    parent = int(sys.argv[3])
    die_with_parent()
    if os.getppid() != parent:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # sends what a library prints to stderr, so that it does not mix with the answers
    sys.set_int_max_str_digits(20_000)
    explain = load(path)

    @contextlib.contextmanager
    def announced() -> Iterator[None]:
        send(answers, LOADING)
        yield
        send(answers, "loaded")

    units.around_loading = announced
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20, memory_mb * 2**20))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    send(answers, "ready")
    while (items := receive(requests)) is not None:
        for reference, completion in items:
            found = judge(explain, reference, completion)
            send(answers, [getattr(found, name) for name in FIELDS])
