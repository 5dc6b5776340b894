"""What stands after a numeral: a label ("7 stuffed goats"), a magnitude ("2 million") or a unit ("5.4 m s^{-2}").

What a unit measures is known by pint, which is loaded when two units meet. pint by itself takes many words for units:
it reads "cats" as hundredths of an atmosphere second. So a text is a unit only if each of its factors is a name or a
symbol that is listed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from typing import Any

from cooper_rl.verifiers import pipe
from cooper_rl.verifiers.math.markup import OPEN, without_marks
from cooper_rl.verifiers.math.numerals import MAGNITUDES, MAX_DIGITS, NUMBER_WORDS, PARTS_IN_WORDS, in_words
from cooper_rl.verifiers.math.phrases import MAX_LABEL, matters

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


def _table(text: str) -> dict[str, str]:
    """A table of names from a text of `name:other` pairs."""
    return dict(pair.split(":") for pair in text.split())


_PREFIXED, _PLAIN = _WITH_PREFIX.split(), _WITHOUT_PREFIX.split()
_SPELLINGS = _table("""
    metre:meter litre:liter amp:ampere electronvolt:electron_volt tonne:metric_ton feet:foot inches:inch
    celsius:degC fahrenheit:degF lightyear:light_year mph:mile/hour kph:kilometer/hour kmh:kilometer/hour
    kmph:kilometer/hour sec:second hr:hour hrs:hour yr:year wk:week lbs:pound ozs:ounce cc:centimeter**3
    atm:atmosphere hp:horsepower centuries:century rpm:revolution/minute
""")
# Symbols that take prefixes, with what pint calls them.
_SYMBOLS = _table("""
    m:meter g:gram s:second L:liter l:liter N:newton J:joule W:watt Pa:pascal V:volt A:ampere Ω:ohm Hz:hertz
    K:kelvin mol:mole C:coulomb F:farad T:tesla H:henry Wb:weber eV:electron_volt cal:calorie Wh:watt_hour bar:bar
    M:molar
""")
_PLAIN_SYMBOLS = _table("""
    min:minute h:hour in:inch ft:foot yd:yard mi:mile lb:pound oz:ounce ha:hectare gal:gallon rad:radian °C:degC
    °F:degF ¢:cent ml:milliliter Kg:kilogram KG:kilogram Km:kilometer KM:kilometer kw:kilowatt hz:hertz
    ev:electron_volt kj:kilojoule pa:pascal CM:centimeter mol:mole d:day u:dalton
""")
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
CURRENCIES |= {"US": "dollar", "USD": "dollar", "EUR": "euro", "GBP": "sterling", "Rs": "rupee"}
_OUR_DEFINITIONS = (
    *("molar = mole / liter", "dollar = [dollar]", "cent = dollar / 100"),
    *(f"{name} = [{name}]" for name in ("euro", "sterling", "yen", "rupee")),
)
_PINT_FILES = ("constants_en.txt", "default_en.txt")
_NO_UNITS = re.compile(r"^@(?:context|system|defaults)\b.*?^@end", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[^\W\d]\w*")
_TENS = frozenset(10**exponent for exponent in range(1, 13))
_TIMES = frozenset((60, 3600, 24, 1440, 86400, 7, 168, 10080, 604800))
_STEPS = {
    **dict.fromkeys(("second", "minute", "hour", "day", "week"), _TIMES),
    **dict.fromkeys(("month", "year", "decade", "century"), frozenset((12, 10, 100, 120, 1200, 30, 365, 52))),
    **dict.fromkeys(("inch", "foot", "yard", "mile"), frozenset((12, 3, 36, 5280, 1760, 63360))),
    **dict.fromkeys(("ounce", "pound", "ton"), frozenset((16, 2000, 32000))),
}
_CALENDAR = {"month": 1, "year": 12, "decade": 120, "century": 1200}  # not compared with days
_NUMERAL = re.compile(
    r"(?:\\frac ?\{[^{}]*\} ?\{[^{}]*\}|\\(?:overline|bar) ?\{? ?\d+ ?\}?|(?<=\d)[eE][-+]?\d+|and ?(?=\\frac|\d)"
    rf"|[^A-Za-zμΩ¢°\u4e00-\u9fff\\{OPEN}])*"
)
_COUNTS = "|".join(NUMBER_WORDS)
_COUNTED = re.compile(
    rf"(?P<numeral>(?:half an? |an? )?(?:{_COUNTS})(?:[ -](?:(?:{_COUNTS})\b|and(?= (?:{_COUNTS})\b)))*) (?P<rest>.+)",
    re.IGNORECASE,
)
_MIXED = re.compile(  # two and a half years
    rf"(?P<numeral>(?:\d+|(?:(?:{_COUNTS})[ -]?)+) and (?:an? (?:half|third|quarter)|three quarters|\d+/\d+))"
    r" (?P<rest>.+)",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[\d})%]\Z")
_DIMENSION = re.compile(  # what a length or an age is of: "26 km long"
    r"(?<=\w) (?:long|high|tall|wide|deep|thick|old|away|apart|in (?:length|height|width|depth|total|all)|altogether)\Z"
)
_COUNTER = re.compile("[\u4e00-\u9fff]{1,3}")  # 260个
_MANY = re.compile("[十百千万萬亿億兆分半倍]")
_NUMBER_BESIDE = re.compile(
    rf"\b(?:(?:{_COUNTS})(?!-[a-z])|half|quarters?|halves|thirds|{PARTS_IN_WORDS}|dozens|score|repeating|recurring|pct|oh"
    r"|below zero|basis points?|past|to \d+|till?)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[A-Za-z][A-Za-z'/., ()-]*(?: ?\^ ?\{? ?-?[1-4] ?\}?)?")
_NO_LABEL = re.compile(r"\b(?:pi|sqrt|mod|sin|cos|tan|ln|log|choose|[pa]\.? ?m)\b")
_MORE_MAGNITUDES = {"k": 10**3, "K": 10**3, "lakh": 10**5, "lakhs": 10**5, "crore": 10**7, "crores": 10**7}
_AMBIGUOUS_MAGNITUDE = re.compile(r"(?:m|M|mm|mn|b|B|bn|T|tn)\b")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_WITH_SPACE = frozenset("mgslhLNJWVAK")  # letters that are a unit after a space: 5 m is a length, 5m a product


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
    if text.removeprefix("US ").removeprefix("U.S. ") in ("dollar", "dollars"):
        return "dollar"
    if text in CURRENCIES:
        return CURRENCIES[text]
    if text in ("°", "degree", "degrees", "deg"):
        return "degree"
    place, factors, under = 0, [], False
    while place < len(text):
        found = _FACTOR.match(text, place)
        name = _name(found["name"]) if found else ""
        if not found or not name or (found["open"] and not under and found["over"] != "/"):
            return ""
        if found["name"] == "ms" and (found["exponent"] or "").startswith("-"):  # metres per second
            factors.append(("meter", 1))
            name = "second"
        over = found["over"] in ("/", "per ") or under
        under = (bool(found["open"]) and found["over"] == "/") or (under and not found["close"])
        power = int(found["exponent"] or 1) * _POWERS.get(found["power"] or found["after"] or "", 1)
        factors.append((name, -power if over else power))
        place = found.end()
    names = {name for name, _ in factors}
    if "molar" in names and names & {*CURRENCIES.values()}:  # 5M dollars
        return ""
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
    registry, offset = _registry(), Fraction(0)
    factor, root = registry.get_root_units(unit, check_nonmult=False)
    if unit in ("degC", "degF"):
        offset = Fraction(registry.Quantity(Fraction(0), unit).to_root_units().magnitude)
    angle = unit in ("degree", "radian", "revolution")
    return Measure("angle" if angle else frozenset(root.dimensionality.items()), Fraction(factor), offset)


@lru_cache(maxsize=1)
def _registry() -> Any:
    with pipe.around_loading():  # it takes half a second
        import pint

        registry: Any = pint.UnitRegistry(None, non_int_type=Fraction)
        registry.load_definitions([*_definitions(), *_OUR_DEFINITIONS])
        for name in {*_PREFIXED, *_PLAIN} - {*_CALENDAR}:  # pint keeps these, so that a prefix or a product is quick
            registry.get_root_units(_SPELLINGS.get(name, name), check_nonmult=False)
    return registry


def _definitions() -> list[str]:
    """Those of pint's definitions that the units above rest on, in its order; all would take five times as long."""
    text = "\n".join(files("pint").joinpath(name).read_text("utf-8") for name in _PINT_FILES)
    lines = [line.partition("#")[0].strip() for line in _NO_UNITS.sub("", text).split("\n")]
    lines = [line for line in lines if "=" in line and not line.startswith("@")]
    line_of: dict[str, str] = {}
    for line in lines:
        name, _, *others = map(str.strip, line.split("="))
        line_of |= {each: line for each in (name, *others) if each not in line_of}
    prefixes = {name.rstrip("-"): line for name, line in line_of.items() if name.endswith("-")}
    used, left = {*prefixes.values()}, [word for unit in (*_NAMES.values(), *_SIGNS.values()) for word in _words(unit)]
    while left:
        word = left.pop()
        line = line_of.get(word, "")
        if not line:  # with a prefix, or in the plural
            left += [word[len(prefix) :] for prefix in prefixes if prefix and word.startswith(prefix)]
            left += [word[:-1]] if word.endswith("s") else []
        elif line not in used:
            used.add(line)
            left += _words(line.split("=")[1])
    return [line for line in lines if line in used]


def _words(definition: str) -> list[str]:
    return _WORD.findall(definition)


def in_one_unit(value: Fraction, unit: str, other: Fraction, other_unit: str) -> tuple[Fraction, Fraction] | None:
    """Both values in the same unit; None if they measure different things. A value without a unit gets the other's."""
    if not unit or not other_unit or unit == other_unit or _may_be_same(unit, other_unit):
        return value, other
    own, its = measure(unit), measure(other_unit)
    if own.dimension != its.dimension:
        return None
    return own.in_base_units(value), its.in_base_units(other)


def _may_be_same(unit: str, other: str) -> bool:
    """`12 degrees` may be meant as 12 °C, and `12 pounds` as £12."""
    if {unit, other} == {"pound", CURRENCIES["£"]}:
        return True
    return "degree" in (unit, other) and {unit, other} & {"degC", "degF"} != set()


def other_unit(value: Fraction, other: Fraction, unit: str) -> bool:
    """Whether two numbers may be the same quantity, one of them in this unit, the other in one that is not written.

    It goes by the usual steps between units, so that pint is not needed.
    """
    ratio = abs(value / other) if value and other else Fraction(1)
    return unit in ("degC", "degF", "kelvin") or max(ratio, 1 / ratio) in _STEPS.get(unit, _TENS)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A numeral with what is written after it. `unit` is in pint's writing, `label` has any other words."""

    numeral: str
    unit: str = ""
    label: str = ""
    magnitude: int = 1


def without_label(body: str) -> Labelled:
    """A numeral and what follows it: "2 million" is 2 with the magnitude 1000000, "15th day" is 15 with the unit day.

    What cannot be a label stays in the numeral, so that it is not read as a number.
    """
    body = _ORDINAL.sub("", body)
    if mixed := _MIXED.fullmatch(without_marks(body)):
        return _read_labelled(mixed["numeral"], " ", False, mixed["rest"]) or Labelled(body)
    end = _NUMERAL.match(body).end()  # type: ignore[union-attr]  # it matches any text
    numeral, gap, rest = body[:end].rstrip(" -"), body[:end][-1:], body[end:]
    if not rest:
        return Labelled(body)
    if not _ENDS.search(numeral):
        counted = _COUNTED.fullmatch(without_marks(body))  # eight such lines
        if counted and not in_words(without_marks(body)):
            return _read_labelled(counted["numeral"], " ", False, counted["rest"]) or Labelled(body)
        words, _, last = without_marks(body).rpartition(" ")  # forty-two percent
        return Labelled(words, known_unit(last)) if words and known_unit(last) else Labelled(body)
    marked, text = rest.startswith(OPEN), without_marks(rest).strip()
    return _read_labelled(numeral, gap, marked, text) or Labelled(body)


def _read_labelled(numeral: str, gap: str, marked: bool, text: str) -> Labelled | None:
    if _COUNTER.fullmatch(text) and not _MANY.search(text):
        return Labelled(numeral, label=text)
    if (marked or _is_apart(text, gap)) and (unit := known_unit(_DIMENSION.sub("", text))):
        return Labelled(numeral, unit)
    first, _, others = text.partition(" ")
    short = first if others or len(first) > 1 or marked else ""  # 5k may be five times k
    if magnitude := MAGNITUDES.get(first.lower()) or _MORE_MAGNITUDES.get(short):
        found = _read_labelled(numeral, " ", marked, others) if others else Labelled(numeral)
        return found and Labelled(numeral, found.unit, found.label, magnitude * found.magnitude)
    if _NUMBER_BESIDE.search(text):  # one in five, nine thirty, six foot two
        return None
    if not _LABEL.fullmatch(text) or _NO_LABEL.search(text) or _AMBIGUOUS_MAGNITUDE.match(text) or matters(text):
        return None
    if len(text.split()) > MAX_LABEL or (not marked and (_is_product(text) or gap not in " -")):
        return None  # 2xy and 2 xy are products
    return Labelled(numeral, label=text)


def _is_product(text: str) -> bool:
    """Whether letters after a numeral are factors rather than words: `x y`, `a^{3}`."""
    return all(len(word) < 3 for word in re.findall("[A-Za-z]+", text))


def _is_apart(text: str, gap: str) -> bool:
    """Whether an unmarked text after a numeral may be a unit: `5 m` and `5km`, not `5m`."""
    return len(text) > 1 or text in "°¢" or (text in _WITH_SPACE and gap in " -")
