"""The form of an answer: number, date, expression, word, list or set or tuple, intervals, matrix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from cooper_rl.verifiers.math.date import ABBREVIATED, MONTHS, WEEKDAYS, Date, date
from cooper_rl.verifiers.math.markup import (
    CHOICE_LABEL,
    CLOSE,
    OPEN,
    balanced,
    split_top,
    strip_markup,
    without_marks,
    without_spaces,
)
from cooper_rl.verifiers.math.number import MAX_LABEL, Number, number

MAX_ITEMS = 64


@dataclass(frozen=True, slots=True)
class Expression:
    """Mathematics that is not a plain number.

    `name`, `arguments`: of the variable or function that it was said to be the value of.
    """

    text: str
    name: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """A choice letter, yes or no, a name, a sentence."""

    text: str

    @property
    def closed(self) -> bool:
        """Whether another such word surely means something else: choice letters, yes/no, days, months."""
        return bool(_CLOSED.fullmatch(self.text))


@dataclass(frozen=True, slots=True)
class Group:
    """Several answers. `tuple`: in order. `list` and `set`: in any order."""

    kind: str
    items: tuple[Form, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """From low to high; None is infinite."""

    low: Form | None
    high: Form | None
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True, slots=True)
class Intervals:
    """A union of intervals, as such or as inequalities."""

    parts: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of entries."""

    rows: tuple[tuple[Form, ...], ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """left != right, or an equation that is more than an assignment."""

    sign: str
    left: Form
    right: Form


Form: TypeAlias = "Number | Date | Expression | Words | Group | Intervals | Matrix | Relation"

_CLOSED = re.compile(
    r"[a-j]|yes|no|true|false|even|odd|none|undefined|infinity|left|right|increasing|decreasing|"
    + "|".join((*WEEKDAYS, *MONTHS))
)
_DECISION = re.compile(r"yes|no|true|false", re.IGNORECASE)
_NAME = r"[A-Za-z](?:[A-Za-z]*)(?:_(?:\{[^{}]*\}|\w))?'?|\\[a-z]+(?:_(?:\{[^{}]*\}|\w))?"
_ASSIGNMENT = re.compile(
    rf"(?P<name>{_NAME}) ?(?P<arguments>\([A-Za-z0-9, \\]*\))? ?(?P<sign>=|:=|\\in\b) ?(?P<value>[^=].*)"
)
_TUPLE_NAME = re.compile(r"\([^()=]*(?:\([^()]*\)[^()=]*)*\) ?= ?(?P<value>[^=].*)")
_LABEL = re.compile(rf"{OPEN}?[A-Za-z][A-Za-z ]*(?:\(\d\)|_\d)?{CLOSE}? ?[:=] ?(?P<value>.+)")
_COUNTED = re.compile(rf"\d[\d.,/]* ?{OPEN}?(?P<thing> ?[A-Za-z][A-Za-z ]*){CLOSE}?")  # 12 red balls
_CONDITION = re.compile(rf" ?{OPEN}? ?\b(?:for (?:all|every|any|each|some)|where|with|when|if|such that|given)\b.*")
_ENVIRONMENT = re.compile(r"\\begin ?\{(?P<name>[pbvB]?matrix|array)\}(?:\{[lcr|]+\})?(?P<body>.*)\\end ?\{(?P=name)\}")
_SET_BUILDER = re.compile(r"\\\{ ?[A-Za-z](?: ?\\in ?\\?[a-zA-Z{}]+)? ?[|:] ?(?P<condition>.+)\\\}")
_COMPARISON = re.compile(r"<=|>=|<|>")
_ARROW = r"->|→|\\(?:to|(?:long)?rightarrow)\b"
_CHAINED = re.compile(rf"{_ARROW}|[<>]")
_CHOICE = re.compile(rf"{CHOICE_LABEL}\(?(?P<letter>[A-J])\)?(?:[.:)] .*)?")
_LEAD = re.compile(  # "It falls on a Tuesday" is Tuesday
    r"^(?:(?:it|this|that) )?(?:(?:is|was|falls|fell|will be) )?(?:on )?(?:(?:the|a|an) )?", re.IGNORECASE
)
_INFINITE = re.compile(r"(?P<sign>[-+]?) ?(?:\\infty|infinity|oo)")
_INTEGER = re.compile(  # what the k of k \pi is: ", k \in \mathbb{Z}", "(k \in Z)", ", where k is an integer"
    r"(?:[,;(]|\b(?:where|with|for)\b) {0,4}(?:(?:where|with|for)\b)? {0,4}(?:(?:any|all)\b)? {0,4}"
    r"(?P<letter>[kmn]) {0,4}(?:\\in {0,4}(?:\\math(?:bb|bf))? {0,4}\{? {0,4}Z {0,4}\}?|is any? integer|integer)[ )]*"
)
_SEPARATOR = rf"[,;]| and |{OPEN}[^{CLOSE}]*?\b(?:and|or) ?{CLOSE}|{OPEN} ?,? ?{CLOSE}| or "


@lru_cache(maxsize=8192)
def form_of(text: str) -> Form | None:
    """The form of an answer in any dress; None if it has none that is known here."""
    plain = _without_integer(strip_markup(text))
    return _form(plain, depth=0) if plain else None


def _without_integer(text: str) -> str:
    """`k \\pi, k \\in \\mathbb{Z}` without what k is, which `k \\pi` says as well."""
    flat = text.replace(OPEN, " ").replace(CLOSE, " ")
    found = _INTEGER.search(flat)
    before = flat[: found.start()] if found else ""
    if not found or flat[found.end() :].strip() or re.search(r"[<>]|\\in\b", before):
        return text
    uses_it = re.search(rf"(?<![A-Za-z\\]){found['letter']}(?![a-z])", before)
    return text[: found.start()].rstrip(f" {OPEN}") if uses_it else text


def _form(text: str, depth: int) -> Form | None:
    text = text.strip(" .,;")
    if not text or depth > 6 or len(text) > 2000:
        return None
    for attempt in (_date, _number, _matrix, _assigned, _set, _chain, _relation, _several, _bracketed, _word):
        found = attempt(text, depth + 1)
        if found is not None:
            return found
    return Expression(_without_label(text)) if _looks_mathematical(text) else _words(text)


def _date(text: str, depth: int) -> Form | None:
    return date(text)


def _number(text: str, depth: int) -> Form | None:
    return number(text)


def _matrix(text: str, depth: int) -> Form | None:
    found = _ENVIRONMENT.fullmatch(text)
    if not found:
        return None
    rows = [row for row in found.group("body").replace("\\cr", "\\\\").split("\\\\") if row.strip()]
    entries = [tuple(_form(cell, depth) for cell in row.split("&")) for row in rows]
    if any(cell is None for row in entries for cell in row):
        return None
    return Matrix(tuple(tuple(cell for cell in row if cell is not None) for row in entries))


def _assigned(text: str, depth: int) -> Form | None:
    """The value of `x = 5`, `f(x) = 2x`, `(x, y) = (1, 2)`, `x \\in [1, 2]`."""
    found = _ASSIGNMENT.fullmatch(text)
    if found and found.group("sign") != "\\in" and len(split_top(text, _SEPARATOR)) > 1:
        return None
    named = found or _TUPLE_NAME.fullmatch(text)
    if not named:
        return None
    value = _CONDITION.sub("", named.group("value"))
    form = _form(re.split(r"\\approx|(?<![<>!:])=", value)[0], depth)
    arguments = found.group("arguments") if found else None
    if isinstance(form, Expression) and found and not form.name:
        names = tuple(a.strip() for a in arguments.strip("()").split(",")) if arguments else ()
        return Expression(form.text, found.group("name"), names)
    return form


def _chain(text: str, depth: int) -> Form | None:
    """Things in an order: `a -> b -> c`, `a < b < c < d`; `0 < x < 1` is an interval."""
    if not _CHAINED.search(text) or len(split_top(text, _SEPARATOR)) > 1:
        return None
    parts = [part.strip() for part in split_top(text, _ARROW)]
    if len(parts) > 1:
        return _in_order(parts, depth)
    signs = set(_COMPARISON.findall(text))
    if signs not in ({"<"}, {">"}):
        return None
    parts = [part.strip() for part in split_top(text, "[<>]")][:: 1 if "<" in signs else -1]
    if len(parts) < 3 or (len(parts) == 3 and _is_name(parts[1]) and not all(map(_is_long_name, parts))):
        return None
    found = _in_order(parts, depth)
    bounds = found and len(parts) == 3 and any(isinstance(item, Number) for item in found.items)  # of an expression
    return None if bounds else found


def _relation(text: str, depth: int) -> Form | None:
    """Inequalities as intervals of their one unknown; x != 2; equations with more than a name on the left."""
    if "\\cup" in text:
        parts = [_form(part, depth) for part in split_top(text, r"\\cup")]
        found = [as_intervals(part) for part in parts]
        return Intervals(tuple(i for some in found if some for i in some.parts)) if all(found) else None
    sign = "!=" if "!=" in text else "="
    texts = text.split(sign)
    if len(texts) == 2 and not _COMPARISON.search(text) and len(split_top(text, "[,;]|\\\\approx")) == 1:
        left, right = _form(texts[0], depth), _form(texts[1], depth)
        mathematical = (Number, Expression)
        return (
            Relation(sign, left, right) if isinstance(left, mathematical) and isinstance(right, mathematical) else None
        )
    options = split_top(text, rf" or |{OPEN} ?or ?{CLOSE}")
    if _COMPARISON.search(text) and len(split_top(text, "[,;]")) == 1:
        intervals = [_inequality(option, depth) for option in options]
        if all(intervals):
            return Intervals(tuple(interval for interval in intervals if interval))
    return None


def _inequality(text: str, depth: int) -> Interval | None:
    """`a < x <= b`, `x > 5`, `5 < x`."""
    text = _CONDITION.sub("", text).strip()
    signs = _COMPARISON.findall(text)
    sides = [side.strip() for side in _COMPARISON.split(text)]
    if len(signs) == 1:
        flip = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
        (left, right), sign = sides, signs[0]
        if not _is_name(left):
            left, right, sign = right, left, flip[sign]
        bound = _form(right, depth)
        if not _is_name(left) or bound is None:
            return None
        if sign.startswith("<"):
            return Interval(None, bound, False, sign == "<=")
        return Interval(bound, None, sign == ">=", False)
    if len(signs) == 2 and _is_name(sides[1]) and signs[0][0] == signs[1][0]:
        if signs[0].startswith(">"):
            sides, signs = sides[::-1], signs[::-1]
        low, high = _form(sides[0], depth), _form(sides[2], depth)
        if low is not None and high is not None:
            return Interval(low, high, signs[0].endswith("="), signs[1].endswith("="))
    return None


def _is_name(text: str) -> bool:
    return bool(re.fullmatch(_NAME, text))


def _is_long_name(text: str) -> bool:
    """`north`, `x_1`: no single letter, and no command such as \\pi."""
    return len(text) > 1 and _is_name(text) and text[0] != "\\"


def _set(text: str, depth: int) -> Form | None:
    builder = _SET_BUILDER.fullmatch(text)
    if builder:
        form = _form(builder.group("condition"), depth)
        return form if isinstance(form, Intervals | Relation) else None
    for opening, closing in (("\\{", "\\}"), ("{", "}")):
        body = text.removeprefix(opening).removesuffix(closing)
        if len(body) == len(text) - len(opening) - len(closing) and balanced(body):
            return _group("set", body, depth)
    return None


def _several(text: str, depth: int) -> Form | None:
    """Answers beside each other: `1, 2`, `x = 1 or x = 2`, `Paolo: 18, Qing: 14`."""
    parts = split_top(text, _SEPARATOR)
    decision, comma, _ = text.partition(",")
    if comma and _DECISION.fullmatch(decision.strip()):
        return Words(decision.strip().lower())  # No, it is not
    several = "\\pm" in text or len(parts) > 1
    return _group("list", text, depth) if several else None


def _group(kind: str, body: str, depth: int) -> Group | None:
    texts = [part.strip() for part in split_top(body, _SEPARATOR)]
    texts = [signed for part in texts if part for signed in _both_signs(part)]
    if not texts or len(texts) > MAX_ITEMS:
        return None
    names: list[str] = []
    items: list[Form] = []
    for part in texts:
        label = _LABEL.fullmatch(part)
        item = _form(label.group("value") if label else part, depth)
        if item is None or (kind == "list" and _is_prose(part)):
            return None
        items.append(item)
        if "=" in part or label:
            names.append(without_marks(part.partition("=" if "=" in part else ":")[0]))
        elif counted := _COUNTED.fullmatch(part):
            names.append(without_marks(counted["thing"]).lower())
    return Group(kind, tuple(items), tuple(names) if all(names) and len(names) == len(items) else ())


def _is_prose(text: str) -> bool:
    """Running text, of which a comma makes no list."""
    return len(re.findall(r"(?<!\\)\b[A-Za-z]{2,}", text)) > 4


def _both_signs(text: str) -> list[str]:
    if "\\pm" not in text:
        return [text]
    return [text.replace("\\pm", sign).replace("+ -", "-").strip() for sign in ("+", "-")]


def _bracketed(text: str, depth: int) -> Form | None:
    if text[0] not in "([" or text[-1] not in ")]" or not balanced(text[1:-1]):
        return None
    parts = split_top(text[1:-1], "[,;]")
    if len(parts) == 1:
        return _form(text[1:-1], depth) if text[0] == "(" and text[-1] == ")" else None
    if len(parts) == 2 and (text[0] == "[" or text[-1] == "]"):
        bounds = [None if _INFINITE.fullmatch(part.strip()) else _form(part, depth) for part in parts]
        unknown = [b is None and not _INFINITE.fullmatch(p.strip()) for b, p in zip(bounds, parts, strict=True)]
        return None if any(unknown) else Intervals((Interval(bounds[0], bounds[1], text[0] == "[", text[-1] == "]"),))
    infinite = [_INFINITE.fullmatch(part.strip()) for part in parts]
    if len(parts) == 2 and any(infinite):
        bounds = [None if inf else _form(part, depth) for inf, part in zip(infinite, parts, strict=True)]
        if any(b is None and not inf for b, inf in zip(bounds, infinite, strict=True)):
            return None
        return Intervals((Interval(bounds[0], bounds[1], False, False),))
    return _in_order(parts, depth)


def _in_order(parts: Sequence[str], depth: int) -> Group | None:
    items = [_form(part, depth) for part in parts[: MAX_ITEMS + 1]]
    if any(item is None for item in items) or len(items) > MAX_ITEMS:
        return None
    return Group("tuple", tuple(item for item in items if item is not None))


def as_intervals(form: Form | None) -> Intervals | None:
    """Intervals, or the open one that was read as a pair."""
    if isinstance(form, Group) and form.kind == "tuple" and len(form.items) == 2:
        return Intervals((Interval(form.items[0], form.items[1], False, False),))
    return form if isinstance(form, Intervals) else None


def _word(text: str, depth: int) -> Form | None:
    words = without_marks(text)
    choice = _CHOICE.fullmatch(words)
    if choice:
        return Words(choice.group("letter").lower())
    if OPEN in text and re.fullmatch(rf"\s*{OPEN}[^{CLOSE}]*{CLOSE}\s*", text):
        return _words(text)
    named = words in ABBREVIATED or (_CLOSED.fullmatch(words.lower()) and len(words) > 1)
    return _words(text) if named else None


def _words(text: str) -> Words | None:
    words = _LEAD.sub("", without_marks(text))
    words = ABBREVIATED.get(words, words).lower()
    return Words(re.sub(r"[^\w\s]", "", words).strip()) if re.search(r"[a-z]", words) else None


def _looks_mathematical(text: str) -> bool:
    """Digits, operators or commands, and no running text, marked or not."""
    if any(len(mark.split()) > MAX_LABEL for mark in re.findall(rf"{OPEN}([^{CLOSE}]*)", text)):
        return False
    outside = re.sub(rf"{OPEN}[^{CLOSE}]*{CLOSE}|\\[A-Za-z]+", " ", text)
    if re.search(
        r"[A-Za-z]{4,}|[a-z]{2,} [a-z]{2,}", re.sub(r"sqrt|sinh?|cosh?|tanh?|arc\w+|log|ln|exp|min|max", " ", outside)
    ):
        return False
    return bool(re.search(r"[\d+*/^=<>!\\-]|^[A-Za-z]$", text)) or bool(
        re.fullmatch(r"[A-Za-z]{1,3}", without_spaces(text))
    )


def _without_label(text: str) -> str:
    """An expression without the words beside it ("84/13 days")."""
    text = re.split(r"\\approx", text)[0]
    return re.sub(rf"{OPEN}[^{CLOSE}]*{CLOSE}(?: ?\^ ?\{{?-?\d\}}?)?", " ", _CONDITION.sub("", text)).strip(" .,;")
