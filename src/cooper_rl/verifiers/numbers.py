"""Numbers as people write them: separators, fractions, mixed numbers, percent, ratios, words, currency and units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from cooper_rl.verifiers.dress import CLOSE, OPEN, plain_words

MAX_DIGITS = 400


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
    base: int = 10  # as the numeral says: 1011_2
    clock: str = ""  # what may be a time of day as well as a ratio: 10:30


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
        rf"(?P<numerator>{_DECIMAL}) ?: ?(?P<denominator>{_DECIMAL})",
        r"\((?P<numerator>-?\d+(?:\.\d+)?)\)",
    )
)
_BASED = re.compile(r"\(?(?P<digits>(?=[A-Fa-f]*\d)[0-9A-Fa-f]+)\)? ?_ ?\{?(?P<base>[2-9]|1[0-6])\}?")
_CLOCK = re.compile(r"\d{1,2}:\d\d(?: ?[ap]\.?m\.?)?", re.IGNORECASE)
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
_UNIT_TEXT = re.compile(r"[A-Za-z][A-Za-z'/. -]*(?:\^? ?\{?[23]\}?)?")


def number(text: str) -> Number | None:
    """The number that the whole of an undressed text is, or None."""
    if len(text) > MAX_DIGITS:
        return None
    based = _BASED.fullmatch(text)
    if based:
        return _based(based.group("digits"), int(based.group("base")))
    sign = _SIGN.match(text)
    assert sign
    negative = (sign.group("sign") == "-") != (sign.group("sign2") == "-")
    body, unit, scale = _without_unit(text[sign.end() :])
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
    clock = body if _CLOCK.fullmatch(body) else ""
    return Number(value, None if scale != 1 else decimals, percent, degrees, unit, clock=clock)


def _based(digits: str, base: int) -> Number | None:
    try:
        return Number(Fraction(int(digits, base)), base=base)
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


def _without_unit(body: str) -> tuple[str, str, int]:
    """(numeral, known unit or "", magnitude): "7 stuffed goats", "5.4 square units", "2 million", "15th day"."""
    found = re.fullmatch(rf"(?P<numeral>.*[\d}}\)%°])(?P<rest>[^\d}}\)%°]*(?:\^? ?\{{?[23]\}}?)?{CLOSE}?)", body)
    if not found or not found.group("rest").strip():
        return body, "", 1
    numeral, rest = found.group("numeral"), found.group("rest")
    marked = OPEN in rest
    rest = plain_words(rest)
    ordinal = re.fullmatch(r"(?:st|nd|rd|th)\b\s*(.*)", rest)
    if ordinal:
        return numeral, "", 1
    if not _UNIT_TEXT.fullmatch(rest) or (len(rest) == 1 and not marked):
        return body, "", 1
    if re.search(r"\b(?:and|or|to|pi|sqrt|mod|not|plus|minus|sin|cos|tan|ln|log)\b", rest):
        return body, "", 1
    first, _, others = rest.partition(" ")
    if first.lower() in _MAGNITUDES:
        return numeral, known_unit(others), _MAGNITUDES[first.lower()]
    if not marked and found.group("rest")[0] != " " and rest.lower() not in _UNITS:
        return body, "", 1  # 2xy is a product
    return numeral, known_unit(rest), 1


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
    """A whole number in English words, "minus" and "point" included."""
    words = plain_words(body).lower().replace("-", " ").split()
    if not words or len(words) > 20:
        return None
    negative = words[0] in ("minus", "negative")
    words = words[negative:]
    if len(words) == 1 and words[0] in _ORDINALS:
        return Fraction(_ORDINALS[words[0]]), None
    whole, _, decimals = " ".join(words).partition(" point ")
    total = _whole(whole.split())
    digits = [ONES.get(word, 10) for word in decimals.split()]
    if total is None or any(digit > 9 for digit in digits):
        return None
    value = Fraction(f"{total}.{''.join(map(str, digits)) or 0}")
    return (-value if negative else value), (len(digits) or None)


def _whole(words: list[str]) -> int | None:
    total = current = 0
    for index, word in enumerate(words):
        if word in ONES:
            current += ONES[word]
        elif word in TENS:
            current += TENS[word]
        elif word == "hundred":
            current = (current or 1) * 100
        elif word in _MAGNITUDES and word != "dozen":
            total, current = total + (current or 1) * _MAGNITUDES[word], 0
        elif word == "dozen":
            total, current = total + (current or 1) * 12, 0
        elif word != "and" or index in (0, len(words) - 1):
            return None
    return total + current if words else None
