"""Writes and reads numbers in the nano world's forms.

It reads more forms than the rule verifier does: number words, remarks after the answer, and whole sentences.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import cache

from cooper_rl.domains.nano.world import HEDGE
from cooper_rl.verifiers.math.numerals import ONES, TENS

_WORD_OF = {value: word for word, value in (ONES | TENS).items()}


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


def grouped(number: str) -> str:
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
def statements() -> tuple[re.Pattern[str], ...]:
    """The patterns that state an answer. Compiling their 2,000 number words takes a second, so it waits for a call."""
    words = "|".join(sorted(map(re.escape, value_of_words()), key=len, reverse=True))
    numeral = r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?(?:/\d+)?"
    value = rf"(?P<value>(?:{numeral})%?|(?:{words})(?![\w-]))"
    return tuple(
        re.compile(pattern)
        for pattern in (
            rf"\\boxed\{{{value}\}}",
            rf"[Tt]he answer is {value}(?! ?[+*/=-] ?\d)",
            rf"#### {value}",
            rf"(?:So i|[Ii])t is {value}(?! ?[+*/=-] ?\d)",
            rf"That makes {value}(?! ?[+*/=-] ?\d)",
            rf"{value} is what we get from",
        )
    )


def stated_number(completion: str) -> str | None:
    """The one number that the completion states as its answer, canonical; None if it states none or several."""
    values = {
        canonical_number(found.group("value")) for statement in statements() for found in statement.finditer(completion)
    }
    if len(values) != 1 or HEDGE.search(completion):
        return None
    return values.pop()


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
