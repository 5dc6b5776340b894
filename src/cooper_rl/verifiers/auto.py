"""The `auto` verifier: it takes `math`, `text` or `choice` for each record, by the form of the reference answer."""

from __future__ import annotations

import re
from functools import lru_cache

from cooper_rl.records import Verification
from cooper_rl.verifiers.math.form import AnswerForm
from cooper_rl.verifiers.math.group import Group
from cooper_rl.verifiers.math.reader import form_of
from cooper_rl.verifiers.math.stated import is_solution
from cooper_rl.verifiers.math.verifier import explain as explain_math
from cooper_rl.verifiers.math.words import Date, Words
from cooper_rl.verifiers.prose.statement import explain as explain_text
from cooper_rl.verifiers.simple import explain_choice

_OPTION = re.compile(r"(?i:(?:option|choice) )?(?:\([A-J]\)|[A-J])[).:]?|\([A-J]\) .+|[A-J][):] .+", re.DOTALL)
_MARKUP = re.compile(r"\\|\$|_\{|\^|####")
_OF_MATHEMATICS = re.compile(  # words that are the answer to a question of mathematics
    r"infinit(?:y|e|ely many.*)|undefined|none|even|odd|increasing|decreasing"
    r"|(?:there (?:is|are) )?no (?:real )?solutions?|(?:it )?does not exist|DNE"
)
_FUNCTION = re.compile(r"\b(?:sin|cos|tan|log|ln|sqrt|pi|exp|mod)\b")
_NAME = re.compile(r"[A-Z][a-z]+|(?:(?:the|in the) )?(?:(?:early|mid|late)[ -])?\d{2,4}'?s")  # "Al", "1980s"
_RANGE = re.compile(r"\d{1,4} ?[-–] ?\d{1,4}")  # years, pages, a score
_WORD = re.compile(r"[^\W\d_]{2,}")
_EXPLAIN = {"math": explain_math, "text": explain_text, "choice": explain_choice}


def explain(reference: str, completion: str) -> Verification:
    """The verification by the verifier that `kind_of` names for this reference."""
    return _EXPLAIN[kind_of(reference)](reference, completion)


@lru_cache(maxsize=4096)
def kind_of(reference: str) -> str:
    """The verifier for a reference answer.

    `choice` for a letter from A to J, with or without its option. `text` for yes and no, names, decades, ranges, other
    words, and dates with the name of a month. `math` for all else: numbers, formulas, LaTeX, worked solutions.
    """
    plain = reference.strip()
    if _OPTION.fullmatch(plain):
        return "choice"
    if _NAME.fullmatch(plain) or _RANGE.fullmatch(plain):
        return "text"
    if _OF_MATHEMATICS.fullmatch(plain.strip(".")) or _FUNCTION.search(plain):
        return "math"
    if not _WORD.search(plain) or _MARKUP.search(plain) or is_solution(plain):
        return "math"
    return "text" if _in_words(form_of(plain)) else "math"


def _in_words(form: AnswerForm | None) -> bool:
    """Whether a form is that of words, of a date, or of a list of these. A text without a form is in words, too."""
    if isinstance(form, Group):
        return all(_in_words(item) for item in form.items)
    return form is None or isinstance(form, Words | Date)
