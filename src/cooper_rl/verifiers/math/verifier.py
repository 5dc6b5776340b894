"""Mathematical answers: our own forms and equality; where those cannot tell math-verify, its false positives closed."""

from __future__ import annotations

from functools import lru_cache

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math import library
from cooper_rl.verifiers.math.algebra import is_unfinished
from cooper_rl.verifiers.math.date import Date
from cooper_rl.verifiers.math.equality import equal, is_within
from cooper_rl.verifiers.math.forms import Expression, Form, Group, Relation, Words, form_of
from cooper_rl.verifiers.math.markup import same_text
from cooper_rl.verifiers.math.number import MAX_LABEL, Number
from cooper_rl.verifiers.math.stated import (
    Reading,
    closing_number,
    hedged,
    is_sentence,
    is_solution,
    last_figure,
    read,
    unclear,
)


def explain(reference: str, completion: str) -> Verification:
    """The `math` verifier: our own forms and equality first, math-verify where those cannot tell."""
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    answer_of_reference, reading = _reference_answer(reference), read(completion)
    if _contradicts(reading):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference)
    if reading.bare and completion.rstrip().endswith("?"):  # a question, whatever numbers are in it
        return Verification(Verdict.UNPARSEABLE, Reason.NO_ANSWER, library.shown(reference))
    text, gold = reading.stated, form_of(answer_of_reference)
    if text and same_text(answer_of_reference, text):
        return Verification.compared(True, library.shown(answer_of_reference), library.shown(text))
    answer = _answer_form(text, gold, bare=reading.bare) if text else None
    if answer is None and isinstance(gold, Number) and not gold.unit and (reading.bare or text is None):
        text = closing_number(completion)
        answer = form_of(text) if text else None
        if answer is None and (last := last_figure(completion)):
            return _explain_last_figure(reference, gold, reading, last)
    if text is None or answer is None:
        return library.explain_reading(reference, reading)
    verdict = equal(gold, answer) if gold is not None else None
    if verdict is None and gold is not None and _is_open(gold, answer):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, library.shown(reference), library.shown(text))
    if verdict is False and isinstance(answer, Group) and isinstance(gold, Number):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, library.shown(reference), library.shown(text))
    if verdict is not None:
        return Verification.compared(verdict, library.shown(reference), library.shown(text))
    if isinstance(gold, Number) and isinstance(answer, Expression) and is_unfinished(answer.text):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, library.shown(reference), library.shown(text))
    return library.explain_reading(reference, reading if isinstance(answer, Words) else read(f"\\boxed{{{text}}}"))


def _explain_last_figure(reference: str, gold: Number, reading: Reading, figure: str) -> Verification:
    """A text that states no answer, as one cut off; it is not wrong where another of its figures is right."""
    answer = form_of(figure)
    same = answer is not None and equal(gold, answer) is True
    if not same and unclear(reference, reading):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, library.shown(reference), figure)
    return Verification.compared(same, library.shown(reference), figure)


@lru_cache(maxsize=4096)
def _reference_answer(reference: str) -> str:
    return (read(reference).stated or "") if is_solution(reference) else reference


def _answer_form(text: str, gold: Form | None, *, bare: bool) -> Form | None:
    """The form of what is stated; of a bare `4 + 5 = 9` the right side, of running text none."""
    answer = form_of(text)
    if isinstance(answer, Relation) and answer.sign == "=" and not isinstance(gold, Relation | Expression | None):
        return form_of(text.rpartition("=")[2])
    if bare and not isinstance(gold, Words) and (isinstance(answer, Words) or is_sentence(text)):
        return None
    return answer


def _is_open(gold: Form, answer: Form) -> bool:
    """Whether math-verify cannot tell either: prose, dates, and words that stand among others."""
    if isinstance(gold, Date) or isinstance(answer, Date):
        return True
    prose = isinstance(gold, Words) and len(gold.text.split()) > MAX_LABEL
    return prose or (isinstance(answer, Words) and is_within(gold, answer))


def _contradicts(reading: Reading) -> bool:
    """Several answers that do not agree, and no word that takes one of them back."""
    texts = list(dict.fromkeys(reading.boxes))
    if len(texts) < 2:
        return hedged(reading)
    if reading.corrected or reading.stated == ", ".join(texts):
        return False
    forms = [form_of(text) for text in texts]
    return any(a is None or forms[0] is None or equal(forms[0], a) is False for a in forms[1:])
