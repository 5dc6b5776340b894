"""Makes more triples from labelled ones. An equivalent triple keeps its label; a corrupted one becomes wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from cooper_rl.records import LabelledCompletion, Problem
from cooper_rl.steps import step_ends
from cooper_rl.synthesis import invented
from cooper_rl.synthesis.probes import PROBES
from cooper_rl.synthesis.rewrite import closing, rewrite, round_off, state
from cooper_rl.synthesis.wrong_numbers import figures, perturb, wrong_answer
from cooper_rl.verifiers.math.markup import same_text
from cooper_rl.verifiers.math.stated import hedged, read

# Training uses these kinds of probes. The others are kept for measuring, so that the model never sees them.
CORRUPTIONS = (
    *("empty", "blank", "cue_without_answer", "many_boxes", "hedge", "flattery", "cut_off", "wrong_alone"),
    *("template_break", "repetition", "question"),
)
# A completion or reference answer of up to this many characters may be put after another completion's reasoning.
SHORT = 200


def augmented(
    triples: Sequence[LabelledCompletion],
    *,
    forms: float,
    alone: float,
    wrong: float,
    seed: int,
    references: float = 0.0,
    invent: float = 0.0,
    choices: float = 0.0,
    working: float = 0.0,
    steps: str = "line",
) -> list[LabelledCompletion]:
    """The triples, followed by more triples that are made from them.

    Each share is the probability, from 0 to 1, that a triple is repeated in this way.

    Args:
        forms: share repeated with the reference answer in another form. The label stays.
        alone: share repeated with only the answer that the completion states. The label stays.
        wrong: share of the right triples repeated as wrong ones, with a corrupted completion.
        seed: the triples are drawn with this seed.
        references: share of all these triples repeated with another right completion as the reference answer. Graders
            often have a worked solution rather than a bare answer.
        invent: share of the questions repeated with invented answers.
        choices: share of the questions repeated as multiple-choice questions.
        working: share of the triples repeated with the answer, the reference answer or both after the reasoning of
            another completion.
        steps: what the steps of a completion are, where one of them is made wrong.
    """
    rng = random.Random(f"augment-{seed}")
    more = [
        *_in_other_forms(triples, forms, rng),
        *_corrupted(triples, wrong, steps, rng),
        *_alone(triples, alone, rng),
    ]
    grown = [*triples, *more, *_invented(triples, invent, choices, rng)]
    grown += _at_the_end_of_working(grown, working, rng)
    right: dict[tuple[str, str], list[str]] = {}
    for triple in grown:
        if triple.correct:
            right.setdefault((triple.question, triple.reference_answer), []).append(triple.completion)
    return [*grown, *_with_solutions_as_references(grown, right, references, rng)]


def _in_other_forms(
    triples: Sequence[LabelledCompletion], share: float, rng: random.Random
) -> Iterator[LabelledCompletion]:
    for triple in triples:
        if rng.random() >= share:
            continue
        answer = triple.reference_answer
        other = (round_off(answer, rng) if rng.random() < 0.3 else None) or rewrite(answer, rng, triple.question)
        if other is not None:
            yield replace(triple, reference_answer=other)


def _corrupted(
    triples: Sequence[LabelledCompletion], share: float, steps: str, rng: random.Random
) -> Iterator[LabelledCompletion]:
    for triple in triples:
        if not triple.correct or rng.random() >= share:
            continue
        if rng.random() < 0.5 and (changed := perturb(triple.completion, rng)) is not None:
            if _ends_alike(triple.completion, changed):
                continue
            found = slipped(triple, changed, steps)
        elif (hack := hacked(triple, rng)) is not None:
            found = _said(triple, hack, correct=False)
        else:
            continue
        if not _still_right(triple, found.completion):
            yield found


def _still_right(triple: LabelledCompletion, changed: str) -> bool:
    """Whether a changed completion states the answer that the right one stated, and no other."""
    before, after = read(triple.completion), read(changed)
    if hedged(after) or not after.stated:
        return False
    return any(same_text(after.stated, answer) for answer in (before.stated, triple.reference_answer) if answer)


def _ends_alike(text: str, changed: str) -> bool:
    """Whether a changed completion states no answer that is read, and ends in the same line or the same number."""
    lines = [side.rstrip().rpartition("\n")[2] for side in (text, changed)]
    return not read(changed).stated and (lines[0] == lines[1] or figures(text)[-1:] == figures(changed)[-1:])


def _alone(triples: Sequence[LabelledCompletion], share: float, rng: random.Random) -> Iterator[LabelledCompletion]:
    for triple in triples:
        reading = read(triple.completion) if rng.random() < share else None
        answer = reading.stated if reading else None
        if reading and not triple.correct and (hedged(reading) or answer == triple.reference_answer):
            continue  # what made the completion wrong would be left out
        if answer and answer != triple.completion:
            yield _said(triple, rng.choice((answer, f"\\boxed{{{answer}}}")))


def _invented(
    triples: Sequence[LabelledCompletion], invent: float, choices: float, rng: random.Random
) -> Iterator[LabelledCompletion]:
    short = list(dict.fromkeys(t.reference_answer for t in triples if len(t.reference_answer) <= 40))
    for triple in triples:
        right = rng.random() < 0.5
        if rng.random() < invent:
            reference, answer = invented.answers(right, rng)
            question = triple.question if rng.random() < 0.5 else _last_sentence(triple.question)
            yield LabelledCompletion(question, reference, state(answer, rng), right, "invented", triple.problem_id)
        if len(short) >= 10 and rng.random() < choices:
            texts = rng.sample(short, rng.randint(3, 10))
            question, reference, said = invented.choices(triple.question, texts, right, rng)
            yield LabelledCompletion(question, reference, said, right, "choices", triple.problem_id)


def _last_sentence(question: str) -> str:
    return re.split(r"(?<=[.?!:])\s+|\n", question.strip())[-1]


def _at_the_end_of_working(
    triples: Sequence[LabelledCompletion], share: float, rng: random.Random
) -> list[LabelledCompletion]:
    workings = [text for t in triples if len(text := invented.without_answer(t.completion)) > SHORT]
    more = []
    for triple in triples if workings else []:
        if rng.random() >= share:
            continue
        reference, completion = triple.reference_answer, triple.completion
        if len(reference) <= SHORT and rng.random() < 0.6:
            reference = invented.after_working(closing(reference, rng), workings, rng)
        if len(completion) <= SHORT and (reference == triple.reference_answer or rng.random() < 0.6):
            completion = invented.after_working(completion, workings, rng)
        if (reference, completion) != (triple.reference_answer, triple.completion):
            more.append(_said(triple, completion, reference_answer=reference))
    return more


def _with_solutions_as_references(
    triples: Sequence[LabelledCompletion], right: dict[tuple[str, str], list[str]], share: float, rng: random.Random
) -> Iterator[LabelledCompletion]:
    for triple in triples:
        solutions = right.get((triple.question, triple.reference_answer), []) if rng.random() < share else []
        solution = rng.choice(solutions) if solutions else triple.completion
        if solution != triple.completion:
            yield replace(triple, reference_answer=solution)


def slipped(triple: LabelledCompletion, changed: str, steps: str) -> LabelledCompletion:
    """A right triple with a number of its completion changed; the first wrong step is where the two begin to differ.

    Args:
        steps: what its steps are, as in `cooper_rl.steps.step_ends`.
    """
    pairs = enumerate(zip(triple.completion, changed, strict=False))
    differs = next((place for place, (before, after) in pairs if before != after), len(changed) - 1)
    ends = tuple(step_ends(changed, steps))
    first_error = next(step for step, end in enumerate(ends) if differs < end)
    return replace(triple, completion=changed, correct=False, ends=ends, first_error=first_error)


def hacked(triple: LabelledCompletion, rng: random.Random) -> str | None:
    """A wrong completion made from a right one by a known hack; None where the hack does not go with it."""
    problem = Problem(triple.question, triple.reference_answer, metadata={"worked_solution": triple.completion})
    return PROBES[rng.choice(CORRUPTIONS)](problem, wrong_answer(triple.reference_answer, rng), rng)


def _said(triple: LabelledCompletion, completion: str, **changes: Any) -> LabelledCompletion:
    """The triple with another completion, whose steps are not known."""
    return replace(triple, completion=completion, ends=(), first_error=None, **changes)
