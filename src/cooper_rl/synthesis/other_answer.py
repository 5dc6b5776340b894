"""Ways to change an answer into one that looks like it but most often is another. Ways that do not fit give None."""

from __future__ import annotations

import random
import re

from cooper_rl.synthesis.same_answer import COMPARISON, INTERVAL, LATEX_FRACTION, SIGN, Way, items_of
from cooper_rl.synthesis.wrong_numbers import moved
from cooper_rl.verifiers.math.markup import CLOSE, OPEN

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


def _moved_number(bare: str, rng: random.Random) -> str | None:
    found = list(_DIGITS.finditer(bare))
    if not found:
        return None
    one = rng.choice(found)
    other = moved(one.group(), rng).removeprefix("-")
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
        extra = _moved_number(rng.choice(items), rng)
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
    *(_moved_number, _moved_number, _other_sign, _other_relation, _other_list, _upside_down, _other_function),
    _other_word,
)
