"""True accuracy: the value that a completion states, in any of the world's forms, judged by the generator's own scorer.

No arm is trained on this. It reads number words, asides and sentences that the rule verifier misses, and counts a
completion that names several different answers as wrong.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from cooper_rl.domains.nano.world import score_with_generator
from cooper_rl.domains.nano.writer import HEDGE, number_words
from cooper_rl.records import Problem

_WORD_VALUES = {
    words: text
    for whole in range(100)
    for text in (str(whole), *(f"{whole}.{tenth}" for tenth in range(10)))
    for words in (number_words(text), number_words(f"-{text}"))
    if words
    for text in ([f"-{text}"] if words.startswith("minus") else [text])
}
_WORDS = "|".join(sorted(map(re.escape, _WORD_VALUES), key=len, reverse=True))
_NUMERAL = r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?(?:/\d+)?"
_VALUE = rf"(?P<value>(?:{_NUMERAL})%?|(?:{_WORDS})(?![\w-]))"
_STATEMENTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\\boxed\{{{_VALUE}\}}",
        rf"[Tt]he answer is {_VALUE}(?! ?[+*/=-] ?\d)",
        rf"#### {_VALUE}",
        rf"(?:So i|[Ii])t is {_VALUE}(?! ?[+*/=-] ?\d)",
        rf"That makes {_VALUE}(?! ?[+*/=-] ?\d)",
        rf"{_VALUE} is what we get from",
    )
)


def stated_value(completion: str) -> str | None:
    """The one value that the completion states as its answer, as plain text; None if it states none or several."""
    values = {canonical(found.group("value")) for statement in _STATEMENTS for found in statement.finditer(completion)}
    if len(values) != 1 or HEDGE.search(completion):
        return None
    return values.pop()


def canonical(text: str) -> str:
    """A stated value as the generators write it: an integer or a decimal where it is one, else a fraction."""
    text = _WORD_VALUES.get(text, text).replace(",", "")
    try:
        value = Fraction(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except (ZeroDivisionError, ValueError):  # 3/0, 6.1/2
        return "undefined"
    if value.denominator == 1:
        return str(value.numerator)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    return format(decimal.normalize(), "f") if Fraction(decimal) == value else str(value)


def is_true(problem: Problem, completion: str) -> bool:
    """Whether the completion's one stated value is right, by the problem's own generator."""
    value = stated_value(completion)
    return value is not None and score_with_generator(problem, value)
