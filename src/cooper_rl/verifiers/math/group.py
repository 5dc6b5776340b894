"""Several answers in one: lists, sets in braces, points and tuples in brackets, matrices and column vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Self

from cooper_rl.verifiers.math.expression import Expression, choice_letter
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read, all_equal, compare, compare_unordered
from cooper_rl.verifiers.math.markup import CLOSE, OPEN, has_matching_brackets, split_brackets, split_top, without_marks
from cooper_rl.verifiers.math.number import Number, number
from cooper_rl.verifiers.math.phrases import SEPARATOR, is_prose
from cooper_rl.verifiers.math.words import Date, Words, is_decision

MAX_ITEMS = 64
_LABEL = re.compile(rf"{OPEN}?[A-Za-z][A-Za-z ]*(?:\(\d\)|_\d)?{CLOSE}? ?[:=] ?(?P<value>.+)")
PART_LABEL = re.compile(r"(?:^|(?<=[\s,;.]))\((?:[a-h]|[1-8]|i{1,3}|iv|v)\)[.:]? ")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,(?:\d{1,2}|\d{4,})(?: ?[%°A-Za-zμ⟦][^,]*)?")
_LAKHS = re.compile(r"\d{1,2}(?:,\d\d)+,\d{3}")
_WHOLE_AND_PART = re.compile(r"\d+ and \d+ ?/ ?\d+")
_RELATIVE = re.compile(r"\b(?:of|later|earlier|ago|before|after|more|less|fewer|others?)\b")
_SHARED = 2  # words of a label that the items of a list may share: 3, 4 and 5 red apples
_COUNTED = re.compile(rf"\d[\d.,/]* ?{OPEN}?(?P<thing> ?[A-Za-z][A-Za-z ]*){CLOSE}?")  # 12 red balls
SET_BUILDER = re.compile(r"\\\{ ?[A-Za-z](?: ?\\in ?\\?[a-zA-Z{}]+)? ?[|:] ?(?P<condition>.+)\\\}")
_BRACES = (("\\{", "\\}"), ("{", "}"))
_ENVIRONMENT = re.compile(r"\\begin ?\{(?P<name>[pbB]?matrix|array)\}(?:\{[lcr|]+\})?(?P<body>.*)\\end ?\{(?P=name)\}")


class Order(Enum):
    """What the order of a group's items means."""

    NONE = "nothing: a set"
    OPEN = "what the question says: a list"
    KEPT = "the answer: a tuple"


@dataclass(frozen=True, slots=True)
class Group(AnswerForm):
    """Several answers. `names` has what each item is the value or the number of, if every item says so."""

    kind: ClassVar[str] = "group"
    library_decides: ClassVar[bool] = True
    order: ClassVar[Order]
    items: tuple[AnswerForm, ...]
    names: tuple[str, ...] = ()
    decimal: Number | None = None  # what it is if it is one number: 2,75, or 12,34,567, or 2 and 1/2

    @classmethod
    def of_text(cls, body: str, read: Read) -> Self | None:
        """Reads the items between separators; `\\pm` makes two items. None if one of the items has no form."""
        if len(PART_LABEL.findall(body)) > 1 and PART_LABEL.match(body):  # (a) 3 (b) 5
            body = "; ".join(part.strip(" ,;.") for part in PART_LABEL.split(body) if part.strip(" ,;."))
        texts = [part.strip() for part in split_top(body, SEPARATOR)]
        texts = [signed for part in texts if part for signed in _both_signs(part)]
        if not texts or len(texts) > MAX_ITEMS:
            return None
        names: list[str] = []
        items: list[AnswerForm] = []
        for part in texts:
            label = _LABEL.fullmatch(part)
            item = read(label.group("value") if label else part)
            if item is None or (cls.order is Order.OPEN and is_prose(part)):
                return None
            items.append(item)
            if "=" in part or label:
                names.append(without_marks(part.partition("=" if "=" in part else ":")[0]))
            elif counted := _COUNTED.fullmatch(part):
                names.append(without_marks(counted["thing"]).lower())
        decimal = number(_as_one_number(body))
        return cls(tuple(items), tuple(names) if all(names) and len(names) == len(items) else (), decimal)

    def beside(self, other: AnswerForm) -> AnswerForm:
        """Compared with a single answer, a set or list whose items are all the same answer is that answer."""
        one = self.order is not Order.KEPT and len(set(self.items)) == 1 and not isinstance(other, Group)
        return self.items[0] if one else self

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares item by item, by names where both have them. Choice letters may be written together ("AC")."""
        return self._with_groups(answer) if isinstance(answer, Group) else self._with_others(answer)

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        if isinstance(reference, Group):
            return Comparison.NOT_KNOWN
        if self.decimal and isinstance(reference, Number):
            return compare(reference, self.decimal)
        return Comparison.DIFFERENT if self._offers_several(reference) else self._with_others(reference)

    def _offers_several(self, reference: AnswerForm) -> bool:
        """Whether these are several values where one is asked for, even if that one is among them."""
        if self.order is Order.KEPT or self.names or not self._is_of_one_kind():
            return False
        found = {compare(reference, item) for item in self.items}
        return Comparison.DIFFERENT in found and found <= {Comparison.DIFFERENT, Comparison.EQUAL}

    def _with_others(self, other: AnswerForm) -> Comparison:
        """DIFFERENT from a single answer that is none of the items, except for a point or for values with names."""
        letters, other_letters = _choices(self), _choices(other)
        if letters and other_letters:
            return Comparison.of(letters == other_letters)
        if not isinstance(other, Number | Date | Expression):
            return Comparison.NOT_KNOWN
        if self.decimal and isinstance(other, Number) and compare(self.decimal, other) is not Comparison.DIFFERENT:
            return Comparison.OPEN
        listed = self.order is not Order.KEPT and not self.names and self._is_of_one_kind()
        different = listed and _is_none_of(self.items, other)
        return Comparison.DIFFERENT if different else Comparison.OPEN

    def _is_of_one_kind(self) -> bool:
        """Whether all items count the same things. The items of `12, 3 red ones` do not."""
        labels = [item.label or item.unit for item in self.items if isinstance(item, Number)]
        said = {label.lower() for label in labels if label}
        shared = labels[-1:] != [""] and not any(labels[:-1])  # only the last one has it
        if any(_RELATIVE.search(label) for label in said):
            return False
        return not said or (len(said) == 1 and (all(labels) or shared) and len(said.pop().split()) <= _SHARED)

    def _with_groups(self, answer: Group) -> Comparison:
        if len(set(self.names)) > 1 and sorted(self.names) == sorted(set(answer.names)):
            by_name = dict(zip(answer.names, answer.items, strict=True))
            return all_equal(compare(item, by_name[name]) for name, item in zip(self.names, self.items, strict=True))
        if len(self.items) != len(answer.items):
            return self._with_other_count(answer)
        orders = {self.order, answer.order}
        found = compare_unordered(self.items, answer.items, compare)
        nested = [sum(isinstance(item, AnswerSet) for item in group.items) for group in (self, answer)]
        if self._names_apart(answer) or nested[0] != nested[1]:  # {{1}, 2} is not {1, 2}
            return found.unless_equal
        if orders == {Order.KEPT, Order.NONE}:
            return found.unless_equal
        if Order.KEPT not in orders:
            open_order = self._is_list_of_words() and self.items != answer.items
            return found.unless_equal if open_order else found
        in_order = all_equal(compare(a, b) for a, b in zip(self.items, answer.items, strict=True))
        only_order_differs = len(orders) > 1 and found is not Comparison.DIFFERENT
        return in_order.unless_different if only_order_differs else in_order

    def _names_apart(self, answer: Group) -> bool:
        """Whether names tell the items otherwise than their order does: y = 3, x = -2 for (3, -2)."""
        if self.names and answer.names:
            return set(self.names) != set(answer.names)
        names = [name for name in self.names or answer.names if len(name) == 1]
        return len(set(names)) > 1 and names != sorted(names)

    def _with_other_count(self, answer: Group) -> Comparison:
        """DIFFERENT if one of the answer's items is none of these items; OPEN if it is a part of them."""
        if Order.KEPT in (self.order, answer.order):
            numbers = all(isinstance(item, Number) for item in (*self.items, *answer.items))
            return Comparison.DIFFERENT if numbers and self.order is answer.order else Comparison.OPEN
        wrong = any(_is_none_of(self.items, item) for item in answer.items)
        return Comparison.DIFFERENT if wrong else Comparison.OPEN

    def _is_list_of_words(self) -> bool:
        """Whether this is a list of words. Only the question says whether the order of such a list counts."""
        words = all(isinstance(item, Words) and len(item.text) > 1 for item in self.items)
        return words and self.order is Order.OPEN


def _as_one_number(body: str) -> str:
    """A list as the one number that it may be, with a decimal comma, commas after lakhs or a fraction; else ""."""
    if _DECIMAL_COMMA.fullmatch(body):
        return body.replace(",", ".")
    if _LAKHS.fullmatch(body):
        return body.replace(",", "")
    return body.replace(" and", "") if _WHOLE_AND_PART.fullmatch(body) else ""


def _is_none_of(items: Sequence[AnswerForm], other: AnswerForm) -> bool:
    return all(compare(item, other) is Comparison.DIFFERENT for item in items)


def _both_signs(text: str) -> list[str]:
    if "\\pm" not in text:
        return [text]
    return [text.replace("\\pm", sign).replace("+ -", "-").strip() for sign in ("+", "-")]


def _choices(form: AnswerForm) -> frozenset[str] | None:
    """The choice letters of an answer, listed or written together ("A, C", "AC"); None for any other answer."""
    if isinstance(form, Group) and all(choice_letter(item) for item in form.items):
        return frozenset(choice_letter(item) for item in form.items)
    if isinstance(form, Words | Expression) and re.fullmatch("[A-Ja-j]{2,6}", form.text):
        return frozenset(form.text.lower())
    return None


@dataclass(frozen=True, slots=True)
class AnswerList(Group):
    """`1, 2`, `x = 1 or x = 2`, `1 \\pm 2`, `Paolo: 18, Qing: 14`. The order does not count, unless all are words."""

    order: ClassVar[Order] = Order.OPEN

    @classmethod
    def parse(cls, text: str, read: Read) -> AnswerList | None:
        """Reads two or more answers without brackets. "No, it is not" counts as one answer."""
        several = "\\pm" in text or len(split_top(text, SEPARATOR)) > 1 or len(PART_LABEL.findall(text)) > 1
        if is_decision(text) or not several:
            return None
        return cls.of_text(text, read)


@dataclass(frozen=True, slots=True)
class AnswerSet(Group):
    """`\\{1, 2\\}`: several answers in any order."""

    order: ClassVar[Order] = Order.NONE

    @classmethod
    def parse(cls, text: str, read: Read) -> AnswerSet | None:
        """Reads a set that lists its items. `\\{x | x < 5\\}` is left to `reader.SetBuilder`."""
        if SET_BUILDER.fullmatch(text):
            return None
        for opening, closing in _BRACES:
            body = text.removeprefix(opening).removesuffix(closing)
            if len(body) == len(text) - len(opening) - len(closing) and has_matching_brackets(body):
                return cls.of_text(body, read)
        return None


@dataclass(frozen=True, slots=True)
class AnswerTuple(Group):
    """`(1, 2)`: several answers whose order counts."""

    order: ClassVar[Order] = Order.KEPT

    @classmethod
    def parse(cls, text: str, read: Read) -> Self | None:
        """Reads two or more parts in brackets. `[1, 2)` and `(1, \\infty)` have been read as intervals before."""
        parts = split_brackets(text)
        return cls.of_parts(parts, read) if len(parts) > 1 else None

    @classmethod
    def of_parts(cls, parts: Sequence[str], read: Read) -> Self | None:
        """The parts in their order; None if one of them has no form."""
        items = [read(part) for part in parts[: MAX_ITEMS + 1]]
        if len(items) > MAX_ITEMS or any(item is None for item in items):
            return None
        return cls(tuple(item for item in items if item is not None))


@dataclass(frozen=True, slots=True)
class Matrix(AnswerForm):
    """A matrix: rows of entries, each an answer of its own."""

    kind: ClassVar[str] = "matrix"
    library_decides: ClassVar[bool] = True
    rows: tuple[tuple[AnswerForm, ...], ...]

    @classmethod
    def parse(cls, text: str, read: Read) -> Matrix | None:
        """Reads a LaTeX matrix or array."""
        found = _ENVIRONMENT.fullmatch(text)
        if not found:
            return None
        rows = [row for row in found.group("body").replace("\\cr", "\\\\").split("\\\\") if row.strip()]
        entries = [tuple(read(cell) for cell in row.split("&")) for row in rows]
        if any(cell is None for row in entries for cell in row):
            return None
        return cls(tuple(tuple(cell for cell in row if cell is not None) for row in entries))

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares entry by entry. A vector is also compared with a point, and with one that is written across."""
        if isinstance(answer, Matrix):
            return self._with_matrix(answer)
        return self._with_others(answer)

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        return self._with_others(reference)

    def _with_matrix(self, answer: Matrix) -> Comparison:
        shape, other_shape = ([len(row) for row in form.rows] for form in (self, answer))
        found = _same_entries(self.entries, answer.entries)
        if shape == other_shape:
            return found
        return found.unless_equal if self.is_vector and answer.is_vector else Comparison.OPEN

    def _with_others(self, other: AnswerForm) -> Comparison:
        if isinstance(other, AnswerTuple) and self.is_vector:
            return _same_entries(self.entries, other.items)
        return Comparison.OPEN if isinstance(other, Number | Date | Expression | Group) else Comparison.NOT_KNOWN

    @property
    def entries(self) -> tuple[AnswerForm, ...]:
        """All entries, row by row."""
        return tuple(cell for row in self.rows for cell in row)

    @property
    def is_vector(self) -> bool:
        """Whether this is a single row or a single column, of more than one entry."""
        return len(self.entries) > 1 and (len(self.rows) == 1 or all(len(row) == 1 for row in self.rows))


def _same_entries(reference: Sequence[AnswerForm], answer: Sequence[AnswerForm]) -> Comparison:
    if len(reference) != len(answer):
        return Comparison.DIFFERENT if min(len(reference), len(answer)) > 1 else Comparison.OPEN
    return all_equal(compare(a, b) for a, b in zip(reference, answer, strict=True))
