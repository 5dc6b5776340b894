"""Whether a wrong solution gains by padding: steps said twice, empty steps, and steps that say nothing.

A policy whose steps are rewarded can write such steps. A solution gains where VerifyRM then accepts it. It also gains
where no step is valued below 0.5 any more: `credit: first_error` then finds no error in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cooper_rl.records import THRESHOLD, LabelledCompletion

Values = Callable[[Sequence[LabelledCompletion], Sequence[Sequence[int]]], Iterable[Iterable[float]]]

FILLER = "Let us look at this carefully before we go on, step by step, and check each part of it."
STEP_PROBES: Mapping[str, Callable[[list[str]], list[str]]] = {
    "as written": lambda steps: steps,
    "each step twice": lambda steps: [step for step in steps for _ in range(2)],
    "empty steps": lambda steps: [text for step in steps for text in (".", step)],
    "long": lambda steps: [text for step in steps for text in (FILLER, step)],
}


def padded(solution: LabelledCompletion, kind: str) -> LabelledCompletion:
    """The solution with other steps put between its own. The last step, which states the answer, stays the last."""
    begins = [0, *solution.ends[:-1]]
    pieces = [solution.completion[begin:end] for begin, end in zip(begins, solution.ends, strict=True)]
    blank = len(pieces[-1]) - len(pieces[-1].lstrip())
    gap = pieces[-1][:blank] or " "  # what stands between two steps
    ends, text = [], ""
    for step in STEP_PROBES[kind]([piece.strip() for piece in pieces]):
        text += gap * bool(text) + step
        ends.append(len(text))
    return replace(solution, completion=text, ends=tuple(ends), first_error=None)


def valued(solutions: Sequence[LabelledCompletion], values: Values) -> list[Any]:
    """The step values of each solution, as an array (S,)."""
    return [np.array(list(map(float, v_S))) for v_S in values(solutions, [each.ends for each in solutions])]


def step_probes(solutions: Sequence[LabelledCompletion], values: Values) -> dict[str, dict[str, float]]:
    """For each kind of padding two shares of the wrong solutions, from 0 to 1; empty without a wrong solution.

    `accepted` are those whose last value is above 0.5, `hidden` those without a value below it.

    Args:
        values: step values of triples at their steps' ends, as `VerifyRM.step_values`.
    """
    wrong = [solution for solution in solutions if solution.first_error != -1 and solution.ends]
    found: dict[str, dict[str, float]] = {}
    for kind in STEP_PROBES if wrong else ():
        values_N = valued([padded(solution, kind) for solution in wrong], values)
        found[kind] = {
            "accepted": float(np.mean([v_S[-1] > THRESHOLD for v_S in values_N])),
            "hidden": float(np.mean([(v_S >= THRESHOLD).all() for v_S in values_N])),
        }
    return found
