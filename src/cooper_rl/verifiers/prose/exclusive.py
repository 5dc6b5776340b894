"""Whether two answers exclude one another: yes and no, numbers, dates. Other words never prove a difference."""

from __future__ import annotations

import re

from cooper_rl.verifiers.math.date import Date
from cooper_rl.verifiers.math.day_names import MONTHS, WEEKDAYS
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, compare
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.reader import form_of
from cooper_rl.verifiers.math.words import Words
from cooper_rl.verifiers.prose.references import may_be_year, without_lead

MAX_CHARACTERS = 80  # of a number or date with what may stand beside it
_DECISION = re.compile(r"\W*(?P<word>yes|no|true|false)\b(?!\W*(?:and|or|/)?\W*(?:yes|no|true|false)\b)", re.IGNORECASE)
_JUDGED = re.compile(
    r"\W*(?:it|this|that|(?:the|this|that) (?:statement|claim|sentence))(?:'s| is) (?P<word>true|false)\b", re.I
)
_MEANS_YES = {"yes": True, "true": True, "no": False, "false": False}
_ROUGHLY = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|over|circa|ca?\.|some|more|less|least|most)|~|\+", re.I
)
_BEFORE = re.compile(r"(?:(?:it|this|that|there) )?(?:is|was|were|are) ", re.IGNORECASE)


def decision(text: str) -> bool | None:
    """Yes or no, as a text says it in its first words ("No, it is not", "That is true"); None if it says neither."""
    found = _DECISION.match(text) or _JUDGED.match(text)
    return _MEANS_YES[found["word"].lower()] if found else None


def exclude(reference: str, text: str) -> bool:
    """Whether a text is another number or date than the reference. Both have to be nothing but a number or date."""
    if len(text) > MAX_CHARACTERS or "/" in text or _ROUGHLY.search(reference) or _ROUGHLY.search(text):
        return False
    gold, answer = (_number_or_date(without_lead(side.strip())) for side in (reference, _BEFORE.sub("", text, count=1)))
    if gold is None or answer is None:
        return False
    if isinstance(gold, Date) and isinstance(answer, Number):
        return _other_year(gold, answer)
    if isinstance(gold, Number) and isinstance(answer, Date):
        return _other_year(answer, gold)
    return compare(gold, answer) is Comparison.DIFFERENT


def _number_or_date(text: str) -> AnswerForm | None:
    found = form_of(text)
    day = isinstance(found, Words) and found.text in (*WEEKDAYS, *MONTHS)
    return found if day or isinstance(found, Number | Date) else None


def _other_year(date: Date, number: Number) -> bool:
    return bool(date.year) and may_be_year(number.value) and number.value != date.year
