"""The nano world itself: word problems, sums and products, answered by a number.

Demonstrations state a number in the forms that real models use. math-verify alone cannot read some of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

from cooper_rl.domains.generated import endless
from cooper_rl.domains.gym import problem_of
from cooper_rl.domains.nano.numbers import canonical_number, grouped, number_words, stated_number
from cooper_rl.domains.nano.world import NanoWorld, marked
from cooper_rl.domains.worked import has_one_digit_factor, product_steps, sum_steps
from cooper_rl.records import Problem
from cooper_rl.synthesis.wrong_numbers import near_miss

ARITHMETIC: dict[str, dict[str, Any]] = {  # the settings of each task's generator
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
# Templates whose questions and worked solutions are short enough for a nano model.
GSM_TEMPLATES = frozenset({6, 10, 16, 20, 31, 43, 58, 62, 69})
GSM_SUFFIX = " Give the result as your final answer. Do not include units."


class Arithmetic(NanoWorld):
    """`nano`: problems whose answer is a number.

    Products have few different questions: of 8,000 training problems they are 1 %, not 15.
    """

    name = "nano"
    weights: ClassVar = {"gsm_symbolic": 0.5, "chain_sum": 0.2, "decimal_chain_sum": 0.15, "products": 0.15}
    forms: ClassVar = {
        "boxed": 0.18,
        "plain": 0.16,
        "hash": 0.08,
        "unit": 0.12,
        "words": 0.16,
        "aside": 0.12,
        "sentence": 0.10,
        "ratio": 0.08,
    }

    def stream(self, task: str, seed: int) -> Iterator[Problem]:
        """Endless problems of one task. Products of two two-digit numbers, too hard for a nano model, are left out."""
        for dataset, index, problem_id in endless(task, seed, **ARITHMETIC[task]):
            if task == "gsm_symbolic" and dataset.task_indices[index] not in GSM_TEMPLATES:
                continue
            entry = dataset[index]
            if task == "products" and not has_one_digit_factor(entry):
                continue
            question = entry["question"].removesuffix(GSM_SUFFIX).strip()
            yield problem_of(task, entry, question, worked_steps(task, entry), problem_id)

    def answer(self, problem: Problem) -> str:
        """The reference answer as its shortest decimal text (`132.0` is `132`, `7.140` is `7.14`)."""
        text = problem.reference_answer
        return text.rstrip("0").rstrip(".") if "." in text else text

    def state(self, problem: Problem, answer: str, form: str, rng: random.Random) -> str:
        """The closing sentence that states a number in this form."""
        if said := marked(answer, form, rng):
            return said
        if form == "unit":
            return f"So it is {grouped(answer)}{unit_of(problem, answer)}."
        if form == "words" and number_words(answer):
            return rng.choice([f"The answer is {number_words(answer)}.", f"So it is {number_words(answer)}."])
        if form == "aside":
            sure, count = rng.choice((80, 90, 95)), rng.randint(1, 3)
            return rng.choice([f"That makes {answer}. I am {sure}% sure.", f"It is {answer}, in {count} steps."])
        if form == "sentence":
            given = re.findall(r"\d+(?:\.\d+)?", problem.question)
            return f"{grouped(answer)} is what we get from {' and '.join(given[:2])}."
        if form == "ratio" and "." in answer:
            fraction = Fraction(answer)
            percent = f"{fraction * 100}%" if (fraction * 100).denominator == 1 else str(fraction)
            return f"The answer is {rng.choice([str(fraction), percent])}."
        return f"The answer is {grouped(answer) if form == 'ratio' else answer}."

    def another(self, problem: Problem, answer: str, rng: random.Random) -> str:
        """Another number of similar size with the same number of decimals."""
        return near_miss(answer, rng)

    def last_step_to(self, problem: Problem, wrong: str) -> str:
        """The last step with the wrong number after its last equals sign; unchanged if it has no equals sign."""
        last = str(problem.metadata["steps"][-1])
        head, _, tail = last.rpartition(f"= {self.answer(problem)}")
        return f"{head}= {wrong}{tail}" if head else last

    def canonical(self, text: str) -> str:
        """The number in the generators' writing."""
        return canonical_number(text)

    def stated(self, completion: str) -> str | None:
        """The one number that the completion states."""
        return stated_number(completion)


def unit_of(problem: Problem, number: str) -> str:
    """The noun after the final result in the worked solution; empty if there is none."""
    found = re.search(rf"= {re.escape(number)} ([a-z]+)", str(problem.metadata["steps"][-1]))
    return f" {found.group(1)}" if found else ""


def worked_steps(task: str, entry: dict[str, Any]) -> list[str]:
    """The worked solution, one sentence per step: gsm_symbolic's own text, or the written method for arithmetic."""
    if task == "gsm_symbolic":
        lines = [line.strip() for line in entry["metadata"]["answer_cot"].split("\n")]
        return [line.rstrip(".") + "." for line in lines if line and not line.startswith("####")]
    if task == "products":
        return product_steps(entry["metadata"]["expression"])
    return sum_steps(entry["metadata"]["expression"])
