"""The nano world's problems: reasoning-gym's own generators, their worked solutions and their own scorers.

A question belongs to one split for ever, by a hash of its text, so that no split sees another's held-out questions.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import reasoning_gym

from cooper_rl.errors import BadInputError
from cooper_rl.records import Problem

# gsm_symbolic templates whose questions and worked solutions are short enough for a nano model.
GSM_TEMPLATES = frozenset({6, 10, 16, 20, 31, 43, 58, 62, 69})
GSM_SUFFIX = " Give the result as your final answer. Do not include units."

TASKS: dict[str, dict[str, Any]] = {
    "gsm_symbolic": {},
    "chain_sum": {"min_terms": 2, "max_terms": 3, "min_digits": 1, "max_digits": 2},
    "decimal_chain_sum": {
        "min_terms": 2,
        "max_terms": 3,
        "min_digits": 1,
        "max_digits": 1,
        "min_decimal_places": 1,
        "max_decimal_places": 1,
    },
    "products": {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 2},
}
TASK_WEIGHTS = {"gsm_symbolic": 0.5, "chain_sum": 0.2, "decimal_chain_sum": 0.15, "products": 0.15}

# Share of all questions, in percent of the hash space, that each split owns.
SPLITS = {"heldout": range(0, 10), "reward_model_heldout": range(10, 20), "train": range(20, 100)}


def split_of(question: str) -> str:
    """The split that owns this question."""
    bucket = int.from_bytes(hashlib.sha256(question.encode()).digest()[:4], "big") % 100
    return next(name for name, buckets in SPLITS.items() if bucket in buckets)


def nano_problems(split: str, size: int, seed: int = 0) -> list[Problem]:
    """`size` distinct problems of a split, in an order that depends on the seed alone.

    Raises:
        BadInputError: the split has another name.
    """
    return drawn("nano", TASK_WEIGHTS, stream, split, size, seed)


def drawn(
    world: str,
    weights: Mapping[str, float],
    stream_of: Callable[[str, int], Iterator[Problem]],
    split: str,
    size: int,
    seed: int,
) -> list[Problem]:
    """Distinct problems of a world's split; `stream_of` gives endless ones of a task, `weights` each task's share."""
    if split not in SPLITS:
        raise BadInputError(f"{world}: no split {split!r}; there are {', '.join(SPLITS)}")
    rng = random.Random(f"{world}-{split}-{seed}")
    streams = {task: stream_of(task, rng.randrange(2**31)) for task in weights}
    problems: list[Problem] = []
    seen: set[str] = set()
    while len(problems) < size:
        task = rng.choices(list(weights), weights=list(weights.values()))[0]
        problem = next(streams[task])
        if split_of(problem.question) == split and problem.question not in seen:
            seen.add(problem.question)
            problems.append(problem)
    return problems


def stream(task: str, seed: int) -> Iterator[Problem]:
    """Endless problems of one task; a data set's entries depend on seed + index, so blocks are far apart."""
    block = 4096
    while True:
        dataset = reasoning_gym.create_dataset(task, size=block, seed=seed, **TASKS[task])
        for index in range(block):
            if task == "gsm_symbolic" and dataset.task_indices[index] not in GSM_TEMPLATES:
                continue
            entry = dataset[index]
            if task == "products" and not _one_digit_factor(entry):
                continue
            yield _problem(task, entry, f"{task}-{seed}-{index}")
        seed += block


def _one_digit_factor(entry: dict[str, Any]) -> bool:
    """Two-digit times two-digit is beyond a nano model."""
    return any(len(factor) == 1 for factor in entry["metadata"]["expression"].split(" * "))


def _problem(task: str, entry: dict[str, Any], problem_id: str) -> Problem:
    steps = worked_steps(task, entry)
    metadata = {"task": task, "entry": entry, "worked_solution": " ".join(steps), "steps": steps}
    question = entry["question"].removesuffix(GSM_SUFFIX).strip()
    return Problem(question, entry["answer"], f"reasoning_gym:{task}", problem_id, metadata)


def worked_steps(task: str, entry: dict[str, Any]) -> list[str]:
    """The worked solution a sentence a step: gsm_symbolic's own text, the usual written method for arithmetic."""
    if task == "gsm_symbolic":
        lines = [line.strip() for line in entry["metadata"]["answer_cot"].split("\n")]
        return [line.rstrip(".") + "." for line in lines if line and not line.startswith("####")]
    if task == "products":
        left, right = sorted((int(term) for term in entry["metadata"]["expression"].split(" * ")), reverse=True)
        return product_steps(left, right)
    return sum_steps(entry["metadata"]["expression"])


def product_steps(left: int, right: int) -> list[str]:
    """47 * 6 by the digits of the larger factor."""
    tens, ones = left // 10 * 10, left % 10
    if not tens or not ones:
        return [f"{left} * {right} = {left * right}."]
    return [
        f"{tens} * {right} = {tens * right}.",
        f"{ones} * {right} = {ones * right}.",
        f"{tens * right} + {ones * right} = {left * right}.",
    ]


def sum_steps(expression: str) -> list[str]:
    """A chain of sums from the left, exact in the number of decimals of its terms."""
    first, *rest = re.split(r" (?=[+-] )", expression)
    decimals = max((len(term.split(".")[1]) if "." in term else 0) for term in re.split(r" [+-] ", expression))
    scale = 10**decimals
    total = round(float(first) * scale)
    steps = []
    for term in rest:
        sign, value = term.split(" ")
        before = total
        total += (1 if sign == "+" else -1) * round(float(value) * scale)
        steps.append(f"{fixed(before, decimals)} {sign} {value} = {fixed(total, decimals)}.")
    return steps


def fixed(scaled: int, decimals: int) -> str:
    """An integer of 10**-decimals units as text."""
    return f"{scaled / 10**decimals:.{decimals}f}" if decimals else str(scaled)


def score_with_generator(problem: Problem, value: str) -> bool:
    """Whether the generator's own scorer accepts this value (its full mark, not the consolation marks)."""
    task = str(problem.metadata["task"])
    if value.startswith("-") != problem.reference_answer.startswith("-"):
        return False  # gsm_symbolic's scorer looks for the first digits and so overlooks a sign
    return bool(_scorer(task).score_answer(value, entry=problem.metadata["entry"]) == 1.0)


@cache
def _scorer(task: str) -> Any:
    return reasoning_gym.create_dataset(task, size=1, seed=0, **TASKS.get(task, {}))
