"""Units of measurement: their names, what they measure, and the factors that convert them."""

from __future__ import annotations

from fractions import Fraction

# name -> (dimension, factor that converts it to the first unit of that dimension)
_LENGTH = {"mm": "0.001", "cm": "0.01", "dm": "0.1", "m": "1", "km": "1000", "in": "0.0254", "ft": "0.3048"}
_MASS = {"mg": "0.001", "g": "1", "kg": "1000"}
_VOLUME = {"ml": "0.001", "l": "1"}
_TIME = {"s": "1", "min": "60", "h": "3600", "day": "86400", "week": "604800"}
_MONEY = {"cent": "0.01", "dollar": "1"}
UNITS: dict[str, tuple[str, Fraction]] = {
    name: (dimension, Fraction(factor))
    for dimension, units in (
        ("length", _LENGTH),
        ("mass", _MASS),
        ("volume", _VOLUME),
        ("time", _TIME),
        ("money", _MONEY),
    )
    for name, factor in units.items()
}
_SPELLINGS = {
    "millimeter": "mm",
    "centimeter": "cm",
    "decimeter": "dm",
    "meter": "m",
    "metre": "m",
    "kilometer": "km",
    "centimetre": "cm",
    "kilometre": "km",
    "inch": "in",
    "inche": "in",
    "foot": "ft",
    "feet": "ft",
    "gram": "g",
    "kilogram": "kg",
    "milligram": "mg",
    "liter": "l",
    "litre": "l",
    "milliliter": "ml",
    "second": "s",
    "sec": "s",
    "minute": "min",
    "hour": "h",
    "hr": "h",
}
SHORT_LABELS = {"mi", "lb", "oz", "yd", "ha", "ev", "kj", "kw", "hz", "mw", "pa", "nm"}  # units of two letters


def known_unit(text: str) -> str:
    """The short name of a unit ("hours" -> "h"); "" for a word that is only a label ("apples")."""
    word = text.strip(" .").lower()
    word = word if word in UNITS else word.removesuffix("s")
    word = _SPELLINGS.get(word, word)
    return word if word in UNITS or word in ("percent", "per cent", "degree") else ""


def in_one_unit(value: Fraction, unit: str, other: Fraction, other_unit: str) -> tuple[Fraction, Fraction] | None:
    """Both values in the same unit; None if they measure different things. A value without a unit gets the other's."""
    if not unit or not other_unit or unit == other_unit:
        return value, other
    (dimension, factor), (other_dimension, other_factor) = UNITS[unit], UNITS[other_unit]
    return (value * factor, other * other_factor) if dimension == other_dimension else None


def other_unit(value: Fraction, other: Fraction, unit: str) -> bool:
    """Whether two numbers are the same quantity if one is in this unit, and the other in another of its dimension."""
    dimension, factor = UNITS[unit]
    factors = [other_factor / factor for its, other_factor in UNITS.values() if its == dimension]
    return any(value == other * each or other == value * each for each in factors)
