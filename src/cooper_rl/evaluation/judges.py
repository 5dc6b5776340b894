"""Judges of labelled completions, each a function from triples to scores, and what they make of reference answers.

The rule and a language model are judges beside the reward model. Each is asked under the best of several right
references, and under a wrong one: that of another question of the set, or a near one, with one part of another. A right
completion is wrong under both. A judge that accepts it all the same has not read the reference, or not all of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cooper_rl.errors import BackendError
from cooper_rl.evaluation.metrics import Bools, Floats
from cooper_rl.generation import Sampling, load_generator
from cooper_rl.intervals import wilson
from cooper_rl.labelling.candidate import judge_prompt, read_vote
from cooper_rl.records import THRESHOLD, LabelledCompletion, Verdict
from cooper_rl.settings.files import resolve_model
from cooper_rl.synthesis.exclusion import bare
from cooper_rl.synthesis.near_reference import under_near_references
from cooper_rl.synthesis.other_reference import AnswerPool, counterfactual
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm.triples import Confusion

Judge = Callable[[Sequence[LabelledCompletion]], Floats]


def rule_scores(kind: str, triples: Sequence[LabelledCompletion]) -> Floats:
    """1 where the rule says CORRECT, else 0. A completion that the rule cannot judge gets 0."""
    with RuleVerifier(kind) as verifier:
        verdicts = verifier.verify_many([t.reference_answer for t in triples], [t.completion for t in triples])
    return np.array([float(verdict is Verdict.CORRECT) for verdict in verdicts])


def judge_scores(name: str, triples: Sequence[LabelledCompletion]) -> Floats:
    """A language model's votes: 1 for correct, 0 for incorrect, 0.5 for an abstention or a prompt that it refuses.

    Raises:
        BackendError: the judge did not answer.
    """
    prompts = [judge_prompt(t.question, t.reference_answer, t.completion) for t in triples]
    value, scores = {True: 1.0, False: 0.0, None: 0.5}, np.zeros(len(prompts))
    generator = load_generator(resolve_model(name, "policy"))
    for index, generation in generator.stream(prompts, Sampling(256), [0] * len(prompts)):
        if generation.text is None and not generation.refused:
            raise BackendError(f"{name}: the judge gave no answer ({generation.finish_reason})")
        scores[index] = value[read_vote(generation.text, cut_off=generation.finish_reason == "length")]
    return scores


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


def under_near_wrong_references(triples: Sequence[LabelledCompletion], seed: int) -> dict[int, LabelledCompletion]:
    """As `under_wrong_references`, with one part of another answer: those that the rule `auto` proves wrong."""
    pool = AnswerPool(dict.fromkeys(t.reference_answer for t in triples))
    with RuleVerifier("auto") as rule:
        return under_near_references(triples, pool, random.Random(f"near-references-{seed}"), rule)


def share_rejected(judge: Judge, triples: Sequence[LabelledCompletion], seed: int) -> tuple[float, float]:
    """The share of the triples that a judge rejects, and the share when it is asked twice.

    Asked twice, it also rejects what it accepts under a wrong reference too.
    """
    places = np.flatnonzero(judge(triples) > THRESHOLD).tolist()
    wrong = under_wrong_references(triples, seed)
    others = [wrong[place] for place in places if place in wrong]
    under_other = judge(others) > THRESHOLD if others else np.zeros(0, dtype=bool)
    accepted, twice = len(places), len(places) - int(under_other.sum())
    return 1 - accepted / len(triples), 1 - twice / len(triples)


def measure_twice(scores_B: Floats, other: dict[int, float], correct_B: Bools) -> dict[str, Any]:
    """How often right completions are accepted under a wrong reference, and how good asking twice is.

    Asked twice, a completion is accepted that is accepted under the right reference and refused under the wrong one.

    Args:
        scores_B: scores under the right references, shape (B,).
        other: scores under the wrong reference, by the completion's place; others are asked once.
        correct_B: whether each completion is right, shape (B,).

    Returns:
        right: right completions that have a wrong reference; accepted: the share of them that is accepted under it
        (NaN where there is none), with Wilson's 95 % interval; asked_twice: the balanced accuracy when asked twice, and
        recall_asked_twice: the share of the right ones that are accepted then.
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
        "recall_asked_twice": twice.recall,
    }
