"""Orders: parts with signs between them that say how they are ordered."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from cooper_rl.verifiers.math.answer_tuple import AnswerTuple
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read
from cooper_rl.verifiers.math.markup import split_top
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.phrases import COMPARISON_SIGN, SEPARATOR, is_long_name, is_name

_ARROW = r"->|→|\\(?:to|(?:long)?rightarrow)\b"
_RATIO = re.compile(r"\d+(?:\.\d+)?(?: ?: ?\d+(?:\.\d+)?){2,}")
_CHAINED = re.compile(rf"{_ARROW}|[<>]")


@dataclass(frozen=True, slots=True)
class Chain(AnswerTuple):
    """`a -> b -> c` and `a < b < c < d`, kept from the least to the greatest. `0 < x < 1` is an interval instead."""

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares as a tuple. The same parts in another order are DIFFERENT, also where they are only names."""
        if isinstance(answer, Chain) and self.items != answer.items and set(self.items) == set(answer.items):
            return Comparison.DIFFERENT
        return super(Chain, self).compare(answer)

    @classmethod
    def parse(cls, text: str, read: Read) -> Chain | None:
        if not _CHAINED.search(text) or len(split_top(text, SEPARATOR)) > 1:
            return None
        parts = [part.strip() for part in split_top(text, _ARROW)]
        if len(parts) > 1:
            return cls.of_parts(parts, read)
        signs = set(COMPARISON_SIGN.findall(text))
        if signs not in ({"<"}, {">"}):
            return None
        parts = [part.strip() for part in split_top(text, "[<>]")][:: 1 if "<" in signs else -1]
        if len(parts) < 3 or (len(parts) == 3 and is_name(parts[1]) and not all(map(is_long_name, parts))):
            return None
        found = cls.of_parts(parts, read)
        bounds = found and len(parts) == 3 and any(isinstance(item, Number) for item in found.items)
        return None if bounds else found  # 0 < x + y < 1 bounds an expression


@dataclass(frozen=True, slots=True)
class Ratio(AnswerTuple):
    """`3:4:5`: three or more numbers, kept in lowest terms, so that `6:8:10` is the same."""

    @classmethod
    def parse(cls, text: str, read: Read) -> Ratio | None:
        if not _RATIO.fullmatch(text):
            return None
        values = [Fraction(part) for part in text.replace(" ", "").split(":")]
        scale = math.lcm(*(value.denominator for value in values))
        whole = [int(value * scale) for value in values]
        divisor = math.gcd(*whole) or 1
        return cls(tuple(Number(Fraction(value, divisor)) for value in whole))
