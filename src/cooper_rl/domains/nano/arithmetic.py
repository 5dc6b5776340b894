"""The nano worlds whose answers are numbers: `nano`, and `nano-steps`, in which the truth of every step is known.

Demonstrations state a number in the forms that real models use. math-verify alone cannot read some of them. The worlds
read them all, so that they know what the rule misses: number words, remarks after the answer, and whole sentences.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

from cooper_rl.domains.generated import endless, has_one_digit_factor, problem_of, product_steps, sum_steps
from cooper_rl.domains.nano.demonstrations import HEDGE, NanoWorld, mark
from cooper_rl.records import Problem
from cooper_rl.steps import steps_of
from cooper_rl.synthesis.wrong_numbers import near_miss
from cooper_rl.verifiers.math.numerals import ONES, TENS

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
STEP = "sentence"  # what a step of these solutions is

_NUMBER = r"-?\d+(?:\.\d+)?"
_EQUATION = re.compile(rf"({_NUMBER}) ([+-]) ({_NUMBER}) = ({_NUMBER})")
_WORD_OF = {value: word for word, value in (ONES | TENS).items()}


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
        if said := mark(answer, form, rng):
            return said
        if form == "unit":
            return f"So it is {group_thousands(answer)}{unit_of(problem, answer)}."
        if form == "words" and number_words(answer):
            return rng.choice([f"The answer is {number_words(answer)}.", f"So it is {number_words(answer)}."])
        if form == "aside":
            sure, count = rng.choice((80, 90, 95)), rng.randint(1, 3)
            return rng.choice([f"That makes {answer}. I am {sure}% sure.", f"It is {answer}, in {count} steps."])
        if form == "sentence":
            given = re.findall(r"\d+(?:\.\d+)?", problem.question)
            return f"{group_thousands(answer)} is what we get from {' and '.join(given[:2])}."
        if form == "ratio" and "." in answer:
            fraction = Fraction(answer)
            percent = f"{fraction * 100}%" if (fraction * 100).denominator == 1 else str(fraction)
            return f"The answer is {rng.choice([str(fraction), percent])}."
        return f"The answer is {group_thousands(answer) if form == 'ratio' else answer}."

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

    def read_answer(self, completion: str) -> str | None:
        """The one number that the completion states."""
        return stated_number(completion)

    def states(self, problem: Problem, completion: str) -> bool:
        """Whether a completion states a number in a form of the demonstrations."""
        return bool(stated_numbers(completion))

    def value(self, problem: Problem, text: str) -> str | None:
        """The number that this text is, with the problem's unit or without."""
        return lone_number(text.removesuffix(unit_of(problem, self.answer(problem))))


class Steps(Arithmetic):
    """`nano-steps`: the nano world's sums of three terms. Their worked solution has two equations, one a sentence."""

    name = "nano-steps"
    weights: ClassVar = {"chain_sum": 0.5, "decimal_chain_sum": 0.5}

    def stream(self, task: str, seed: int) -> Iterator[Problem]:
        """Endless problems of one task; sums of two terms are left out."""
        yield from (problem for problem in super().stream(task, seed) if len(problem.metadata["steps"]) > 1)

    def first_error(self, problem: Problem, completion: str) -> int:
        """The index of the completion's first wrong step, -1 where none is wrong.

        A step with an equation is right where the worked solution has that equation. Another is wrong where it states
        an answer that is wrong. Where every step passes and the answer is not right all the same, it is the last one.
        """
        known = {equation for step in problem.metadata["steps"] for equation in _EQUATION.findall(step)}
        steps = steps_of(completion, STEP)
        for index, step in enumerate(steps):
            equations = _EQUATION.findall(step)
            stated = None if equations else self.read_answer(step) or self.read_last_sentence(problem, step)
            if set(equations) - known or (stated is not None and not self.is_true(problem, step)):
                return index
        return -1 if self.is_true(problem, completion) else max(0, len(steps) - 1)

    def slip_at(self, problem: Problem, index: int, rng: random.Random) -> Problem:
        """The problem with a worked solution whose step `index` has a wrong result, which the later steps go on from.

        Args:
            index: the number of steps puts the slip into the closing statement.
        """
        steps, result = list[str](), ""
        for place, step in enumerate(problem.metadata["steps"]):
            left, sign, right, _ = _EQUATION.findall(step)[0]
            left = result or left  # each step goes on from the one before
            result = str(Decimal(left) + Decimal(right) * (1 if sign == "+" else -1))
            result = near_miss(result, rng) if place == index else result
            steps.append(f"{left} {sign} {right} = {result}.")
        last = result if index < len(steps) else near_miss(result, rng)
        return replace(problem, reference_answer=last, metadata={**problem.metadata, "steps": steps})


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


def number_words(text: str) -> str | None:
    """`25` as `twenty-five`, `1.6` as `one point six`. None from 100 on, since such numbers are rarely written out."""
    if text.startswith("-"):
        words = number_words(text[1:])
        return words and f"minus {words}"
    whole, _, decimals = text.partition(".")
    if int(whole) >= 100 or len(decimals) > 1:
        return None
    tens, ones = divmod(int(whole), 10)
    words = _WORD_OF[int(whole)] if tens < 2 or not ones else f"{_WORD_OF[10 * tens]}-{_WORD_OF[ones]}"
    return f"{words} point {_WORD_OF[int(decimals)]}" if decimals else words


def group_thousands(number: str) -> str:
    """A number with commas between its thousands."""
    whole, dot, decimals = number.partition(".")
    return f"{int(whole):,}{dot}{decimals}" if abs(int(whole)) >= 1000 else number


@cache
def value_of_words() -> dict[str, str]:
    """Every number that `number_words` writes out: its words, mapped to its digits."""
    digits = [text for whole in range(100) for text in (str(whole), *(f"{whole}.{tenth}" for tenth in range(10)))]
    signed = [text for plain in digits for text in (plain, f"-{plain}")]
    return {words: text for text in signed if (words := number_words(text))}


@cache
def _value() -> str:
    """The pattern of a number: digits, or one of 2,000 number words."""
    words = "|".join(sorted(map(re.escape, value_of_words()), key=len, reverse=True))
    numeral = r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?(?:/\d+)?"
    return rf"(?P<value>(?:{numeral})(?![.,]?\d)%?|(?:{words})(?![\w-]))"


@cache
def statements() -> tuple[re.Pattern[str], ...]:
    """The patterns that state an answer. Compiling their number words takes a second, so it waits for a call."""
    value = _value()
    return tuple(
        re.compile(pattern)
        for pattern in (
            rf"\\boxed\{{ ?{value} ?\}}",
            rf"[Tt]he answer is {value}(?! ?[+*/=-] ?\d)",
            rf"#### {value}",
            rf"(?:So i|[Ii])t is {value}(?! ?[+*/=-] ?\d)",
            rf"That makes {value}(?! ?[+*/=-] ?\d)",
            rf"{value} is what we get from",
        )
    )


def stated_numbers(completion: str) -> set[str]:
    """The numbers, canonical, that the completion states as its answer in a form of the demonstrations."""
    return {
        canonical_number(found.group("value")) for statement in statements() for found in statement.finditer(completion)
    }


def stated_number(completion: str) -> str | None:
    """The one number that the completion states as its answer, canonical; None if it states none or several."""
    values = stated_numbers(completion)
    return values.pop() if len(values) == 1 and not HEDGE.search(completion) else None


@cache
def _lone_number() -> re.Pattern[str]:
    return re.compile(rf"(?P<sign>minus |negative |- ?)?{_value()}")


def lone_number(text: str) -> str | None:
    """The number, canonical, that a text is and nothing else."""
    found = _lone_number().fullmatch(text.replace("\N{MINUS SIGN}", "-"))
    if not found or (found["sign"] and found["value"].startswith(("-", "minus"))):
        return None
    value = canonical_number(found["value"])
    return f"-{value}" if found["sign"] and value != "0" else value


def canonical_number(text: str) -> str:
    """A stated number in the generators' writing: an integer or a decimal if possible, else a fraction."""
    text = value_of_words().get(text, text).replace(",", "")
    try:
        value = Fraction(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except (ZeroDivisionError, ValueError):  # 3/0, 6.1/2
        return "undefined"
    if value.denominator == 1:
        return str(value.numerator)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    return format(decimal.normalize(), "f") if Fraction(decimal) == value else str(value)
