"""reasoning-gym's own scorers as verifiers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math.stated import read
from cooper_rl.verifiers.text import unread


def explain(reference: str, completion: str, *, task: str) -> Verification:
    """The `reasoning_gym:<task>` verifier: CORRECT where the task's own scorer gives the full mark.

    The reference is the entry as JSON (`{"answer": ..., "metadata": ...}`). Where the task's scorer needs no metadata,
    the answer is enough.
    """
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    entry = _entry(reference)
    text = read(completion).stated
    if text is None:
        return unread(str(entry["answer"]), completion)
    mark = scorer(task).score_answer(text, entry=entry)
    return Verification.compared(mark == 1.0, str(entry["answer"]), text)


def entry_as_reference(entry: Mapping[str, Any]) -> str:
    """An entry of a task as the reference of its verifier, with the metadata that some scorers need."""
    return json.dumps({"answer": entry["answer"], "metadata": entry["metadata"]}, default=str)


def _entry(reference: str) -> dict[str, Any]:
    try:
        entry = json.loads(reference)
    except json.JSONDecodeError:
        entry = None
    return entry if isinstance(entry, dict) and "answer" in entry else {"answer": reference, "metadata": {}}


@cache
def scorer(task: str) -> Any:
    """The reasoning-gym data set of a task, whose `score_answer` marks answers."""
    import reasoning_gym

    return reasoning_gym.create_dataset(task, size=1, seed=0)
