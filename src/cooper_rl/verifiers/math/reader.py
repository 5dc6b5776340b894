"""Finds the form of an answer: the forms are tried in order, and the first that can read the text is taken.

Among them are notations around an answer that do not change its form: `x = 5`, `(5)`, `\\{x | x < 5\\}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from cooper_rl.verifiers.math.expression import Expression
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Partial, Read, compare
from cooper_rl.verifiers.math.group import SET_BUILDER, AnswerList, AnswerSet, AnswerTuple, Matrix
from cooper_rl.verifiers.math.markup import CLOSE, OPEN, split_brackets, split_top, strip_markup
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.phrases import CONDITION, NAME, SEPARATOR
from cooper_rl.verifiers.math.relation import Chain, Congruence, Intervals, Ratio, Relation
from cooper_rl.verifiers.math.units import CURRENCIES
from cooper_rl.verifiers.math.words import Date, Words

MAX_DEPTH = 6
MAX_CHARACTERS = 2000
KEPT = 8192  # texts whose form is cached
_INTEGER = re.compile(  # the note on k in k \pi: ", k \in \mathbb{Z}", "(k \in Z)", ", where k is an integer"
    r"(?:[,;(]|\b(?:where|with|for)\b) {0,4}(?:(?:where|with|for)\b)? {0,4}(?:(?:any|all)\b)? {0,4}"
    r"(?P<letter>[kmn]) {0,4}(?:\\in {0,4}(?:\\math(?:bb|bf))? {0,4}\{? {0,4}Z {0,4}\}?|is any? integer|integer)[ )]*"
)
_CURRENCY = re.compile(
    r"[-+\s(]*(?:\\(?=\$)|(?=[€£¥₹])|(?=\$\s*[-\d.,]+\s*(?:(?:thousand|million|billion|trillion)\b)?\s*\Z))"
    r"(?P<sign>[$€£¥₹])\s*[-\d.,]+"
)  # $5$ is 5
_MONEY = re.compile(r"\A(?P<sum>\\?\$\s*\d[\d.,]*) ?(?P<letter>[kKMB])(?![A-Za-z$])")  # $56K
_MAGNITUDE = {"K": "thousand", "M": "million", "B": "billion"}
_EXACTLY = "(?:exactly|precisely|only|just|a total of|equal to) "
_LEAD = re.compile(rf"\A{_EXACTLY}|(?<=\A{OPEN}){_EXACTLY}")
_EDGES = re.compile(r"\A(?:[ ,;]|\.(?!\d))+|[ .,;]+\Z")
_ASSIGNMENT = re.compile(
    rf"(?P<name>{NAME}) ?(?P<arguments>\([A-Za-z0-9, \\]*\))? ?(?P<sign>=|:=|\\in\b) ?(?P<value>[^=].*)"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TUPLE_NAME = re.compile(r"\([^()=]*(?:\([^()]*\)[^()=]*)*\) ?= ?(?P<value>[^=].*)")


class Shape(Protocol):
    """Something that can read a text: an answer form, or a notation that wraps an answer of any form."""

    @classmethod
    def parse(cls, text: str, read: Read) -> AnswerForm | None: ...


class Assignment:
    """`x = 5`, `f(x) = 2x`, `(x, y) = (1, 2)` and `x \\in [1, 2]`, which are read as their value."""

    @classmethod
    def parse(cls, text: str, read: Read) -> AnswerForm | None:
        """The form of the value. An expression keeps the name on the left side.

        The value is `Partial` where a condition or a further side is left out.
        """
        found = _ASSIGNMENT.fullmatch(text)
        if found and found.group("sign") != "\\in" and len(split_top(_THOUSANDS.sub("", text), SEPARATOR)) > 1:
            return None
        named = found or _TUPLE_NAME.fullmatch(text)
        if not named:
            return None
        value = CONDITION.sub("", named.group("value"))
        first, *others = re.split(r"\\approx|(?<![<>!:])=", value)
        form = read(first)
        if isinstance(form, Expression) and found and not form.name:
            arguments = found.group("arguments")
            names = tuple(a.strip() for a in arguments.strip("()").split(",")) if arguments else ()
            form = Expression(form.text, found.group("name"), names)
        if form is None:
            return None
        same = all(compare(form, side) is Comparison.EQUAL for side in map(read, others) if side)
        left = named.group("value")[len(value if same else first) :]
        return Partial(form, left) if others or left else form


class SetBuilder:
    """`\\{x | x < 5\\}`, which is read as its condition."""

    @classmethod
    def parse(cls, text: str, read: Read) -> AnswerForm | None:
        """The form of the condition, if it is a condition on a variable."""
        found = SET_BUILDER.fullmatch(text)
        form = read(found.group("condition")) if found else None
        return form if isinstance(form, Intervals | Relation) else None


class Brackets:
    """`(5)`, which is read as its content."""

    @classmethod
    def parse(cls, text: str, read: Read) -> AnswerForm | None:
        """The form of the content, if it is a single part in round brackets."""
        parts = split_brackets(text)
        return read(parts[0]) if len(parts) == 1 and text[0] == "(" and text[-1] == ")" else None


READ_ORDER: tuple[type[Shape], ...] = (
    Date,
    Number,
    Congruence,
    Matrix,
    Assignment,
    SetBuilder,
    AnswerSet,
    Ratio,
    Chain,
    Relation,
    Intervals,
    AnswerList,
    Brackets,
    AnswerTuple,
    Words,
    Expression,
)


class Reader:
    """Reads texts as answers.

    Args:
        forms: a user's own forms, tried before the built-in ones.
    """

    def __init__(self, forms: Sequence[type[AnswerForm]] = ()) -> None:
        self._parsers = tuple(shape.parse for shape in (*forms, *READ_ORDER))
        self.form_of = lru_cache(maxsize=KEPT)(self._form_of)

    def _form_of(self, text: str) -> AnswerForm | None:
        """The form of an answer with any markup; None if no form can read it."""
        text = _MONEY.sub(lambda money: f"{money['sum']} {_MAGNITUDE[money['letter'].upper()]}", text)
        plain = _LEAD.sub("", _without_integer(strip_markup(text)))
        form = self._read(plain, 0) if plain else None
        if (
            isinstance(form, Number)
            and not (form.unit or form.label or form.percent)
            and (sign := _CURRENCY.match(text))
        ):
            return replace(form, unit=CURRENCIES[sign["sign"]])
        return form

    def _read(self, text: str, depth: int) -> AnswerForm | None:
        text = _EDGES.sub("", text)
        if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"":
            text = text[1:-1]
        if not text or depth > MAX_DEPTH or len(text) > MAX_CHARACTERS:
            return None

        def read(part: str) -> AnswerForm | None:
            return self._read(part, depth + 1)

        for parse in self._parsers:
            found = parse(text, read)
            if found is not None:
                return found
        return None


form_of = Reader().form_of


def _without_integer(text: str) -> str:
    """`k \\pi, k \\in \\mathbb{Z}` without the note on k, since `k \\pi` alone means the same."""
    flat = text.replace(OPEN, " ").replace(CLOSE, " ")
    found = _INTEGER.search(flat)
    before = flat[: found.start()] if found else ""
    if not found or flat[found.end() :].strip() or re.search(r"[<>]|\\in\b", before):
        return text
    uses_it = re.search(rf"(?<![A-Za-z\\]){found['letter']}(?![a-z])", before)
    return text[: found.start()].rstrip(f" {OPEN}") if uses_it else text
