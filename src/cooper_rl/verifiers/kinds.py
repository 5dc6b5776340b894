"""The verifiers by name: each is a function `explain(reference, completion) -> Verification`, loaded in a worker."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from cooper_rl.errors import BadInputError
from cooper_rl.parts import optional
from cooper_rl.records import Verification

Explain = Callable[[str, str], Verification]
# Fills in `several_answers` and `answer` of a verification. The texts are the reference and the completion.
Complete = Callable[[Verification, str, str], Verification]

KINDS = {
    "math": "cooper_rl.verifiers.math.verifier:explain",
    "math_verify": "cooper_rl.verifiers.math.library:explain",
    "exact": "cooper_rl.verifiers.simple:explain_exact",
    "gsm8k_strict": "cooper_rl.verifiers.simple:explain_gsm8k_strict",
    "gsm8k_flexible": "cooper_rl.verifiers.simple:explain_gsm8k_flexible",
    "choice": "cooper_rl.verifiers.simple:explain_choice",
    "text": "cooper_rl.verifiers.prose.statement:explain",
    "auto": "cooper_rl.verifiers.auto:explain",
}
MATH_VERIFIER = "cooper_rl.verifiers.math.verifier:MathVerifier"
TASK_VERIFIER = "cooper_rl.verifiers.simple:task_verifier"
COMPLETE = "cooper_rl.verifiers.math.stated:complete"
# How many right completions a verifier calls INCORRECT for each one that it calls CORRECT, where that was measured on
# labelled completions; the default of the setting `rule_misses_per_hit`. That of `text` is 15 to 7,908 on EVOUNA and
# NQ-301, that of `auto` 26 to 7,495 on EVOUNA; where the reference is of mathematics, `auto` errs as `math` does.
MISSES_PER_HIT = {"math": 0.005, "math_verify": 0.03, "text": 0.002, "auto": 0.005}
UNKNOWN_MISSES_PER_HIT = 0.03
TASK = "reasoning_gym:"  # followed by a task's name: that task's own scorer
MORE_FORMS = "math+"  # followed by a user's own answer forms, joined by "+": `math`, which tries these forms first
ENTRY_POINT_GROUP = "cooper_rl.verifiers"
FORM_GROUP = "cooper_rl.answer_forms"


def misses_per_hit(kind: str) -> float:
    """How many right completions this verifier is taken to call INCORRECT for each one that it calls CORRECT."""
    return MISSES_PER_HIT.get(kind, UNKNOWN_MISSES_PER_HIT)


def import_path(kind: str) -> str:
    """The import path `module:function` of a verifier's name.

    The name is one of those above, an installed entry point's name, or the import path itself. In `math+a+b` each
    form's name is replaced by its `module:class`.

    Raises:
        BadInputError: there is no verifier or form of that name.
    """
    if kind.startswith(TASK):
        check_task(kind.removeprefix(TASK))
        return kind
    if kind.startswith(MORE_FORMS):
        names = kind.removeprefix(MORE_FORMS).split("+")
        return MORE_FORMS + "+".join(_path_of(name, FORM_GROUP, "answer form", {}) for name in names)
    return _path_of(kind, ENTRY_POINT_GROUP, "verifier", KINDS, f"{TASK}<task>", f"{MORE_FORMS}<form>")


def _path_of(name: str, group: str, thing: str, known: dict[str, str], *more: str) -> str:
    """The import path of a name: that of a known name or an entry point, or the name itself if it is a path."""
    from importlib.metadata import entry_points  # here, since it takes half of the verifier's import time

    installed = {point.name: point.value for point in entry_points(group=group)}
    path = known.get(name) or installed.get(name) or (name if ":" in name else None)
    if path is None:
        names = ", ".join([*known, *installed, *more]) or "none installed"
        raise BadInputError(f"no {thing} named {name!r}: there are {names}, or give module:name")
    return path


def check_task(task: str) -> None:
    """Refuses a task that reasoning-gym does not have."""
    factory = optional("reasoning_gym.factory", extra="reasoning-gym", needed_by=f"verifier {TASK}{task}")
    if task not in factory.DATASETS:
        raise BadInputError(f"reasoning-gym has no task {task!r}; there are {', '.join(sorted(factory.DATASETS))}")


def load(path: str) -> Explain:
    """The `explain` function of an import path."""
    if path.startswith(TASK):
        made: Explain = _import(TASK_VERIFIER)(path.removeprefix(TASK))
        return made
    if path.startswith(MORE_FORMS):
        forms = [_import(form) for form in path.removeprefix(MORE_FORMS).split("+")]
        with_forms: Explain = _import(MATH_VERIFIER)(forms).explain
        return with_forms
    function: Explain = _import(path)
    return function


def complete_of(explain: Explain) -> Complete:
    """What completes a verifier's verifications: its own attribute `complete`, or else what `math` reads."""
    complete: Complete = getattr(explain, "complete", None) or _import(COMPLETE)
    return complete


def _import(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
