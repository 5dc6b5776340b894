"""Compares two mathematical expressions: math-verify's parser reads them into sympy, and their values are compared.

Values are computed with 40 digits at fixed points. Nothing is simplified, and nothing is evaluated as Python. There are
no limits on time here: the worker process is killed past its deadline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import sympy
from latex2sympy2_extended import latex2sympy

from cooper_rl.verifiers.math.estimate import ARGUMENT, IN_DEGREES
from cooper_rl.verifiers.math.markup import CLOSE, OPEN, has_matching_brackets

DIGITS = 40
MAX_OPERATIONS = 600
MAX_EXACT_DIGITS = 1_000_000  # numbers of up to this many digits are compared exactly
# The points where values are compared. Some are large, so that floor functions differ too.
POINTS = tuple(sympy.Rational(p, q) for p, q in ((7, 11), (13, 7), (223, 19), (31, 9), (17, 29), (541, 13), (5, 23)))
_FUNCTION = re.compile(
    r"(?<![A-Za-z\\])(sqrt|arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|exp|pi)\b"
)
_LONG_EXPONENT = re.compile(r"\^ ?(-?\d{2,}|-\d)")
_BRACKET_EXPONENT = re.compile(r"\^ ?\(([^()]*)\)")
_DECIMAL = re.compile(r"(?<![\d.])(\d*)\.(\d+)(?![\d.])")
# The parser misreads these: it adds 2 and 5 in "2 5", and drops primes and bases. "0000" is not meant as a number.
_UNREADABLE = re.compile(r"\d\s+\d|\d ?_|'|\\l?dots|(?<![\d.,])00")
_NO_EXPRESSION = re.compile(r"[=<>]|[-+*/^] *\Z")
_LETTER = re.compile(
    r"\\[A-Za-z]+|(?P<letter>[A-Za-z])(?P<primes>'*)(?: ?_ ?(?:\{(?P<index>[A-Za-z0-9, ]*)\}|(?P<short>\w)))?(?! ?_)"
)
_CAPITAL = re.compile(r"\b(?P<letter>[a-z])_(?:u\b|\{u(?P<index>[^{}]*)\})")
_CHOOSE = re.compile(  # C(10, 3), {}_{10}C_3, 10C3
    r"\bC ?\((\d+), ?(\d+)\)|(?:\{ ?\})? ?_ ?\{? ?(\d+) ?\}? ?C ?_ ?\{? ?(\d+) ?\}?|(?<![\w^_])(\d+) ?C ?(\d+)(?!\w)"
)
_FRACTION_EXPONENT = re.compile(r"\^ ?(\\frac ?\{[^{}]*\} ?\{[^{}]*\})")
_BRACED_ARGUMENT = re.compile(  # the parser takes what follows for a part of it: \ln{x}/2
    r"(\\(?:(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|ln|log|exp)(?: ?_ ?(?:\{[^{}]*\}|\w))?(?: ?\^ ?(?:\{[^{}]*\}|\w))?) ?"
    r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
)
_SLASHED = re.compile(r"\d ?/ ?\d+ ?[A-Za-z\\(]")  # 1/2x may be x/2
_I = sympy.Symbol("i")
_ROOT = re.compile(r"\\sqrt ?\(([^()]*)\)")


_ARITHMETIC = re.compile(r"[\d\s.,+\-*/(){}\\]*")
_FUNCTIONS = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc|log|ln|sum|int|prod|lim|arc[a-z]+)")


def is_unfinished(text: str) -> bool:
    """Whether a text is arithmetic that is not computed yet ("10 + 7 + 6"), has a function, or cannot be read."""
    plain = text.replace("\\frac", "").replace("\\cdot", "*")
    arithmetic = _ARITHMETIC.fullmatch(plain) and re.search(r"[\d)}]\s*[-+*]\s*\(?\d", plain)
    return bool(arithmetic or _FUNCTIONS.search(text) or _UNREADABLE.search(text))


def _marked_letter(found: re.Match[str]) -> str:
    """A capital or primed letter as its small letter with an index, since the parser drops both: R is r_{u}."""
    name = found["letter"]
    if not name:
        return found.group()
    marks = "u" * name.isupper() + "p" * len(found["primes"]) + (found["index"] or found["short"] or "").strip()
    if name == "E":  # e is a number
        return f"z_{{e{marks}}}"
    return f"{name.lower()}_{{{marks}}}" if marks else name


@lru_cache(maxsize=4096)
def parse(text: str) -> Any | None:
    """A text without markup as a sympy expression. None if it cannot be read or is too large to compare."""
    text = text.replace(OPEN, " ").replace(CLOSE, " ")
    if _NO_EXPRESSION.search(text) or not has_matching_brackets(text):  # the parser takes long to find that out
        return None
    text = IN_DEGREES.sub(r"(\1*\\pi/180)", text)
    text = _CHOOSE.sub(lambda found: "\\binom{{{}}}{{{}}}".format(*filter(None, found.groups())), text)
    text = _DECIMAL.sub(lambda d: f"\\frac{{{int(d.group(1) + d.group(2))}}}{{1{'0' * len(d.group(2))}}}", text)
    text = _LETTER.sub(_marked_letter, _FUNCTION.sub(r"\\\1", text))
    text = _FRACTION_EXPONENT.sub(r"^{\1}", text)
    text = _ROOT.sub(r"\\sqrt{\1}", _BRACKET_EXPONENT.sub(r"^{\1}", _LONG_EXPONENT.sub(r"^{\1}", text)))
    text = ARGUMENT.sub(r"\1(\2)", _BRACED_ARGUMENT.sub(r"\1(\2)", text))
    if _UNREADABLE.search(text):
        return None
    try:
        expression = latex2sympy(text.replace("*", "\\cdot "), normalization_config=None)
    except Exception:  # a text that the parser cannot read has no form
        return None
    if not isinstance(expression, sympy.Expr) or expression.count_ops() > MAX_OPERATIONS:
        return None
    return expression


def is_slashed(text: str) -> bool:
    """Whether a text has a fraction such as `1/2x`, which is read in two ways."""
    return bool(_SLASHED.search(text))


def equal_values(a: Any, b: Any) -> bool | None:
    """Whether two expressions agree at every point where both have a value.

    None if that proves nothing: too few points, a difference at one point alone, or a difference in other symbols. An i
    is a variable or the imaginary unit. Values are equal if they are with either, and differ if they do with both.
    """
    found = _equal_values(a, b)
    if found or _I not in a.free_symbols | b.free_symbols:
        return found
    of_numbers = _equal_values(*(side.subs(_I, sympy.I) for side in (a, b)))
    return of_numbers if of_numbers or of_numbers is found else None


def _equal_values(a: Any, b: Any) -> bool | None:
    symbols = a.free_symbols | b.free_symbols
    if len(symbols) > 24:
        return None
    steps = symbols and (a.has(sympy.floor, sympy.ceiling) or b.has(sympy.floor, sympy.ceiling))
    agreed = differed = 0
    for left, right in _values(a, b):
        if not close(left, right):
            differed += 1
            if a.free_symbols != b.free_symbols:
                return None
            if differed > 1 or not symbols:  # where letters may stand for whole numbers, only these prove a difference
                return None if steps and _agree_at_integers(a, b) else False
            continue
        if not symbols and a.is_rational and b.is_rational and abs(left) > 10**25:  # 2^200 - 2 and 2^200 - 3 are close
            return bool(a.doit() == b.doit()) if sympy.log(abs(left), 10) < MAX_EXACT_DIGITS else None
        agreed += 1
    return True if not differed and agreed >= (3 if symbols else 1) else None


def _agree_at_integers(a: Any, b: Any) -> bool:
    symbols = sorted(a.free_symbols | b.free_symbols, key=str)
    points = [{symbol: sympy.Integer(start + 3 * i) for i, symbol in enumerate(symbols)} for start in range(2, 10)]
    values = [(value_at(a, point), value_at(b, point)) for point in points]
    return all(x is not None and y is not None and close(x, y) for x, y in values)


def differ_by_constant(a: Any, b: Any) -> bool:
    """Whether the difference of two expressions is the same at all points, as that of two antiderivatives is."""
    differences = [left - right for left, right in _values(a, b)]
    size = max((abs(each) for each in differences), default=0) + 1
    return len(differences) >= 3 and all(
        abs(each - differences[0]) <= size * sympy.Float("1e-25") for each in differences
    )


def same_solutions(a: Any, b: Any) -> bool | None:
    """Whether `a = 0` and `b = 0` have the same solutions; None if that could not be found out.

    Multiples of one another have. Where one of them can be solved for a symbol, points of it are put into the other.
    """
    if a.free_symbols != b.free_symbols or not a.free_symbols:
        return None
    ratios = [left / right for left, right in _values(a, b) if right != 0]
    if len(ratios) >= 3 and ratios[0] != 0 and all(close(ratio, ratios[0]) for ratio in ratios):
        return True
    for symbol in sorted(a.free_symbols, key=str):
        (root, linear), (other_root, other_linear) = _root(a, symbol), _root(b, symbol)
        if linear and other_linear:
            return equal_values(root, other_root)
        for solved, other in ((root, b), (other_root, a)):
            if solved is not None and _is_zero(other.subs(symbol, solved)) is False:
                return False
    return None


def _root(expression: Any, symbol: Any) -> tuple[Any | None, bool]:
    """A value of a symbol that makes the expression 0, and whether it is the only one; None beyond degree 2."""
    slope = sympy.diff(expression, symbol)
    square = sympy.diff(slope, symbol) / 2
    if square.has(symbol) or slope == 0:
        return None, False
    at_0, slope_at_0 = expression.subs(symbol, 0), slope.subs(symbol, 0)
    if square == 0:
        return -at_0 / slope, True
    return (-slope_at_0 + sympy.sqrt(slope_at_0**2 - 4 * square * at_0)) / (2 * square), False


def _is_zero(expression: Any) -> bool | None:
    """Whether an expression is 0 at all points; None if it has a value at fewer than two of them."""
    values = [left for left, _ in _values(expression, expression)]
    enough = len(values) >= (2 if expression.free_symbols else 1)
    return all(abs(value) < sympy.Float("1e-20") for value in values) if enough else None


def _values(a: Any, b: Any) -> Iterator[tuple[Any, Any]]:
    """Both values at each of the points where both have one."""
    symbols = sorted(a.free_symbols | b.free_symbols, key=str)
    for shift in range(len(POINTS) if symbols else 1):
        point = {symbol: POINTS[(shift + 3 * i) % len(POINTS)] + i for i, symbol in enumerate(symbols)}
        left, right = value_at(a, point), value_at(b, point)
        if left is not None and right is not None:
            yield left, right


def value_at(expression: Any, point: dict[Any, Any]) -> Any | None:
    """The complex value with DIGITS digits, or None where there is none."""
    try:
        value = sympy.N(expression.subs(point), DIGITS)
    except (ArithmeticError, AttributeError, TypeError, ValueError, NotImplementedError):
        return None
    if not value.is_number or not value.is_finite or value.free_symbols:
        return None
    computed = value.is_Number or all(part.is_Number for part in value.as_real_imag())  # a remainder may stay as it is
    return value if computed else None


def close(a: Any, b: Any) -> bool:
    """Whether two values are equal to 25 digits of the larger one."""
    return bool(abs(a - b) <= max(abs(a), abs(b)) * sympy.Float("1e-25"))


def rename(expression: Any, old: tuple[str, ...], new: tuple[str, ...]) -> Any:
    """The same function with its arguments renamed."""
    names = {symbol_name(name): symbol_name(other) for name, other in zip(old, new, strict=True)}
    symbols = {s: sympy.Symbol(names[str(s)]) for s in expression.free_symbols if str(s) in names}
    return expression.subs(symbols, simultaneous=True)


def symbol_name(letter: str) -> str:
    """The name that the symbol of a letter has in `parse`."""
    return _LETTER.sub(_marked_letter, letter)


def same_family(a: Any, b: Any) -> Any:
    """`b` with its integer parameter named as in `a`, since k \\pi and n \\pi are the same family of angles."""
    (own, other) = ({str(s): s for s in x.free_symbols - y.free_symbols} for x, y in ((a, b), (b, a)))
    parameters = {"k", "m", "n"}
    if len(own) == len(other) == 1 and set(own) | set(other) <= parameters and a.has(sympy.pi) and b.has(sympy.pi):
        return b.subs(next(iter(other.values())), next(iter(own.values())))
    return b


def lower_case(expression: Any) -> Any:
    """The expression with its symbols in lower case, unless two would become one: authors mix C and c."""
    names = {symbol: _CAPITAL.sub(_small_letter, str(symbol)) for symbol in expression.free_symbols}
    if len(set(names.values())) < len(names):
        return expression
    return expression.subs({symbol: sympy.Symbol(name) for symbol, name in names.items()}, simultaneous=True)


def _small_letter(found: re.Match[str]) -> str:
    return f"{found['letter']}_{{{found['index']}}}" if found["index"] else found["letter"]
