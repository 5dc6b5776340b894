"""More triples from labelled ones: what is equivalent stays right, what is spoilt becomes wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from cooper_rl.records import LabelledCompletion, Problem
from cooper_rl.verifiers.answers import read
from cooper_rl.verifyrm.perturb import perturb
from cooper_rl.verifyrm.probes import PROBES, wrong_answer

# The kinds of probes that are trained on; the other kinds stay unseen, to be measured.
SPOILERS = ("empty", "blank", "cue_without_answer", "many_boxes", "hedge", "flattery", "cut_off", "wrong_alone")
_FRACTION = re.compile(r"(-?\d+)/(\d+)|\\d?frac\{(-?\d+)\}\{(\d+)\}")


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
        other = other_form(triple.reference_answer, rng) if rng.random() < forms else None
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


def other_form(reference_answer: str, rng: random.Random) -> str | None:
    """The same answer as another data set would write it; None where no other form is known."""
    text = reference_answer.strip()
    ways: list[Callable[[], str]] = [lambda: f"${text}$", lambda: f"\\boxed{{{text}}}"]
    if re.fullmatch(r"-?\d+", text):
        ways += [lambda: f"{text}.0", lambda: f"x = {text}", lambda: f"{int(text) * 2}/2"]
        if len(text.lstrip("-")) > 3:
            ways = [lambda: f"{int(text):,}", *ways]
    elif re.fullmatch(r"-?\d*\.\d+", text):
        value = Fraction(text)
        ways += [lambda: f"{value.numerator}/{value.denominator}", lambda: f"{float(value * 100):g}%"]
    elif found := _FRACTION.fullmatch(text):
        numerator, denominator = found[1] or found[3], found[2] or found[4]
        ways += [lambda: f"{numerator}/{denominator}", lambda: rf"\frac{{{numerator}}}{{{denominator}}}"]
    elif len(text) > 60 or not text:
        return None
    return rng.choice([form for form in (way() for way in ways) if form != text])


def spoilt(triple: LabelledCompletion, rng: random.Random) -> str | None:
    """A right completion made wrong: half of the time a number is changed and carried on, else a known hack instead."""
    if rng.random() < 0.5 and (changed := perturb(triple.completion, rng)) is not None:
        return changed
    problem = Problem(triple.question, triple.reference_answer, metadata={"worked_solution": triple.completion})
    return PROBES[rng.choice(SPOILERS)](problem, wrong_answer(triple.reference_answer, rng), rng)
