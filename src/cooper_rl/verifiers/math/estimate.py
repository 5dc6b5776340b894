"""Refutes most wrong answers quickly, by the value of a plain expression in floating point, without computer algebra.

It reads sums, products, powers, fractions and roots of numbers and letters, and gives up on anything else. It never
confirms: values that are close, or whose difference may come from rounding, are left to `algebra`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

MAX_CHARACTERS = 200
MAX_DEPTH = 30
MAX_EXPONENT = 60
TOLERANCE = 1e-8  # relative to the largest intermediate value

_TOKEN = re.compile(
    r" *(?:(?P<number>\d+(?:\.\d+)?|\.\d+)|(?P<name>\\?(?:frac|sqrt|pi)|[A-Za-z])|(?P<sign>[-+*/^(){}\[\]]))"
)
_AMBIGUOUS = re.compile(r"\d +\d|\d *\\frac|/ *\w+ *[\\A-Za-z(]|(?<![\\A-Za-z])(?!sqrt|pi)[A-Za-z]{3,}")


@dataclass(frozen=True, slots=True)
class Estimate:
    """An expression's values at two points, its largest intermediate value, its letters, and whether pi occurs."""

    values: tuple[complex, complex]
    scale: float
    letters: frozenset[str]
    has_pi: bool = False

    def differs_from(self, other: Estimate, within: float) -> bool:
        """Whether the values surely differ by more than `within`. False where both may be the same angles (k pi)."""
        if (
            self.has_pi
            and other.has_pi
            and self.letters != other.letters
            and self.letters | other.letters <= set("kmn")
        ):
            return False
        limit = within + TOLERANCE * max(self.scale, other.scale)
        return all(abs(a - b) > limit for a, b in zip(self.values, other.values, strict=True))


def of_number(value: float) -> Estimate:
    """The estimate of a number."""
    return Estimate((value, value), abs(value), frozenset())


@lru_cache(maxsize=8192)
def of_text(text: str) -> Estimate | None:
    """The estimate of an expression without markup; None if this module cannot read it."""
    text = text.replace("\\cdot", "*")
    if len(text) > MAX_CHARACTERS or _AMBIGUOUS.search(text):
        return None
    try:
        parsers = [_Parser(text, point) for point in (0, 1)]
        first, second = (parser.value() for parser in parsers)
    except (ArithmeticError, ValueError):
        return None
    scale = max(parser.scale for parser in parsers)
    if not math.isfinite(scale):
        return None
    return Estimate((first, second), scale, frozenset(parsers[0].letters), parsers[0].has_pi)


class _Parser:
    """A recursive-descent parser. It raises ValueError on anything that it does not know."""

    def __init__(self, text: str, point: int) -> None:
        self.tokens: list[str] = []
        self.place = self.depth = 0
        self.point = point
        self.scale = 0.0
        self.letters: set[str] = set()
        self.has_pi = False
        end = 0
        while end < len(text):
            found = _TOKEN.match(text, end)
            if not found:
                raise ValueError
            self.tokens.append(found.group().strip().removeprefix("\\"))
            end = found.end()

    def value(self) -> complex:
        value = self._sum()
        if self._next():
            raise ValueError
        return value

    def _next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _take(self) -> str:
        token = self._next()
        if not token:
            raise ValueError
        self.place += 1
        return token

    def _took(self, token: str) -> bool:
        """Whether the next token is this one; if so, it is consumed."""
        came = self._next() == token
        self.place += came
        return came

    def _noted(self, value: complex) -> complex:
        self.scale = max(self.scale, abs(value))
        return value

    def _sum(self) -> complex:
        value = self._product()
        while self._next() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            value = self._noted(value + sign * self._product())
        return value

    def _product(self) -> complex:
        sign = 1
        while self._next() in ("+", "-"):
            sign = -sign if self._take() == "-" else sign
        value = self._power()
        while self._next() and self._next() not in "+-)}]":
            if self._took("/"):
                value = self._noted(value / self._power())
            else:
                self._took("*")
                value = self._noted(value * self._power())
        return sign * value

    def _power(self) -> complex:
        base = self._atom()
        if not self._took("^"):
            return base
        sign = -1 if self._took("-") else 1
        exponent = sign * self._atom()
        if abs(exponent) > MAX_EXPONENT or self._next() == "^":
            raise ValueError
        return self._noted(base**exponent)

    def _atom(self) -> complex:
        token = self._take()
        if token in "({":
            return self._inside(")" if token == "(" else "}")
        if token == "frac":
            numerator, denominator = self._braced(), self._braced()
            return self._noted(numerator / denominator)
        if token == "sqrt":
            degree = self._inside("]") if self._took("[") else 2
            body = self._inside(")") if self._took("(") else self._braced()
            return self._noted(complex(body) ** (1 / degree))
        if token == "pi":
            self.has_pi = True
            return self._noted(math.pi)
        if token == "i":
            return self._noted(1j)
        if token.isalpha():
            letter = token.lower()
            self.letters.add(letter)
            return self._noted(0.7 + (ord(letter) * 37 + 11 * self.point) % 89 / 53)
        if token[0].isdigit() or token[0] == ".":
            return self._noted(float(token))
        raise ValueError

    def _braced(self) -> complex:
        if not self._took("{"):
            raise ValueError
        return self._inside("}")

    def _inside(self, closing: str) -> complex:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ValueError
        value = self._sum()
        if not self._took(closing):
            raise ValueError
        self.depth -= 1
        return value
