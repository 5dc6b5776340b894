"""The `math` verifier: it compares answers by our own forms first, and asks math-verify where these cannot tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math import library
from cooper_rl.verifiers.math.algebra import is_unfinished
from cooper_rl.verifiers.math.expression import Expression, choice_letter, has_letters, is_range
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Partial, compare
from cooper_rl.verifiers.math.group import Group, Order
from cooper_rl.verifiers.math.library import shorten
from cooper_rl.verifiers.math.markup import plain_characters, same_text
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.phrases import differing_mark
from cooper_rl.verifiers.math.reader import Reader
from cooper_rl.verifiers.math.relation import Relation
from cooper_rl.verifiers.math.sentence import is_absent, is_doubted, qualifier, values_said
from cooper_rl.verifiers.math.stated import (
    Reading,
    closing_number,
    has_answer,
    is_hedged,
    is_sentence,
    is_solution,
    is_unmarked_solution,
    last_figure,
    read,
)
from cooper_rl.verifiers.math.words import Words

_IN_SENTENCE = re.compile(r"(?:\bis|\bare|equals?)[\s$*]*-?[\d.,]+![\s$*]*\Z")
_PERCENTAGE = re.compile(r"\bpercentages?\b", re.IGNORECASE)
_PERCENT_SIGN = re.compile(r"(?<=\d)\s*\\?%")
_SCALED = re.compile(r"\d[\d.,]*[kKMBT]")
_EXCLAIMED = re.compile(r"(?:USD |EUR )?[-$€£\\]*[\d.,]+!")
_SIGNS = tuple(  # of a kind; math-verify may drop them
    re.compile(pattern)
    for pattern in (
        r"\\(?:not ?)?(?:neq?|notin|setminus|neg|lnot)(?![A-Za-z])|[≠¬∉]|\bfalse\b",
        r"\\(?:ll|gg)(?![A-Za-z])|[<>](?=\\)",
        r"\\sqrt",
        r"\\infty",
    )
)
_CHOICE_BEFORE = re.compile(
    r"\s*\\text(?:bf|rm)?\s*\{\s*\(?[A-J][).:]*\s*\}[\s:.]*(?:\\[ ,;]|~|\\quad)*\s*(?=\S)|\([A-J]\)\s+(?=\S)"
)
MAX_PARTS = 5  # boxes that may be answers to a question's parts; who boxes more is guessing


class MathVerifier:
    """Compares the answer that a completion states with the reference answer.

    Args:
        forms: a user's own answer forms, tried before the built-in ones.
    """

    def __init__(self, forms: Sequence[type[AnswerForm]] = ()) -> None:
        self._form_of = Reader(forms).form_of

    def explain(self, reference: str, completion: str) -> Verification:
        """The verdict on a completion, with its reason and both parsed answers.

        A number that equals the reference's is left open where the text says more than it: `at least 5`, `not 5`.
        """
        completion = plain_characters(completion)
        found = self._explain(reference, completion)
        if found.verdict is not Verdict.CORRECT:
            return found
        answer_of_reference, text = _reference_answer(reference), read(completion).stated
        unread = differing_mark(answer_of_reference, text) if text else ""
        gold = self._form_of(answer_of_reference)
        if not unread and isinstance(gold, Number):
            unread = qualifier(text or completion, gold, completion)
            unread = "" if unread and qualifier(reference) else unread
        if not unread:
            return found
        return replace(found, verdict=Verdict.UNPARSEABLE, reason=Reason.UNKNOWN_FORM, unread=unread)

    def _explain(self, reference: str, completion: str) -> Verification:
        if not reference.strip():
            return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
        answer_of_reference, reading = _reference_answer(reference), read(completion)
        gold = self._form_of(answer_of_reference)
        if gold and is_unmarked_solution(reference):
            gold = Partial(gold)
        percentage = "percentage" in completion.lower() and _PERCENTAGE.search(completion)  # the pattern is slow
        if percentage and isinstance(gold, Number) and not gold.percent:
            reading = read(_PERCENT_SIGN.sub("", completion))  # 25% is the percentage 25
        if several := self._of_several(reference, gold, reading):
            return several
        if reading.stated is None and reading.corrected:
            return _open(reference, reading.completion)
        if reading.bare and completion.rstrip().endswith("?"):  # a question is no answer, whatever numbers are in it
            return Verification(Verdict.UNPARSEABLE, Reason.NO_ANSWER, shorten(reference))
        text = reading.stated
        if text and same_text(answer_of_reference, text):
            return Verification.compared(True, shorten(answer_of_reference), shorten(text))
        if is_range(gold):
            return _open(reference, text or reading.completion)
        if text and text.endswith("$!"):
            text = text[:-1]
        if text and gold and _EXCLAIMED.fullmatch(text):
            plain = self._form_of(text[:-1])  # "the answer is 39!" is no factorial; 39! alone may be one
            if plain and compare(gold, plain) is Comparison.EQUAL:
                text = text[:-1]
                if not _IN_SENTENCE.search(completion):
                    return _open(reference, text)
        answer = self._answer_form(text, gold, bare=reading.bare) if text else None
        said = self._read_last_sentence(gold, reading, answer)
        if said.get(Comparison.EQUAL):
            return Verification.compared(True, shorten(reference), said[Comparison.EQUAL])
        may_be_absent = Comparison.OPEN not in said and _may_be_absent(gold, reading, answer)
        if may_be_absent and is_absent(gold, reading.completion):
            return Verification.compared(False, shorten(reference), shorten(text or last_figure(completion) or ""))
        return self._compare(reference, gold, reading, answer, guess=not said and not is_doubted(reading.completion))

    def _compare(
        self, reference: str, gold: AnswerForm | None, reading: Reading, answer: AnswerForm | None, *, guess: bool
    ) -> Verification:
        """The verdict by comparing the stated answer, or else, if wanted, the number with which the text ends."""
        number = _states_nothing(reading, answer) and (
            closing_number(reading.completion) or last_figure(reading.completion)
        )
        if guess and number and isinstance(gold, Number) and not gold.unit:
            return _explain_guess(reference, gold, self._form_of(number), number)
        if reading.stated is None or answer is None:
            return _by_library(reference, gold, reading)
        return _explain_forms(reference, gold, reading, reading.stated, answer)

    def _read_last_sentence(
        self, gold: AnswerForm | None, reading: Reading, answer: AnswerForm | None
    ) -> dict[Comparison, str]:
        """What the last sentence of a text without a box states, by how it compares with the reference.

        It is read where the text states no answer, or states it in a sentence. Only numbers count as not equal.
        """
        words = isinstance(gold, Words)
        sentence = isinstance(answer, Words | None) and not reading.boxes and (reading.bare or not words)
        if gold is None or not (sentence or _states_nothing(reading, answer)):
            return {}
        forms = [(text, self._form_of(text)) for text in values_said(reading.completion)]
        found = [(compare(gold, form), text, isinstance(form, Number)) for text, form in forms if form]
        return {result: text for result, text, number in found if number or result is Comparison.EQUAL}

    def _answer_form(self, text: str, gold: AnswerForm | None, *, bare: bool) -> AnswerForm | None:
        """The form of the stated answer. For `4 + 5 = 9` it is that of the right side; None for running text."""
        if isinstance(gold, Number) and (choice := _CHOICE_BEFORE.match(text)):
            text = text[choice.end() :]  # (B) 1/2
        answer = self._form_of(text)
        if isinstance(answer, Relation) and answer.sign == "=" and not isinstance(gold, Relation | Expression | None):
            right = self._form_of(text.rpartition("=")[2])
            if right is None:
                return None
            true = compare(answer.left, right) is Comparison.EQUAL  # 4 + 5 = 9
            return right if true else Partial(right, text.rpartition("=")[0])
        if bare and not isinstance(gold, Words) and (isinstance(answer, Words) or is_sentence(text)):
            return None
        return answer

    def _of_several(self, reference: str, gold: AnswerForm | None, reading: Reading) -> Verification | None:
        """The verdict on a completion that gives several answers that differ, and does not retract any of them.

        It is INCORRECT if the completion does not decide between them, if none of them is the reference answer, or if
        there are more than `MAX_PARTS`. It is left open where one may be right: the others may be intermediate results,
        or answers to other parts.
        """
        texts = list(dict.fromkeys(reading.boxes))
        if len(texts) < 2:
            unordered = isinstance(gold, Group) and gold.order is not Order.KEPT
            of_list = unordered and " or " in (reading.stated or "")  # 2 or 3 are both solutions
            hedged = not of_list and is_hedged(reading)
            return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference) if hedged else None
        if reading.corrected or reading.stated == ", ".join(texts):
            return None
        first, *others = forms = [self._form_of(text) for text in texts]
        if isinstance(gold, Group) and len(forms) == len(gold.items):  # the boxes are the parts of the answer, in order
            pairs = zip(gold.items, forms, strict=True)
            if all(form and compare(item, form) is Comparison.EQUAL for item, form in pairs):
                return Verification.compared(True, shorten(reference), shorten(", ".join(texts)))
        if not any(first and form and compare(first, form) is Comparison.DIFFERENT for form in others):
            return None
        shut = gold is not None and all(form and compare(gold, form) is Comparison.DIFFERENT for form in forms)
        if shut or len(texts) > MAX_PARTS or is_hedged(reading, in_boxes=False):
            return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference)
        return Verification(Verdict.UNPARSEABLE, Reason.CONTRADICTION, shorten(reference), shorten(texts[-1]))


explain = MathVerifier().explain


def _explain_forms(
    reference: str, gold: AnswerForm | None, reading: Reading, text: str, answer: AnswerForm
) -> Verification:
    """The verdict on an answer that has a form: from the comparison, or else UNPARSEABLE or math-verify's verdict."""
    found = compare(gold, answer) if gold is not None else Comparison.NOT_KNOWN
    if found is Comparison.DIFFERENT and isinstance(answer, Group) and isinstance(gold, Number):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, shorten(reference), shorten(text))
    if found in (Comparison.EQUAL, Comparison.DIFFERENT):
        return Verification.compared(found is Comparison.EQUAL, shorten(reference), shorten(text))
    unfinished = isinstance(gold, Number) and isinstance(answer, Expression) and is_unfinished(answer.text)
    if found is Comparison.OPEN or unfinished or (gold is not None and _is_open(gold, answer)):
        return _open(reference, text, _unread(gold, answer, text))
    return _by_library(reference, gold, read(f"\\boxed{{{text}}}"))


def _may_be_absent(gold: AnswerForm | None, reading: Reading, answer: AnswerForm | None) -> bool:
    """Whether an answer is proved wrong if the text does not contain the reference's number.

    It is not if the answer may be that number in a form that was not computed, such as `10 + 7`, or is a choice letter.
    """
    if answer is None:
        return _states_nothing(reading, answer)
    if not isinstance(gold, Number) or choice_letter(answer) or compare(gold, answer) is Comparison.EQUAL:
        return False
    if isinstance(answer, Expression) and _SCALED.fullmatch(answer.text):  # 56M may be 56 million
        return False
    return has_letters(answer) if isinstance(answer, Expression) else not isinstance(answer, Number | Partial)


def _states_nothing(reading: Reading, answer: AnswerForm | None) -> bool:
    """Whether a completion has neither a box nor an answer after a cue, and is not itself an answer."""
    return answer is None and (reading.bare or reading.stated is None)


def _open(reference: str, text: str, unread: str | None = None) -> Verification:
    """UNPARSEABLE: a text that has an answer in a form that is not known, or none."""
    reason = Reason.UNKNOWN_FORM if has_answer(text, reference) else Reason.NO_ANSWER
    return Verification(
        Verdict.UNPARSEABLE, reason, shorten(reference), shorten(text), unread=unread and shorten(unread)
    )


def _unread(gold: AnswerForm | None, answer: AnswerForm, text: str) -> str | None:
    """What of an answer was left unread: a condition, a label, or all of it where it is words for a value."""
    if isinstance(answer, Partial):
        return answer.left.strip() or None
    if isinstance(answer, Number):
        return answer.label or None
    return text if isinstance(answer, Words) and not isinstance(gold, Words) else None


def _by_library(reference: str, gold: AnswerForm | None, reading: Reading) -> Verification:
    """math-verify's judgement, whose INCORRECT proves nothing: it also stands for "could not be compared".

    It is not asked about prose, since it keeps a number of it and drops the rest. Nor is it asked about a time or
    duration: it reads 00:31 as nought, and `00:87 minutes` too.
    """
    prose = isinstance(gold, Words) or reading.bare or reading.stated is None or is_sentence(reading.stated)
    if prose or (isinstance(gold, Number) and gold.clock):
        text = reading.completion if reading.stated is None else reading.stated
        found = _open(reference, text, reading.stated)
        return replace(found, parsed_answer=None) if reading.bare or reading.stated is None else found
    found = library.explain_reading(reference, reading)
    same_signs = all(bool(sign.search(reference)) == bool(sign.search(reading.stated or "")) for sign in _SIGNS)
    if found.verdict is not Verdict.INCORRECT and (found.verdict is not Verdict.CORRECT or same_signs):
        return found
    return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, found.parsed_reference, found.parsed_answer)


def _explain_guess(reference: str, gold: Number, answer: AnswerForm | None, text: str) -> Verification:
    """Judges a text that states no answer by its last number. Where that differs, it proves nothing."""
    if answer is not None and compare(gold, answer) is Comparison.EQUAL:
        return Verification.compared(True, shorten(reference), text)
    return _open(reference, text)


def _is_open(gold: AnswerForm, answer: AnswerForm) -> bool:
    """Whether math-verify cannot tell either: a form that it does not know, running text, or words within words."""
    words = isinstance(gold, Words) or isinstance(answer, Words)  # math-verify would multiply their letters
    return words or not (gold.library_decides and answer.library_decides)


@lru_cache(maxsize=4096)
def _reference_answer(reference: str) -> str:
    return (read(reference).stated or "") if is_solution(reference) else reference
