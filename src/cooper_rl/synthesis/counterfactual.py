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

SETTLED = (  # on the first answer, after the second was named
    *("It is {0}, not {1}.", "I first thought of {1}, but it is {0}.", "{1}? No, {0}.", "Not {1} but {0}"),
    *("{1} is wrong, {0} is right.", "{0} (and not {1})"),
)
OPEN = ("{0} or {1}", "Either {0} or {1}.", "Maybe {0}, maybe {1}.", "It is {0}. It is {1}.", "{0} / {1}", "{0}, {1}")
LONGEST = 60  # characters of an answer that is put into a made-up completion
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


def mentioning_two(triples: Sequence[LabelledCompletion], share: float, seed: int) -> Iterator[LabelledCompletion]:
    """Made-up completions that name the right answer and another question's.

    A quarter is right, since it settles on the right answer. A quarter settles on the other one. Half leaves open which
    of the two it means, or lists several.

    Args:
        triples: the triples of one set.
        share: the probability, from 0 to 1, that a triple's question gets such a completion.
        seed: questions, answers and wordings are drawn with this seed.
    """
    rng = random.Random(f"two-answers-{seed}")
    pool = AnswerPool(dict.fromkeys(t.reference_answer for t in triples)) if share else AnswerPool()
    for triple in triples:
        own = triple.reference_answer
        if rng.random() >= share or not 0 < len(own.strip()) <= LONGEST:
            continue
        others = [other for other in pool.draw(triple.references, rng, DRAWS) if len(other) <= LONGEST]
        if not others:
            continue
        form = rng.choice(("right", "other", "open", "open"))
        answers = [own, others[0]] if form == "right" or rng.random() < 0.5 else [others[0], own]
        if form == "other":
            answers = [others[0], own]
        said = rng.choice(OPEN if form == "open" else SETTLED).format(*answers)
        if form == "open" and rng.random() < 0.3:
            said = ", ".join(rng.sample([own, *others], 1 + len(others)))
        yield LabelledCompletion(triple.question, own, said, form == "right", "two answers", triple.problem_id)
