"""Ways to write the same answer differently. Each takes an answer without markup, and gives None if it does not fit."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import sympy

from cooper_rl.verifiers.math import algebra
from cooper_rl.verifiers.math.markup import CLOSE, OPEN, split_top

MAX_OPERATIONS, MAX_EXPONENT = 40, 8  # limits for an expression that is expanded or factored
Way = Callable[[str, random.Random], str | None]  # a bare answer -> another one
_INTEGER = re.compile(r"-?\d+")
_DECIMAL = re.compile(r"-?\d*\.\d+")
_FRACTION = re.compile(r"(?P<sign>-?) ?(?:(\d+) ?/ ?(\d+)|\\frac\{(\d+)\}\{(\d+)\})")
LATEX_FRACTION = re.compile(r"\\frac\{([^{}]+)\}\{([^{}]+)\}")
_UNIT = re.compile(rf"(?P<number>[-\d.,]+) ?{OPEN}[^{CLOSE}]*{CLOSE}|(?P<angle>[-\d.]+) ?°")
_ASSIGNMENT = re.compile(r"[A-Za-z](?: ?\([a-z]\))? ?= ?(?P<value>[^=<>]+)")
INTERVAL = re.compile(r"(?P<open>[(\[]) ?(?P<low>[^,()\[\]]+?) ?, ?(?P<high>[^,()\[\]]+?) ?(?P<close>[)\]])")
_BETWEEN = re.compile(r"(?P<low>[^<>=]+?) ?(?P<left><=?) ?[a-z] ?(?P<right><=?) ?(?P<high>[^<>=]+)")
_ONE_SIDED = re.compile(r"[a-z] ?(?P<sign><=|>=|<|>) ?(?P<bound>[^<>=,]+)")
SIGN = re.compile(r"(?<=[\w)}\]]) ?[-+] ?(?=[\w(\\{])")
_INNER = re.compile(r"(?<=[(\[,;{&\\ ])(?:-?\d+/\d+|-?\\frac\{\d+\}\{\d+\}|-?\d*\.\d+)(?= ?(?:[,;)\]&]|\\[\\e]))")
_ROOT = re.compile(r"(?<![\w.}/^])(\d{1,3}) ?\\sqrt\{(\d{1,4})\}")
_FUNCTION_OF = re.compile(r"[A-Za-z] ?\((?P<letter>[a-z])\) ?=[^=<>]+")
_POWER_OF_TEN = re.compile(r"10\^ ?\{? ?(?P<exponent>-?\d) ?\}?")
COMPARISON = re.compile(r"<=|>=|<|>|!=")
UNITS = (
    *("cm", "m", "km", "inches", "feet", "kg", "grams", "hours", "minutes", "days", "dollars", "points"),
    *("square units", "m^2"),
)
_NAMES = ("xyz", "abc", "pqr", "ABC", "mnk")


def _decimal(ratio: Fraction) -> str:
    """An ending decimal, written out."""
    return format((Decimal(ratio.numerator) / Decimal(ratio.denominator)).normalize(), "f")


def _number(bare: str, rng: random.Random) -> str | None:
    if _INTEGER.fullmatch(bare):
        value = int(bare)
        return rng.choice(
            [f"{value:,}"] * 2 + [f"{value}.0"]
            if abs(value) > 999
            else [f"{value}.0", f"x = {value}", f"{2 * value}/2"]
        )
    if found := _POWER_OF_TEN.fullmatch(bare):
        return f"{Fraction(10) ** int(found['exponent'])}"
    if _DECIMAL.fullmatch(bare):
        ratio = Fraction(bare)
        return rng.choice((f"\\frac{{{ratio.numerator}}}{{{ratio.denominator}}}", f"{_decimal(ratio * 100)}%"))
    if not (found := _FRACTION.fullmatch(bare)):
        return None
    numerator, denominator = int(found[2] or found[4]), int(found[3] or found[5])
    whole, rest = divmod(numerator, denominator) if denominator else (0, 0)
    ways = [f"{numerator}/{denominator}", f"\\frac{{{numerator}}}{{{denominator}}}"]
    if denominator and 10**12 % denominator == 0:  # the decimal ends
        ways.append(_decimal(Fraction(numerator, denominator)))
    if whole and rest:
        ways.append(f"{whole}\\frac{{{rest}}}{{{denominator}}}")
    return found["sign"] + rng.choice([way for way in ways if way != bare])


def _without_unit(bare: str, rng: random.Random) -> str | None:
    found = _UNIT.fullmatch(bare)
    return (found["number"] or found["angle"]) if found else None


def with_unit_of(question: str) -> Way:
    """The way that adds the unit in which a question asks for a number, as in `how many grams`."""
    asked = [unit for unit in UNITS if re.search(rf"\b(?:how many|number of|in) {re.escape(unit)}(?![\w^])", question)]

    def with_unit(bare: str, rng: random.Random) -> str | None:
        if len(asked) != 1 or not any(known.fullmatch(bare) for known in (_INTEGER, _DECIMAL, _FRACTION)):
            return None
        return f"{bare} {OPEN}{asked[0]}{CLOSE}"

    return with_unit


def _angle(bare: str, rng: random.Random) -> str | None:
    """3\\pi/4 as 135°, and the other way round."""
    found = _UNIT.fullmatch(bare)
    if found and found["angle"]:
        return str(sympy.latex(sympy.pi * sympy.Rational(found["angle"]) / 180))
    expression = algebra.parse(bare) if "\\pi" in bare and not re.search(r"[=<>,]", bare) else None
    degrees = expression * 180 / sympy.pi if expression is not None else None
    return f"{degrees}°" if degrees is not None and degrees.is_Integer else None


def _compute(bare: str, rng: random.Random) -> str | None:
    """An expression expanded, factored, over one denominator, or in sympy's order."""
    name, equals, value = bare.rpartition("=")
    words = re.sub(r"\\[A-Za-z]+|sin|cos|tan|exp|log|sqrt", "", value)
    if re.search(rf"[<>!,;{OPEN}]|\\(?:in|pm|begin|cup)", bare) or re.search(r"[A-Za-z]{3}", words):
        return None
    expression = algebra.parse(value.strip())
    if expression is None or expression.is_Rational or expression.count_ops() > MAX_OPERATIONS:
        return None
    if any(power.exp.is_number and abs(power.exp) > MAX_EXPONENT for power in expression.atoms(sympy.Pow)):
        return None
    way = rng.choice((sympy.expand, sympy.factor, sympy.together, sympy.sympify))
    try:
        text = sympy.latex(way(expression))
    except Exception:  # an expression that sympy cannot handle gets no other writing
        return None
    same = text.replace(" ", "") == value.replace(" ", "")
    return None if same else f"{name.strip()} = {text}" if equals else text


def _other_argument(bare: str, rng: random.Random) -> str | None:
    """f(z) = z as f(x) = x."""
    if OPEN in bare or not (found := _FUNCTION_OF.fullmatch(bare)):
        return None
    free = [letter for letter in "xtnzyu" if letter not in bare]
    new = rng.choice(free) if free else found["letter"]
    return re.sub(
        rf"\\[A-Za-z]+|{found['letter']}", lambda part: new if part.group() == found["letter"] else part.group(), bare
    )


def _for_all(bare: str, rng: random.Random) -> str | None:
    found = _FUNCTION_OF.fullmatch(bare)
    return f"{bare} {OPEN}for all{CLOSE} {found['letter']}" if found else None


def _drop_name(bare: str, rng: random.Random) -> str | None:
    if found := _ASSIGNMENT.fullmatch(bare):
        return found["value"].strip()
    without_commands = re.sub(r"\\[A-Za-z]+", "", bare)
    if re.search(rf"[=<>,{OPEN}]|[A-Za-z]{{3}}", without_commands) or "\\in" in bare or bare[0] in "([":
        return None
    letters = set(re.findall(r"[a-df-hj-z]", without_commands))  # e and i are numbers
    if not letters and re.search(r"\d", bare):
        return f"{rng.choice('xyakmn')} = {bare}"
    return f"f({letters.pop()}) = {bare}" if len(letters) == 1 else None


def _terms(bare: str, rng: random.Random) -> str | None:
    """a + b - c as b - c + a, in the whole answer or in a numerator."""
    if re.search(r"[=<>,;]|\\pm|\\in|\\begin", bare):
        return None
    parts = [part for part in split_top(SIGN.sub(lambda sign: f"§{sign.group().strip()}", bare), "§") if part]
    if len(parts) < 2:
        found = LATEX_FRACTION.fullmatch(bare)
        inner = _terms(found[1], rng) if found else None
        return f"\\frac{{{inner}}}{{{found[2]}}}" if found and inner else None
    parts = [part.replace("§", "").strip() for part in parts]  # marks within brackets do not split
    signed = [part if part[0] in "+-" else f"+{part}" for part in parts]
    rng.shuffle(signed)
    text = " ".join(f"{term[0]} {term[1:].strip()}" for term in signed)
    return text.removeprefix("+ ").replace("- ", "-", 1) if text[0] == "-" else text.removeprefix("+ ")


def _slash(bare: str, rng: random.Random) -> str | None:
    """A fraction at the front written with a slash."""
    if not (found := LATEX_FRACTION.match(bare)):
        return None
    sides = [side if re.fullmatch(r"\w+|\\pi", side) else f"({side})" for side in found.groups()]
    return "/".join(sides) + bare[found.end() :]


def items_of(bare: str) -> tuple[list[str], bool]:
    """(the items of several answers in one, whether they are in braces). No items if it is a single answer."""
    braces = bare.startswith("\\{") and bare.endswith("\\}")
    items = [item.strip() for item in split_top(bare[2:-2] if braces else bare, "[,;]")]
    return (items if len(items) > 1 and all(items) else []), braces


def _reorder(bare: str, rng: random.Random) -> str | None:
    """Several answers in another order, with other separators."""
    items, braces = items_of(bare)
    if not items or re.search(rf"{OPEN}|\||\d,\d{{3}}", bare):
        return None
    rng.shuffle(items)
    if rng.random() < 0.35:
        word = rng.choice((" and ", f" {OPEN}and{CLOSE} ", f" {OPEN}or{CLOSE} "))
        return f"{', '.join(items[:-1])}{word}{items[-1]}"
    text = rng.choice((", ", ",", "; ")).join(items)
    return f"\\{{{text}\\}}" if braces or rng.random() < 0.3 else text


def _add_names(bare: str, rng: random.Random) -> str | None:
    """Several answers, each with a name; a point, which has no infinite end, as the values of x and y."""
    if "\\infty" in bare:
        return None
    point = bare[0] == "(" and bare[-1] == ")" and not re.search(r"[()]", bare[1:-1])
    items, braces = items_of(bare[1:-1] if point else bare)
    text = re.sub(r"\\(?!pm)[A-Za-z]+", "", bare[1:-1] if point else bare)
    if not items or len(items) > 5 or re.search(r"[=<>()\[\]|]|\\pm|[A-Za-z]{3}|\d,\d{3}", text):
        return None
    letters = rng.choice(_NAMES)
    if braces or len(items) > len(letters) or (not point and rng.random() < 0.4):
        name = rng.choice("xyt")
        return ", ".join(f"{name}_{number} = {item}" for number, item in enumerate(items, 1))
    if rng.random() < 0.5:
        return f"({', '.join(letters[: len(items)])}) = ({', '.join(items)})"
    return ", ".join(f"{letter} = {item}" for letter, item in zip(letters, items, strict=False))


def _plus_minus(bare: str, rng: random.Random) -> str | None:
    """a, -a as \\pm a, and the other way round."""
    items, _ = items_of(bare)
    if bare.count("\\pm") == 1 and not items and not re.search(rf"[=<>()\[\]{OPEN}]", bare):
        plus, minus = bare.replace("\\pm", "+").removeprefix("+").strip(), bare.replace("\\pm", "-")
        return ", ".join(rng.sample((plus, minus), 2))
    positive = [item for item in items if item[0] != "-"]
    if not items or set(items) != {*positive, *(f"-{item}" for item in positive if item != "0")}:
        return None
    return ", ".join(item if item == "0" else f"\\pm {item}" for item in positive) if positive != ["0"] else None


def _inner_number(bare: str, rng: random.Random) -> str | None:
    """A fraction within a list, a point, an interval or a matrix as a decimal, and the other way round."""
    found = list(_INNER.finditer(bare))
    if not found:
        return None
    one = rng.choice(found)
    other = _number(one.group(), rng)
    return bare[: one.start()] + other + bare[one.end() :] if other and "%" not in other else None


def _move_into_root(bare: str, rng: random.Random) -> str | None:
    """a\\sqrt{b} as \\sqrt{a^2 b}."""
    found = _ROOT.search(bare)
    if not found:
        return None
    return f"{bare[: found.start()]}\\sqrt{{{int(found[1]) ** 2 * int(found[2])}}}{bare[found.end() :]}"


def _member(bare: str, rng: random.Random) -> str | None:
    """An interval as x \\in interval."""
    found = INTERVAL.fullmatch(bare)
    sure = found and (found["open"] == "[" or found["close"] == "]" or "\\infty" in bare)  # not a point
    return f"{rng.choice('xakm')} \\in {bare}" if sure or ("\\cup" in bare and "\\in " not in bare) else None


def _set_builder(bare: str, rng: random.Random) -> str | None:
    """An interval or inequality in set-builder notation."""
    inequality = _inequality(bare, rng) if bare[0] in "([" else bare
    if not inequality or inequality[0] in "([{\\" or not (found := re.search(r"(?<![\\A-Za-z])[a-z]", inequality)):
        return None
    return f"\\{{{found[0]} | {inequality}\\}}" if COMPARISON.search(inequality) and "," not in inequality else None


def _inequality(bare: str, rng: random.Random) -> str | None:
    """An interval as an inequality, and the other way round."""
    if found := INTERVAL.fullmatch(bare):
        low, high = found["low"], found["high"]
        if "[" not in found["open"] and "]" not in found["close"] and "\\infty" not in bare:
            return None  # (a, b) may be a point
        less = ["<=" if found["open"] == "[" else "<", "<=" if found["close"] == "]" else "<"]
        if "\\infty" in low:
            return None if "\\infty" in high else f"x {less[1]} {high}"
        return f"x {less[0].replace('<', '>')} {low}" if "\\infty" in high else f"{low} {less[0]} x {less[1]} {high}"
    if found := _BETWEEN.fullmatch(bare):
        return _interval(found["left"], found["low"], found["high"], found["right"])
    if found := _ONE_SIDED.fullmatch(bare):
        sign, bound = found["sign"], found["bound"].strip()
        return _interval("<", "-\\infty", bound, sign) if sign[0] == "<" else _interval(sign, bound, "\\infty", "<")
    return None


def _interval(left: str, low: str, high: str, right: str) -> str:
    return f"{'[' if '=' in left else '('}{low}, {high}{']' if '=' in right else ')'}"


SAME: tuple[Way, ...] = (
    *(_number, _inner_number, _move_into_root, _without_unit, _angle, _drop_name, _terms, _compute, _slash),
    *(_reorder, _add_names, _plus_minus, _inequality, _set_builder, _member, _other_argument, _for_all),
)
