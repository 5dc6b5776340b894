"""Words in an answer and beside it: patterns that several forms share, and what may change an answer if it is not read.

This is the one place that decides for all forms what an unread part means. A verdict is a proof only if nothing that
matters was left unread. Labels and the words of a sentence are unread, and change nothing unless one of the words below
is among them. Everything else that is left unread leaves the answer open.
"""

from __future__ import annotations

import re

from cooper_rl.verifiers.math.markup import CLOSE, OPEN, strip_markup, without_marks, without_spaces

MAX_LABEL = 5  # up to this many words after a number are a unit or a label; more are a sentence
NAME = r"[A-Za-z](?:[A-Za-z]*)(?:_(?:\{[^{}]*\}|\w))?'?|\\[a-z]+(?:_(?:\{[^{}]*\}|\w))?"  # x, x_1, \theta
SEPARATOR = rf"[,;]| and |{OPEN}[^{CLOSE}]*?\b(?:and|or) ?{CLOSE}|{OPEN} ?,? ?{CLOSE}| or "  # between answers
CONDITION = re.compile(rf" ?{OPEN}? ?\b(?:for (?:all|every|any|each|some)|where|with|when|if|such that|given)\b.*")
COMPARISON_SIGN = re.compile(r"<=|>=|<|>")
_MARKED = re.compile(rf"{OPEN}([^{CLOSE}]*)")
_MARKED_OR_COMMAND = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}|\\[A-Za-z]+")
_FUNCTION_NAME = re.compile(r"sqrt|sinh?|cosh?|tanh?|arc\w+|log|ln|exp|min|max")
_LONG_WORD = re.compile(r"[A-Za-z]{4,}|[a-z]{2,} [a-z]{2,}")
_MATHEMATICS = re.compile(r"[\d+*/^=<>!\\-]|^[A-Za-z]$")
# Words beside a value that make it another value, a bound, or a guess.
_MATTER = """
    about above added almost and approximately around base below between billions by cubed decreased divided
    double doubled eighths either except factorial false fewer fifth fifths fourths from grand greater half
    halved halves higher hundreds hundredths if incorrect increased larger least less likely lower maybe
    millions minus mod modulo
    more most multiplied nearly neither never ninths no nor not off or over percent perhaps plus possibly
    power probably quarter quarters root roughly sevenths short sixths smaller squared subtracted tens tenths
    than third thirds thousands thousandths times to too triple tripled twice under unless until up upto
    when whenever while without wrong
"""
_MATTERING = frozenset(_MATTER.split())
_HARMLESS = re.compile(  # a condition that only says what the letters stand for, or a rounded value after an exact one
    r",? ?\\approx ?[-\d.,%]+"
    r"|[,;]? ?(?:(?:where|with|and|for)\b ?)?(?:(?:for|where|with) )?(?:all|any|every|each|some)?"
    r"(?: ?(?:(?:positive|negative|real|non-?negative|natural|rational|arbitrary|whole|integers?|numbers?|constants?"
    r"|values?|all|any|is|are|an?|the|of|in|and|being|where)\b|\\in\b|\\(?:mathbb|mathbf|bf|R|Z|N|Q)\b"
    r"|\\(?:geq?|leq?|neq?)\b|[\s,{}()_+]|[><!]?=? ?0|[A-Za-z]\b|>=? ?[01]\b))+",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:\b(?:not|past|before|until|till|(?:quarter|five|ten|twenty|twenty-five|\d+)(?: minutes)? to"
    r"|(?:any|no|every)thing but|all but|except|never|twice|double|triple|half|above|below|over|under|about"
    r"|approximately|around|nearly|almost|roughly|least|most|than|minus|plus|mod|modulo)"
    r"|\b(?:square|cube|root|multiple|factor|divisor|power|half|thirds?|quarters?|fraction|percent(?:age)?|inverse"
    r"|negative|loss|reciprocal|opposite|logarithm|sum|difference|product|quotient)s? of)"
    r"[\s$*(\\{}]*(?:text\{\s*)?(?:d?frac\{)?\Z",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[\s$*)}\\]*(?:text\{\s*)?(?:(?:times (?:as|the|that|what|more|its|\$?\d)|plus|minus|divided|multiplied|or|mod"
    r"|is(?:n't| not) (?:the|our|my)\b|is (?:wrong|incorrect|false|not (?:right|correct)))\b"
    r"|(?:squared|cubed|factorial)\b(?!\s+[A-Za-z])"
    r"|(?:less|more|fewer|greater) than (?=\W*\d|half\b|twice\b|the (?:original|number|total|amount|sum)\b))",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?P<name>\\?[A-Za-z](?:[A-Za-z]*(?=\())?(?:_(?:\{[^{}]*\}|\w))?|\\[a-z]+)(?P<primes>'*)"
    r"(?: ?(?P<arguments>\([^()]*\)))? ?:?=(?!=)"
)
_OF_LETTERS = re.compile(r"[xyzabn]{1,3}|[xyzabn](?:[-+][xyzabn])+")  # xy, x+y
_QUOTED = re.compile(r"(?<![A-Za-z)}])'([^']*)'")
_PRIMED = re.compile(r"[A-Za-z})]'+")
_VECTOR = re.compile(r"\\(?:vec|hat|nabla|overrightarrow|mathbf|boldsymbol|bm)(?![a-z])|∇")
_PRODUCT = re.compile(r"\\(times|cdot)(?![a-z])|[×·⋅∙]")
_TRANSPOSE = re.compile(r"\^ ?\{? ?(?:T|\\top|\\intercal|⟦?T⟧?)(?![A-Za-z])")
_BARS = re.compile(r"\\[lr]?(?:v|V)ert|\\\||\|[^|]*[A-Za-z][^|]*\|")
_LETTERS = re.compile("[A-Z]{3,}|(?<![A-Za-z\\\\])[A-Za-z]{3,}(?![A-Za-z])")
_WORD = re.compile(r"[A-Za-z]+")
_BEFORE_CHRIST = re.compile(r"\bB\.?C(?:E|\b)", re.IGNORECASE)


def is_name(text: str) -> bool:
    """Whether a text is the name of a variable, or one word."""
    return bool(re.fullmatch(NAME, text))


def is_long_name(text: str) -> bool:
    """Whether a text is a name of more than one letter, such as `north` or `x_1`, and no command such as \\pi."""
    return len(text) > 1 and is_name(text) and text[0] != "\\"


def is_prose(text: str) -> bool:
    """Whether a text is running text, in which a comma does not make a list."""
    return len(re.findall(r"(?<!\\)\b[A-Za-z]{2,}", text)) > 4


def looks_mathematical(text: str) -> bool:
    """Whether a text has digits, operators or commands, and no running text, marked as text or not."""
    if any(len(mark.split()) > MAX_LABEL for mark in _MARKED.findall(text)):
        return False
    outside = _MARKED_OR_COMMAND.sub(" ", text)
    if _LONG_WORD.search(_FUNCTION_NAME.sub(" ", outside)):
        return False
    return bool(_MATHEMATICS.search(text)) or bool(re.fullmatch(r"[A-Za-z]{1,3}", without_spaces(text)))


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
    eras = [bool(_BEFORE_CHRIST.search(text)) for text in (label, other)]
    if label and other and eras[0] != eras[1]:
        return False
    stems = [{word.lower()[:5].rstrip("s") for word in _WORD.findall(text)} for text in (label, other)]
    return not all(stems) or bool(stems[0] & stems[1])


def differing_mark(reference: str, answer: str) -> str:
    """The first mark of a value that one side has and the other lacks; "" if there is none.

    Marks are names before `=`, primes, products of vectors, transposes, bars, and the order of a word's letters. Forms
    that do not know them would read `f'(x)` as `f(x)`, and the cross product as the dot product.
    """
    if reference == answer:
        return ""
    if (_VECTOR.search(reference) or _VECTOR.search(answer)) and _products(reference) != _products(answer):
        return "\\times or \\cdot"
    own, its = (_QUOTED.sub(r"\1", strip_markup(side)) for side in (reference, answer))
    if own == its or (own.isdigit() and its.isdigit()):
        return ""
    if name := _other_name(own, its):
        return name
    if sorted(_PRIMED.findall(own.lower())) != sorted(_PRIMED.findall(its.lower())):
        return (_PRIMED.search(own) or _PRIMED.search(its))[0]  # type: ignore[index]  # one of them has a prime
    for pattern in (_TRANSPOSE, _BARS):
        one, other = pattern.search(own), pattern.search(its)
        if bool(one) != bool(other):
            return (one or other)[0]  # type: ignore[index]
    if len(own) == len(its) == 1 and (own.islower() or "$" in answer):
        return its  # a variable, not an option
    return _anagram(own, its)


def _is_product_for_another(left: str, other: str, *, same_right: bool) -> bool:
    """Whether one left side is a product, and the other a sum of the same letters, or one of them: xy for x + y."""
    signs = [bool(re.search(r"[-+]", side)) for side in (left, other)]
    letters = [sorted(re.sub(r"[-+]", "", side)) for side in (left, other)]
    if letters[0] == letters[1]:
        return signs[0] != signs[1]
    one_letter = 1 in map(len, letters) and set(letters[0]) & set(letters[1])
    return bool(one_letter and same_right and not any(signs))


def _products(text: str) -> list[bool]:
    """The products of a text in their order: True for a cross, False for a dot."""
    return [sign.group() in ("\\times", "×") for sign in _PRODUCT.finditer(text)]


def _anagram(text: str, other: str) -> str:
    """The other text's only word, where it has the letters of this text's only word in another order; else ""."""
    words, others = (_LETTERS.findall(each.casefold() if _WORD.fullmatch(each) else each) for each in (text, other))
    same_letters = len(words) == len(others) == 1 and sorted(words[0]) == sorted(others[0])
    return others[0] if same_letters and words != others else ""


def _other_name(reference: str, answer: str) -> str:
    """The name before `=` where both sides give one letter, or one function, another value: `y = 3` for `x = 3`."""
    own, its = _NAME.match(reference), _NAME.match(answer)
    sides = [text.partition("=") for text in (reference, answer)]
    left = [without_spaces(side[0]).strip("*\\$") for side in sides]
    letters = all(sign for _, sign, _ in sides) and all(map(_OF_LETTERS.fullmatch, left))
    if letters and _is_product_for_another(
        *left, same_right=without_spaces(sides[0][2]) == without_spaces(sides[1][2])
    ):
        return answer.partition("=")[0]
    if not own or not its or reference.count("=") > 1 or answer.count("=") > 1:
        return ""
    same_kind = bool(own["arguments"]) == bool(its["arguments"])
    if own["arguments"] and its["arguments"] and re.search(r"[-+*/\d]", own["arguments"] + its["arguments"]):
        return its.group() if without_spaces(own["arguments"]) != without_spaces(its["arguments"]) else ""
    other_letter = same_kind and without_spaces(own["name"]) != without_spaces(its["name"])
    return its.group() if other_letter or own["primes"] != its["primes"] else ""
