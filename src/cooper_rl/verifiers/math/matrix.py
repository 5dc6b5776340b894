"""Matrices and column vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.verifiers.math.answer_tuple import AnswerTuple
from cooper_rl.verifiers.math.date import Date
from cooper_rl.verifiers.math.expression import Expression
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read, all_equal, compare
from cooper_rl.verifiers.math.group import Group
from cooper_rl.verifiers.math.number import Number

_ENVIRONMENT = re.compile(r"\\begin ?\{(?P<name>[pbvB]?matrix|array)\}(?:\{[lcr|]+\})?(?P<body>.*)\\end ?\{(?P=name)\}")


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
