"""Numbers as people write them: separators, fractions, mixed numbers, percent, ratios, words, currency and units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from cooper_rl.verifiers.math.markup import CLOSE, OPEN, without_marks

MAX_DIGITS = 400
MAX_LABEL = 5  # words after a number that are a unit or a label, not a sentence


@dataclass(frozen=True, slots=True)
class Number:
    """An exact value and how it was written.

    `decimals` is the number of digits after the point where it was written as a decimal, else None; a percent's value
    is a hundredth of its numeral; `unit` is the measurement unit, if it is a known one.
    """

    value: Fraction
    decimals: int | None = None
    percent: bool = False
    degrees: bool = False
    unit: str = ""
    base: int | None = None  # as the numeral says: 1011_2
    clock: str = ""  # what may be a time of day as well as a ratio: 10:30
    half_day: str = ""  # "a" or "p" of a time of day: 10:30 am


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
        rf"(?P<decimal>{_DECIMAL}) ?(?:\* ?10 ?\^ ?\{{?|[eE])(?P<exponent>[-+]?\d+)\}}?",
        r"10 ?\^ ?\{?(?P<exponent>[-+]?\d+)\}?",
        rf"(?P<numerator>{_DECIMAL}) ?: ?(?P<denominator>(?!00)(?:{_DECIMAL}))",
        r"\((?P<numerator>-?\d+(?:\.\d+)?)\)",
        r"(?P<numerator>\d{1,2}):00",
    )
)
_BASED = re.compile(
    r"(?P<sign>-?)\(?(?P<digits>(?=[A-Fa-f]*\d)[0-9A-Fa-f]+)(?:\.(?P<after>[0-9A-Fa-f]+))?\)?"
    r" ?_ ?\{?(?P<base>[2-9]|1[0-6])\}?"
)
_REPEATING = re.compile(r"(-?)(\d*)\.(\d*)\\(?:overline|bar) ?\{? ?(\d+) ?\}?")
_CLOCK = re.compile(r"\d{1,2}:\d\d")
_HALF_DAY = re.compile(r"(?<=\d) ?([ap])\.? ?m\.?", re.IGNORECASE)
_SIGN = re.compile(r"\s*(?P<sign>[-+]?)\s*(?:(?:US|USD|EUR|Rs\.?)\s*)?[$€£¥₹]?\s*(?P<sign2>[-+]?)\s*")
_MAGNITUDES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12, "hundred": 100}
ONES = {
    **{"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9},
    **{"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16},
    **{"seventeen": 17, "eighteen": 18, "nineteen": 19},
}
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
NUMBER_WORDS = (*ONES, *TENS, *_MAGNITUDES)
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8}
_ORDINALS |= {"ninth": 9, "tenth": 10}
_PARTS = {"half": 2, "halve": 2, "quarter": 4, **{name: value for name, value in _ORDINALS.items() if value > 2}}

# name -> (dimension, factor to the first unit of it)
_LENGTH = {"mm": "0.001", "cm": "0.01", "dm": "0.1", "m": "1", "km": "1000", "in": "0.0254", "ft": "0.3048"}
_UNITS: dict[str, tuple[str, Fraction]] = {
    **{name: ("length", Fraction(factor)) for name, factor in _LENGTH.items()},
    **{name: ("mass", Fraction(f)) for name, f in {"mg": "0.001", "g": "1", "kg": "1000"}.items()},
    **{name: ("volume", Fraction(f)) for name, f in {"ml": "0.001", "l": "1"}.items()},
    **{name: ("time", Fraction(f)) for name, f in {"s": 1, "min": 60, "h": 3600, "day": 86400, "week": 604800}.items()},
    **{name: ("money", Fraction(f)) for name, f in {"cent": "0.01", "dollar": "1"}.items()},
}
_SPELLINGS = {
    **{"millimeter": "mm", "centimeter": "cm", "decimeter": "dm", "meter": "m", "metre": "m", "kilometer": "km"},
    **{"centimetre": "cm", "kilometre": "km", "inch": "in", "inche": "in", "foot": "ft", "feet": "ft"},
    **{"gram": "g", "kilogram": "kg", "milligram": "mg", "liter": "l", "litre": "l", "milliliter": "ml"},
    **{"second": "s", "sec": "s", "minute": "min", "hour": "h", "hr": "h"},
}
_SHORT = {"mi", "lb", "oz", "yd", "ha", "ev", "kj", "kw", "hz", "mw", "pa", "nm"}  # labels of two letters
_EXPONENT = r"(?: ?\^ ?\{? ?-?[1-4] ?\}?)"
_MARKED = re.compile(
    rf"(?P<numeral>[^{OPEN}]*[\d}})%°])(?P<units>(?: ?[/*]? ?{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}{_EXPONENT}?)+)"
)
_POWER = re.compile(rf"(?P<numeral>.*\d) ?(?P<unit>[a-z]+){_EXPONENT}", re.IGNORECASE)
_LABELLED = re.compile(r"(?P<numeral>.*[\d})%°])(?P<gap>[ -]?)(?P<unit>[A-Za-z][A-Za-z'/. -]*)")
_NO_UNIT = re.compile(r"\b(?:and|or|to|pi|sqrt|mod|not|plus|minus|sin|cos|tan|ln|log)\b")


def number(text: str) -> Number | None:
    """The number that the whole of an undressed text is, or None."""
    if len(text) > MAX_DIGITS or re.match(r"[-+]?00", text):
        return None
    repeating = _REPEATING.fullmatch(text)
    if repeating:
        sign, whole, digits, period = repeating.groups()
        nines = Fraction(int(period), 10 ** len(digits) * (10 ** len(period) - 1))
        value = Fraction(f"{whole or 0}.{digits or 0}") + nines
        return Number(-value if sign else value)
    based = _BASED.fullmatch(without_marks(text))
    if based:
        return _based(**based.groupdict(""))
    sign = _SIGN.match(text)
    assert sign
    negative = (sign.group("sign") == "-") != (sign.group("sign2") == "-")
    body, half_day = _without_half_day(text[sign.end() :])
    body, unit, scale = _without_unit(body)
    percent = degrees = False
    if body.endswith("%"):
        body, percent = body[:-1].rstrip(), True
    elif body.endswith("°"):
        body, degrees = body[:-1].rstrip(), True
    if unit in ("percent", "per cent"):
        percent, unit = True, ""
    if unit in ("degree", "°"):
        degrees, unit = True, ""
    found = _numeral(body) or _in_words(body)
    if found is None:
        return None
    value, decimals = found
    value = value * scale * (Fraction(1, 100) if percent else 1) * (-1 if negative else 1)
    clock = "" if negative else body if _CLOCK.fullmatch(body) else f"{body}:00" if half_day else ""
    return Number(value, None if scale != 1 else decimals, percent, degrees, unit, clock=clock, half_day=half_day)


def _based(sign: str, digits: str, after: str, base: str) -> Number | None:
    try:
        value = Fraction(int(digits + after, int(base)), int(base) ** len(after))
        return Number(-value if sign else value, base=int(base))
    except ValueError:  # a digit that this base does not have
        return None


def _numeral(body: str) -> tuple[Fraction, int | None] | None:
    for pattern in _PATTERNS:
        found = pattern.fullmatch(body)
        if found:
            return _value(found.groupdict())
    return None


def _value(parts: dict[str, str]) -> tuple[Fraction, int | None] | None:
    if "exponent" in parts:
        exponent = int(parts["exponent"])
        if abs(exponent) > MAX_DIGITS:
            return None
        return _fraction(parts.get("decimal", "1")) * Fraction(10) ** exponent, None
    if "decimal" in parts:
        text = parts["decimal"]
        return _fraction(text), (len(text.split(".")[1]) if "." in text else None)
    numerator, denominator = _fraction(parts["numerator"]), _fraction(parts.get("denominator", "1"))
    if denominator == 0:
        return None
    return numerator / denominator + _fraction(parts.get("whole", "0")), None


def _fraction(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


def _without_half_day(body: str) -> tuple[str, str]:
    plain = without_marks(body)
    found = _HALF_DAY.search(plain)
    if not found or found.end() != len(plain):
        return body, ""
    return plain[: found.start()], found.group(1).lower()


def _without_unit(body: str) -> tuple[str, str, int]:
    """(numeral, known unit or "", magnitude): "7 stuffed goats", "5.4 square units", "2 million", "15th day"."""
    body = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", body)
    if re.search(r"\d ?° ?[CF]$", without_marks(body)):  # a temperature, not an angle
        return without_marks(body).rstrip("CF ").rstrip("° "), "", 1
    marked = _MARKED.fullmatch(body)
    if marked:
        rest = without_marks(marked.group("units"))
        return (
            (body, "", 1)
            if _NO_UNIT.search(rest) or len(rest.split()) > MAX_LABEL
            else _with_magnitude(marked.group("numeral"), rest)
        )
    words, _, last = without_marks(body).rpartition(" ")
    if known_unit(last) and not re.search(r"\d", words):
        return words, known_unit(last), 1  # forty-two percent
    power = _POWER.fullmatch(body)
    if power and known_unit(power.group("unit")) and (len(power.group("unit")) > 1 or " " in body):
        return power.group("numeral"), "", 1
    found = _LABELLED.fullmatch(body)
    if not found or _NO_UNIT.search(found.group("unit")):
        return body, "", 1
    numeral, gap, rest = found.group("numeral"), found.group("gap"), without_marks(found.group("unit"))
    if gap == "-":
        return (numeral, "", 1) if len(rest) > 2 else (body, "", 1)  # 14-year-old, not 5-x
    short = rest.lower() in _UNITS or rest.lower() in _SHORT
    if (len(rest) < 3 and not short) or (not gap and (not short or len(rest) == 1)):
        return body, "", 1  # 2xy and 2 xy are products, 5 m is a length
    return _with_magnitude(numeral, rest)


def _with_magnitude(numeral: str, label: str) -> tuple[str, str, int]:
    first, _, others = label.partition(" ")
    if first.lower() in _MAGNITUDES:
        return numeral, known_unit(others), _MAGNITUDES[first.lower()]
    return numeral, known_unit(label), 1


def known_unit(text: str) -> str:
    """The unit's own name ("hours" -> "h", "percent"), or "" for what is only a label ("apples")."""
    word = text.strip(" .").lower()
    word = word if word in _UNITS else word.removesuffix("s")
    word = _SPELLINGS.get(word, word)
    return word if word in _UNITS or word in ("percent", "per cent", "degree") else ""


def same_unit(a: Number, b: Number) -> tuple[Fraction, Fraction] | None:
    """Both values in one unit; None if they measure different things."""
    if not a.unit or not b.unit or a.unit == b.unit:
        return a.value, b.value
    (dimension, factor), (other, other_factor) = _UNITS[a.unit], _UNITS[b.unit]
    return (a.value * factor, b.value * other_factor) if dimension == other else None


def _in_words(body: str) -> tuple[Fraction, int | None] | None:
    """A number in English words: "minus two point five", "one and a half", "three-quarters", "two (2)"."""
    text = without_marks(body).lower().replace("-", " ")
    repeated = re.fullmatch(r"(?P<words>[a-z ]+) \( ?(?P<numeral>[\d.,/]+) ?\)", text)
    if repeated:
        found, numeral = _in_words(repeated.group("words")), _numeral(repeated.group("numeral"))
        return found if found and numeral and found[0] == numeral[0] else None
    words = text.split()
    if not words or len(words) > 20:
        return None
    if words[0] in ("minus", "negative"):
        rest = _numeral(" ".join(words[1:])) or _in_words(" ".join(words[1:]))
        return (-rest[0], rest[1]) if rest and rest[0] >= 0 else None
    if len(words) == 1 and words[0] in _ORDINALS:
        return Fraction(_ORDINALS[words[0]]), None
    if words[-1].removesuffix("s") in _PARTS:
        return _fraction_in_words(words)
    whole, _, decimals = " ".join(words).partition(" point ")
    total = _whole(whole.split())
    digits = [ONES.get(word, 10) for word in decimals.split()]
    if total is None or any(digit > 9 for digit in digits):
        return None
    return Fraction(f"{total}.{''.join(map(str, digits)) or 0}"), (len(digits) or None)


def _fraction_in_words(words: list[str]) -> tuple[Fraction, int | None] | None:
    """ "one half", "a third", "two and three quarters"."""
    part = Fraction(1, _PARTS[words[-1].removesuffix("s")])
    whole, _, count = " ".join(words[:-1]).rpartition(" and ")
    total = _whole(whole.split()) if whole else 0
    times = 1 if count in ("", "a", "an") else _whole(count.split())
    return None if total is None or times is None else (total + times * part, None)


def _whole(words: list[str]) -> int | None:
    """ "two hundred and five thousand": ones after tens, "and" only where something larger stands before."""
    total = current = 0
    before = ""
    for index, word in enumerate(words):
        if word in ONES and before not in ONES and (before not in TENS or 0 < ONES[word] < 10):
            current += ONES[word]
        elif word in TENS and before not in ONES and before not in TENS:
            current += TENS[word]
        elif word == "hundred" and before not in TENS:
            current = (current or 1) * 100
        elif word in _MAGNITUDES and word != "hundred":
            total, current = total + (current or 1) * _MAGNITUDES[word], 0
        elif word == "a" and index == 0 and len(words) > 1 and words[1] in _MAGNITUDES:
            continue
        elif word != "and" or before not in _MAGNITUDES or index == len(words) - 1:
            return None
        before = word
    return total + current if words else None
