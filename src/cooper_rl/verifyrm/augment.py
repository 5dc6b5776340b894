"""More triples from labelled ones: what is equivalent stays right, what is spoilt becomes wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from cooper_rl.records import LabelledCompletion, Problem
from cooper_rl.verifiers.answers import read
from cooper_rl.verifyrm.perturb import perturb
from cooper_rl.verifyrm.probes import PROBES, wrong_answer
from cooper_rl.verifyrm.writings import rewritten

# The kinds of probes that are trained on; the other kinds stay unseen, to be measured.
SPOILERS = ("empty", "blank", "cue_without_answer", "many_boxes", "hedge", "flattery", "cut_off", "wrong_alone")


def augmented(
    triples: Sequence[LabelledCompletion], *, forms: float, alone: float, wrong: float, seed: int
) -> list[LabelledCompletion]:
    """The triples and more of them.

    A share `forms` of them comes again with the reference answer in another form, a share `alone` with nothing but the
    answer that the completion states (the labels stay), and a share `wrong` of the right ones spoilt.
    """
    rng = random.Random(f"augment-{seed}")
    more = []
    for triple in triples:
        other = rewritten(triple.reference_answer, rng) if rng.random() < forms else None
        if other is not None:
            more.append(replace(triple, reference_answer=other))
    for triple in triples:
        completion = spoilt(triple, rng) if triple.correct and rng.random() < wrong else None
        if completion is not None:
            more.append(replace(triple, completion=completion, correct=False))
    for triple in triples:
        stated = read(triple.completion).stated if rng.random() < alone else None
        if stated and stated != triple.completion:
            more.append(replace(triple, completion=rng.choice((stated, f"\\boxed{{{stated}}}"))))
    return [*triples, *more]


def spoilt(triple: LabelledCompletion, rng: random.Random) -> str | None:
    """A right completion made wrong: half of the time a number is changed and carried on, else a known hack instead."""
    if rng.random() < 0.5 and (changed := perturb(triple.completion, rng)) is not None:
        return changed
    problem = Problem(triple.question, triple.reference_answer, metadata={"worked_solution": triple.completion})
    return PROBES[rng.choice(SPOILERS)](problem, wrong_answer(triple.reference_answer, rng), rng)
