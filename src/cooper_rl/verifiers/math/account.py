"""What of an answer was not read, and whether that could change it: the one place that decides this for all forms.

A verdict is a proof only if nothing that matters was left unread. Labels and the words of a sentence are unread, and
change nothing unless one of the words below is among them. Everything else that is left unread leaves the answer open.
"""

from __future__ import annotations

import re

from cooper_rl.verifiers.math.markup import strip_markup, without_marks, without_spaces

# Words beside a value that make it another value, a bound, or a guess.
_MATTER = """
    about above added almost and approximately around base below between billions by cubed decreased divided
    double eighths either except factorial false fewer fifth fifths fourths from greater half halves higher
    hundreds hundredths if incorrect increased larger least less likely lower maybe millions minus mod modulo
    more most multiplied nearly neither never ninths no nor not off or over percent perhaps plus possibly
    power probably quarter quarters root roughly sevenths short sixths smaller squared subtracted tens tenths
    than third thirds thousands thousandths times to too triple twice under unless until up upto when whenever
    while without wrong
"""
_HARMLESS = re.compile(  # a condition that only says what the letters stand for, or a rounded value after an exact one
    r",? ?\\approx ?[-\d.,%]+"
    r"|[,;]? ?(?:(?:where|with|and|for)\b ?)?(?:(?:for|where|with) )?(?:all|any|every|each|some)?"
    r"(?: ?(?:(?:positive|negative|real|non-?negative|natural|rational|arbitrary|whole|integers?|numbers?|constants?"
    r"|values?|all|any|is|are|an?|the|of|in|and|being|where)\b|\\in\b|\\(?:mathbb|mathbf|bf|R|Z|N|Q)\b"
    r"|\\(?:geq?|leq?|neq?)\b|[\s,{}()_+]|[><!]?=? ?0|[A-Za-z]\b|>=? ?[01]\b))+",
    re.IGNORECASE,
)
_MATTERING = frozenset(_MATTER.split())
_BEFORE = re.compile(
    r"(?:\b(?:not|(?:any|no|every)thing but|all but|except|never|twice|double|triple|half|above|below|over|under|about"
    r"|approximately|around|nearly|almost|roughly|least|most|than|minus|plus|mod|modulo)"
    r"|\b(?:square|cube|root|multiple|factor|divisor|power|half|thirds?|quarters?|fraction|percent(?:age)?|inverse|negative"
    r"|reciprocal|opposite|logarithm|sum|difference|product|quotient)s? of)[\s$*(\\{}]*(?:text\{\s*)?(?:d?frac\{)?\Z",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[\s$*)}\\]*(?:text\{\s*)?(?:(?:times (?:as|the|that|what|more|its|\$?\d)|plus|minus|divided|multiplied|or|mod"
    r"|is (?:wrong|incorrect|false|not (?:right|correct)))\b|(?:squared|cubed|factorial)\b(?!\s+[A-Za-z])"
    r"|(?:less|more|fewer|greater) than (?=\W*\d|half\b|twice\b|the (?:original|number|total|amount|sum)\b))",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?P<name>\\?[A-Za-z](?:[A-Za-z]*(?=\())?(?:_(?:\{[^{}]*\}|\w))?|\\[a-z]+)(?P<primes>'*)"
    r"(?: ?(?P<arguments>\([^()]*\)))? ?:?=(?!=)"
)
_QUOTED = re.compile(r"(?<![A-Za-z)}])'([^']*)'")
_PRIMED = re.compile(r"[A-Za-z})]('+)")
_VECTOR = re.compile(r"\\(?:vec|hat|nabla|overrightarrow|mathbf|boldsymbol|bm)(?![a-z])|∇")
_PRODUCT = re.compile(r"\\(times|cdot)(?![a-z])|[×·⋅∙]")
_TRANSPOSE = re.compile(r"\^ ?\{? ?(?:T|\\top|\\intercal|⟦?T⟧?)(?![A-Za-z])")
_BARS = re.compile(r"\\[lr]?(?:v|V)ert|\\\||\|[^|]*[A-Za-z][^|]*\|")
_LETTERS = re.compile("[A-Z]{3,}|(?<![A-Za-z\\\\])[A-Za-z]{3,}(?![A-Za-z])")
_WORD = re.compile(r"[A-Za-z]+")


def matters(words: str) -> str:
    """The first of the words beside a value that may change it; "" if they change nothing."""
    return next((word for word in _WORD.findall(words) if word.lower() in _MATTERING), "")


def is_changed(before: str, after: str = "") -> str:
    """The words beside a value that make it another one: `more than 5`, `the square of 5`, `5 plus 3`; else ""."""
    found = _BEFORE.search(before[-60:]) or _AFTER.match(after)
    return found.group().strip(" $*(){}\\") if found else ""


def changes_nothing(left: str) -> bool:
    """Whether what was left out after an answer only explains its letters, or rounds it: `, where n is an integer`."""
    return not left.strip(" .,;") or bool(_HARMLESS.fullmatch(without_marks(left).strip(" .;")))


def same_label(label: str, other: str) -> bool:
    """Whether two labels may name the same things: one is missing, or they share a word (`red balls` and `balls`)."""
    stems = [{word.lower()[:5].rstrip("s") for word in _WORD.findall(text)} for text in (label, other)]
    return not all(stems) or bool(stems[0] & stems[1])


def differing_mark(reference: str, answer: str) -> str:
    """The first mark of a value that one side has and the other lacks; "" if there is none.

    Marks are names before `=`, primes, products of vectors, transposes, bars, and the order of a word's letters. Forms
    that do not know them would read `f'(x)` as `f(x)`, and the cross product as the dot product.
    """
    if reference == answer:
        return ""
    if _VECTOR.search(reference) or _VECTOR.search(answer):
        ways = [
            ["x" if sign.group() in ("\\times", "×") else "." for sign in _PRODUCT.finditer(side)]
            for side in (reference, answer)
        ]
        if ways[0] != ways[1]:
            return "\\times or \\cdot"
    sides = [_QUOTED.sub(r"\1", strip_markup(side)) for side in (reference, answer)]
    if sides[0] == sides[1] or all(side.isdigit() for side in sides):
        return ""
    if name := _other_name(*sides):
        return name
    for pattern in (_PRIMED, _TRANSPOSE, _BARS):
        found = [
            sorted(each.group().lower() if pattern is _PRIMED else "" for each in pattern.finditer(side))
            for side in sides
        ]
        if found[0] != found[1] and (pattern is _PRIMED or not all(found)):
            return next(each for side in sides for each in (pattern.search(side),) if each).group()
    if all(len(side) == 1 for side in sides) and sides[0] != sides[1] and (sides[0].islower() or "$" in answer):
        return sides[1]  # a variable, not an option
    words = [_LETTERS.findall(side.casefold() if _WORD.fullmatch(side) else side) for side in sides]
    anagram = (
        len(words[0]) == len(words[1]) == 1 and words[0] != words[1] and sorted(words[0][0]) == sorted(words[1][0])
    )
    return words[1][0] if anagram else ""


def _other_name(reference: str, answer: str) -> str:
    """The name before `=` where both sides give one letter, or one function, another value: `y = 3` for `x = 3`."""
    own, its = _NAME.match(reference), _NAME.match(answer)
    if not own or not its or reference.count("=") > 1 or answer.count("=") > 1:
        return ""
    same_kind = bool(own["arguments"]) == bool(its["arguments"])
    differs = (same_kind and without_spaces(own["name"]) != without_spaces(its["name"])) or own["primes"] != its[
        "primes"
    ]
    return its.group() if differs else ""
