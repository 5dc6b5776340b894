"""Triples under another reference answer: an alias, which keeps the label, or a wrong one, which makes them wrong.

A counterfactual triple has the answer of another question as its reference. Its completion does not state that answer,
so it is wrong for certain. Beside the right triple that it was made of, it differs in the reference alone: only a model
that reads the reference can tell the two apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cooper_rl.records import LabelledCompletion
from cooper_rl.synthesis.exclusion import CHOICE, DECISION, kind_of, states
from cooper_rl.synthesis.other_reference import AnswerPool

DRAWS = 4  # answers that are drawn for a triple; the first that its completion does not state is taken


def counterfactual(triple: LabelledCompletion, pool: AnswerPool, rng: random.Random) -> LabelledCompletion | None:
    """The triple under a wrong reference answer, labelled wrong; None where the pool has none for it."""
    if not triple.reference_answer.strip():
        return None
    if not triple.correct and kind_of(triple.reference_answer) in (DECISION, CHOICE):
        return None  # a wrong yes may mean no, in many words
    others = pool.draw(triple.references, rng, DRAWS, triple.question)
    other = next((each for each in others if not states(triple.completion, each)), None)
    if other is None:
        return None
    return replace(triple, reference_answer=other, aliases=(), correct=False, first_error=None)


def counterfactuals(triples: Sequence[LabelledCompletion], share: float, seed: int) -> list[LabelledCompletion]:
    """Triples under wrong reference answers, which are those of the others; right completions first of all.

    Args:
        triples: the triples of one set, so that the wrong reference answers are such as the set has.
        share: how many are made, as a share of the triples from 0 to 1. There are fewer where no answer is left.
        seed: order and answers are drawn with this seed.
    """
    rng = random.Random(f"counterfactual-{seed}")
    wanted = round(share * len(triples))
    if not wanted:
        return []
    pool = AnswerPool(dict.fromkeys(t.reference_answer for t in triples))
    order = sorted(rng.sample(triples, len(triples)), key=lambda triple: not triple.correct)
    made: list[LabelledCompletion] = []
    for triple in order:
        if len(made) < wanted and (other := counterfactual(triple, pool, rng)) is not None:
            made.append(other)
    return made


def under_aliases(triples: Sequence[LabelledCompletion], share: float, seed: int) -> Iterator[LabelledCompletion]:
    """Triples with one of their aliases in the place of the reference answer. The label stays.

    A right completion gets an alias that it states, where it states one. A wrong one gets any.

    Args:
        share: the probability, from 0 to 1, that a triple with aliases is repeated in this way.
        seed: triples and aliases are drawn with this seed.
    """
    rng = random.Random(f"aliases-{seed}")
    for triple in triples:
        if not triple.aliases or rng.random() >= share:
            continue
        stated = [each for each in triple.aliases if states(triple.completion, each)] if triple.correct else []
        yield replace(triple, reference_answer=rng.choice(stated or triple.aliases))
