"""Units of measurement: which texts are one, and what they measure (by pint, which is loaded when two units meet).

pint by itself takes many words for units: it reads "cats" as hundredths of an atmosphere second. So a text is a unit
only if each of its factors is a name or a symbol that is listed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from cooper_rl.verifiers.math.numerals import MAX_DIGITS

_PREFIXES = ("pico", "nano", "micro", "milli", "centi", "deci", "hecto", "kilo", "mega", "giga", "tera")
_SHORT_PREFIXES = ("p", "n", "μ", "m", "c", "d", "h", "k", "M", "G", "T")
_WITH_PREFIX = """
    meter metre gram second liter litre newton joule watt pascal volt ampere amp ohm hertz kelvin mole coulomb farad
    tesla henry weber electronvolt calorie bar byte bit watt_hour parsec tonne
"""
_WITHOUT_PREFIX = """
    minute hour day week fortnight month year decade century inch foot yard mile acre hectare ounce pound ton gallon
    quart pint cup tablespoon teaspoon knot atmosphere torr psi horsepower degree radian steradian revolution dollar
    cent euro yen rupee celsius fahrenheit lightyear rpm mph kph stone furlong
"""
_PREFIXED, _PLAIN = _WITH_PREFIX.split(), _WITHOUT_PREFIX.split()
_SPELLINGS = {
    **{"metre": "meter", "litre": "liter", "amp": "ampere", "electronvolt": "electron_volt", "tonne": "metric_ton"},
    **{"feet": "foot", "inches": "inch", "celsius": "degC", "fahrenheit": "degF", "lightyear": "light_year"},
    **{"mph": "mile/hour", "kph": "kilometer/hour", "kmh": "kilometer/hour", "kmph": "kilometer/hour"},
    **{"sec": "second", "hr": "hour", "hrs": "hour", "yr": "year", "wk": "week", "lbs": "pound", "ozs": "ounce"},
    **{
        "cc": "centimeter**3",
        "atm": "atmosphere",
        "hp": "horsepower",
        "centuries": "century",
        "rpm": "revolution/minute",
    },
}
_SYMBOLS = {  # that take prefixes, with what pint calls them
    **{"m": "meter", "g": "gram", "s": "second", "L": "liter", "l": "liter", "N": "newton", "J": "joule", "W": "watt"},
    **{
        "Pa": "pascal",
        "V": "volt",
        "A": "ampere",
        "Ω": "ohm",
        "Hz": "hertz",
        "K": "kelvin",
        "mol": "mole",
        "C": "coulomb",
    },
    **{
        "F": "farad",
        "T": "tesla",
        "H": "henry",
        "Wb": "weber",
        "eV": "electron_volt",
        "cal": "calorie",
        "Wh": "watt_hour",
    },
    **{"bar": "bar", "M": "molar"},
}
_PLAIN_SYMBOLS = {
    **{
        "min": "minute",
        "h": "hour",
        "in": "inch",
        "ft": "foot",
        "yd": "yard",
        "mi": "mile",
        "lb": "pound",
        "oz": "ounce",
    },
    **{"ha": "hectare", "gal": "gallon", "rad": "radian", "°C": "degC", "°F": "degF", "¢": "cent", "ml": "milliliter"},
    **{"Kg": "kilogram", "KG": "kilogram", "Km": "kilometer", "KM": "kilometer", "kw": "kilowatt", "hz": "hertz"},
    **{
        "ev": "electron_volt",
        "kj": "kilojoule",
        "pa": "pascal",
        "CM": "centimeter",
        "mol": "mole",
        "d": "day",
        "u": "dalton",
    },
}
_NAMES = {
    **{name: name for name in (*_PREFIXED, *_PLAIN)},
    **{prefix + name: prefix + _SPELLINGS.get(name, name) for prefix in _PREFIXES for name in _PREFIXED},
    **_SPELLINGS,
}
_SIGNS = {
    **{
        prefix + sign: long + name
        for prefix, long in zip(_SHORT_PREFIXES, _PREFIXES, strict=True)
        for sign, name in _SYMBOLS.items()
    },
    **_SYMBOLS,
    **_PLAIN_SYMBOLS,
}
_FACTOR = re.compile(
    r" ?(?P<over>/|per |\* ?)? ?(?P<open>\()?(?P<power>squared? |cub(?:ic|ed) |sq\.? |cu\.? )?"
    r"(?P<name>°?[A-Za-zμΩ¢]+)\.?"
    r"(?: ?\^ ?\{? ?(?P<exponent>-?[1-9]) ?\}?|(?P<after> squared| cubed))?(?P<close>\))?"
)
_DEGREES = re.compile(r"(?:°|degrees?) ?(celsius|fahrenheit|kelvin|[CFK])\b", re.IGNORECASE)
_POWERS = {
    "square ": 2,
    "squared ": 2,
    "cubed ": 3,
    "sq ": 2,
    "sq. ": 2,
    "cubic ": 3,
    "cu ": 3,
    "cu. ": 3,
    " squared": 2,
    " cubed": 3,
}
CURRENCIES = {"$": "dollar", "€": "euro", "£": "sterling", "¥": "yen", "₹": "rupee"}
_TENS = frozenset(10**exponent for exponent in range(1, 13))
_TIMES = frozenset((60, 3600, 24, 1440, 86400, 7, 168, 10080, 604800))
_STEPS = {
    **dict.fromkeys(("second", "minute", "hour", "day", "week"), _TIMES),
    **dict.fromkeys(("month", "year", "decade", "century"), frozenset((12, 10, 100, 120, 1200, 30, 365, 52))),
    **dict.fromkeys(("inch", "foot", "yard", "mile"), frozenset((12, 3, 36, 5280, 1760, 63360))),
    **dict.fromkeys(("ounce", "pound", "ton"), frozenset((16, 2000, 32000))),
}
_CALENDAR = {"month": 1, "year": 12, "decade": 120, "century": 1200}  # not compared with days


# A context around the loading of pint, which takes a second or two. A worker tells its pool, which waits.
around_loading: Callable[[], AbstractContextManager[None]] = nullcontext


@dataclass(frozen=True, slots=True)
class Measure:
    """What a unit measures: `value` in it is `value * factor + offset` in the base units of `dimension`."""

    dimension: Any
    factor: Fraction
    offset: Fraction = Fraction(0)

    def in_base_units(self, value: Fraction) -> Fraction:
        """A value in this unit as one in the base units of its dimension."""
        return value * self.factor + self.offset


@lru_cache(maxsize=4096)
def known_unit(text: str) -> str:
    """A unit in pint's writing ("km/h" becomes "kilometer/hour"); "" for words that are only a label ("apples")."""
    text = text.replace("\\mu ", "μ").replace("\\mu", "μ").replace("\\Omega", "Ω")
    text = _DEGREES.sub(lambda found: {"c": "°C", "f": "°F", "k": "K"}[found[1][0].lower()], text.strip(" .,"))
    if not text or len(text) > MAX_DIGITS:
        return ""
    if text.lower() in ("percent", "per cent"):
        return "percent"
    if text in ("°", "degree", "degrees", "deg"):
        return "degree"
    place, factors, under = 0, [], False
    while place < len(text):
        found = _FACTOR.match(text, place)
        name = _name(found["name"]) if found else ""
        if not found or not name or (found["open"] and not under and found["over"] != "/"):
            return ""
        over = found["over"] in ("/", "per ") or under
        under = (bool(found["open"]) and found["over"] == "/") or (under and not found["close"])
        power = int(found["exponent"] or 1) * _POWERS.get(found["power"] or found["after"] or "", 1)
        factors.append((name, -power if over else power))
        place = found.end()
    return "*".join(name if power == 1 else f"({name})**{power}" for name, power in factors)


def _name(text: str) -> str:
    """pint's name of one factor; "" if it is none."""
    if text in _SIGNS:
        return _SIGNS[text]
    word = text.lower()
    for candidate in (word, word.removesuffix("s"), word.removesuffix("es")):
        if candidate in _NAMES:
            return _SPELLINGS.get(_NAMES[candidate], _NAMES[candidate])
    return ""


@lru_cache(maxsize=1024)
def measure(unit: str) -> Measure:
    """What a unit of `known_unit` measures."""
    if unit in _CALENDAR:
        return Measure("calendar", Fraction(_CALENDAR[unit]))
    registry = _registry()
    one, offset = registry.Quantity(Fraction(1), unit).to_base_units(), Fraction(0)
    factor = Fraction(one.magnitude)
    if unit in ("degC", "degF"):
        offset = Fraction(registry.Quantity(Fraction(0), unit).to_base_units().magnitude)
        factor -= offset
    angle = unit in ("degree", "radian", "revolution")
    return Measure("angle" if angle else frozenset(one.dimensionality.items()), factor, offset)


@lru_cache(maxsize=1)
def _registry() -> Any:
    with around_loading():
        import pint

        registry: Any = pint.UnitRegistry(non_int_type=Fraction)
    registry.define("molar = mole / liter")
    registry.define("dollar = [dollar]")
    registry.define("cent = dollar / 100")
    for name in ("euro", "sterling", "yen", "rupee"):
        registry.define(f"{name} = [{name}]")
    return registry


def in_one_unit(value: Fraction, unit: str, other: Fraction, other_unit: str) -> tuple[Fraction, Fraction] | None:
    """Both values in the same unit; None if they measure different things. A value without a unit gets the other's."""
    if not unit or not other_unit or unit == other_unit or _may_be_same(unit, other_unit):
        return value, other
    own, its = measure(unit), measure(other_unit)
    if own.dimension != its.dimension:
        return None
    return own.in_base_units(value), its.in_base_units(other)


def _may_be_same(unit: str, other: str) -> bool:
    """`12 degrees` may be meant as 12 °C."""
    return "degree" in (unit, other) and {unit, other} & {"degC", "degF"} != set()


def other_unit(value: Fraction, other: Fraction, unit: str) -> bool:
    """Whether two numbers may be the same quantity, one of them in this unit, the other in one that is not written.

    It goes by the usual steps between units, so that pint is not needed.
    """
    ratio = abs(value / other) if value and other else Fraction(1)
    return unit in ("degC", "degF", "kelvin") or max(ratio, 1 / ratio) in _STEPS.get(unit, _TENS)
