"""Matrices and column vectors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.verifiers.math.date import Date
from cooper_rl.verifiers.math.expression import Expression
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read, all_equal, compare
from cooper_rl.verifiers.math.group import Group
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.words import Words

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
        """Compares entry by entry."""
        if not isinstance(answer, Matrix):
            return self._with_others(answer)
        shape = [len(row) for row in self.rows]
        if shape != [len(row) for row in answer.rows]:
            return Comparison.DIFFERENT
        own, others = ([cell for row in form.rows for cell in row] for form in (self, answer))
        return all_equal(compare(a, b) for a, b in zip(own, others, strict=True))

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        return self._with_others(reference)

    def _with_others(self, other: AnswerForm) -> Comparison:
        if isinstance(other, Words):
            return other.compare_with_value(self)
        different = isinstance(other, Number | Date | Expression | Group)
        return Comparison.DIFFERENT if different else Comparison.NOT_KNOWN
