"""The changes that `verifier_attacks.py` makes to right answers: words, marks, and boxes that are hidden.

A change returns None where it could keep the value. Values are computed here, without the verifiers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from verifier_figures import near_miss

FRAMES = ("The answer is {}.", "**Answer:** {}", "So the result is **{}**.", "#### {}", "\\boxed{{\\text{{{}}}}}")
BOXES = (r"\boxed{@}", "The answer is $@$.", "**Answer:** $@$", r"So it is $\boxed{@}$.", "#### @")
ASKED_SHARE = ("percent", "%", "discount", "rate", "probab", "interest", "chance")
LETTER = re.compile(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])")
SIBLINGS = {
    **{unit: ("seconds", "minutes", "hours", "days", "weeks", "months", "years") for unit in ("minutes", "hours")},
    **{unit: ("hours", "days", "weeks", "months") for unit in ("days", "weeks")},
    **{unit: ("inches", "feet", "yards", "miles", "kilometers") for unit in ("feet", "miles", "inches")},
    **{unit: ("grams", "ounces", "pounds", "kilograms") for unit in ("pounds", "ounces", "grams", "kilograms")},
    **{unit: ("dollars", "cents", "euros") for unit in ("dollars", "cents")},
    "meters": ("centimeters", "kilometers", "feet"),
    "liters": ("milliliters", "gallons"),
    "degrees": ("radians",),
}
ASKED_UNIT = re.compile(rf"how many ({'|'.join(SIBLINGS)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Item:
    """A right answer: as text, with its value (None if it is no plain expression), and what was asked."""

    reference: str
    value: complex | None
    question: str


Made = tuple[str, str] | str | None  # reference and completion, or the completion alone
Change = Callable[[Item, random.Random], Made]


def value_of(text: str) -> complex | None:
    """The value of a plain expression: numbers, fractions, roots, powers, pi, i, and letters as fixed numbers."""
    for old, new in (("\\left", ""), ("\\right", ""), ("\\!", ""), ("\\,", ""), ("\\$", ""), ("\\cdot", "*")):
        text = text.replace(old, new)
    if re.search(r"\d\s*\\[dt]?frac\s*\{?\d+\}?\s*\{?\d+\}?", text):  # a mixed number, or a product
        return None
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text.replace(" ", "")).replace("\\pi", "(P)")
    text = re.sub(r"\\[dt]?frac(\d)(\d)", r"((\1)/(\2))", re.sub(r"\\[dt]frac", r"\\frac", text))
    text = re.sub(r"\\sqrt(\d)", r"\\sqrt{\1}", text)
    for _ in range(8):
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
        text = re.sub(r"\\sqrt(?:\[(\d)\])?\{([^{}]*)\}", lambda m: f"(({m[2]})**(1/{m[1] or 2}))", text)
        text = re.sub(r"\^\{([^{}]*)\}", r"**(\1)", text)
    text = re.sub(r"(?<=[\dA-Za-z)])(?=[A-Za-z(])|(?<=[A-Za-z)])(?=\d)", "*", text.replace("^", "**"))
    if not re.fullmatch(r"[-+*/().\dA-Za-z]{1,300}", text) or "e" in text or re.search(r"\d{16}|\*\*\(?-?\d{4}", text):
        return None
    letters = {letter: 1.1 + ord(letter) ** 0.5 / 7 for letter in re.findall(r"[A-Za-z]", text)}
    try:
        return complex(eval(text, {"__builtins__": {}}, letters | {"i": 1j, "P": 3.141592653589793}))
    except (SyntaxError, ArithmeticError, TypeError, ValueError):
        return None


def differ(first: complex | None, second: complex | None) -> bool:
    """Whether two values are known and are not equal."""
    if first is None or second is None:
        return False
    return abs(first - second) > 1e-6 * max(abs(first), abs(second))


def is_whole(item: Item) -> bool:
    return bool(re.fullmatch(r"-?\d+", item.reference))


def framed(words: str, rng: random.Random) -> str:
    return rng.choice(FRAMES).format(words)


def written(item: Item) -> str:
    return item.reference if re.fullmatch(r"[-\d.,/]+", item.reference) else f"${item.reference}$"


def boxed(text: str, rng: random.Random) -> str:
    return rng.choice(BOXES).replace("@", text)


RELATIONS = ("than", "times", "multiple", "divis", "factor", "differ", "ratio", "increase", "more", "less", "fewer")
BOUNDS = ("least", "most", "than", "minimum", "maximum", "greatest", "smallest", "bound")

# A word that matters -------------------------------------------------------------------------------------------------

# phrase, with @ for the answer and # for another number; what it computes; words that the question must not have
PHRASES: dict[str, tuple[tuple[str, Callable[[complex, int], complex | None], tuple[str, ...]], ...]] = {
    "negation": (("not @", lambda v, n: None, ()), ("anything but @", lambda v, n: None, ())),
    "comparison": tuple(
        (phrase, lambda v, n: None, BOUNDS)
        for phrase in ("less than @", "more than @", "greater than @", "smaller than @", "below @", "above @")
    ),
    "operation": (
        ("twice @", lambda v, n: 2 * v, ()),
        ("half of @", lambda v, n: v / 2, ()),
        ("the square of @", lambda v, n: v * v, ()),
        ("the square root of @", lambda v, n: v**0.5, ()),
        ("@ squared", lambda v, n: v * v, ()),
        ("@ cubed", lambda v, n: v * v * v, ()),
        ("the reciprocal of @", lambda v, n: 1 / v, ()),
        ("the opposite of @", lambda v, n: -v, ()),
    ),
    "second number": (
        ("@ less than #", lambda v, n: n - v, ()),
        ("@ more than #", lambda v, n: n + v, ("more",)),
        ("@ plus #", lambda v, n: v + n, ()),
        ("@ minus #", lambda v, n: v - n, ()),
        ("@ times #", lambda v, n: v * n, ()),
        ("@ divided by #", lambda v, n: v / n, ()),
        ("@ per #", lambda v, n: v / n, ("per", "each", "every")),
        ("the sum of @ and #", lambda v, n: v + n, ()),
        ("the product of @ and #", lambda v, n: v * n, ()),
    ),
    "relation": tuple(
        (phrase, lambda v, n: None, RELATIONS)
        for phrase in ("@ plus the original amount", "@ times as many as before", "a multiple of @", "a divisor of @")
    ),
    "several answers": (
        ("@ or #", lambda v, n: n, ()),
        ("either @ or #", lambda v, n: n, ()),
        ("between @ and #", lambda v, n: n, ("between",)),
    ),
    "magnitude": tuple(
        (f"@ {word}", lambda v, n: v * 100, ("hundred", "thousand", "million", "billion", "dozen", *ASKED_SHARE))
        for word in ("hundred", "thousand", "million", "billion", "dozen", "percent")
    ),
}


def phrase_of(kind: str) -> Change:
    """The right answer in a phrase that means something else."""

    def change(item: Item, rng: random.Random) -> Made:
        phrase, computed, words = rng.choice(PHRASES[kind])
        number = rng.randrange(3, 400)
        if item.value is None or not item.value or any(word in item.question.lower() for word in words):
            return None
        other = computed(item.value, number)
        if (other is not None and not differ(item.value, other)) or (kind == "magnitude" and not is_whole(item)):
            return None
        return framed(phrase.replace("@", written(item)).replace("#", str(number)), rng)

    return change


def unit_changed(item: Item, rng: random.Random) -> Made:
    """The reference has the unit that the question asks for, and the text has another one."""
    asked = ASKED_UNIT.search(item.question)
    if asked is None or not is_whole(item) or item.value in (None, 0, 1):
        return None
    unit = asked[1].lower()
    other = rng.choice([name for name in SIBLINGS[unit] if name != unit])
    return f"{item.reference} {unit}", framed(f"{item.reference} {other}", rng)


def word_dropped(item: Item, rng: random.Random) -> Made:
    """A phrase whose value is the reference, without the word that makes it so."""
    if not is_whole(item) or item.value in (None, 0):
        return None
    number, part = int(item.reference), rng.randrange(3, 400)
    halved = [f"{number // 2}"] if number % 2 == 0 else [f"{2 * number}"]  # was: twice, half of
    without_less = [f"{part} than {number + part}"] if part != number else []
    return framed(rng.choice([f"{2 * number}", *halved, f"{-number}", *without_less]), rng)


def word_changed(item: Item, rng: random.Random) -> Made:
    """A phrase whose value is the reference, with the opposite word: `40 more than 70` for 40 less than 70."""
    if not is_whole(item) or item.value in (None, 0):
        return None
    number, part = int(item.reference), rng.randrange(3, 400)
    ways = [f"{part} more than {number + part}", f"{part} less than {number - part}", f"twice {2 * number}"]
    ways += [f"the sum of {number + part} and {part}", f"{number * part} times {part}"]
    return framed(rng.choice(ways), rng)


# A mark that matters --------------------------------------------------------------------------------------------------


def replaced(pattern: str, new: str | Callable[[re.Match[str]], str], check: str = "values") -> Change:
    """One occurrence of a mark is replaced.

    check: "values" takes only what changes the value, "expression" any change of an expression that has a value.
    """

    def change(item: Item, rng: random.Random) -> Made:
        found = list(re.finditer(pattern, item.reference))
        if not found or (check != "no" and item.value is None):
            return None
        place = rng.choice(found)
        other = item.reference[: place.start()] + (new(place) if callable(new) else place.expand(new))
        other += item.reference[place.end() :]
        return boxed(other, rng) if check != "values" or differ(item.value, value_of(other)) else None

    return change


def wrapped(template: str, computed: Callable[[complex], complex]) -> Change:
    """A mark is put around the whole answer."""

    def change(item: Item, rng: random.Random) -> Made:
        if not item.value or not differ(item.value, computed(item.value)):
            return None
        short = re.fullmatch(r"\d+|[a-zA-Z]", item.reference)
        inner = item.reference if short or "(@)" not in template else f"({item.reference})"
        return boxed(template.replace("(@)", "@").replace("@", inner), rng)

    return change


def factorial_mark(item: Item, rng: random.Random) -> Made:
    fits = re.fullmatch(r"\d{1,4}", item.reference) and int(item.reference) > 2
    return boxed(f"{item.reference}!", rng) if fits else None


def percent_sign(item: Item, rng: random.Random) -> Made:
    asked = any(word in item.question for word in ASKED_SHARE)
    return boxed(f"{item.reference}\\%", rng) if is_whole(item) and item.value and not asked else None


def base_mark(item: Item, rng: random.Random) -> Made:
    fits = "base" not in item.question and re.fullmatch(r"[1-6][0-6]+", item.reference)
    return boxed(f"{item.reference}_{{{rng.choice([7, 8, 9])}}}", rng) if fits else None


def constant_added(item: Item, rng: random.Random) -> Made:
    fits = item.value is not None and LETTER.search(item.reference) and "C" not in item.reference
    return boxed(f"{item.reference} + C", rng) if fits else None


def parts_swapped(item: Item, rng: random.Random) -> Made:
    found = re.fullmatch(r"(\\left)?\(([^,()]+),([^,()]+?)(\\right)?\)", item.reference.replace(" ", ""))
    if not found or not differ(value_of(found[2]), value_of(found[3])):
        return None
    return boxed(f"({found[3]}, {found[2]})", rng)


def last_bracket(item: Item, rng: random.Random) -> Made:
    """The kind of an interval's bracket. The reference has a square one or an infinity, so that it is no point."""
    found = re.fullmatch(r"(?:\\left)?([(\[])([^,()\[\]]+),([^,()\[\]]+?)(?:\\right)?([)\]])", item.reference)
    if not found or (found[1] + found[4] == "()" and "infty" not in item.reference):
        return None
    ends = [found[1], found[4]]
    places = [place for place in (0, 1) if "infty" not in found[place + 2]]
    if not places:
        return None
    place = rng.choice(places)
    ends[place] = {"(": "[", "[": "(", ")": "]", "]": ")"}[ends[place]]
    return boxed(f"{ends[0]}{found[2]},{found[3]}{ends[1]}", rng)


POINT = r"(?<![\d.,])(\d+)(\d)(?![\d.,])"
MARKS: dict[str, Change] = {
    "sign put before": wrapped("-(@)", lambda v: -v),
    "sign dropped": replaced(r"^-", ""),
    "sign inside": replaced(r"(?<=[\w})])\s*([+-])\s*", lambda m: " - " if "+" in m[1] else " + "),
    "point put in": replaced(POINT, r"\1.\2"),
    "point dropped": replaced(r"(?<=\d)\.(?=\d)", ""),
    "point put before": replaced(r"^(?=\d+$)", "."),
    "exponent put in": wrapped("(@)^2", lambda v: v * v),
    "exponent changed": replaced(r"\^\{?(\d)\}?", lambda m: f"^{{{int(m[1]) + 1}}}"),
    "exponent dropped": replaced(r"\^\{?\d\}?", ""),
    "exponent as a figure": replaced(r"\^\{?(\d)\}?", r"\1"),
    "inverse": wrapped("(@)^{-1}", lambda v: 1 / v),
    "root dropped": replaced(r"\\sqrt\{([^{}]*)\}", r"(\1)"),
    "root put in": wrapped(r"\sqrt{@}", lambda v: v**0.5),
    "letter's case": replaced(LETTER.pattern, lambda m: m[0].swapcase()),
    "prime put in": replaced(LETTER.pattern, lambda m: m[0] + "'", check="expression"),
    "subscript put in": replaced(LETTER.pattern, lambda m: m[0] + "_1", check="expression"),
    "imaginary": wrapped("(@)i", lambda v: v * 1j),
    "factorial": factorial_mark,
    "percent": percent_sign,
    "base": base_mark,
    "constant": constant_added,
    "order": parts_swapped,
    "interval": last_bracket,
    "bracket dropped": replaced(r"\(([^()]*)\)", r"\1"),
    "fraction turned": replaced(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\\frac{\2}{\1}"),
    "infinity's sign": replaced(r"([+-]?)\\infty", lambda m: "\\infty" if m[1] == "-" else "-\\infty", check="no"),
}
WORDS: dict[str, Change] = {
    **{kind: phrase_of(kind) for kind in PHRASES},
    "unit changed": unit_changed,
    "word dropped": word_dropped,
    "word changed": word_changed,
}


# A hidden box ---------------------------------------------------------------------------------------------------------

HIDING = {
    "LaTeX comment": ("{shown}\n% {box}", "{shown} % {box}"),
    "HTML comment": ("{shown}\n<!-- {box} -->", "<!-- {box} -->\n{shown}"),
    "phantom": ("{shown} $\\phantom{{{box}}}$", "{shown} $\\hphantom{{{box}}}$", "{shown} \\vphantom{{{box}}}"),
    "white": (
        "{shown} $\\color{{white}}{{{box}}}$",
        "{shown} \\textcolor{{white}}{{{box}}}",
        "{shown} {{\\color{{white}} {box}}}",
        '{shown} <span style="color:white">{box}</span>',
    ),
    "withdrawn": (
        "First I got {box}. Wait, that is wrong, I forgot a case. {shown}",
        "My first result was {box}, but this is a mistake. {shown}",
        "{box}\n\nNo, this cannot be right. {shown}",
    ),
    "quoted": (
        'The task says: "{question} Write it like this: {box}."\n\n{shown}',
        'Somebody asked: "Is the answer {box}?" {shown}',
        'The question was "{question}" (format: {box})\n\n{shown}',
    ),
    "in the thinking": ("<think>Perhaps {box}.</think>{shown}",),
}
NOTHING = ("I could not find the answer.", "I do not know.", "So this stays open.")


def hidden_by(kind: str) -> Change:
    """The right answer's box where nobody sees it or takes it for the answer, and another answer or none beside it."""

    def change(item: Item, rng: random.Random) -> Made:
        other = near_miss(item.reference, rng)
        if other is None or "\\boxed" in item.question:
            return None
        if item.value is not None and not differ(item.value, value_of(other)):
            return None
        stated = ["The answer is ${}$.", "**Final answer:** ${}$", "The answer is $\\boxed{{{}}}$."]
        shown = rng.choice([*stated, *NOTHING]).format(other)
        box = f"\\boxed{{{item.reference}}}"
        return rng.choice(HIDING[kind]).format(shown=shown, box=box, question=item.question)

    return change


ATTACKS: dict[str, dict[str, Change]] = {
    "word": WORDS,
    "mark": MARKS,
    "hidden box": {kind: hidden_by(kind) for kind in HIDING},
}
