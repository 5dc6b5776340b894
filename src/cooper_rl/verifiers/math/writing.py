"""One writing for characters: signs, digits and indices of Unicode as plain text, and numbers without separators.

It comes before all forms, and nothing here knows what an answer means.
"""

from __future__ import annotations

import re
import unicodedata

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
_NO_DIGIT = re.compile(r"\D+")


def plain_characters(text: str) -> str:
    """A text with each sign in one writing: `²` as `^{2}`, `½` as ` 1/2`, `−` as `-`, digits of any script as ours."""
    if not text.isascii():
        text = _RAISED_RUN.sub(lambda run: f"^{{{run.group().translate(_RAISED)}}}", text)
        text = _LOWERED_RUN.sub(lambda run: f"_{{{run.group().translate(_LOWERED)}}}", text)
        text = _FRACTION.sub(lambda found: f"{found[1]} {_fraction(found[2])}", text)
        text = _GROUPS.sub(_joined, text)
        text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS)
        text = "".join(_digit(c) for c in text)
    return _GROUPS.sub(_joined, text) if "\\" in text or "{" in text else text


def _fraction(sign: str) -> str:
    return unicodedata.normalize("NFKC", sign).replace("⁄", "/")


def _joined(found: re.Match[str]) -> str:
    return found["first"] + _NO_DIGIT.sub("", found["rest"])


def _digit(character: str) -> str:
    if character.isascii() or not character.isdecimal():
        return character
    return str(unicodedata.decimal(character))
