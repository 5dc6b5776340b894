"""Numbers as people write them: with sign, currency, percent, degrees, unit, base, or as a time of day."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read
from cooper_rl.verifiers.math.markup import CLOSE, OPEN, without_marks
from cooper_rl.verifiers.math.numerals import MAX_DIGITS, in_digits, in_words
from cooper_rl.verifiers.math.phrases import same_label
from cooper_rl.verifiers.math.units import CURRENCIES, in_one_unit, known_unit, measure, other_unit, without_label

MIN_DIGITS = 3  # that a rounded value must write
NEAR = 200  # two values closer than one part in so many may differ by rounding
_DEGREES = Fraction(math.pi) / 180
_BASED = re.compile(
    r"(?P<sign>-?)\(?(?P<digits>(?=[A-Fa-f]*\d)[0-9A-Fa-f]+)(?:\.(?P<after>[0-9A-Fa-f]+))?\)?"
    r" ?_ ?\{?(?P<base>[2-9]|1[0-6])\}?"
)
_BASE_PREFIX = re.compile(r"(?P<sign>-?)0(?P<base>[xXbBoO])(?P<digits>[0-9A-Fa-f]+)")
_BASES = {"x": "16", "b": "2", "o": "8"}
_REPEATING = re.compile(r"(-?)(\d*)\.(\d*)\\(?:overline|bar) ?\{? ?(\d+) ?\}?")
_PART = re.compile(
    r"(?P<numeral>\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?|[a-z]+(?:-[a-z]+)?) ?(?P<unit>[A-Za-z]+)(?:, and |,? and | |, |\Z)",
    re.IGNORECASE,
)
_OUT_OF = re.compile(r"\d[\d,]*(?= out of )")
_ZEROS = re.compile(r"[-+]?00")
_CLOCK = re.compile(r"\d{1,2}:\d\d(?!\d)")
_HALF_DAY = re.compile(
    r"(?:(?<=\d) ?| )(?:(?P<half>[ap])\.? ?m\.?|in the (?P<part>morning|afternoon|evening)|(?P<point>midnight|noon))\Z",
    re.I,
)
_SIGN = re.compile(
    r"\s*(?P<sign>[-+]?)\s*(?:(?P<code>USD?|EUR|GBP|Rs)\.?\s*)?(?P<money>[$€£¥₹])?\s*(?P<sign2>[-+]?)\s*"
)


@dataclass(frozen=True, slots=True)
class Number(AnswerForm):
    """An exact value and how it was written.

    `decimals` is the number of digits after the point, or None if it was not written as a decimal. 3.00 * 10^8 has -6.
    The value of a percentage is a hundredth of its numeral. `unit` is the unit of measurement, if it is a known one.
    `label` has the words after the number that are no unit.
    """

    kind: ClassVar[str] = "number"
    library_decides: ClassVar[bool] = True
    value: Fraction
    decimals: int | None = None
    percent: bool = False
    unit: str = ""
    base: int | None = None  # the base that the numeral names: 2 in 1011_2
    clock: str = ""  # 10:30, which may be a time of day or a ratio
    scaled: bool = False  # written with a magnitude: 2 million
    half_day: str = ""  # "a" or "p" of a time of day: 10:30 am
    label: str = ""
    part: Fraction | None = None  # 9 of "9 out of 12"

    @classmethod
    def parse(cls, text: str, read: Read) -> Number | None:
        return number(text)

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares exact values. Accepts rounding (`rounds_to`), a missing percent or degree sign, and other units."""
        if not isinstance(answer, Number):
            return Comparison.NOT_KNOWN
        if self._equals(answer):
            return Comparison.EQUAL if self._same_things(answer) else Comparison.OPEN
        return Comparison.OPEN if self._may_mean(answer) else Comparison.DIFFERENT

    @property
    def degrees(self) -> bool:
        """Whether it is an angle in degrees."""
        return self.unit == "degree"

    def _same_things(self, answer: Number) -> bool:
        """Whether what is counted may be the same: `5 km` and `5 blocks` are not, `5 km` and `5` may be."""
        if (self.unit and answer.label) or (answer.unit and self.label):
            return False
        if self._begins_a_time or answer._begins_a_time:
            return self.label == answer.label
        return same_label(self.label, answer.label)

    def _equals(self, answer: Number) -> bool:
        if self.clock and answer.clock:
            if (self.half_day and answer.half_day) or (self._minutes == answer._minutes and not self._is_odd(answer)):
                return self._minutes == answer._minutes
            return self.clock.lstrip("0") == answer.clock.lstrip("0")  # 7:30 may be 7:30 pm
        if self._is_past_midnight or answer._is_past_midnight:  # 00:27 is not the ratio 0
            return False
        if {self.half_day, answer.half_day} == {"a", "p"} or self._has_minutes_of_a_day(answer):
            return False
        if self.base != answer.base:  # compared with 1011_2, a numeral without a base is read in base 2
            if self.value == answer.value:
                return 10 in (self.base, answer.base) or None not in (self.base, answer.base)
            return answer.base is None and self.value.denominator == 1 and _digits(self) == str(answer.value)
        values = in_one_unit(self.value, self.unit, answer.value, answer.unit)
        if values is None:
            return False
        a, b = values
        if self.percent and not answer.percent and abs(b) >= 1 and b == self.value * 100:  # a sign that is left out
            return True
        if a == b:
            return True
        if self.unit == answer.unit or not (self.unit and answer.unit):
            return rounds_to(self, answer)
        return _agree(a, _step_in(a, self), b, _step_in(b, answer))

    @property
    def _minutes(self) -> int:
        """Minutes since midnight of a time of day. Without am or pm it is read as on a 24-hour clock."""
        hours, minutes = map(int, self.clock.split(":"))
        if self.half_day and hours <= 12:
            hours = hours % 12 + 12 * (self.half_day == "p")
        return 60 * hours + minutes

    def _has_minutes_of_a_day(self, answer: Number) -> bool:
        """Whether only one is a time of day, and has minutes: 10:10 am is not the ratio 1."""
        timed = [side for side in (self, answer) if side.clock]
        return len(timed) == 1 and bool(timed[0].half_day) and not timed[0].clock.endswith(":00")

    def _may_be_clock(self, answer: Number) -> bool:
        """Whether a number without a colon may be a time of day where the answer is one: 17.15, 1715, 20 to 6, 3."""
        unlike = self.value > 0 and (self.decimals == 2 or self.value.denominator != 1 or 100 <= self.value < 2400)
        in_the_afternoon = answer.clock.endswith(":00") and abs(self.value - answer.value) == 12  # 3 for 15:00
        return bool(answer.clock) and not self.clock and (unlike or in_the_afternoon)

    def _is_odd(self, answer: Number) -> bool:
        """Whether one of two times has 60 minutes or more: 00:87 may be 01:27."""
        return max(self.clock[-2], answer.clock[-2]) >= "6"

    @property
    def _is_past_midnight(self) -> bool:
        return bool(self.clock) and self.value == 0

    @property
    def _begins_a_time(self) -> bool:
        """Whether it is a part of a time of day that is not read: five o'clock, 1.55 pm."""
        return self.label.startswith("o'clock") or bool(self.half_day and not self.clock)

    def _may_mean(self, answer: Number) -> bool:
        """Whether two numbers that are not equal may still mean the same: rounded, or in units that are not written."""
        if self.clock and answer.clock:
            ratio = self.value == answer.value != 0 and self.half_day == answer.half_day
            half_a_day = abs(self._minutes - answer._minutes) == 12 * 60  # 5:20 may be 17:20
            unsaid = not (self.half_day and answer.half_day)
            return ratio or (half_a_day and unsaid) or self._is_odd(answer)
        if (self.clock and answer.unit) or (answer.clock and self.unit):  # 3:22 may be 202 minutes
            return True
        if self._begins_a_time or answer._begins_a_time:
            return {self.half_day, answer.half_day} != {"a", "p"}
        if self._may_be_clock(answer) or answer._may_be_clock(self) or self._has_minutes_of_a_day(answer):
            return True
        if self._is_past_midnight or answer._is_past_midnight:  # 00:27 may be 27
            return True
        if self.base != answer.base:
            return self.value == answer.value or (self.base is None and _digits(answer) == str(self.value))
        if answer.part == self.value or self.part == answer.value:
            return True
        values = in_one_unit(self.value, self.unit, answer.value, answer.unit)
        if values is None:
            return False
        a, b = values
        if self.unit != answer.unit and self.unit and answer.unit:
            return _near(a, b)
        if bool(self.unit) != bool(answer.unit) and other_unit(a, b, self.unit or answer.unit):
            return True
        if self.degrees != answer.degrees and _near(*((a, b * _DEGREES) if self.degrees else (a * _DEGREES, b))):
            return True
        marked = any(side.percent or side.scaled or side.decimals is not None for side in (self, answer))
        scaled = marked and any(a == b * scale or b == a * scale for scale in (100, 10**3, 10**6, 10**9))
        return scaled or may_be_rounded(self, answer)


@lru_cache(maxsize=8192)
def number(text: str) -> Number | None:
    """Reads the whole text, without its markup, as a number; None if it is not one."""
    if text.startswith(OPEN) and text.endswith(CLOSE):
        text = without_marks(text)
    if len(text) > MAX_DIGITS or (_ZEROS.match(text) and not _CLOCK.match(text)):
        return None
    if text.count(" ") > 2 and (compound := _compound(text)):
        return compound
    repeating = _REPEATING.fullmatch(text)
    if repeating:
        return _repeating(*repeating.groups())
    if prefixed := _BASE_PREFIX.fullmatch(text):
        return _read_in_base(prefixed["sign"], prefixed["digits"], "", _BASES[prefixed["base"].lower()])
    based = _BASED.fullmatch(without_marks(text))
    if based:
        return _read_in_base(**based.groupdict(""))
    return _read_labelled(text)


def _read_labelled(text: str) -> Number | None:
    """A numeral with its sign, and with a unit, a label or a half of the day after it."""
    sign = _SIGN.match(text)
    assert sign
    negative = (sign.group("sign") == "-") != (sign.group("sign2") == "-")
    body, half_day = _without_half_day(text[sign.end() :])
    after = without_label(body)
    body, unit, scale = after.numeral, after.unit, after.magnitude
    percent = body.endswith("%") or unit == "percent"
    body, unit = body.removesuffix("%").rstrip(), "" if percent else unit
    found = in_digits(body) or in_words(body)
    if found is None:
        return None
    value, decimals = found
    if not unit and not percent and not after.label:
        unit = CURRENCIES.get(sign["money"] or sign["code"], "")
    value = value * scale * (Fraction(1, 100) if percent else 1) * (-1 if negative else 1)
    hour = str(value) if half_day and decimals is None and value in range(25) else ""
    time = body if _CLOCK.fullmatch(body) else f"{hour}:00" if hour else ""
    if half_day and not time and ":" in body:  # 1:6 pm or 104:30 pm is neither a time of day nor a ratio
        return None
    return Number(
        value,
        None if scale != 1 else decimals,
        percent,
        unit,
        clock="" if negative else time,
        scaled=scale != 1,
        half_day=half_day,
        label=after.label,
        part=Fraction(part[0].replace(",", "")) if (part := _OUT_OF.match(body)) else None,
    )


def _compound(text: str) -> Number | None:
    """`2 hours and 30 minutes` and `5 feet 3 inches`, in the last of their units; None for any other text."""
    parts = [(part["numeral"], known_unit(part["unit"])) for part in _PART.finditer(without_marks(text))]
    values = [in_digits(numeral) or in_words(numeral) for numeral, _ in parts]
    if len(parts) < 2 or not all(values) or not all(unit for _, unit in parts) or _PART.sub("", without_marks(text)):
        return None
    measures = [measure(unit) for _, unit in parts]
    if len({each.dimension for each in measures}) > 1 or sorted(measures, key=lambda each: -each.factor) != measures:
        return None
    total = sum((value[0] * each.factor for value, each in zip(values, measures, strict=True) if value), Fraction(0))
    return Number(total / measures[-1].factor, unit=parts[-1][1])


def _repeating(sign: str, whole: str, digits: str, period: str) -> Number:
    """`0.58\\overline{3}`."""
    nines = Fraction(int(period), 10 ** len(digits) * (10 ** len(period) - 1))
    value = Fraction(f"{whole or 0}.{digits or 0}") + nines
    return Number(-value if sign else value)


def _read_in_base(sign: str, digits: str, after: str, base: str) -> Number | None:
    try:
        value = Fraction(int(digits + after, int(base)), int(base) ** len(after))
        return Number(-value if sign else value, base=int(base))
    except ValueError:  # a digit that this base does not have
        return None


def _without_half_day(body: str) -> tuple[str, str]:
    plain = without_marks(body)
    found = _HALF_DAY.search(plain)
    if not found:
        return body, ""
    said = (found["half"] or found["part"] or found["point"]).lower()
    return plain[: found.start()], "a" if said in ("a", "morning", "midnight") else "p"


def _digits(number: Number) -> str:
    """The digits of a whole number in its base."""
    value, digits = abs(int(number.value)), ""
    while value:
        value, digit = divmod(value, number.base or 10)
        digits = "0123456789abcdef"[digit] + digits
    return ("-" if number.value < 0 else "") + (digits or "0")


def rounds_to(reference: Number, answer: Number) -> bool:
    """Whether two values agree in all digits that the shorter one writes, if these are at least three.

    A value that is not written as a decimal, such as a fraction, has all digits; only the reference is rounded from it.
    """
    own, its = written_step(reference), written_step(answer)
    return own is not None and _agree(reference.value, own, answer.value, its or Fraction(0))


def _agree(value: Fraction, step: Fraction, other: Fraction, other_step: Fraction) -> bool:
    """Whether two values agree to the larger of the steps that their last digits count, which differ."""
    shorter, step_of_shorter = (value, step) if step > other_step else (other, other_step)
    enough = abs(shorter) >= 10 ** (MIN_DIGITS - 1) * step_of_shorter
    return step != other_step and enough and 2 * abs(value - other) <= step_of_shorter


def written_step(number: Number) -> Fraction | None:
    """What the last digit of a decimal counts; None for values that were not written as decimals."""
    if number.decimals is None:
        return None
    return Fraction(10) ** -(number.decimals + 2 * number.percent)


def _step_in(value: Fraction, number: Number) -> Fraction:
    """What the last digit of a number counts where its value is this one, in another unit; 0 where it is exact."""
    return (written_step(number) or Fraction(0)) * (abs(value / number.value) if number.value else 1)


def may_be_rounded(a: Number, b: Number) -> bool:
    """Whether two different values may be the same one, rounded on its way or at its end.

    Whole numbers below 10,000 and fractions are taken as exact. Decimals with the same number of digits after the point
    may differ by one in the last of three or more digits.
    """
    if _is_whole_percentage(a, b) or _is_whole_percentage(b, a):
        return True
    whole = a.decimals is b.decimals is None and a.value.denominator == b.value.denominator == 1
    if whole and not _step(a) and not _step(b):
        return False
    difference, size = abs(a.value - b.value), max(abs(a.value), abs(b.value))
    if a.decimals is not None and (a.decimals, a.percent) == (b.decimals, b.percent):
        step = _step(a) or Fraction(0)
        return difference <= step and size >= 100 * step
    steps = [step for step in (_step(a), _step(b)) if step]
    whole = (a.value.denominator == 1) != (b.value.denominator == 1) and size >= 10 and 2 * difference <= 1
    return whole or (bool(steps) and (2 * difference <= max(steps) or _near(a.value, b.value)))


def _is_whole_percentage(a: Number, b: Number) -> bool:
    """Whether one is a percentage without decimals, of a fraction that has none: 33 % of a third."""
    exact = not a.percent or a.decimals is not None or b.percent or 100 % b.value.denominator == 0
    return not exact and abs(a.value - b.value) <= Fraction(1, 200)


def _step(number: Number) -> Fraction | None:
    """What the last digit of a decimal, or of a large round number, counts; None for exact values."""
    numerator, denominator = number.value.as_integer_ratio()
    round_number = denominator == 1 and numerator and numerator % 10_000 == 0
    return written_step(number) or (Fraction(1) if round_number else None)


def _near(a: Fraction, b: Fraction) -> bool:
    return abs(a - b) <= max(abs(a), abs(b)) / NEAR
