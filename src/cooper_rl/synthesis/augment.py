"""More triples from labelled ones: what is equivalent stays right, what is corrupted becomes wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cooper_rl.records import LabelledCompletion, Problem
from cooper_rl.synthesis import invented
from cooper_rl.synthesis.perturb import perturb
from cooper_rl.synthesis.probes import PROBES
from cooper_rl.synthesis.writings import closing, rewritten, rounded, stated
from cooper_rl.synthesis.wrong_numbers import wrong_answer
from cooper_rl.verifiers.math.stated import read

# The kinds of probes that are trained on; the other kinds stay unseen, to be measured.
CORRUPTIONS = (
    *("empty", "blank", "cue_without_answer", "many_boxes", "hedge", "flattery", "cut_off", "wrong_alone"),
    *("template_break", "repetition", "question"),
)
# Only so short a completion, or reference answer, is put at the end of somebody's working.
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
) -> list[LabelledCompletion]:
    """The triples, and more that are made of them. Each share is a probability, from 0 to 1.

    Args:
        forms: of the triples that come again with the reference answer in another form; their labels stay.
        alone: of the triples that come again with nothing but the answer that the completion states; their labels stay.
        wrong: of the right ones that come again corrupted.
        references: of all these that come again with another right completion of the problem as the reference, since
            who grades has a worked solution as often as a bare answer.
        invent: of the questions that come again with invented answers.
        choices: of the questions that come again as questions of choice.
        working: of all these that come again with answer and reference at the end of somebody else's working.
    """
    rng = random.Random(f"augment-{seed}")
    more = [*_in_other_forms(triples, forms, rng), *_corrupted(triples, wrong, rng), *_alone(triples, alone, rng)]
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
        other = (rounded(answer, rng) if rng.random() < 0.3 else None) or rewritten(answer, rng)
        if other is not None:
            yield replace(triple, reference_answer=other)


def _corrupted(triples: Sequence[LabelledCompletion], share: float, rng: random.Random) -> Iterator[LabelledCompletion]:
    for triple in triples:
        completion = corrupted(triple, rng) if triple.correct and rng.random() < share else None
        if completion is not None:
            yield replace(triple, completion=completion, correct=False)


def _alone(triples: Sequence[LabelledCompletion], share: float, rng: random.Random) -> Iterator[LabelledCompletion]:
    for triple in triples:
        answer = read(triple.completion).stated if rng.random() < share else None
        if answer and answer != triple.completion:
            yield replace(triple, completion=rng.choice((answer, f"\\boxed{{{answer}}}")))


def _invented(
    triples: Sequence[LabelledCompletion], invent: float, choices: float, rng: random.Random
) -> Iterator[LabelledCompletion]:
    short = list(dict.fromkeys(t.reference_answer for t in triples if len(t.reference_answer) <= 40))
    for triple in triples:
        right = rng.random() < 0.5
        if rng.random() < invent:
            reference, answer = invented.answers(right, rng)
            question = triple.question if rng.random() < 0.5 else _last_sentence(triple.question)
            yield LabelledCompletion(question, reference, stated(answer, rng), right, "invented", triple.problem_id)
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
            more.append(replace(triple, reference_answer=reference, completion=completion))
    return more


def _with_solutions_as_references(
    triples: Sequence[LabelledCompletion], right: dict[tuple[str, str], list[str]], share: float, rng: random.Random
) -> Iterator[LabelledCompletion]:
    for triple in triples:
        solutions = right.get((triple.question, triple.reference_answer), []) if rng.random() < share else []
        solution = rng.choice(solutions) if solutions else triple.completion
        if solution != triple.completion:
            yield replace(triple, reference_answer=solution)


def corrupted(triple: LabelledCompletion, rng: random.Random) -> str | None:
    """A right completion made wrong: half of the time a number is changed and carried on, else a known hack instead."""
    if rng.random() < 0.5 and (changed := perturb(triple.completion, rng)) is not None:
        return changed
    problem = Problem(triple.question, triple.reference_answer, metadata={"worked_solution": triple.completion})
    return PROBES[rng.choice(CORRUPTIONS)](problem, wrong_answer(triple.reference_answer, rng), rng)
