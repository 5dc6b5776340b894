"""A nano world without numbers: family relationships, answered in words.

The rule verifier of the quickstart reads a boxed word and nothing else, so here it is weak: it has no verdict on most
right answers. The problems and their scorer are reasoning-gym's.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import reasoning_gym

from cooper_rl.domains.nano.world import drawn, score_with_generator
from cooper_rl.domains.nano.writer import HEDGE, composed, marked_answer
from cooper_rl.records import Problem

TASK = "family_relationships"
FAMILY = {"min_family_size": 4, "max_family_size": 6}
EVERYDAY = {"mother": "mom", "father": "dad", "grandmother": "grandma", "grandfather": "grandpa"}
# For in-laws, nieces and nephews the generator's answer names the other of the two persons: they are left out.
RELATIONS = (*EVERYDAY, "son", "daughter", "husband", "wife", "brother", "sister")
FORMS = {"boxed": 0.24, "plain": 0.20, "hash": 0.10, "everyday": 0.16, "of": 0.16, "possessive": 0.14}

_COUPLE = re.compile(r"(\w+) is married to (\w+)\.(?: They have (?:a child|children) called ([\w, ]+)\.)?")
_RELATION = rf"(?P<relation>{'|'.join((*RELATIONS, *EVERYDAY.values()))})\b"
_STATEMENTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\\boxed\{{{_RELATION}\}}",
        rf"[Tt]he answer is {_RELATION}",
        rf"#### {_RELATION}",
        rf"is the {_RELATION} of ",
        rf"is \w+'s {_RELATION}",
    )
)


def kinship_problems(split: str, size: int, seed: int = 0) -> list[Problem]:
    """`size` distinct problems of a split, in an order that depends on the seed alone.

    Raises:
        BadInputError: the split has another name.
    """
    return drawn("nano-kinship", {TASK: 1.0}, _stream, split, size, seed)


def _stream(task: str, seed: int) -> Iterator[Problem]:
    block = 4096
    while True:
        dataset = reasoning_gym.create_dataset(task, size=block, seed=seed, **FAMILY)
        for index in range(block):
            entry = dataset[index]
            if entry["answer"] in RELATIONS:
                question = " ".join(entry["question"].partition("?")[0].split()) + "?"
                steps = worked_steps(entry)
                metadata = {"task": task, "entry": entry, "worked_solution": " ".join(steps), "steps": steps}
                yield Problem(question, entry["answer"], f"reasoning_gym:{task}", f"{task}-{seed}-{index}", metadata)
        seed += block


def worked_steps(entry: dict[str, Any]) -> list[str]:
    """What the story says of the two, a sentence a step, and what follows."""
    one, other, relation = (entry["metadata"][key] for key in ("person1", "person2", "relationship"))
    parents = {
        child: found.groups()[:2]
        for found in _COUPLE.finditer(entry["question"])
        for child in re.split(r", | and ", found[3] or "")
    }
    if relation in ("husband", "wife"):
        steps = [f"{one} is married to {other}."]
    elif relation in ("son", "daughter"):
        steps = [f"{one} is a child of {other}."]
    elif relation in ("brother", "sister"):
        steps = [f"{one} and {other} are children of {parents[one][0]}."]
    elif relation in ("mother", "father"):
        steps = [f"{other} is a child of {one}."]
    else:
        between = next(parent for parent in parents[other] if one in parents.get(parent, ()))
        steps = [f"{between} is a child of {one}.", f"{other} is a child of {between}."]
    return [*steps, f"{one} is the {relation} of {other}."]


def state_relation(problem: Problem, relation: str, form: str, rng: random.Random) -> str:
    """The closing statement of a relation in a form."""
    about = problem.metadata["entry"]["metadata"]
    word = EVERYDAY.get(relation, relation) if form == "everyday" else relation
    if marked := marked_answer(word, form, rng):
        return marked
    if form == "of":
        return f"So {about['person1']} is the {word} of {about['person2']}."
    if form == "possessive" or (form == "everyday" and rng.random() < 0.5):
        return f"So {about['person1']} is {about['person2']}'s {word}."
    return f"The answer is {word}."


def another_relation(relation: str, rng: random.Random) -> str:
    """One that it is not."""
    return rng.choice([other for other in RELATIONS if other != relation])


def write_kinship(problem: Problem, rng: random.Random, way: str | None = None) -> str:
    """One completion that ends in the right answer (a hedged one names another beside it, a blank one none)."""
    return composed(problem, problem.reference_answer, rng, way, FORMS, state_relation, another_relation)


def slipped_kinship(problem: Problem, wrong: str) -> Problem:
    """The same question with another answer, which the last of its worked steps states."""
    *steps, last = problem.metadata["steps"]
    steps.append(last.replace(f" the {problem.reference_answer} ", f" the {wrong} "))
    return replace(problem, reference_answer=wrong, metadata={**problem.metadata, "steps": steps})


def canonical_relation(text: str) -> str:
    """The generator's word for a relation."""
    return next((relation for relation, word in EVERYDAY.items() if word == text), text)


def stated_relation(completion: str) -> str | None:
    """The one relation that the completion states as its answer; None if it states none or several."""
    found = {
        canonical_relation(m.group("relation")) for statement in _STATEMENTS for m in statement.finditer(completion)
    }
    return found.pop() if len(found) == 1 and not HEDGE.search(completion) else None


def is_true_relation(problem: Problem, completion: str) -> bool:
    """Whether the completion's one stated relation is right, by the problem's own generator."""
    relation = stated_relation(completion)
    return relation is not None and score_with_generator(problem, relation)
