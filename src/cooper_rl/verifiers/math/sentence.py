"""What a text in prose says at its end, where it has neither a box nor a cue such as "the answer is"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cooper_rl.verifiers.math.account import is_changed
from cooper_rl.verifiers.math.numerals import NUMBER_WORDS

MAX_SENTENCE = 300
MAX_SHORT = 120  # of a sentence whose expression may be its answer
_END = re.compile(r"(?<=[\w$)}\]%*'])[.!](?=\s+[A-Z*$\\(]|\s*\Z)|。|(?<=[.!?])\s+(?=[A-Z])|\n")
_COPULA = re.compile(
    r"(?:\b(?:is|are|was|were|be|equals?|becomes?|makes?|gives?|gets?|obtain|find|ha[sd]|have|costs?|takes?"
    r"|weighs?|measures?"
    r"|beträgt|lautet|ist|sind|ergibt|est|sont|vaut|es|son|vale)\b|[=≈是为]|\\approx\b|等于)"
    r"[\s$*\\(]*"
    r"(?:(?:therefore|thus|then|hence|exactly|simply|just|equal to|a total of|of|égale? à|gleich|igual a)\b)?",
    re.IGNORECASE,
)
_FIRST_VALUE = re.compile(
    rf"-?[$€£]?\.?\d|\\(?:d?frac|sqrt)|\b(?:half an? |an? )?(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE
)
_MARKED = re.compile(r"\*\*([^*]+?)\.?\*\*|(?<![\\\w])\$([^$\s][^$]*)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]")
_UNSURE = re.compile(
    r"\b(?:if|unless|suppose|assum\w+|would|could|might|may|perhaps|maybe|probably|guess|think|cannot|can't|isn't|not|never|wrong|"
    r"incorrect|instead of|rather than|claim\w*|conjectur\w+|between|either)\b",
    re.IGNORECASE,
)
_UNCOMPUTED = re.compile(
    r"\\(?:binom|log|ln|sin|cos|tan|sum|prod|int|lfloor|lceil|sqrt)|\d ?[CP] ?\d"
    r"|\}?_ ?\{?\d+\}? ?[CP]|[CP]\(\d|\d ?!|\b[Ff]or every \d"
)


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
        yield sentence[verbs[-1].end() :].strip(" $.")
    first = _FIRST_VALUE.search(sentence)
    if first and not is_changed(sentence[: first.start()]):
        yield sentence[first.start() :].strip(" $.")


def is_uncomputed(text: str) -> bool:
    """Whether the last sentence has an expression whose value is not written, so that a number may be said in it."""
    sentence = last_sentence(text)
    return len(sentence) <= MAX_SHORT and bool(_UNCOMPUTED.search(sentence)) and text.rstrip()[-1:] in ".$)!}"
