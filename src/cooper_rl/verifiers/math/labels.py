"""The words after a numeral: a label ("7 stuffed goats"), a magnitude ("2 million"), a unit ("5.4 square units")."""

from __future__ import annotations

import re

from cooper_rl.verifiers.math.markup import CLOSE, OPEN, without_marks
from cooper_rl.verifiers.math.numerals import MAGNITUDES
from cooper_rl.verifiers.math.phrases import MAX_LABEL
from cooper_rl.verifiers.math.units import SHORT_LABELS, UNITS, known_unit

_EXPONENT = r"(?: ?\^ ?\{? ?-?[1-4] ?\}?)"
_MARKED = re.compile(
    rf"(?P<numeral>[^{OPEN}]*[\d}})%°])(?P<units>(?: ?[/*]? ?{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}{_EXPONENT}?)+)"
)
_POWER = re.compile(rf"(?P<numeral>.*\d) ?(?P<unit>[a-z]+){_EXPONENT}", re.IGNORECASE)
_LABELLED = re.compile(r"(?P<numeral>.*[\d})%°])(?P<gap>[ -]?)(?P<unit>[A-Za-z][A-Za-z'/. -]*)")
_NO_UNIT = re.compile(r"\b(?:and|or|to|pi|sqrt|mod|not|plus|minus|sin|cos|tan|ln|log)\b")
_DIGIT = re.compile(r"\d")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_TEMPERATURE = re.compile(r"\d ?° ?[CF]$")


def without_label(body: str) -> tuple[str, str, int]:
    """(numeral, known unit or "", magnitude): "2 million" -> ("2", "", 1000000), "15th day" -> ("15", "day", 1)."""
    body = _ORDINAL.sub("", body)
    if _TEMPERATURE.search(without_marks(body)):  # a temperature, not an angle
        return without_marks(body).rstrip("CF ").rstrip("° "), "", 1
    marked = _MARKED.fullmatch(body)
    if marked:
        rest = without_marks(marked.group("units"))
        if _NO_UNIT.search(rest) or len(rest.split()) > MAX_LABEL:
            return body, "", 1
        return _with_magnitude(marked.group("numeral"), rest)
    words, _, last = without_marks(body).rpartition(" ")
    if known_unit(last) and not _DIGIT.search(words):
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
    short = rest.lower() in UNITS or rest.lower() in SHORT_LABELS
    if (len(rest) < 3 and not short) or (not gap and (not short or len(rest) == 1)):
        return body, "", 1  # 2xy and 2 xy are products, 5 m is a length
    return _with_magnitude(numeral, rest)


def _with_magnitude(numeral: str, label: str) -> tuple[str, str, int]:
    first, _, others = label.partition(" ")
    if first.lower() in MAGNITUDES:
        return numeral, known_unit(others), MAGNITUDES[first.lower()]
    return numeral, known_unit(label), 1
