"""What a judge makes of a set's reference answers: the best of several right ones, and a wrong one.

A wrong reference answer is that of another question of the set. A right completion is wrong under it. A judge that
accepts the completion all the same has not read the reference.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cooper_rl.confusion import Confusion
from cooper_rl.evaluation.metrics import Bools, Floats
from cooper_rl.method.audit import wilson
from cooper_rl.records import THRESHOLD, LabelledCompletion
from cooper_rl.synthesis.exclusion import bare
from cooper_rl.synthesis.other_reference import AnswerPool, counterfactual

Judge = Callable[[Sequence[LabelledCompletion]], Floats]


def best_of_references(judge: Judge) -> Judge:
    """The judge that scores each completion under the one of its references that it fits best, as in training.

    Aliases that differ in case, accents and spaces alone are asked about once.
    """

    def best(triples: Sequence[LabelledCompletion]) -> Floats:
        asked = [list({bare(text): text for text in reversed(t.references)}.values()) for t in triples]
        rows = [
            replace(triple, reference_answer=text, aliases=())
            for triple, texts in zip(triples, asked, strict=True)
            for text in texts
        ]
        scores = judge(rows)
        starts = np.cumsum([0, *map(len, asked)])[:-1]
        return np.maximum.reduceat(scores, starts) if rows else scores

    return best


def under_wrong_references(triples: Sequence[LabelledCompletion], seed: int) -> dict[int, LabelledCompletion]:
    """The triples under one wrong reference answer each, by their place; those without any are left out."""
    rng = random.Random(f"wrong-references-{seed}")
    pool = AnswerPool(dict.fromkeys(t.reference_answer for t in triples))
    found = ((place, counterfactual(triple, pool, rng)) for place, triple in enumerate(triples))
    return {place: other for place, other in found if other is not None}


def rejected(judge: Judge, triples: Sequence[LabelledCompletion], seed: int) -> tuple[float, float]:
    """The share of the triples that a judge rejects, and the share when it is asked twice.

    Asked twice, it also rejects what it accepts under a wrong reference too.
    """
    places = np.flatnonzero(judge(triples) > THRESHOLD).tolist()
    wrong = under_wrong_references(triples, seed)
    others = [wrong[place] for place in places if place in wrong]
    under_other = judge(others) > THRESHOLD if others else np.zeros(0, dtype=bool)
    accepted, twice = len(places), len(places) - int(under_other.sum())
    return 1 - accepted / len(triples), 1 - twice / len(triples)


def measured_twice(scores_B: Floats, other: dict[int, float], correct_B: Bools) -> dict[str, Any]:
    """How often right completions are accepted under a wrong reference, and how good asking twice is.

    Asked twice, a completion is accepted that is accepted under the right reference and refused under the wrong one.

    Args:
        scores_B: scores under the right references, shape (B,).
        other: scores under the wrong reference, by the completion's place; others are asked once.
        correct_B: whether each completion is right, shape (B,).

    Returns:
        right: right completions that have a wrong reference; accepted: the share of them that is accepted under it
        (NaN where there is none), with Wilson's 95 % interval; asked_twice: the balanced accuracy.
    """
    under_other_B = np.array([other.get(place, 0.0) > THRESHOLD for place in range(len(scores_B))], dtype=bool)
    asked = [place for place in other if correct_B[place]]
    hits = int(under_other_B[asked].sum()) if asked else 0
    twice = Confusion.of((scores_B > THRESHOLD) & ~under_other_B, correct_B)
    return {
        "right": len(asked),
        "accepted": hits / len(asked) if asked else float("nan"),
        "accepted_interval": list(wilson(hits, len(asked))) if asked else [float("nan")] * 2,
        "asked_twice": twice.balanced_accuracy,
    }
