"""Writes the same answer in another way, and writes answers that look like it but are not the same.

Before training, `cooper annotate` checks the results: it keeps a pair of reference and answer only if the rule verifier
agrees that they are the same, or that they differ.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from cooper_rl.synthesis.same_answer import (
    COMPARISON,
    INTERVAL,
    LATEX_FRACTION,
    MAX_OPERATIONS,
    SAME,
    SIGN,
    Way,
    items_of,
    with_unit_of,
)
from cooper_rl.synthesis.wrong_numbers import move
from cooper_rl.verifiers.math import algebra
from cooper_rl.verifiers.math.markup import CLOSE, OPEN, same_text, strip_markup

MAX_CHARACTERS = 160
_DIGITS = re.compile(r"(?<![\d.])\d+(?:\.\d+)?")
_LETTER = re.compile(r"(?P<before>\(?)(?P<letter>[A-J])(?P<after>\)?)")
_ZERO_FIRST = re.compile(r"-? ?0+(?:\.0*)?(?![\d.])")
FAMILIES = tuple(
    tuple(words.split())
    for words in (
        *("yes no", "true false", "even odd", "left right", "north south east west", "always sometimes never"),
        *("true false uncertain", "proved disproved unknown", "valid invalid", "finite infinite"),
        *("increasing decreasing neither", "necessary sufficient both neither", "anna boris chen dora"),
        "first second third fourth",
        "monday tuesday wednesday thursday friday saturday sunday",
        "red blue green yellow orange purple pink brown black white gray violet indigo cyan magenta gold silver",
        "mother father son daughter brother sister wife husband aunt uncle grandmother grandfather",
    )
)
_FUNCTIONS = {"\\sin": "\\cos", "\\cos": "\\sin", "\\sqrt": "", "\\pi": "e", "\\cup": "\\cap", "\\ln": "\\log"}


def rewrite(answer: str, rng: random.Random, question: str = "") -> str | None:
    """The same answer in another writing; None if no other is found.

    Args:
        question: its unit is added to a number that has none.
    """
    has_unit = re.search(r"%|\\\$", answer) or answer.count("$") % 2
    ways = SAME if has_unit else (*SAME, with_unit_of(question.lower()))
    return _write(answer, ways, rng, required=False)


def change(answer: str, rng: random.Random) -> str | None:
    """An answer that looks like this one but most often is another; None if nothing can be changed."""
    return _write(answer, OTHER, rng, required=True)


def round_off(answer: str, rng: random.Random) -> str | None:
    """A number rounded to a decimal; None for any other answer. As a reference answer it accepts the exact number."""
    bare = strip_markup(answer)
    expression = algebra.parse(bare) if 0 < len(bare) <= MAX_CHARACTERS else None
    if expression is None or expression.free_symbols or expression.count_ops() > MAX_OPERATIONS:
        return None
    value = algebra.value_at(expression, {})
    digits = rng.choice((2, 2, 2, 3, 4))
    if value is None or not value.is_real or not 0.05 < abs(value) < 10_000 or value == round(value, digits):
        return None
    return f"{float(value):.{digits}f}"


def state(answer: str, rng: random.Random) -> str:
    """A completion that has only this answer, bare or in a closing sentence."""
    return answer if rng.random() < 0.6 else closing(answer, rng)


def closing(answer: str, rng: random.Random) -> str:
    """The last lines of a completion that gives this answer."""
    without_dollars = re.sub(r"(?<!\\)\$", "", answer)  # keeps the dollar sign of \$18
    boxed = f"\\boxed{{{without_dollars}}}"
    return rng.choice(
        (
            *(answer, boxed, f"${boxed}$", f"**{answer}**", f"</think>\n\n{answer}"),
            *(f"The answer is {answer}.", f"Final Answer: The final answer is ${boxed}$", f"**Answer:** {answer}"),
            *(f"Therefore, the answer is **{answer}**.", f"So the correct answer is: \\[ {boxed} \\]"),
            *(f"Thus, we get {answer}.", f"The final answer is: ${boxed}$. I hope it is correct.", f"#### {answer}"),
            *(f"Hence the result is {boxed}.", f"**Final Answer**\n\\[ {boxed} \\]", f"Answer: {answer}"),
        )
    )


def _write(answer: str, ways: Sequence[Way], rng: random.Random, *, required: bool) -> str | None:
    bare = strip_markup(answer)
    if not 0 < len(bare) <= MAX_CHARACTERS:
        return None
    tried = (way(bare, rng) for way in rng.sample(ways, len(ways)))
    found = next((text for text in tried if text is not None and not (required and same_text(text, bare))), None)
    if found is None and required:
        return None
    if found is not None and (required or rng.random() < 0.7):
        bare = found
    if required and rng.random() < 0.5:  # wrong answers get another writing as often as right ones
        bare = next((t for way in rng.sample(SAME, 3) if (t := way(bare, rng)) is not None), bare)
    texts = [text for text in (_typeset(bare, rng) for _ in range(8)) if text != answer.strip()]
    return texts[0] if texts else None


def _typeset(bare: str, rng: random.Random) -> str:
    """A bare answer typeset in one of several ways, as LaTeX or as plain text."""
    if re.fullmatch(r"[A-Za-z -]+", bare.strip(OPEN + CLOSE)):
        word = bare.strip(OPEN + CLOSE)
        return rng.choice((word, word.lower(), word.upper(), f"\\text{{{word}}}", f"**{word}**"))
    latex = rng.random() < 0.8
    text = bare.replace("\\frac", rng.choice(("\\frac", "\\dfrac")))
    signs = {"<=": ("\\leq ", "\\le ", "\\leqslant "), ">=": ("\\geq ", "\\ge "), "!=": ("\\neq ", "\\ne ")}
    signs |= {"°": ("^\\circ", "^{\\circ}"), "*": ("\\cdot ", "\\times ")}
    unicode = {"<=": "≤", ">=": "≥", "!=": "≠", "\\pi": "π", "\\infty": "∞", "\\cup": "∪"}
    for sign, writings in signs.items():
        text = text.replace(sign, rng.choice(writings)) if latex else text
    for sign, writing in unicode.items():
        text = text if latex else text.replace(sign, writing)
    if rng.random() < 0.5:
        text = re.sub(r"\\sqrt\{(\d)\}", r"\\sqrt\1" if latex else r"√\1", text)
    text = re.sub(
        rf" ?{OPEN}([^{CLOSE}]*){CLOSE}",
        lambda found: f"\\text{{ {found[1].strip()}}}" if latex else f" {found[1]}",
        text,
    )
    if rng.random() < 0.5:
        text = re.sub(r"(?<=[\w)}\]]) ?([-+=<>]) ?(?=[\w(\\{])", rng.choice((r"\1", r" \1 ")), text)
    if latex and rng.random() < 0.3:
        text = re.sub(r",(?!\d{3}(?!\d)) ?", rng.choice((", ", ",\\ ", ",")), text)
    if rng.random() < 0.3:
        text = text.replace("{pmatrix}", "{bmatrix}")
    if latex and rng.random() < 0.2 and re.fullmatch(r"[(\[][^()\[\]]*[)\]]", text):
        text = f"\\left{text[:-1]}\\right{text[-1]}"
    text = text.strip()
    return f"${text}$" if latex and rng.random() < 0.3 else text


def _move_number(bare: str, rng: random.Random) -> str | None:
    found = list(_DIGITS.finditer(bare))
    if not found:
        return None
    one = rng.choice(found)
    other = move(one.group(), rng).removeprefix("-")
    return bare[: one.start()] + other + bare[one.end() :] if other != one.group() else None


def _other_sign(bare: str, rng: random.Random) -> str | None:
    signs = list(SIGN.finditer(bare))
    if signs and rng.random() < 0.7:
        one = rng.choice(signs)
        return bare[: one.start()] + (" - " if "+" in one.group() else " + ") + bare[one.end() :]
    name, equals, value = bare.rpartition("=")
    value = value.strip()
    if not re.search(r"\d|\\", value) or value[0] in "([{" or re.search(r"[<>!]", name):
        return None
    is_zero = not re.search(r"[1-9A-Za-z]", re.sub(r"\\(?:begin|end)\{\w+\}", "", value))
    if is_zero or "\\pm" in value or _ZERO_FIRST.match(value):  # has no other sign
        return None
    return f"{name}{equals} " * bool(equals) + (value[1:].strip() if value[0] == "-" else f"-{value}")


def _other_relation(bare: str, rng: random.Random) -> str | None:
    if found := COMPARISON.search(bare):
        sign = found.group()
        others = {"<": ("<=", ">"), ">": (">=", "<"), "<=": ("<", ">="), ">=": (">", "<="), "!=": ("=", ">")}[sign]
        return bare[: found.start()] + rng.choice(others) + bare[found.end() :]
    found = INTERVAL.fullmatch(bare)
    if found and "\\infty" not in found["low"]:
        return ("[" if bare[0] == "(" else "(") + bare[1:]
    return bare[:-1] + (")" if bare[-1] == "]" else "]") if found and "\\infty" not in found["high"] else None


def _other_list(bare: str, rng: random.Random) -> str | None:
    """Leaves out one of several answers, or adds one."""
    items, braces = items_of(bare)
    if not items:
        return None
    if rng.random() < 0.6:
        items.remove(rng.choice(items))
    else:
        extra = _move_number(rng.choice(items), rng)
        if extra is None or extra in items:
            return None
        items.append(extra)
    return f"\\{{{', '.join(items)}\\}}" if braces else ", ".join(items)


def _upside_down(bare: str, rng: random.Random) -> str | None:
    found = LATEX_FRACTION.search(bare)
    return bare[: found.start()] + f"\\frac{{{found[2]}}}{{{found[1]}}}" + bare[found.end() :] if found else None


def _other_function(bare: str, rng: random.Random) -> str | None:
    known = [name for name in _FUNCTIONS if name in bare]
    if not known:
        return None
    name = rng.choice(known)
    return bare.replace(name, _FUNCTIONS[name], 1)


def _other_word(bare: str, rng: random.Random) -> str | None:
    text = bare.replace(OPEN, "").replace(CLOSE, "").strip()
    if found := _LETTER.fullmatch(text.replace(" ", "")):
        other = rng.choice([letter for letter in "ABCDE" if letter != found["letter"]])
        return f"{found['before']}{other}{found['after']}"
    family = next((family for family in FAMILIES if text.lower() in family), None)
    if family:
        other = rng.choice([word for word in family if word != text.lower()])
        return other.capitalize() if text[0].isupper() else other
    words = text.split()
    if len(words) > 1 and not re.search(r"[\\\d=]", text):
        first, second = sorted(rng.sample(range(len(words)), 2))
        words[first], words[second] = words[second], words[first]
        return " ".join(words)
    return None


OTHER: tuple[Way, ...] = (
    *(_move_number, _move_number, _other_sign, _other_relation, _other_list, _upside_down, _other_function),
    _other_word,
)
