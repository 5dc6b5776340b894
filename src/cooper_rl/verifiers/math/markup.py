"""What a reader of a text sees, in one writing: hidden parts, LaTeX and signs of Unicode are taken out of it.

Equal answers become equal text as often as possible. All works on text only: nothing is evaluated, nothing here knows
what an answer means, and the text that a pattern sees is bounded. The content of `\\text{...}` is kept between the
marks OPEN and CLOSE, so that a unit "m" is not read as a variable m.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MAX_CHARACTERS = 4000
OPEN, CLOSE = "⟦", "⟧"
_SYNONYMS = {
    **dict.fromkeys(("dfrac", "tfrac", "cfrac"), "\\frac"),
    **dict.fromkeys(("le", "leq", "leqslant"), "<="),
    **dict.fromkeys(("ge", "geq", "geqslant"), ">="),
    **dict.fromkeys(("ne", "neq"), "!="),
    **dict.fromkeys(("times", "cdot", "ast"), "*"),
    **dict.fromkeys(("lbrace",), "\\{"),
    **dict.fromkeys(("rbrace",), "\\}"),
    **dict.fromkeys(("mid", "vert"), "|"),
    **dict.fromkeys(("degree", "degrees", "circ"), "°"),
    **{"lt": "<", "gt": ">", "div": "/", "colon": ":", "cupdot": "\\cup", "dbinom": "\\binom", "land": " and "},
    **dict.fromkeys(
        ("left", "right", "bigl", "bigr", "Bigl", "Bigr", "big", "Big", "displaystyle", "textstyle", "limits"), ""
    ),
    **dict.fromkeys(("quad", "qquad", "space", "enspace", "thinspace"), " "),
    **dict.fromkeys(("lor", "or"), " or "),
}
_UNMARKED = re.compile(r"[-+A-Za-z0-9 .,:;/%()=!?]*")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_TEXT = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|texttt|mathrm|mbox|operatorname|mathbf|mathit|mathsf|rm|bf)\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
)
_COLOUR = re.compile(r"\\textcolor\s*(?:\[\w+\])?\{[^{}]*\}\s*|\\color\s*(?:\[\w+\])?\{[^{}]*\}\s*")
_PRIME = re.compile(r"\^\s*\{?\s*((?:\\prime\s*)+)\}?")
_SUBSCRIPT = re.compile(r"_\s*\{?\s*\\(?:text|mathrm|rm)\s*\{([A-Za-z]+)\}\s*\}?")
_ORDINAL = re.compile(r"\^\s*\{?\s*\\(?:text|mathrm)\s*\{(st|nd|rd|th)\}\s*\}?")
_SPACES = re.compile(r"(?<!\\)\\[,;:! ]|~|\s+")
_DELIMITERS = re.compile(r"\\[()\[\]]|\$+")
_BARE_FRACTION = re.compile(r"\\frac\s*(?:\{([^{}]*)\}|([0-9a-zA-Z]))\s*(?:\{([^{}]*)\}|([0-9a-zA-Z]))")
_BARE_ROOT = re.compile(r"\\sqrt\s+?(\d+(?:\.\d+)?|[a-zA-Z]|\\pi)|\\sqrt(\d+)")
_OVER = re.compile(r"\{([^{}]*)\\over(?![A-Za-z])([^{}]*)\}")
_FUNCTION_NAME = re.compile(  # of \\text{min} and \\text{sec} it is a unit
    r"\\operatorname\*?\s*\{\s*(?P<any>(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|ln|log|exp|max|min|gcd|lcm)\s*\}"
    r"|\\(?:mathrm|text|mathop)\s*\{\s*(?P<known>(?:arc)?(?:sin|cos|tan|cot)h?|ln|log)\s*\}"
)
# Two stars between operands are a power. Anywhere else they begin or end bold text.
_OPERAND_ENDS, _OPERAND_BEGINS = r"[\w)}\]]", r"[-\w({\\]"
BOLD_EDGE = re.compile(rf"(?<!{_OPERAND_ENDS})\*\*|\*\*(?!{_OPERAND_BEGINS})")
_BOLD = re.compile(r"(?<![\w)}\]*])\*\*(?=\S)(.+?)\*\*(?![\d(*])")
_POWER = re.compile(rf"(?<={_OPERAND_ENDS})(?:\*\*| \*\* )(?={_OPERAND_BEGINS})")
_ELLIPSIS = re.compile(r"\.\d+ ?(?:\.\.+|\\l?dots) ?$")
CHOICE_LABEL = r"(?i:(?:option|choice|answer|letter):? )?"  # before a choice's letter: "Option B"
_TRAILING = " .,;:*\\"
_LEADING = " ,;:*#"
_CIRCLED = re.compile("[①-⑳]")
_DEGREES = re.compile(r"\^\s*\{\s*\\circ\s*\}|\^\s*\\circ|\^°")
_NO_BRACKET = re.compile(r"\\(left|right)\s*\.")
_ANY_SPACES = re.compile(r"\s+")
_SHORT_INDEX = re.compile(r"([_^])\{(\w)\}")
_DIGITS_APART = re.compile(r"\d \d")
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("−–—‒﹣‐‑―－➖", "-"),
        **dict.fromkeys("×∙⋅·", "*"),
        **dict.fromkeys("÷⁄∕", "/"),
        **{"≤": "<=", "≥": ">=", "⩽": "<=", "⩾": ">=", "≠": "!=", "≈": "\\approx ", "≡": "\\equiv "},
        **{"√": "\\sqrt ", "∪": "\\cup ", "∈": "\\in ", "±": "\\pm ", "∅": "\\emptyset ", "∞": "\\infty ", "º": "°"},
        **{"α": "\\alpha ", "β": "\\beta ", "θ": "\\theta ", "λ": "\\lambda ", "φ": "\\phi ", "π": "\\pi ", "µ": "μ"},
        **{"‘": "'", "’": "'", "′": "'", "″": "''", "ℝ": "\\mathbb{R}", "∖": "\\setminus ", "⌊": "\\lfloor "},
        **{"⌋": "\\rfloor ", "⌈": "\\lceil ", "⌉": "\\rceil ", "→": "\\to "},
        **{"，": ",", "；": ";", "：": ":", "（": "(", "）": ")", "。": ". ", "％": "%", "、": ","},
    }
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ", "0123456789+-=()n")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙ", "0123456789+-=()n")
_RAISED_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ]+")
_LOWERED_RUN = re.compile("[₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙ]+")
_FRACTION = re.compile("(\\d?)([¼-¾⅐-⅞↉])")
_THIN = "\u00a0\u2007\u2009\u202f"
_GROUPS = re.compile(  # 1\,234\,567, 1{,}234 and 1 234 with a thin space
    rf"(?<![\d.,])(?P<first>\d{{1,3}})(?P<rest>(?:(?:\\[,;:!]|\{{,\}}|\{{\\,\}}|,\\! ?|[{_THIN}])\d{{3}})+)(?!\d)"
)
_GROUP_MARKS = ("\\,", "\\;", "\\:", "\\!", "{,}", "{\\,}")  # of _GROUPS, in a text whose characters are ours
_OTHER_DIGIT = re.compile(r"[^\D0-9]")  # of another script
_NO_DIGIT = re.compile(r"\D+")
_COMMENTS = (  # what a text must have for the pattern to find anything, which is looked for first, and the pattern
    ("<!--", re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)),
    ("\\iffalse", re.compile(r"\\iffalse\b.*?(?:\\fi\b|\Z)", re.DOTALL)),
    ("{comment}", re.compile(r"\\begin\{comment\}.*?(?:\\end\{comment\}|\Z)", re.DOTALL)),
    ("%", re.compile(r"(?:(?<=\n)|\A)[ \t]*%(?![%\d.,;:)])[^\n]*")),  # a line of its own; "%." ends what was said
    ("%", re.compile(r"(?<=\s)%\s*\\(?:boxed|fbox)[^\n]*")),
    ("%", re.compile(r"(?:(?<=\n)%(?![.,;:)])|(?<=[ \t\r\f\v.;,:!?])(?<![\w})$*] )%)[^\n]*\\(?:boxed|fbox)[^\n]*")),
)
_HIDING_ELEMENT = re.compile(
    r"<(?P<tag>[a-z]+)\b[^<>]{0,200}(?:display\s*:\s*none|visibility\s*:\s*hidden|\bhidden\b|font-size\s*:\s*0"
    r"|color\s*[:=]\s*[\"']?\s*(?:white|transparent|#fff))[^<>]{0,200}>.*?(?:</(?P=tag)>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_HIDING_COMMAND = re.compile(
    r"\\[hv]?phantom\s*\{|\\(?:text)?color\s*(?:\[\w+\])?\{\s*(?:white|transparent|1,\s*1,\s*1|FFFFFF|ffffff)\s*\}\s*\{?"
)
_BRACE = re.compile(r"[{}]")


@lru_cache(maxsize=8192)
def strip_markup(text: str) -> str:
    """The answer without its markup. Only its first MAX_CHARACTERS characters are read."""
    text = text[:MAX_CHARACTERS]
    if _UNMARKED.fullmatch(text) and ".." not in text:
        return _strip_edges(text)
    text = _CIRCLED.sub(lambda found: f"{found.group()},", text)
    text = plain_characters(text)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    text = text.replace(OPEN, "").replace(CLOSE, "")
    text = text.replace("\\!", "").replace("{,}", ",").replace("\\$", "").replace("\\%", "%")
    if "**" in text:
        text = _POWER.sub("^", _BOLD.sub(r"\1", text)).replace("**", "")
    text = _DEGREES.sub("°", _COLOUR.sub("", text))
    text = _PRIME.sub(lambda found: "'" * found[1].count("prime"), text)
    text = _ORDINAL.sub(r"\1", text)
    text = _SUBSCRIPT.sub(r"_{\1}", text)
    text = _FUNCTION_NAME.sub(lambda found: f"\\{found['any'] or found['known']} ", text)
    for _ in range(3):  # nested \text{\mathrm{...}}
        text = _TEXT.sub(rf" {OPEN}\1{CLOSE} ", text)
    text = _DELIMITERS.sub(" ", text)
    text = _NO_BRACKET.sub("", text)
    text = _COMMAND.sub(lambda found: _SYNONYMS.get(found.group(1), found.group(0)), text)
    text = _OVER.sub(r"\\frac{\1}{\2}", _SPACES.sub(" ", text))
    text = _BARE_FRACTION.sub(lambda f: f"\\frac{{{f.group(1) or f.group(2)}}}{{{f.group(3) or f.group(4)}}}", text)
    text = _BARE_ROOT.sub(lambda f: f"\\sqrt{{{f.group(1) or f.group(2)}}}", text)
    if _ELLIPSIS.search(text):  # 0.333... is not 0.333
        return _strip_edges(text).removesuffix("\\ldots").rstrip(_TRAILING) + "\\ldots"
    return _strip_edges(text)


def _strip_edges(text: str) -> str:
    text = _ANY_SPACES.sub(" ", text).lstrip(_LEADING)
    end = text.rstrip(_TRAILING)
    return end + "\\}" if text[len(end) :].startswith("\\}") else end


@lru_cache(maxsize=1024)  # reading a number needs the same text several times
def without_marks(text: str) -> str:
    """A text that `strip_markup` gave, without the marks OPEN and CLOSE; for comparing words."""
    return _strip_edges(text.replace(OPEN, " ").replace(CLOSE, " "))


@lru_cache(maxsize=8192)
def without_spaces(text: str) -> str:
    """A text that `strip_markup` gave, without spaces. It is equal for most answers that differ in markup only."""
    text = _ANY_SPACES.sub("", text.replace(OPEN, "").replace(CLOSE, ""))
    return _SHORT_INDEX.sub(r"\1\2", text)


def same_text(text: str, other: str) -> bool:
    """Whether two answers differ in markup and spaces only. A space between digits counts as a difference."""
    sides = [strip_markup(side) for side in (text, other)]
    return without_spaces(sides[0]) == without_spaces(sides[1]) != "" and not any(
        _DIGITS_APART.search(side) for side in sides
    )


def split_top(text: str, separators: str) -> list[str]:
    """The parts of a text between separators, a pattern that is matched outside brackets only."""
    pattern = re.compile(rf"(?P<separator>{separators})|(?P<open>\\\{{|[(\[{{{OPEN}])|(?P<close>\\\}}|[)\]}}{CLOSE}])")
    parts, depth, start = [], 0, 0
    for found in pattern.finditer(text):
        if found.group("open"):
            depth += 1
        elif found.group("close"):
            depth = max(0, depth - 1)
        elif depth == 0:
            parts.append(text[start : found.start()])
            start = found.end()
    parts.append(text[start:])
    return parts


def has_matching_brackets(text: str) -> bool:
    """Whether brackets open before they close, and all close. Kinds may differ, since `(1, 2]` is an interval."""
    depth = 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            return False
    return depth == 0


def split_brackets(text: str) -> list[str]:
    """The parts between commas and semicolons of a text in one pair of round or square brackets; else an empty list."""
    if text[0] not in "([" or text[-1] not in ")]" or not has_matching_brackets(text[1:-1]):
        return []
    return split_top(text[1:-1], "[,;]")


def plain_characters(text: str) -> str:
    """A text with each sign in one writing: `²` as `^{2}`, `½` as ` 1/2`, `−` as `-`, digits of any script as ours."""
    if not text.isascii():
        text = _RAISED_RUN.sub(lambda run: f"^{{{run.group().translate(_RAISED)}}}", text)
        text = _LOWERED_RUN.sub(lambda run: f"_{{{run.group().translate(_LOWERED)}}}", text)
        text = _FRACTION.sub(lambda found: f"{found[1]} {_fraction(found[2])}", text)
        text = _GROUPS.sub(_join, text)
        text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS)
        text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit.group())), text)
    return _GROUPS.sub(_join, text) if any(mark in text for mark in _GROUP_MARKS) else text


def _fraction(sign: str) -> str:
    return unicodedata.normalize("NFKC", sign).replace("⁄", "/")


def _join(found: re.Match[str]) -> str:
    return found["first"] + _NO_DIGIT.sub("", found["rest"])


def visible(text: str) -> str:
    """The text without what is hidden in it."""
    if "%" not in text and "<" not in text and "\\" not in text:
        return text
    for hint, pattern in _COMMENTS:
        if hint in text:
            text = pattern.sub("", text)
    if "<" in text:
        text = _HIDING_ELEMENT.sub("", text)
    while found := _HIDING_COMMAND.search(text):
        text = text[: found.start()] + text[_end_of_group(text, found) :]
    return text


def _end_of_group(text: str, found: re.Match[str]) -> int:
    """Where the text ends that a command hides: at the brace that closes its own, or the one that it stands in."""
    depth = 1
    for brace in _BRACE.finditer(text, found.end()):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.end() if found.group().endswith("{") else brace.start()
    return len(text)
