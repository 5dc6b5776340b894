"""What the words beside an answer do to it: they take it back, deny it, or settle between several.

A change to another answer is seen in numbers alone: words for one are hard to tell from an explanation.
"""

from __future__ import annotations

import re
from fractions import Fraction

from cooper_rl.verifiers.math.form import Comparison
from cooper_rl.verifiers.math.markup import strip_markup
from cooper_rl.verifiers.math.number import number

MAX_AFTER = 300  # characters after an answer that may take it back
_TAKEN_BACK = re.compile(
    r"\b(?:wrong|incorrect|mistake|mistaken|(?:cannot|can't|can not|not) be right|not (?:right|correct))\b",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:wait|actually|correction|mistake|wrong|let me (?:re|correct|double)|scratch that|sorry|instead)\b",
    re.IGNORECASE,
)
_CHANGE_OF_MIND = re.compile(
    r"\b(?:wait|actually|correction|oops|sorry|scratch that|on second thoughts?|edit:|my mistake"
    r"|made an? (?:\w+ )?(?:mistake|error)|should (?:have been|be)"
    r"|(?:is|was|that's) (?:wrong|incorrect|false|untrue|not (?:right|true|correct)))\b",
    re.IGNORECASE,
)
_DENIED_BOX = re.compile(r"\b(?:(?:is|are|was)n't|(?:is|are|was|can) ?not)(?: equal to)?[\s$*\\(]*\Z", re.I)
_DENIED_CUE = re.compile(  # directly before "the answer is"
    r"\b(?:doubt|(?:don't|do not|can't|cannot) (?:think|believe|say)|not (?:sure|certain|say)|suppose|assum\w+|if"
    r"|whether|unless|no way|false)(?: that)?(?: the| my| our)?(?: final| correct| right)?\s*\Z",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    r"\b(?:so|thus|hence|therefore|actually|no|correction)[,:]? +(?:the |my |our )?(?:final |correct |right )?"
    r"answer (?:is|should)",
    re.IGNORECASE,
)
FIGURE = re.compile(r"(?<![\w.,/])[-+]?[$€£]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:/\d+)?%?")


def is_taken_back(after: str) -> bool:
    """Whether the text after an answer calls it wrong."""
    return bool(_TAKEN_BACK.search(after[:MAX_AFTER]))


def is_corrected(before: str) -> bool:
    """Whether the text between two answers corrects the first one."""
    return bool(_CORRECTION.search(before))


def is_denied_box(before: str) -> bool:
    """Whether the text before a box ends with "is not" or the like."""
    return bool(_DENIED_BOX.search(before[-60:]))


def is_denied_cue(before: str) -> bool:
    """Whether the text before a cue such as "the answer is" ends with doubt, or with a condition."""
    return bool(_DENIED_CUE.search(before[-MAX_AFTER:]))


def find_conclusion(after: str) -> int | None:
    """Where the text after an answer concludes what the answer is ("So the answer is 18"); None if it does not."""
    found = _CONCLUDED.search(after)
    return found.start() if found else None


def changes_to_another(stated: str, after: str) -> bool:
    """Whether words after an answer take it back and name other numbers alone: "wait, it is 18", "it should be 18"."""
    found = _CHANGE_OF_MIND.search(after[:MAX_AFTER])
    if not found:
        return False
    value, later = value_of(stated), figures(after[found.end() : found.end() + MAX_AFTER])
    return bool(later) and value is not None and all(value_of(each) != value for each in later)


def same_number(text: str, other: str) -> bool:
    """Whether two numbers are the same one: 1/4 and 25%, 15:00 and 3 pm."""
    one, two = (number(strip_markup(each)) for each in (text, other))
    if one is None or two is None:
        return one is two
    return Comparison.EQUAL in (one.compare(two), two.compare(one))


def is_settled(text: str, end: int) -> bool:
    """Whether a later sentence names a number again, which may be the one that is meant."""
    _, stop, rest = text[end:].partition(". ")
    return bool(stop and FIGURE.search(rest))


def figures(text: str) -> list[str]:
    """The numbers in digits, as they are written."""
    return [figure.group().rstrip(",") for figure in FIGURE.finditer(text)]


def value_of(text: str) -> Fraction | None:
    """The value of a number in any writing; None for any other text."""
    found = number(strip_markup(text))
    return found.value if found else None
