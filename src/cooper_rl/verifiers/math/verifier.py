"""The `math` verifier: it compares answers by our own forms first, and asks math-verify where these cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math import library
from cooper_rl.verifiers.math.algebra import is_unfinished
from cooper_rl.verifiers.math.expression import Expression, is_within
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, compare
from cooper_rl.verifiers.math.group import Group
from cooper_rl.verifiers.math.library import shown
from cooper_rl.verifiers.math.markup import same_text
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.phrases import MAX_LABEL
from cooper_rl.verifiers.math.reader import Reader
from cooper_rl.verifiers.math.relation import Relation
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
from cooper_rl.verifiers.math.words import Words


class MathVerifier:
    """Compares the answer that a completion states with the reference answer.

    Args:
        forms: a user's own answer forms, tried before the built-in ones.
    """

    def __init__(self, forms: Sequence[type[AnswerForm]] = ()) -> None:
        self._form_of = Reader(forms).form_of

    def explain(self, reference: str, completion: str) -> Verification:
        """The verdict on a completion, with its reason and both parsed answers."""
        if not reference.strip():
            return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
        answer_of_reference, reading = _reference_answer(reference), read(completion)
        if self._contradicts(reading):
            return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference)
        if reading.bare and completion.rstrip().endswith("?"):  # a question is no answer, whatever numbers are in it
            return Verification(Verdict.UNPARSEABLE, Reason.NO_ANSWER, shown(reference))
        text, gold = reading.stated, self._form_of(answer_of_reference)
        if text and same_text(answer_of_reference, text):
            return Verification.compared(True, shown(answer_of_reference), shown(text))
        answer = self._answer_form(text, gold, bare=reading.bare) if text else None
        if answer is None and isinstance(gold, Number) and not gold.unit and (reading.bare or text is None):
            text = closing_number(completion)
            answer = self._form_of(text) if text else None
            if answer is None and (last := last_figure(completion)):
                return self._explain_last_figure(reference, gold, reading, last)
        if text is None or answer is None:
            return library.explain_reading(reference, reading)
        return _explain_forms(reference, gold, reading, text, answer)

    def _explain_last_figure(self, reference: str, gold: Number, reading: Reading, figure: str) -> Verification:
        """Judges a text that states no answer by its last number; not INCORRECT if another of its numbers is right."""
        answer = self._form_of(figure)
        same = answer is not None and compare(gold, answer) is Comparison.EQUAL
        if not same and unclear(reference, reading):
            return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, shown(reference), figure)
        return Verification.compared(same, shown(reference), figure)

    def _answer_form(self, text: str, gold: AnswerForm | None, *, bare: bool) -> AnswerForm | None:
        """The form of the stated answer. For a bare `4 + 5 = 9` it is that of the right side; None for running text."""
        answer = self._form_of(text)
        if isinstance(answer, Relation) and answer.sign == "=" and not isinstance(gold, Relation | Expression | None):
            return self._form_of(text.rpartition("=")[2])
        if bare and not isinstance(gold, Words) and (isinstance(answer, Words) or is_sentence(text)):
            return None
        return answer

    def _contradicts(self, reading: Reading) -> bool:
        """Whether a completion gives several answers that differ, and does not retract any of them."""
        texts = list(dict.fromkeys(reading.boxes))
        if len(texts) < 2:
            return hedged(reading)
        if reading.corrected or reading.stated == ", ".join(texts):
            return False
        first, *others = (self._form_of(text) for text in texts)
        return any(a is None or first is None or compare(first, a) is Comparison.DIFFERENT for a in others)


explain = MathVerifier().explain


def _explain_forms(
    reference: str, gold: AnswerForm | None, reading: Reading, text: str, answer: AnswerForm
) -> Verification:
    """The verdict on an answer that has a form: from the comparison, or else UNPARSEABLE or math-verify's verdict."""
    found = compare(gold, answer) if gold is not None else Comparison.NOT_KNOWN
    if found is Comparison.DIFFERENT and isinstance(answer, Group) and isinstance(gold, Number):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, shown(reference), shown(text))
    if found is not Comparison.NOT_KNOWN:
        return Verification.compared(found is Comparison.EQUAL, shown(reference), shown(text))
    unfinished = isinstance(gold, Number) and isinstance(answer, Expression) and is_unfinished(answer.text)
    if unfinished or (gold is not None and _is_open(gold, answer)):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, shown(reference), shown(text))
    return library.explain_reading(reference, reading if isinstance(answer, Words) else read(f"\\boxed{{{text}}}"))


def _is_open(gold: AnswerForm, answer: AnswerForm) -> bool:
    """Whether math-verify cannot tell either: a form that it does not know, running text, or words within words."""
    if not (gold.library_decides and answer.library_decides):
        return True
    prose = isinstance(gold, Words) and len(gold.text.split()) > MAX_LABEL
    return prose or (isinstance(answer, Words) and is_within(gold, answer))


@lru_cache(maxsize=4096)
def _reference_answer(reference: str) -> str:
    return (read(reference).stated or "") if is_solution(reference) else reference
