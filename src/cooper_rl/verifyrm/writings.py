"""The same answer as another would write it, and answers that look like it but are not: text in, text out.

What is trained on is checked first: `cooper annotate` keeps a pair of reference and answer only where the rule verifier
agrees with what this module set out to write.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from fractions import Fraction

import sympy

from cooper_rl.verifiers import expressions
from cooper_rl.verifiers.dress import CLOSE, OPEN, split_top, undress
from cooper_rl.verifyrm.perturb import moved

MAX_CHARACTERS = 160
MAX_OPERATIONS, MAX_EXPONENT = 40, 8  # of an expression that is expanded or factored
Way = Callable[[str, random.Random], str | None]  # an undressed answer -> another one; None where it does not apply

_INTEGER = re.compile(r"-?\d+")
_DECIMAL = re.compile(r"-?\d*\.\d+")
_FRACTION = re.compile(r"(?P<sign>-?) ?(?:(\d+) ?/ ?(\d+)|\\frac\{(\d+)\}\{(\d+)\})")
_LATEX_FRACTION = re.compile(r"\\frac\{([^{}]+)\}\{([^{}]+)\}")
_UNIT = re.compile(rf"(?P<number>[-\d.,]+) ?{OPEN}[^{CLOSE}]*{CLOSE}|(?P<angle>[-\d.]+) ?°")
_ASSIGNMENT = re.compile(r"[A-Za-z](?: ?\([a-z]\))? ?= ?(?P<value>[^=<>]+)")
_INTERVAL = re.compile(r"(?P<open>[(\[]) ?(?P<low>[^,()\[\]]+?) ?, ?(?P<high>[^,()\[\]]+?) ?(?P<close>[)\]])")
_BETWEEN = re.compile(r"(?P<low>[^<>=]+?) ?(?P<left><=?) ?[a-z] ?(?P<right><=?) ?(?P<high>[^<>=]+)")
_ONE_SIDED = re.compile(r"[a-z] ?(?P<sign><=|>=|<|>) ?(?P<bound>[^<>=,]+)")
_DIGITS = re.compile(r"(?<![\d.])\d+(?:\.\d+)?")
_SIGN = re.compile(r"(?<=[\w)}\]]) ?[-+] ?(?=[\w(\\{])")
_INNER = re.compile(r"(?<=[(\[,;{&\\ ])(?:-?\d+/\d+|-?\\frac\{\d+\}\{\d+\}|-?\d*\.\d+)(?= ?(?:[,;)\]&]|\\[\\e]))")
_ROOT = re.compile(r"(?<![\w.}/^])(\d{1,3}) ?\\sqrt\{(\d{1,4})\}")
_FUNCTION_OF = re.compile(r"[A-Za-z] ?\((?P<letter>[a-z])\) ?=[^=<>]+")
_POWER_OF_TEN = re.compile(r"10\^ ?\{? ?(?P<exponent>-?\d) ?\}?")
_COMPARISON = re.compile(r"<=|>=|<|>|!=")
_LETTER = re.compile(r"(?P<before>\(?)(?P<letter>[A-J])(?P<after>\)?)")
_FAMILIES = tuple(
    tuple(words.split())
    for words in (
        *("yes no", "true false", "even odd", "increasing decreasing", "left right", "north south east west"),
        "monday tuesday wednesday thursday friday saturday sunday",
        "red blue green yellow orange purple pink brown black white gray violet indigo cyan magenta gold silver",
        "mother father son daughter brother sister wife husband aunt uncle grandmother grandfather",
    )
)
_UNITS = (
    "cm",
    "m",
    "km",
    "inches",
    "feet",
    "kg",
    "grams",
    "hours",
    "minutes",
    "days",
    "dollars",
    "points",
    "square units",
)
_NAMES = ("xyz", "abc", "pqr", "ABC", "mnk")
_FUNCTIONS = {"\\sin": "\\cos", "\\cos": "\\sin", "\\sqrt": "", "\\pi": "e", "\\cup": "\\cap", "\\ln": "\\log"}


def rewritten(answer: str, rng: random.Random) -> str | None:
    """The same answer in another writing; None where no other is found."""
    return _written(answer, _EQUIVALENT, rng, required=False)


def changed(answer: str, rng: random.Random) -> str | None:
    """An answer that looks like this one and most often is another; None where nothing can be changed."""
    return _written(answer, _DIFFERENT, rng, required=True)


def rounded(answer: str, rng: random.Random) -> str | None:
    """The decimal near a number that is none; None for anything else. As a reference it accepts the exact answer."""
    plain = undress(answer)
    expression = expressions.parsed(plain) if 0 < len(plain) <= MAX_CHARACTERS else None
    if expression is None or expression.free_symbols or expression.count_ops() > MAX_OPERATIONS:
        return None
    value = expressions.value_at(expression, {})
    digits = rng.choice((2, 2, 2, 3, 4))
    if value is None or not value.is_real or not 0.05 < abs(value) < 10_000 or value == round(value, digits):
        return None
    return f"{float(value):.{digits}f}"


def stated(answer: str, rng: random.Random) -> str:
    """A completion that says nothing but this answer: bare, boxed or in a sentence."""
    if rng.random() < 0.6:
        return answer
    sentence = rng.choice(
        ("{}", "The answer is {}.", "Final Answer: The final answer is {}", "**Answer:** {}", "#### {}")
    )
    plain = answer.strip("$") if answer.count("$") == 2 else answer
    return sentence.format(f"$\\boxed{{{plain}}}$" if rng.random() < 0.5 and "$" not in plain else answer)


def _written(answer: str, ways: Sequence[Way], rng: random.Random, *, required: bool) -> str | None:
    plain = undress(answer)
    if not 0 < len(plain) <= MAX_CHARACTERS:
        return None
    found = next((text for way in rng.sample(ways, len(ways)) if (text := way(plain, rng)) is not None), None)
    if found is None and required:
        return None
    if found is not None and (required or rng.random() < 0.7):
        plain = found
    if required and rng.random() < 0.5:  # a wrong answer comes in other writings as often as a right one
        plain = next((t for way in rng.sample(_EQUIVALENT, 3) if (t := way(plain, rng)) is not None), plain)
    texts = [text for text in (_dressed(plain, rng) for _ in range(8)) if text != answer.strip()]
    return texts[0] if texts else None


def _dressed(plain: str, rng: random.Random) -> str:
    """An undressed answer in one of the dresses of LaTeX and plain text."""
    if re.fullmatch(r"[A-Za-z -]+", plain.strip(OPEN + CLOSE)):
        word = plain.strip(OPEN + CLOSE)
        return rng.choice((word, word.lower(), word.upper(), f"\\text{{{word}}}", f"**{word}**"))
    latex = rng.random() < 0.8
    text = plain.replace("\\frac", rng.choice(("\\frac", "\\dfrac")))
    signs = {"<=": ("\\leq ", "\\le ", "\\leqslant "), ">=": ("\\geq ", "\\ge "), "!=": ("\\neq ", "\\ne ")}
    signs |= {"°": ("^\\circ", "^{\\circ}"), "*": ("\\cdot ", "\\times ")}
    unicode = {"<=": "≤", ">=": "≥", "!=": "≠", "\\pi": "π", "\\infty": "∞", "\\cup": "∪"}
    for sign, writings in signs.items():
        text = text.replace(sign, rng.choice(writings)) if latex else text
    for sign, writing in unicode.items():
        text = text if latex else text.replace(sign, writing)
    if rng.random() < 0.5:
        text = re.sub(r"\\sqrt\{(\d)\}", r"\\sqrt\1" if latex else r"√\1", text)
    text = re.sub(
        rf" ?{OPEN}([^{CLOSE}]*){CLOSE}",
        lambda found: f"\\text{{ {found[1].strip()}}}" if latex else f" {found[1]}",
        text,
    )
    if rng.random() < 0.5:
        text = re.sub(r"(?<=[\w)}\]]) ?([-+=<>]) ?(?=[\w(\\{])", rng.choice((r"\1", r" \1 ")), text)
    if latex and rng.random() < 0.3:
        text = re.sub(r", ?", rng.choice((", ", ",\\ ", ",")), text)
    if rng.random() < 0.3:
        text = text.replace("{pmatrix}", "{bmatrix}")
    if latex and rng.random() < 0.2 and re.fullmatch(r"[(\[][^()\[\]]*[)\]]", text):
        text = f"\\left{text[:-1]}\\right{text[-1]}"
    text = text.strip()
    return f"${text}$" if latex and rng.random() < 0.3 else text


# Ways to write the same.


def _number(plain: str, rng: random.Random) -> str | None:
    if _INTEGER.fullmatch(plain):
        value = int(plain)
        return rng.choice(
            [f"{value:,}"] * 2 + [f"{value}.0"]
            if abs(value) > 999
            else [f"{value}.0", f"x = {value}", f"{2 * value}/2"]
        )
    if found := _POWER_OF_TEN.fullmatch(plain):
        return f"{Fraction(10) ** int(found['exponent'])}"
    if _DECIMAL.fullmatch(plain):
        ratio = Fraction(plain)
        return rng.choice((f"\\frac{{{ratio.numerator}}}{{{ratio.denominator}}}", f"{float(ratio * 100):g}%"))
    if not (found := _FRACTION.fullmatch(plain)):
        return None
    numerator, denominator = int(found[2] or found[4]), int(found[3] or found[5])
    whole, rest = divmod(numerator, denominator) if denominator else (0, 0)
    ways = [f"{numerator}/{denominator}", f"\\frac{{{numerator}}}{{{denominator}}}"]
    if denominator and 10**12 % denominator == 0:  # the decimal ends
        ways.append(f"{numerator / denominator:g}")
    if whole and rest:
        ways.append(f"{whole}\\frac{{{rest}}}{{{denominator}}}")
    return found["sign"] + rng.choice([way for way in ways if way != plain])


def _without_unit(plain: str, rng: random.Random) -> str | None:
    found = _UNIT.fullmatch(plain)
    return (found["number"] or found["angle"]) if found else None


def _with_unit(plain: str, rng: random.Random) -> str | None:
    if not any(known.fullmatch(plain) for known in (_INTEGER, _DECIMAL, _FRACTION)):
        return None
    return f"{plain} {OPEN}{rng.choice(_UNITS)}{CLOSE}"


def _angle(plain: str, rng: random.Random) -> str | None:
    """3\\pi/4 as 135°, and back."""
    found = _UNIT.fullmatch(plain)
    if found and found["angle"]:
        return str(sympy.latex(sympy.pi * sympy.Rational(found["angle"]) / 180))
    expression = expressions.parsed(plain) if "\\pi" in plain and not re.search(r"[=<>,]", plain) else None
    degrees = expression * 180 / sympy.pi if expression is not None else None
    return f"{degrees}°" if degrees is not None and degrees.is_Integer else None


def _computed(plain: str, rng: random.Random) -> str | None:
    """An expression multiplied out, factored, over one denominator or in the order of a computer algebra system."""
    name, equals, value = plain.rpartition("=")
    words = re.sub(r"\\[A-Za-z]+|sin|cos|tan|exp|log|sqrt", "", value)
    if re.search(rf"[<>!,;{OPEN}]|\\(?:in|pm|begin|cup)", plain) or re.search(r"[A-Za-z]{3}", words):
        return None
    expression = expressions.parsed(value.strip())
    if expression is None or expression.is_Rational or expression.count_ops() > MAX_OPERATIONS:
        return None
    if any(power.exp.is_number and abs(power.exp) > MAX_EXPONENT for power in expression.atoms(sympy.Pow)):
        return None
    way = rng.choice((sympy.expand, sympy.factor, sympy.together, sympy.sympify))
    try:
        text = sympy.latex(way(expression))
    except Exception:  # computer algebra's boundary: what it cannot do has no other writing here
        return None
    same = text.replace(" ", "") == value.replace(" ", "")
    return None if same else f"{name.strip()} = {text}" if equals else text


def _other_argument(plain: str, rng: random.Random) -> str | None:
    """f(z) = z as f(x) = x."""
    if OPEN in plain or not (found := _FUNCTION_OF.fullmatch(plain)):
        return None
    free = [letter for letter in "xtnzyu" if letter not in plain]
    new = rng.choice(free) if free else found["letter"]
    return re.sub(
        rf"\\[A-Za-z]+|{found['letter']}", lambda part: new if part.group() == found["letter"] else part.group(), plain
    )


def _for_all(plain: str, rng: random.Random) -> str | None:
    found = _FUNCTION_OF.fullmatch(plain)
    return f"{plain} {OPEN}for all{CLOSE} {found['letter']}" if found else None


def _assigned(plain: str, rng: random.Random) -> str | None:
    if found := _ASSIGNMENT.fullmatch(plain):
        return found["value"].strip()
    bare = re.sub(r"\\[A-Za-z]+", "", plain)
    if re.search(rf"[=<>,{OPEN}]|[A-Za-z]{{3}}", bare) or "\\in" in plain or plain[0] in "([":
        return None
    letters = set(re.findall(r"[a-z]", bare))
    if not letters and re.search(r"\d", plain):
        return f"{rng.choice('xyakmn')} = {plain}"
    return f"f({letters.pop()}) = {plain}" if len(letters) == 1 else None


def _terms(plain: str, rng: random.Random) -> str | None:
    """a + b - c as b - c + a, here or in a numerator."""
    if re.search(r"[=<>,;]|\\pm|\\in|\\begin", plain):
        return None
    parts = [part for part in split_top(_SIGN.sub(lambda sign: f"§{sign.group().strip()}", plain), "§") if part]
    if len(parts) < 2:
        found = _LATEX_FRACTION.fullmatch(plain)
        inner = _terms(found[1], rng) if found else None
        return f"\\frac{{{inner}}}{{{found[2]}}}" if found and inner else None
    parts = [part.replace("§", "").strip() for part in parts]  # within brackets the mark splits nothing
    signed = [part if part[0] in "+-" else f"+{part}" for part in parts]
    rng.shuffle(signed)
    text = " ".join(f"{term[0]} {term[1:].strip()}" for term in signed)
    return text.removeprefix("+ ").replace("- ", "-", 1) if text[0] == "-" else text.removeprefix("+ ")


def _slash(plain: str, rng: random.Random) -> str | None:
    """A fraction at the front, on one line."""
    if not (found := _LATEX_FRACTION.match(plain)):
        return None
    sides = [side if re.fullmatch(r"\w+|\\pi", side) else f"({side})" for side in found.groups()]
    return "/".join(sides) + plain[found.end() :]


def _items(plain: str) -> tuple[list[str], bool]:
    """Several answers in one, and whether braces stand around them; none where it is one answer."""
    braces = plain.startswith("\\{") and plain.endswith("\\}")
    items = [item.strip() for item in split_top(plain[2:-2] if braces else plain, "[,;]")]
    return (items if len(items) > 1 and all(items) else []), braces


def _listed(plain: str, rng: random.Random) -> str | None:
    """Several answers in another order, with other separators."""
    items, braces = _items(plain)
    if not items or re.search(rf"{OPEN}|\||\d,\d{{3}}", plain):
        return None
    rng.shuffle(items)
    if rng.random() < 0.35:
        word = rng.choice((" and ", f" {OPEN}and{CLOSE} ", f" {OPEN}or{CLOSE} "))
        return f"{', '.join(items[:-1])}{word}{items[-1]}"
    text = rng.choice((", ", ",", "; ")).join(items)
    return f"\\{{{text}\\}}" if braces or rng.random() < 0.3 else text


def _named(plain: str, rng: random.Random) -> str | None:
    """Several answers, each with a name; a point as the values of x and y."""
    point = plain[0] == "(" and plain[-1] == ")" and not re.search(r"[()]", plain[1:-1])
    items, braces = _items(plain[1:-1] if point else plain)
    text = re.sub(r"\\(?!pm)[A-Za-z]+", "", plain[1:-1] if point else plain)
    if not items or len(items) > 5 or re.search(r"[=<>()\[\]|]|\\pm|[A-Za-z]{3}|\d,\d{3}", text):
        return None
    letters = rng.choice(_NAMES)
    if braces or len(items) > len(letters) or (not point and rng.random() < 0.4):
        name = rng.choice("xyt")
        return ", ".join(f"{name}_{number} = {item}" for number, item in enumerate(items, 1))
    if rng.random() < 0.5:
        return f"({', '.join(letters[: len(items)])}) = ({', '.join(items)})"
    return ", ".join(f"{letter} = {item}" for letter, item in zip(letters, items, strict=False))


def _plus_minus(plain: str, rng: random.Random) -> str | None:
    """a, -a as \\pm a, and back."""
    items, _ = _items(plain)
    if plain.count("\\pm") == 1 and not items and not re.search(rf"[=<>()\[\]{OPEN}]", plain):
        plus, minus = plain.replace("\\pm", "+").removeprefix("+").strip(), plain.replace("\\pm", "-")
        return ", ".join(rng.sample((plus, minus), 2))
    positive = [item for item in items if item[0] != "-"]
    if not items or set(items) != {*positive, *(f"-{item}" for item in positive if item != "0")}:
        return None
    return ", ".join(item if item == "0" else f"\\pm {item}" for item in positive) if positive != ["0"] else None


def _inner_number(plain: str, rng: random.Random) -> str | None:
    """A fraction or decimal within a list, a point, an interval or a matrix in its other writing."""
    found = list(_INNER.finditer(plain))
    if not found:
        return None
    one = rng.choice(found)
    other = _number(one.group(), rng)
    return plain[: one.start()] + other + plain[one.end() :] if other and "%" not in other else None


def _rooted(plain: str, rng: random.Random) -> str | None:
    """a\\sqrt{b} as \\sqrt{a^2 b}."""
    found = _ROOT.search(plain)
    if not found:
        return None
    return f"{plain[: found.start()]}\\sqrt{{{int(found[1]) ** 2 * int(found[2])}}}{plain[found.end() :]}"


def _member(plain: str, rng: random.Random) -> str | None:
    """An interval as what x lies in."""
    found = _INTERVAL.fullmatch(plain)
    sure = found and (found["open"] == "[" or found["close"] == "]" or "\\infty" in plain)  # and no point
    return f"{rng.choice('xakm')} \\in {plain}" if sure or ("\\cup" in plain and "\\in " not in plain) else None


def _set_builder(plain: str, rng: random.Random) -> str | None:
    """An interval or inequality as the set of what lies in it."""
    inequality = _inequality(plain, rng) if plain[0] in "([" else plain
    if not inequality or inequality[0] in "([{\\" or not (found := re.search(r"(?<![\\A-Za-z])[a-z]", inequality)):
        return None
    return f"\\{{{found[0]} | {inequality}\\}}" if _COMPARISON.search(inequality) and "," not in inequality else None


def _inequality(plain: str, rng: random.Random) -> str | None:
    """An interval as an inequality, an inequality as an interval."""
    if found := _INTERVAL.fullmatch(plain):
        low, high = found["low"], found["high"]
        if "[" not in found["open"] and "]" not in found["close"] and "\\infty" not in plain:
            return None  # perhaps a point
        less = ["<=" if found["open"] == "[" else "<", "<=" if found["close"] == "]" else "<"]
        if "\\infty" in low:
            return None if "\\infty" in high else f"x {less[1]} {high}"
        return f"x {less[0].replace('<', '>')} {low}" if "\\infty" in high else f"{low} {less[0]} x {less[1]} {high}"
    if found := _BETWEEN.fullmatch(plain):
        return _interval(found["left"], found["low"], found["high"], found["right"])
    if found := _ONE_SIDED.fullmatch(plain):
        sign, bound = found["sign"], found["bound"].strip()
        return _interval("<", "-\\infty", bound, sign) if sign[0] == "<" else _interval(sign, bound, "\\infty", "<")
    return None


def _interval(left: str, low: str, high: str, right: str) -> str:
    return f"{'[' if '=' in left else '('}{low}, {high}{']' if '=' in right else ')'}"


# Ways to write something else.


def _moved_number(plain: str, rng: random.Random) -> str | None:
    found = list(_DIGITS.finditer(plain))
    if not found:
        return None
    one = rng.choice(found)
    other = moved(one.group(), rng).removeprefix("-")
    return plain[: one.start()] + other + plain[one.end() :] if other != one.group() else None


def _other_sign(plain: str, rng: random.Random) -> str | None:
    signs = list(_SIGN.finditer(plain))
    if signs and rng.random() < 0.7:
        one = rng.choice(signs)
        return plain[: one.start()] + (" - " if "+" in one.group() else " + ") + plain[one.end() :]
    name, equals, value = plain.rpartition("=")
    value = value.strip()
    if not re.search(r"\d|\\", value) or value[0] in "([{" or re.search(r"[<>!]", name):
        return None
    return f"{name}{equals} " * bool(equals) + (value[1:].strip() if value[0] == "-" else f"-{value}")


def _other_relation(plain: str, rng: random.Random) -> str | None:
    if found := _COMPARISON.search(plain):
        sign = found.group()
        others = {"<": ("<=", ">"), ">": (">=", "<"), "<=": ("<", ">="), ">=": (">", "<="), "!=": ("=", ">")}[sign]
        return plain[: found.start()] + rng.choice(others) + plain[found.end() :]
    found = _INTERVAL.fullmatch(plain)
    if found and "\\infty" not in found["low"]:
        return ("[" if plain[0] == "(" else "(") + plain[1:]
    return plain[:-1] + (")" if plain[-1] == "]" else "]") if found and "\\infty" not in found["high"] else None


def _other_list(plain: str, rng: random.Random) -> str | None:
    """One of several answers left out, or one too many."""
    items, braces = _items(plain)
    if not items:
        return None
    if rng.random() < 0.6:
        items.remove(rng.choice(items))
    else:
        extra = _moved_number(rng.choice(items), rng)
        items += [extra] if extra and extra not in items else []
    return f"\\{{{', '.join(items)}\\}}" if braces else ", ".join(items)


def _upside_down(plain: str, rng: random.Random) -> str | None:
    found = _LATEX_FRACTION.search(plain)
    return plain[: found.start()] + f"\\frac{{{found[2]}}}{{{found[1]}}}" + plain[found.end() :] if found else None


def _other_function(plain: str, rng: random.Random) -> str | None:
    known = [name for name in _FUNCTIONS if name in plain]
    if not known:
        return None
    name = rng.choice(known)
    return plain.replace(name, _FUNCTIONS[name], 1)


def _other_word(plain: str, rng: random.Random) -> str | None:
    text = plain.replace(OPEN, "").replace(CLOSE, "").strip()
    if found := _LETTER.fullmatch(text):
        other = rng.choice([letter for letter in "ABCDE" if letter != found["letter"]])
        return f"{found['before']}{other}{found['after']}"
    family = next((family for family in _FAMILIES if text.lower() in family), None)
    if family:
        other = rng.choice([word for word in family if word != text.lower()])
        return other.capitalize() if text[0].isupper() else other
    words = text.split()
    if len(words) > 1 and not re.search(r"[\\\d=]", text):
        first, second = sorted(rng.sample(range(len(words)), 2))
        words[first], words[second] = words[second], words[first]
        return " ".join(words)
    return None


_EQUIVALENT: tuple[Way, ...] = (
    *(_number, _inner_number, _rooted, _without_unit, _with_unit, _angle, _assigned, _terms, _computed, _slash),
    *(_listed, _named, _plus_minus, _inequality, _set_builder, _member, _other_argument, _for_all),
)
_DIFFERENT: tuple[Way, ...] = (
    *(_moved_number, _moved_number, _other_sign, _other_relation, _other_list, _upside_down, _other_function),
    _other_word,
)
