"""Numbers as people write them: with sign, currency, percent, degrees, unit, base, or as a time of day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read
from cooper_rl.verifiers.math.labels import without_label
from cooper_rl.verifiers.math.markup import without_marks
from cooper_rl.verifiers.math.numerals import MAX_DIGITS, in_digits, in_words
from cooper_rl.verifiers.math.units import in_one_unit

_BASED = re.compile(
    r"(?P<sign>-?)\(?(?P<digits>(?=[A-Fa-f]*\d)[0-9A-Fa-f]+)(?:\.(?P<after>[0-9A-Fa-f]+))?\)?"
    r" ?_ ?\{?(?P<base>[2-9]|1[0-6])\}?"
)
_REPEATING = re.compile(r"(-?)(\d*)\.(\d*)\\(?:overline|bar) ?\{? ?(\d+) ?\}?")
_ZEROS = re.compile(r"[-+]?00")
_CLOCK = re.compile(r"\d{1,2}:\d\d")
_HALF_DAY = re.compile(r"(?<=\d) ?([ap])\.? ?m\.?", re.IGNORECASE)
_SIGN = re.compile(r"\s*(?P<sign>[-+]?)\s*(?:(?:US|USD|EUR|Rs\.?)\s*)?[$€£¥₹]?\s*(?P<sign2>[-+]?)\s*")


@dataclass(frozen=True, slots=True)
class Number(AnswerForm):
    """An exact value and how it was written.

    `decimals` is the number of digits after the point, or None if it was not written as a decimal. The value of a
    percentage is a hundredth of its numeral. `unit` is the unit of measurement, if it is a known one.
    """

    kind: ClassVar[str] = "number"
    library_decides: ClassVar[bool] = True
    value: Fraction
    decimals: int | None = None
    percent: bool = False
    degrees: bool = False
    unit: str = ""
    base: int | None = None  # the base that the numeral names: 2 in 1011_2
    clock: str = ""  # 10:30, which may be a time of day or a ratio
    half_day: str = ""  # "a" or "p" of a time of day: 10:30 am

    @classmethod
    def parse(cls, text: str, read: Read) -> Number | None:
        return number(text)

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares exact values. Accepts rounding (`rounds_to`), a missing percent or degree sign, and other units."""
        if not isinstance(answer, Number):
            return Comparison.NOT_KNOWN
        return Comparison.of(self._equals(answer))

    def _equals(self, answer: Number) -> bool:
        if self.clock and answer.clock:
            either = not self.half_day or not answer.half_day or self.half_day == answer.half_day
            return either and self.clock == answer.clock
        if self.base != answer.base:  # compared with 1011_2, a numeral without a base is read in base 2
            based, bare = (self, answer) if self.base else (answer, self)
            return bare.base is None and based.value.denominator == 1 and _digits(based) == str(bare.value)
        values = in_one_unit(self.value, self.unit, answer.value, answer.unit)
        if values is None:
            return False
        a, b = values
        if self.percent != answer.percent:
            percent, plain = (self.value, b) if self.percent else (answer.value, a)
            if abs(plain) >= 1 and plain == percent * 100:
                return True
        return a == b or rounds_to(self, answer)


def number(text: str) -> Number | None:
    """Reads the whole text, without its markup, as a number; None if it is not one."""
    if len(text) > MAX_DIGITS or _ZEROS.match(text):
        return None
    repeating = _REPEATING.fullmatch(text)
    if repeating:
        return _repeating(*repeating.groups())
    based = _BASED.fullmatch(without_marks(text))
    if based:
        return _based(**based.groupdict(""))
    sign = _SIGN.match(text)
    assert sign
    negative = (sign.group("sign") == "-") != (sign.group("sign2") == "-")
    body, half_day = _without_half_day(text[sign.end() :])
    body, unit, scale = without_label(body)
    percent = degrees = False
    if body.endswith("%"):
        body, percent = body[:-1].rstrip(), True
    elif body.endswith("°"):
        body, degrees = body[:-1].rstrip(), True
    if unit in ("percent", "per cent"):
        percent, unit = True, ""
    if unit in ("degree", "°"):
        degrees, unit = True, ""
    found = in_digits(body) or in_words(body)
    if found is None:
        return None
    value, decimals = found
    value = value * scale * (Fraction(1, 100) if percent else 1) * (-1 if negative else 1)
    clock = "" if negative else body if _CLOCK.fullmatch(body) else f"{body}:00" if half_day else ""
    return Number(value, None if scale != 1 else decimals, percent, degrees, unit, clock=clock, half_day=half_day)


def _repeating(sign: str, whole: str, digits: str, period: str) -> Number:
    """`0.58\\overline{3}`."""
    nines = Fraction(int(period), 10 ** len(digits) * (10 ** len(period) - 1))
    value = Fraction(f"{whole or 0}.{digits or 0}") + nines
    return Number(-value if sign else value)


def _based(sign: str, digits: str, after: str, base: str) -> Number | None:
    try:
        value = Fraction(int(digits + after, int(base)), int(base) ** len(after))
        return Number(-value if sign else value, base=int(base))
    except ValueError:  # a digit that this base does not have
        return None


def _without_half_day(body: str) -> tuple[str, str]:
    plain = without_marks(body)
    found = _HALF_DAY.search(plain)
    if not found or found.end() != len(plain):
        return body, ""
    return plain[: found.start()], found.group(1).lower()


def _digits(number: Number) -> str:
    """The digits of a whole number in its base."""
    value, digits = abs(int(number.value)), ""
    while value:
        value, digit = divmod(value, number.base or 10)
        digits = "0123456789abcdef"[digit] + digits
    return ("-" if number.value < 0 else "") + (digits or "0")


def rounds_to(reference: Number, answer: Number) -> bool:
    """Whether the reference is the rounded answer, or the answer is the reference rounded to fewer digits.

    A reference written as a decimal may be a rounded value if the answer is a fraction or has more decimals. An answer
    may be rounded if it has four significant digits (165.5 for 165.47), or three where the reference has three
    decimals or more.
    """
    if reference.decimals is None:
        return False
    decimals = reference.decimals + 2 * reference.percent
    answer_decimals = None if answer.decimals is None else answer.decimals + 2 * answer.percent
    difference = abs(reference.value - answer.value)
    if answer_decimals is None and answer.value.denominator == 1:
        answer_decimals = 0
    if answer_decimals is None or answer_decimals > decimals:
        return difference <= Fraction(1, 2 * 10**decimals)
    digits = len(str(abs(answer.value.numerator * 10**answer_decimals // answer.value.denominator)))
    enough = digits >= 4 or (digits >= 3 and decimals >= 3)
    return enough and 0 < answer_decimals < decimals and difference <= Fraction(1, 2 * 10**answer_decimals)
