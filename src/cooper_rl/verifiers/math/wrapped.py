"""Notations around an answer that do not change its form: `x = 5`, `(5)`, `\\{x | x < 5\\}`."""

from __future__ import annotations

import re

from cooper_rl.verifiers.math.answer_set import SET_BUILDER
from cooper_rl.verifiers.math.expression import Expression
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Partial, Read, compare
from cooper_rl.verifiers.math.intervals import Intervals
from cooper_rl.verifiers.math.markup import bracketed_parts, split_top
from cooper_rl.verifiers.math.phrases import CONDITION, NAME, SEPARATOR
from cooper_rl.verifiers.math.relation import Relation

_ASSIGNMENT = re.compile(
    rf"(?P<name>{NAME}) ?(?P<arguments>\([A-Za-z0-9, \\]*\))? ?(?P<sign>=|:=|\\in\b) ?(?P<value>[^=].*)"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TUPLE_NAME = re.compile(r"\([^()=]*(?:\([^()]*\)[^()=]*)*\) ?= ?(?P<value>[^=].*)")


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
        parts = bracketed_parts(text)
        return read(parts[0]) if len(parts) == 1 and text[0] == "(" and text[-1] == ")" else None
