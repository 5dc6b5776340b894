"""Refutes most wrong answers quickly, by the value of a plain expression in floating point, without computer algebra.

It reads sums, products, powers, fractions and roots of numbers and letters, functions of angles, logarithms, degrees
and binomials, and gives up on anything else. Values that are close, or whose difference may come from rounding, are
left to `algebra`. Only the value of an expression of whole numbers is exact; it is computed in fractions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

MAX_CHARACTERS = 200
MAX_DEPTH = 30
MAX_EXPONENT = 60
MAX_BITS = 20_000  # of an exact power
MAX_CHOICE = 1000  # of a binomial's numbers
MAX_SLOPE = 1e4  # a function of an angle beyond it is near a pole
HUGE = 1e300  # stands for exact values that are too large for floating point
TOLERANCE = 1e-8  # relative to the largest intermediate value

# Written with brackets, since otherwise \\cot t \\cdot x would be read as the cotangent of t x.
ARGUMENT = re.compile(
    r"(\\(?:(?:sin|cos|tan)(?!h)|cot|sec|csc|ln|log)(?: ?\^ ?\{? ?-?\d+ ?\}?)?) ?"
    r"(\d*(?:[A-Za-z]|\\[a-z]+)|\d+)(?![\dA-Za-z^_({\\])"
)
IN_DEGREES = re.compile(r"(\d+(?:\.\d+)?|[A-Za-z]|\\[a-z]+|\([^()]*\)) ?°")
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "cot": lambda angle: 1 / math.tan(angle),
    "sec": lambda angle: 1 / math.cos(angle),
    "csc": lambda angle: 1 / math.sin(angle),
}
_GREEK = (
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|rho|sigma|tau|phi|varphi|chi|psi|omega"
)
_TOKEN = re.compile(
    r" *(?:(?P<number>\d+(?:\.\d+)?|\.\d+)|(?P<plain>\\?(?:frac|sqrt|pi)|[A-Za-z](?!_)|[-+*/^(){}\[\]])"
    rf"|\\(?:sin|cos|tan|cot|sec|csc|ln|log(?:_(?:\d|\{{\d+\}}))?|binom|{_GREEK})(?![A-Za-z])"
    r"|[A-Za-z]_(?:[A-Za-tv-z\d]|\{(?!u\})[A-Za-z\d]+\}))"  # an index u is how `algebra` writes a capital letter
)
_AMBIGUOUS = re.compile(r"\d +\d|\d *\\frac|/ *\w+ *[\\A-Za-z(]|\\(?:sin|cos|tan|cot|sec|csc|ln|log)[^A-Za-z(]*[A-Z]")
_WORD = re.compile(r"(?<![\\A-Za-z])(?!sqrt|pi)[A-Za-z]{3,}")  # a product of letters, unless it names a function
_NAMES = re.compile(
    r"sqrt|sin|cos|tan|cot|sec|csc|log|ln|exp|pi|arc|max|min|mod|lim|inf|det|gcd|lcm|deg", re.IGNORECASE
)
Exact = int | Fraction


@dataclass(frozen=True, slots=True)
class Estimate:
    """An expression's values at two points, its largest intermediate value, its letters, and whether pi occurs.

    `exact` is its value if it has only whole numbers, with signs between them. `plain` is true if it has none but
    numbers, single letters, fractions and roots. `imaginary` is true if it has an i, which may also be an index.
    """

    values: tuple[complex, complex]
    scale: float
    letters: frozenset[str]
    has_pi: bool = False
    exact: Exact | None = None
    plain: bool = True
    imaginary: bool = False

    def differs_from(self, other: Estimate, within: float, share: float) -> bool:
        """Whether the values surely differ by more than `within` and this share of the larger one, at both points.

        False where both may be the same angles (k pi).
        """
        if (
            self.has_pi
            and other.has_pi
            and self.letters != other.letters
            and self.letters | other.letters <= set("kmn")
        ):
            return False
        limit = within + TOLERANCE * max(self.scale, other.scale)
        pairs = zip(self.values, other.values, strict=True)
        return all(abs(a - b) > limit + share * max(abs(a), abs(b)) for a, b in pairs)

    def same_letters(self, other: Estimate) -> bool:
        """Whether both have the same letters, so that a difference in value proves something."""
        return self.letters == other.letters and (self.imaginary == other.imaginary or (self.plain and other.plain))


def of_number(number: Fraction, *, degrees: bool = False) -> Estimate:
    """The estimate of a number."""
    value = _in_floating_point(number) * (math.pi / 180 if degrees else 1)
    return Estimate((value, value), abs(value), frozenset(), degrees, None if degrees else number, plain=not degrees)


def _in_floating_point(value: complex | Exact) -> complex:
    if not isinstance(value, Exact):
        return value
    try:
        return float(value)
    except OverflowError:
        return HUGE if value > 0 else -HUGE


@lru_cache(maxsize=8192)
def of_text(text: str) -> Estimate | None:
    """The estimate of an expression without markup; None if this module cannot read it."""
    text = text.replace("\\cdot", "*")
    if len(text) > MAX_CHARACTERS or _AMBIGUOUS.search(text):
        return None
    words = _WORD.findall(text)
    if any(map(_NAMES.search, words)):
        return None
    bracketed = ARGUMENT.sub(r"\1(\2)", IN_DEGREES.sub(r"(\1*\\pi/180)", text))
    try:
        parsers = [_Parser(bracketed, point, plain=bracketed == text and not words) for point in (0, 1)]
        first, second = (parser.value() for parser in parsers)
    except (ArithmeticError, ValueError):
        return None
    scale = max(parser.scale for parser in parsers)
    if not math.isfinite(scale):
        return None
    values = _in_floating_point(first), _in_floating_point(second)
    found = parsers[0]
    exact = first if isinstance(first, Exact) and not found.letters else None
    return Estimate(values, scale, frozenset(found.letters), found.has_pi, exact, found.plain, found.imaginary)


class _Parser:
    """A recursive-descent parser. It raises ValueError on anything that it does not know."""

    def __init__(self, text: str, point: int, *, plain: bool) -> None:
        self.tokens: list[str] = []
        self.place = self.depth = 0
        self.point = point
        self.scale = 0.0
        self.letters: set[str] = set()
        self.has_pi = False
        self.plain = plain
        self.imaginary = False
        end = 0
        while end < len(text):
            found = _TOKEN.match(text, end)
            if not found:
                raise ValueError
            self.tokens.append(found.group().strip().removeprefix("\\"))
            self.plain = self.plain and found.lastgroup is not None
            end = found.end()

    def value(self) -> complex | Exact:
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

    def _note(self, value: complex | Exact) -> complex | Exact:
        if not isinstance(value, Exact):
            self.scale = max(self.scale, abs(value))
        return value

    def _sum(self) -> complex | Exact:
        value = self._product()
        while self._next() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            value = self._note(value + sign * self._product())
        return value

    def _product(self) -> complex | Exact:
        sign = 1
        while self._next() in ("+", "-"):
            sign = -sign if self._take() == "-" else sign
        value, divided = self._power(), False
        while self._next() and self._next() not in "+-)}]":
            if self._took("/"):
                value, divided = self._quotient(value, self._power()), True
            elif self._took("*"):
                value = self._note(value * self._power())
            else:  # not exact, since the parser of `algebra` reads some of these otherwise
                if divided and not self.plain:
                    raise ValueError
                value = float(value) if isinstance(value, Exact) else value
                value = self._note(value * self._power())
        return sign * value

    def _quotient(self, value: complex | Exact, divisor: complex | Exact) -> complex | Exact:
        """Raises ValueError where the divisor may be nought: a difference of functions, for example."""
        if isinstance(value, Exact) and isinstance(divisor, Exact):
            return Fraction(value) / divisor
        if not self.plain and abs(complex(divisor)) <= TOLERANCE * self.scale:
            raise ValueError
        return self._note(value / divisor)

    def _power(self) -> complex | Exact:
        base = self._atom()
        if not self._took("^"):
            return base
        sign = -1 if self._took("-") else 1
        if "_" in self._next():  # the index may be that of the base
            raise ValueError
        exponent = sign * self._atom()
        if self._next() == "^":
            raise ValueError
        if abs(exponent) > MAX_EXPONENT:
            self.plain = False
        if isinstance(base, Exact) and isinstance(exponent, Exact) and exponent == int(exponent):
            size = Fraction(base)
            if abs(exponent) * max(size.numerator.bit_length(), size.denominator.bit_length()) > MAX_BITS:
                raise ValueError
            return size ** int(exponent)
        if abs(exponent) > MAX_EXPONENT:
            raise ValueError
        return self._quotient(1, base**-exponent) if exponent.real < 0 else self._note(base**exponent)

    def _atom(self) -> complex | Exact:
        token = self._take()
        if token in "({":
            return self._inside(")" if token == "(" else "}")
        if token == "frac":
            numerator, denominator = self._take_braces(), self._take_braces()
            return self._quotient(numerator, denominator)
        if token in _FUNCTIONS or token.startswith(("ln", "log")):
            return self._function(token)
        if token == "binom":
            among, chosen = self._take_braces(), self._take_braces()
            if not (isinstance(among, int) and isinstance(chosen, int) and 0 <= chosen <= among <= MAX_CHOICE):
                raise ValueError
            if self._next() not in (*"+-*/^)}]", ""):  # 6 and 3 would be a mixed number
                raise ValueError
            return math.comb(among, chosen)
        if token == "sqrt":
            degree = self._inside("]") if self._took("[") else 2
            body = self._inside(")") if self._took("(") else self._take_braces()
            return self._note(complex(body) ** (1 / degree))
        if token == "pi":
            self.has_pi = True
            return self._note(math.pi)
        if token == "i":
            self.imaginary = True
            return self._note(1j)
        if token[0].isalpha():
            letter = token.lower().replace("{", "").replace("}", "")
            self.letters.add(letter)
            return self._note(0.7 + (sum(map(ord, letter)) * 37 + 11 * self.point) % 89 / 53)
        if token.isdigit() and (token == "0" or token[0] != "0"):
            return int(token)
        if token[0].isdigit() or token[0] == ".":
            return self._note(float(token))
        raise ValueError

    def _function(self, name: str) -> complex:
        """A function of an angle, or a logarithm, of a real argument in brackets; its power stands before these."""
        power = 1
        if self._took("^"):
            power = int(str(self._take_braces() if self._next() == "{" else self._take()))
        if power < 1 or power > MAX_EXPONENT or not self._took("("):
            raise ValueError
        argument = complex(self._inside(")"))
        if argument.imag:
            raise ValueError
        if name in _FUNCTIONS:
            value = _FUNCTIONS[name](argument.real)
            if abs(value) > MAX_SLOPE:
                raise ValueError
        else:
            if argument.real <= TOLERANCE * self.scale:
                raise ValueError
            base = int(name[3:].strip("_{}") or 10)
            value = math.log(argument.real) if name == "ln" else math.log(argument.real, base)
        self._note(value)
        self._note(value**power)
        return value**power

    def _take_braces(self) -> complex | Exact:
        if not self._took("{"):
            raise ValueError
        return self._inside("}")

    def _inside(self, closing: str) -> complex | Exact:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ValueError
        value = self._sum()
        if not self._took(closing):
            raise ValueError
        self.depth -= 1
        return value
