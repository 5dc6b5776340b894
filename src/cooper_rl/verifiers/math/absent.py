"""Proves that a text does not state a number: none of the numbers that occur in it may mean that one.

This decides texts whose answer cannot be found or compared, such as one that was cut off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from cooper_rl.verifiers.math.form import AnswerForm, Comparison
from cooper_rl.verifiers.math.group import Group
from cooper_rl.verifiers.math.markup import strip_markup
from cooper_rl.verifiers.math.number import Number, number
from cooper_rl.verifiers.math.numerals import NUMBER_WORDS, in_words
from cooper_rl.verifiers.math.sentence import is_uncomputed

MAX_FIGURES = 2000  # different ones in a text; with more, nothing is proved
MAX_POWER = 40
_FIGURE = re.compile(
    r"[-+]?[$€£]?(?:\d[\d,]*(?:\.\d+)?|(?<![\d.])\.\d+)(?:/\d+)?%?|-? ?\\[dtc]?frac ?\{? ?\d+ ?\}? ?\{? ?\d+ ?\}?"
    r"|\d*\.\d*\\(?:overline|bar) ?\{? ?\d+ ?\}?"
)
_POWER_OF_TEN = re.compile(
    r"-?\d+(?:\.\d+)? ?(?:\*|x|\\times|\\cdot) ?10 ?\^ ?\{? ?[-+]?\d+ ?\}?|\d+(?:\.\d+)?[eE][-+]?\d+"
)
_SIMPLE = re.compile(r"-?\d+(?:\.\d+)?")  # without what may separate numbers: 3/4 is also 3 and 4
_NEGATIVE = re.compile(r"\b(?:minus|negative) (\d[\d,]*(?:\.\d+)?)", re.IGNORECASE)
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)")
_POWER = re.compile(r"(\d{1,6}) ?(?:\^|\*\*) ?\{? ?(\d{1,2})|\\sqrt ?\{? ?(\d+)|(\d{1,2}) ?!")
_IN_WORDS = re.compile(rf"\b(?:(?:{'|'.join(NUMBER_WORDS)}|and)\b[\s-]?)+", re.IGNORECASE)
_SAID = {
    re.compile(rf"\b(?:{words})", re.IGNORECASE): Fraction(value)
    for words, value in {
        "half|halv": "1/2",
        "third": "1/3",
        "quarter": "1/4",
        "once|single|sole|only": "1",
        "twice|doubl|both|couple|pair": "2",
        "thrice|tripl": "3",
        "no|none|nothing|never|zero": "0",
    }.items()
}


def is_absent(gold: AnswerForm | None, text: str) -> bool:
    """Whether a text with numbers surely does not state this one, or one of these: it is not among its numbers.

    A time or a number with a unit is never absent, since it has many writings ("3 hours and 22 minutes"). Nor is any
    number where the last sentence has an expression that is not computed.
    """
    if isinstance(gold, Group):
        return any(is_absent(item, text) for item in gold.items)
    if isinstance(gold, Number) and (gold.clock or gold.unit or is_uncomputed(text)):
        return False
    figures = _figures(text) if isinstance(gold, Number) else set()
    if not isinstance(gold, Number) or not 0 < len(figures) <= MAX_FIGURES:
        return False
    return all(gold.compare(each) is Comparison.DIFFERENT for each in _numbers(text, figures))


def _figures(text: str) -> set[str]:
    """The numbers in digits, as written, in every way in which their signs and separators may be meant."""
    figures = {found.group().rstrip(",") for found in _FIGURE.finditer(text)}
    figures |= {found.group().replace(" ", "") for found in _GROUPED.finditer(text)}
    figures |= {found.group() for found in _SIMPLE.finditer(text)}
    figures |= {found.group().replace("x", "*") for found in _POWER_OF_TEN.finditer(text)}
    figures |= {f"-{found[1]}" for found in _NEGATIVE.finditer(text)}
    return figures | {figure.lstrip("-+") for figure in figures}


def _numbers(text: str, figures: set[str]) -> Iterator[Number]:
    """The numbers in digits and in words, and the values of powers, roots and factorials."""
    yield from (found for figure in figures if (found := number(strip_markup(figure))))
    for words in {found.group().strip(" -\n") for found in _IN_WORDS.finditer(text)}:
        yield from (Number(said[0]) for each in (words, *re.split(r"[\s-]+", words)) if (said := in_words(each)))
    yield from (Number(value) for said, value in _SAID.items() if said.search(text))
    for base, exponent, root, factorial in _POWER.findall(text):
        if base:
            yield Number(Fraction(int(base) ** min(int(exponent), MAX_POWER)))
        else:
            yield Number(Fraction(math.isqrt(int(root)) if root else math.factorial(int(factorial))))
