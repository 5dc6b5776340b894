"""The verifiers by name: each is a function `explain(reference, completion) -> Verification`, loaded in a worker."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points

from cooper_rl.errors import BadInputError
from cooper_rl.extras import optional
from cooper_rl.records import Verification

Explain = Callable[[str, str], Verification]

KINDS = {
    "math": "cooper_rl.verifiers.math.verifier:explain",
    "math_verify": "cooper_rl.verifiers.math.library:explain",
    "exact": "cooper_rl.verifiers.text:explain_exact",
    "gsm8k_strict": "cooper_rl.verifiers.text:explain_gsm8k_strict",
    "gsm8k_flexible": "cooper_rl.verifiers.text:explain_gsm8k_flexible",
    "choice": "cooper_rl.verifiers.text:explain_choice",
}
TASK = "reasoning_gym:"  # and the name of a task, for its own scorer
ENTRY_POINT_GROUP = "cooper_rl.verifiers"


def import_path(kind: str) -> str:
    """`module:function` of a kind: a name above, an installed entry point's name, or the path itself.

    Raises:
        BadInputError: nothing is known by that name.
    """
    if kind.startswith(TASK):
        check_task(kind.removeprefix(TASK))
        return kind
    found = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    path = KINDS.get(kind) or found.get(kind) or (kind if ":" in kind else None)
    if path is None:
        names = ", ".join([*KINDS, *found, f"{TASK}<task>"])
        raise BadInputError(f"no verifier named {kind!r}: there are {names}, or give module:function")
    return path


def check_task(task: str) -> None:
    """Refuses a task that reasoning-gym does not have."""
    factory = optional("reasoning_gym.factory", extra="reasoning-gym", needed_by=f"verifier {TASK}{task}")
    if task not in factory.DATASETS:
        raise BadInputError(f"reasoning-gym has no task {task!r}; there are {', '.join(sorted(factory.DATASETS))}")


def load(path: str) -> Explain:
    """The function behind an import path."""
    if path.startswith(TASK):
        from cooper_rl.verifiers.text import explain_reasoning_gym

        return partial(explain_reasoning_gym, task=path.removeprefix(TASK))
    module, _, name = path.partition(":")
    function: Explain = getattr(importlib.import_module(module), name)
    return function
