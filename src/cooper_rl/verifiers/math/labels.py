"""What stands after a numeral: a label ("7 stuffed goats"), a magnitude ("2 million"), a unit ("5.4 m s^{-2}")."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cooper_rl.verifiers.math.account import matters
from cooper_rl.verifiers.math.markup import OPEN, without_marks
from cooper_rl.verifiers.math.numerals import MAGNITUDES, NUMBER_WORDS, in_words
from cooper_rl.verifiers.math.phrases import MAX_LABEL
from cooper_rl.verifiers.math.units import known_unit

_NUMERAL = re.compile(
    r"(?:\\frac ?\{[^{}]*\} ?\{[^{}]*\}|\\(?:overline|bar) ?\{? ?\d+ ?\}?|(?<=\d)[eE][-+]?\d+|and ?(?=\\frac|\d)"
    rf"|[^A-Za-zμΩ¢°\u4e00-\u9fff\\{OPEN}])*"
)
_NAMES = "|".join(NUMBER_WORDS)
_COUNTED = re.compile(
    rf"(?P<numeral>(?:half an? |an? )?(?:{_NAMES})(?:[ -](?:(?:{_NAMES})\b|and(?= (?:{_NAMES})\b)))*) (?P<rest>.+)",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[\d})%]\Z")
_COUNTER = re.compile("[\u4e00-\u9fff]{1,3}")  # 260个
_MANY = re.compile("[十百千万萬亿億兆分半倍]")
_LABEL = re.compile(r"[A-Za-z][A-Za-z'/., ()-]*(?: ?\^ ?\{? ?-?[1-4] ?\}?)?")
_NO_LABEL = re.compile(r"\b(?:pi|sqrt|mod|sin|cos|tan|ln|log|choose|[pa]\.? ?m)\b")
_MORE_MAGNITUDES = {"k": 10**3, "K": 10**3, "lakh": 10**5, "lakhs": 10**5, "crore": 10**7, "crores": 10**7}
_AMBIGUOUS_MAGNITUDE = re.compile(r"(?:m|M|mm|mn|b|B|bn|T|tn)\b")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_WITH_SPACE = frozenset("mgslhLNJWVAK")  # letters that are a unit after a space: 5 m is a length, 5m a product


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
    end = _NUMERAL.match(body).end()  # type: ignore[union-attr]  # it matches any text
    numeral, gap, rest = body[:end].rstrip(" -"), body[:end][-1:], body[end:]
    if not rest:
        return Labelled(body)
    if not _ENDS.search(numeral):
        counted = _COUNTED.fullmatch(without_marks(body))  # eight such lines
        if counted and not in_words(without_marks(body)):
            return _labelled(counted["numeral"], " ", False, counted["rest"]) or Labelled(body)
        words, _, last = without_marks(body).rpartition(" ")  # forty-two percent
        return Labelled(words, known_unit(last)) if words and known_unit(last) else Labelled(body)
    marked, text = rest.startswith(OPEN), without_marks(rest).strip()
    return _labelled(numeral, gap, marked, text) or Labelled(body)


def _labelled(numeral: str, gap: str, marked: bool, text: str) -> Labelled | None:
    if _COUNTER.fullmatch(text) and not _MANY.search(text):
        return Labelled(numeral, label=text)
    if (marked or _is_apart(text, gap)) and (unit := known_unit(text)):
        return Labelled(numeral, unit)
    first, _, others = text.partition(" ")
    short = first if others or len(first) > 1 else ""  # 5k may be five times k
    if magnitude := MAGNITUDES.get(first.lower()) or _MORE_MAGNITUDES.get(short):
        found = _labelled(numeral, " ", marked, others) if others else Labelled(numeral)
        return found and Labelled(numeral, found.unit, found.label, magnitude * found.magnitude)
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
