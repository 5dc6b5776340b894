"""Numerals without sign or unit: with separators, fractions, mixed numbers, ratios, powers of ten, English words.

A value is an exact fraction. `decimals` is the number of digits after the point, or None if it was not written as a
decimal.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TypeAlias

from cooper_rl.verifiers.math.markup import without_marks

MAX_DIGITS = 400
Numeral: TypeAlias = "tuple[Fraction, int | None]"  # value, decimals

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_DECIMAL = rf"{_DIGITS}(?:\.\d+)?|\.\d+"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<decimal>{_DECIMAL})",
        rf"(?P<numerator>{_DECIMAL}) ?/ ?(?P<denominator>{_DECIMAL})",
        rf"\\frac ?\{{(?P<numerator>-?(?:{_DECIMAL}))\}} ?\{{(?P<denominator>-?(?:{_DECIMAL}))\}}",
        r"(?P<whole>\d+) (?P<numerator>\d+) ?/ ?(?P<denominator>\d+)",
        r"(?P<whole>\d+) ?(?:and )?\\frac ?\{(?P<numerator>\d+)\} ?\{(?P<denominator>\d+)\}",
        rf"(?P<decimal>{_DECIMAL}) ?(?:[*xX] ?10 ?\^ ?\{{?|[eE])(?P<exponent>[-+]?\d+)\}}?",
        r"10 ?\^ ?\{?(?P<exponent>[-+]?\d+)\}?",
        rf"(?P<numerator>{_DECIMAL}) ?(?::| out of ) ?(?P<denominator>(?!00)(?:{_DECIMAL}))",
        r"(?P<numerator>\d{1,3}) to (?P<denominator>\d{1,3})",  # years are a range
        r"(?P<grouped>\d{1,3}(?:\.\d{3}){2,})",
        r"(?P<decimal>0,\d+)",  # a decimal comma, where nothing else is possible
        r"\((?P<numerator>-?\d+(?:\.\d+)?)\)",
        r"(?P<numerator>\d{1,2}):00",
    )
)
MAGNITUDES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12, "hundred": 100}
_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
ONES = {word: value for value, word in enumerate(_ONES.split())}
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_AFTER_MAGNITUDE = re.compile(rf"\b({'|'.join(MAGNITUDES)}), ")
NUMBER_WORDS = (*ONES, *TENS, *MAGNITUDES)
_NTH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
ORDINALS = {word: value for value, word in enumerate(_NTH, 1)}
PARTS_IN_WORDS = "fourths|fifths|sixths|sevenths|eighths|ninths|tenths|twelfths|twentieths|hundredths|thousandths"
_PARTS = {"half": 2, "halve": 2, "quarter": 4, **{name: value for name, value in ORDINALS.items() if value > 2}}


def in_digits(body: str) -> Numeral | None:
    """Reads a number in digits: "1,234", "1/2", "2 1/2", "1.5 * 10^3", "3:2". None for any other text."""
    for pattern in _PATTERNS:
        found = pattern.fullmatch(body)
        if found:
            return _value(found.groupdict())
    return None


def _value(parts: dict[str, str]) -> Numeral | None:
    if "exponent" in parts:
        exponent = int(parts["exponent"])
        if abs(exponent) > MAX_DIGITS:
            return None
        text = parts.get("decimal", "")
        written = len(text.partition(".")[2]) - exponent if "." in text else None
        return _fraction(text or "1") * Fraction(10) ** exponent, written
    if "grouped" in parts:
        return _fraction(parts["grouped"].replace(".", "")), None
    if "decimal" in parts:
        text = parts["decimal"]
        text = text.replace(",", ".") if text.startswith("0,") else text
        return _fraction(text), (len(text.split(".")[1]) if "." in text else None)
    numerator, denominator = _fraction(parts["numerator"]), _fraction(parts.get("denominator", "1"))
    if denominator == 0:
        return None
    return numerator / denominator + _fraction(parts.get("whole", "0")), None


def _fraction(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


def in_words(body: str) -> Numeral | None:
    """Reads a number in English words: "minus two point five", "one and a half", "three-quarters", "two (2)"."""
    text = without_marks(body).lower().replace("-", " ")
    repeated = re.fullmatch(r"(?P<words>[a-z ]+) \( ?(?P<numeral>[\d.,/]+) ?\)", text)
    if repeated:
        found, numeral = in_words(repeated.group("words")), in_digits(repeated.group("numeral"))
        return found if found and numeral and found[0] == numeral[0] else None
    if halved := re.fullmatch(rf"half an? (?P<magnitude>{'|'.join(MAGNITUDES)})", text):
        return Fraction(MAGNITUDES[halved["magnitude"]], 2), None
    words = _AFTER_MAGNITUDE.sub(r"\1 ", text).split()
    if not words or len(words) > 20:
        return None
    if words[0] in ("minus", "negative"):
        rest = in_digits(" ".join(words[1:])) or in_words(" ".join(words[1:]))
        return (-rest[0], rest[1]) if rest and rest[0] >= 0 else None
    if len(words) == 1 and words[0] in ORDINALS:
        return Fraction(ORDINALS[words[0]]), None
    if words[-1].removesuffix("s") in _PARTS:
        return _fraction_in_words(words)
    whole, _, decimals = " ".join(words).partition(" point ")
    total = _whole(whole.split())
    digits = [ONES.get(word, 10) for word in decimals.split()]
    if total is None or any(digit > 9 for digit in digits):
        return None
    return Fraction(f"{total}.{''.join(map(str, digits)) or 0}"), (len(digits) or None)


def _fraction_in_words(words: list[str]) -> Numeral | None:
    """Reads "one half", "a third" and "two and three quarters"."""
    part = Fraction(1, _PARTS[words[-1].removesuffix("s")])
    whole, _, count = " ".join(words[:-1]).rpartition(" and ")
    total = (int(whole) if whole.isdecimal() else _whole(whole.split())) if whole else 0
    times = 1 if count in ("", "a", "an") else _whole(count.split())
    return None if total is None or times is None else (total + times * part, None)


def _whole(words: list[str]) -> int | None:
    """Reads "two hundred and five thousand". Ones must follow tens, and "and" must follow something larger."""
    total = current = 0
    before = ""
    for index, word in enumerate(words):
        if word in ONES and before not in ONES and (before not in TENS or 0 < ONES[word] < 10):
            current += ONES[word]
        elif word in TENS and before not in ONES and before not in TENS:
            current += TENS[word]
        elif word == "hundred" and before not in TENS:
            current = (current or 1) * 100
        elif word in MAGNITUDES and word != "hundred":
            total, current = total + (current or 1) * MAGNITUDES[word], 0
        elif word == "a" and index == 0 and len(words) > 1 and words[1] in MAGNITUDES:
            continue
        elif word != "and" or before not in MAGNITUDES or index == len(words) - 1:
            return None
        before = word
    return total + current if words else None
