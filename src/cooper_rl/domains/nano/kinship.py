"""A nano world without numbers: family relationships, answered in words.

The quickstart's rule verifier reads a word only in a box. It is therefore weak here: it has no verdict on most right
answers. The problems and their scorer are reasoning-gym's.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from cooper_rl.domains.generated import endless, problem_of
from cooper_rl.domains.nano.demonstrations import HEDGE, NanoWorld, mark
from cooper_rl.records import Problem

TASK = "family_relationships"
FAMILY = {"min_family_size": 4, "max_family_size": 6}
EVERYDAY = {"mother": "mom", "father": "dad", "grandmother": "grandma", "grandfather": "grandpa"}
# Problems about in-laws, nieces and nephews are left out, since the generator's answer is the inverse relation.
RELATIONS = (*EVERYDAY, "son", "daughter", "husband", "wife", "brother", "sister")

_COUPLE = re.compile(r"(\w+) is married to (\w+)\.(?: They have (?:a child|children) called ([\w, ]+)\.)?")
_RELATION = rf"(?P<relation>{'|'.join((*RELATIONS, *EVERYDAY.values()))})\b"
_STATEMENTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\\boxed\{{ ?{_RELATION} ?\}}",
        rf"[Tt]he answer is {_RELATION}",
        rf"#### {_RELATION}",
        rf"is the {_RELATION} of ",
        rf"is \w+'s {_RELATION}",
    )
)


class Kinship(NanoWorld):
    """`nano-kinship`: problems whose answer is the word for a family relation."""

    name = "nano-kinship"
    weights: ClassVar = {TASK: 1.0}
    forms: ClassVar = {"boxed": 0.24, "plain": 0.20, "hash": 0.10, "everyday": 0.16, "of": 0.16, "possessive": 0.14}

    def stream(self, task: str, seed: int) -> Iterator[Problem]:
        """Endless problems about the relations that the generator names correctly."""
        for dataset, index, problem_id in endless(task, seed, **FAMILY):
            entry = dataset[index]
            if entry["answer"] in RELATIONS:
                question = " ".join(entry["question"].partition("?")[0].split()) + "?"
                yield problem_of(task, entry, question, worked_steps(entry), problem_id)

    def state(self, problem: Problem, answer: str, form: str, rng: random.Random) -> str:
        """The closing sentence that states a relation in this form."""
        about = problem.metadata["entry"]["metadata"]
        word = EVERYDAY.get(answer, answer) if form == "everyday" else answer
        if said := mark(word, form, rng):
            return said
        if form == "of":
            return f"So {about['person1']} is the {word} of {about['person2']}."
        if form == "possessive" or (form == "everyday" and rng.random() < 0.5):
            return f"So {about['person1']} is {about['person2']}'s {word}."
        return f"The answer is {word}."

    def another(self, problem: Problem, answer: str, rng: random.Random) -> str:
        """Another relation."""
        return rng.choice([other for other in RELATIONS if other != answer])

    def last_step_to(self, problem: Problem, wrong: str) -> str:
        """The last step with the wrong relation."""
        last = str(problem.metadata["steps"][-1])
        return last.replace(f" the {problem.reference_answer} ", f" the {wrong} ")

    def canonical(self, text: str) -> str:
        """The generator's word for a relation."""
        return next((relation for relation, word in EVERYDAY.items() if word == text), text)

    def read_answer(self, completion: str) -> str | None:
        """The one relation that the completion states as its answer; None if it states none or several."""
        found = {
            self.canonical(match.group("relation"))
            for statement in _STATEMENTS
            for match in statement.finditer(completion)
        }
        return found.pop() if len(found) == 1 and not HEDGE.search(completion) else None


def worked_steps(entry: dict[str, Any]) -> list[str]:
    """The worked solution, one sentence per step: what the story says about the two persons, and what follows."""
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
