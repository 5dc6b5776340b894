"""A worker process: it reads requests on stdin and answers on stdout, one item at a time.

The pool starts it (`pipe`). It ends when its stdin closes, so that it does not outlive a killed parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterator
from dataclasses import fields

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers import pipe
from cooper_rl.verifiers.kinds import Complete, Explain, complete_of, load
from cooper_rl.verifiers.pipe import LOADING, receive, send

MAX_ERROR = 200  # characters of an error's message that are kept
FIELDS = [field.name for field in fields(Verification)]  # of an answer, in this order


def judge(explain: Explain, complete: Complete, reference: str, completion: str) -> Verification:
    """The verification of one item, completed by what its completion states.

    All is computed here, within the item's deadline, since a model's text can make a pattern slow. An exception in a
    library becomes the verdict ERROR.
    """
    try:
        found = explain(reference, completion)
        if not isinstance(found, Verification):
            raise TypeError(f"a verifier must return a Verification, not {type(found).__name__}")
        return complete(found, reference, completion)
    except Exception as error:  # a library's failure becomes a verdict and does not crash the worker
        told = f"{type(error).__name__}: {error}".split("\n")[0][:MAX_ERROR]
        return Verification(Verdict.ERROR, Reason.CRASH, parsed_answer=told)


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
    complete = complete_of(explain)

    @contextlib.contextmanager
    def announcing() -> Iterator[None]:
        send(answers, LOADING)
        yield
        send(answers, "loaded")

    pipe.around_loading = announcing
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20, memory_mb * 2**20))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    send(answers, "ready")
    while (items := receive(requests)) is not None:
        for reference, completion in items:
            found = judge(explain, complete, reference, completion)
            send(answers, [getattr(found, name) for name in FIELDS])
