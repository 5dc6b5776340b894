"""What prose says of a number: it states it in its last sentence, changes its value, or does not have it at all.

This decides texts that have neither a box nor a cue such as "the answer is", and texts that were cut off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from cooper_rl.verifiers.math.form import AnswerForm, Comparison
from cooper_rl.verifiers.math.group import Group
from cooper_rl.verifiers.math.markup import strip_markup
from cooper_rl.verifiers.math.number import Number, number
from cooper_rl.verifiers.math.numerals import NUMBER_WORDS, ORDINALS, PARTS_IN_WORDS, in_words
from cooper_rl.verifiers.math.phrases import is_changed

MAX_SENTENCE = 300
MAX_SHORT = 120  # of a sentence whose expression may be its answer
_END = re.compile(r"(?<=[\w$)}\]%*'])[.!](?=\s+[A-Z*$\\(]|\s*\Z)|。|(?<=[.!?])\s+(?=[A-Z])|\n")
_COPULA = re.compile(
    r"(?:\b(?:is|are|was|were|be|equals?|becomes?|makes?|gives?|gets?|obtain|find|ha[sd]|have|costs?|takes?"
    r"|weighs?|measures?"
    r"|beträgt|lautet|ist|sind|ergibt|est|sont|vaut|es|son|vale)\b|[=≈是为]|\\approx\b|等于)"
    r"(?:[\s*\\(]|\$(?!\d[\d.,]*(?:[\s!;]|\Z)))*"
    r"(?:(?:therefore|thus|then|hence|exactly|simply|just|equal to|a total of|of|égale? à|gleich|igual a)\b)?",
    re.IGNORECASE,
)
_FIRST_VALUE = re.compile(
    rf"(?:(?:USD?|EUR|GBP) ?)?-?[$€£]?\.?\d|\\(?:d?frac|sqrt)|\b(?:half an? |an? )?(?:{'|'.join(NUMBER_WORDS)})\b",
    re.IGNORECASE,
)
_MARKED = re.compile(r"\*\*([^*]+?)\.?\*\*|(?<![\\\w])\$([^$\s](?:[^$]*[^$\s])?)\$(?!\d)|\\\((.+?)\\\)|\\\[(.+?)\\\]")
_DOUBTED = re.compile(r"\b(?:doubt|(?:don't|do not|can't|cannot) (?:think|believe|say))\b", re.IGNORECASE)
_MONEY = re.compile(r"\$\d[^$]*\Z")
_UNSURE = re.compile(
    r"\b(?:if|unless|doubt|suppose|assum\w+|would|could|might|may|perhaps|maybe|probably|guess|think|cannot|can't|isn't|not|never|wrong|"
    r"incorrect|instead of|rather than|claim\w*|conjectur\w+|between|either)\b",
    re.IGNORECASE,
)
_UNCOMPUTED = re.compile(
    r"\\(?:binom|log|ln|sin|cos|tan|sum|prod|int|lfloor|lceil|sqrt)|\d ?[CP] ?\d"
    r"|\}?_ ?\{?\d+\}? ?[CP]|[CP]\(\d|\d ?!|\b[Ff]or every \d"
)
_AMOUNT = rf"(?:\$?\d[\d,.]*|\b(?:{'|'.join(NUMBER_WORDS)}))"
_COUNTED_UP = re.compile(  # arithmetic in words or signs whose result is not written
    rf"{_AMOUNT}%?[\s$*]*(?:[-+*/×÷·]|\\(?:times|cdot|div)\b|(?:times|plus|minus|groups|sets|rows|packs|bags|boxes|out"
    r"|in|of|choose|squared|cubed|(?:divided|multiplied) by)\b)[\s$*]*(?:of |every |each |the |these )*"
    rf"{_AMOUNT}(?![\w.,]*[\s$]*=)"
    rf"|\b(?:half|third|quarters?|twice|double|triple|product|sum|difference|quotient|square|cube|root)"
    rf" (?:(?:of|the|that|as|much|many|number|between) )*{_AMOUNT}"
    rf"|{_AMOUNT} (?:halves|thirds|quarters|{PARTS_IN_WORDS})\b|\b(?:repeating|recurring)\b"
    rf"|{_AMOUNT} [a-z]+ and {_AMOUNT}"
    r"|\\choose\b|\d (?:squared|cubed|doubled|tripled|halved)"
    rf"|{_AMOUNT}(?: [a-z]+){{0,2}} (?:more|less|fewer|older|younger|longer|shorter|taller|later|earlier)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+]?\d(?:[\d.,/]*\d)?")
_SIGN = re.compile(
    r"(?:(?:^|[\s$(]|(?<!_)\{)(?P<sign><=|>=|<|>|≤|≥|≠|!=)"
    r"|\\(?:neq?|not\s*=|geq?|leq?|gt|lt|geqslant|leqslant)(?![a-z]))[\s{}$(\\]*\Z"
)
NEAR_THE_END = 80  # characters of a running text that are looked at
MAX_FIGURES = 2000  # different ones in a text; with more, nothing is proved
MAX_POWER = 40
_FIGURE = re.compile(
    r"[-+]?[$€£]?(?:\d[\d,]*(?:\.\d+)?|(?<![\d.])\.\d+)(?:/\d+)?%?|-? ?\\[dtc]?frac ?\{? ?\d+ ?\}? ?\{? ?\d+ ?\}?"
    r"|\d*\.\d*\\(?:overline|bar) ?\{? ?\d+ ?\}?"
)
_POWER_OF_TEN = re.compile(
    r"-?\d+(?:\.\d+)? ?(?:\*|x|\\times|\\cdot) ?10 ?\^ ?\{? ?[-+]?\d+ ?\}?|\d+(?:\.\d+)?[eE][-+]?\d+"
)
_DURATION = re.compile(r"\d ?h(?:rs?|ours?)?,? ?(?:and )?\d{1,2} ?m(?:ins?|inutes?)?\b")
_MAGNIFIED = re.compile(
    r"(?<![\d,.])(?P<numeral>\d[\d,]*(?:\.\d+)?) ?"
    r"(?P<size>hundred|thousand|million|billion|trillion|k|K|M|bn|lakh|crore)\b"
)
_MORE = {"k": "thousand", "K": "thousand", "M": "million", "bn": "billion"}
_SHORT_YEAR = re.compile(r"['’](\d\d)\b(?!')")
_BELOW_ZERO = re.compile(r"(?<![\d,.])(\d[\d,]*(?:\.\d+)?)(?: ?(?:degrees|°C?|°F))? below zero")
_NO_DIGITS = re.compile(r"\D+")
_SIMPLE = re.compile(r"-?\d+(?:\.\d+)?")  # without what may separate numbers: 3/4 is also 3 and 4
_NEGATIVE = re.compile(r"\b(?:minus|negative) (\d[\d,]*(?:\.\d+)?)", re.IGNORECASE)
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?:(?:\\? |['_.’])\d{3})+(?!\d)")
_POWER = re.compile(r"(\d{1,6}) ?(?:\^|\*\*) ?\{? ?(\d{1,2})|\\sqrt ?\{? ?(\d+)|(\d{1,2}) ?!")
_IN_WORDS = re.compile(rf"\b(?:(?:{'|'.join((*NUMBER_WORDS, *ORDINALS))}|and)\b[\s-]?)+", re.IGNORECASE)
_SAID = {
    re.compile(rf"\b(?:{words})", re.IGNORECASE): Fraction(value)
    for words, value in {
        "half|halv": "1/2",
        "third": "1/3",
        "quarter": "1/4",
        "once|single|sole|only": "1",
        "twice|doubl|both|couple|pair|duo|twin": "2",
        "thrice|tripl|trio": "3",
        "quartet": "4",
        "no|none|nothing|never|zero": "0",
    }.items()
}


def last_sentence(text: str, *, bold: bool = False) -> str:
    """The last sentence, without the marks of bold text unless they are wanted; "" if it is too long to be one."""
    text = text[-4 * MAX_SENTENCE :] if bold else text[-4 * MAX_SENTENCE :].replace("**", "")
    parts = [part.strip() for part in _END.split(text) if part and any(map(str.isalnum, part))]
    return parts[-1] if parts and len(parts[-1]) <= MAX_SENTENCE else ""


def values_said(text: str) -> Iterator[str]:
    """What the last sentence may state as its value.

    That is the one part that is marked as bold or as mathematics, what follows its last verb, or all from its first
    number on. Nothing, if the sentence says that it is unsure.
    """
    sentence = last_sentence(text)
    if _UNSURE.search(sentence):
        return
    whole = last_sentence(text, bold=True)
    marked = list(_MARKED.finditer(whole))
    if len(marked) == 1 and not is_changed(whole[: marked[0].start()], whole[marked[0].end() :]):
        yield next(filter(None, marked[0].groups()))
    verbs = list(_COPULA.finditer(sentence))
    if verbs:
        yield _bare(sentence[verbs[-1].end() :])
    first = _FIRST_VALUE.search(sentence)
    if first and not is_changed(sentence[: first.start()]):
        yield _bare(sentence[first.start() :])


def _bare(text: str) -> str:
    """A value without the marks of mathematics around it, and with the sign of its money."""
    text = text.strip(" .")
    return text if _MONEY.match(text) else text.strip(" $.")


def is_doubted(text: str) -> bool:
    """Whether the last sentence says that its writer does not believe it."""
    return bool(_DOUBTED.search(last_sentence(text)))


def is_uncomputed(text: str) -> bool:
    """Whether the last sentence has an expression whose value is not written, so that a number may be said in it."""
    sentence = last_sentence(text)
    if len(sentence) > MAX_SHORT:
        return False
    ended = text.rstrip()[-1:] in ".$)!}"
    counted_up = _COUNTED_UP.search(sentence) and (ended or len(text) <= MAX_SENTENCE)  # a long one may be cut off
    return bool(counted_up or (_UNCOMPUTED.search(sentence) and ended))


def qualifier(text: str, value: Number | None = None, completion: str = "") -> str:
    """The words or signs beside the last number of a text that make it say another value; "" if there are none.

    Args:
        value: only a number that equals this one counts; None takes any.
        completion: where the text is from. There `>` may be the mark of a quotation, or the end of an arrow.
    """
    end = text[-NEAR_THE_END:]
    numbers = list(_NUMBER.finditer(end))
    if not numbers:
        return ""
    last, before, after = numbers[-1], end[: numbers[-1].start()], end[numbers[-1].end() :]
    own = number(last.group())
    if value is not None and own is not None and own.value != value.value:
        return ""
    sign = _SIGN.search(before)
    mark = sign["sign"] if sign else None
    if mark in ("<", ">") and re.search(rf"(?:^|\n|[=-])\s*{mark}\s*{re.escape(last.group())}", completion):
        return ""
    return sign.group().strip() if sign else is_changed(before, after)


def is_absent(gold: AnswerForm | None, text: str) -> bool:
    """Whether a text with numbers surely does not state this one, or one of these: it is not among its numbers.

    A time or a number with a unit is never absent, since it has many writings ("3 hours and 22 minutes"). Nor is any
    number where the last sentence has an expression that is not computed.
    """
    if isinstance(gold, Group):
        return any(is_absent(item, text) for item in gold.items)
    if isinstance(gold, Number) and (gold.clock or gold.unit or is_uncomputed(text) or _DURATION.search(text)):
        return False
    figures = _figures(text) if isinstance(gold, Number) else set()
    if not isinstance(gold, Number) or not 0 < len(figures) <= MAX_FIGURES:
        return False
    return all(gold.compare(each) is Comparison.DIFFERENT for each in _numbers(text, figures))


def _figures(text: str) -> set[str]:
    """The numbers in digits, as written, in every way in which their signs and separators may be meant."""
    figures = {found.group().rstrip(",") for found in _FIGURE.finditer(text)}
    figures |= {_NO_DIGITS.sub("", found.group()) for found in _GROUPED.finditer(text)}
    figures |= {found.group() for found in _SIMPLE.finditer(text)}
    figures |= {found.group().replace("x", "*") for found in _POWER_OF_TEN.finditer(text)}
    figures |= {f"{found['numeral']} {_MORE.get(found['size'], found['size'])}" for found in _MAGNIFIED.finditer(text)}
    figures |= {f"-{found[1]}" for pattern in (_NEGATIVE, _BELOW_ZERO) for found in pattern.finditer(text)}
    figures |= {f"{century}{found[1]}" for found in _SHORT_YEAR.finditer(text) for century in (18, 19, 20)}
    return figures | {figure.lstrip("-+") for figure in figures}


def _numbers(text: str, figures: set[str]) -> Iterator[Number]:
    """The numbers in digits and in words, and the values of powers, roots and factorials."""
    yield from (found for figure in figures if (found := number(strip_markup(figure))))
    for words in {found.group().strip(" -\n") for found in _IN_WORDS.finditer(text)}:
        yield from (Number(said[0]) for each in (words, *re.split(r"[\s-]+", words)) if (said := in_words(each)))
    yield from (Number(value) for said, value in _SAID.items() if said.search(text))
    for base, exponent, root, factorial in _POWER.findall(text):
        if base:
            yield Number(Fraction(int(base) ** min(int(exponent), MAX_POWER)))
        else:
            yield Number(Fraction(math.isqrt(int(root)) if root else math.factorial(int(factorial))))
