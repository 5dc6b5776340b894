"""Mathematical answers: our own forms and equality; where those cannot tell math-verify, its false positives closed.

The one importer of math_verify. Runs inside a worker, whose pool keeps the deadline: the library's own is off.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from math_verify import parse, verify

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.answers import (
    Reading,
    closing_number,
    has_answer,
    hedged,
    is_sentence,
    is_solution,
    last_figure,
    read,
    unclear,
)
from cooper_rl.verifiers.dates import Date
from cooper_rl.verifiers.dress import same_text
from cooper_rl.verifiers.equality import equal, is_within
from cooper_rl.verifiers.expressions import is_unfinished
from cooper_rl.verifiers.forms import Expression, Form, Group, Relation, Words, form_of
from cooper_rl.verifiers.numbers import MAX_LABEL, Number

_MAX_SHOWN = 200


def explain(reference: str, completion: str) -> Verification:
    """The `math` verifier: our own forms and equality first, math-verify where those cannot tell."""
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    answer_of_reference, reading = _reference_answer(reference), read(completion)
    if _contradicts(reading):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference)
    if reading.bare and completion.rstrip().endswith("?"):  # a question, whatever numbers are in it
        return Verification(Verdict.UNPARSEABLE, Reason.NO_ANSWER, _shown(reference))
    text, gold = reading.stated, form_of(answer_of_reference)
    if text and same_text(answer_of_reference, text):
        return Verification.compared(True, _shown(answer_of_reference), _shown(text))
    answer = _answer_form(text, gold, bare=reading.bare) if text else None
    if answer is None and isinstance(gold, Number) and not gold.unit and (reading.bare or text is None):
        text = closing_number(completion)
        answer = form_of(text) if text else None
        if answer is None and (last := last_figure(completion)):
            return _explain_last_figure(reference, gold, reading, last)
    if text is None or answer is None:
        return _explain_parsed(reference, reading)
    verdict = equal(gold, answer) if gold is not None else None
    if verdict is None and gold is not None and _is_open(gold, answer):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, _shown(reference), _shown(text))
    if verdict is False and isinstance(answer, Group) and isinstance(gold, Number):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, _shown(reference), _shown(text))
    if verdict is not None:
        return Verification.compared(verdict, _shown(reference), _shown(text))
    if isinstance(gold, Number) and isinstance(answer, Expression) and is_unfinished(answer.text):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, _shown(reference), _shown(text))
    return _explain_parsed(reference, reading if isinstance(answer, Words) else read(f"\\boxed{{{text}}}"))


def _explain_last_figure(reference: str, gold: Number, reading: Reading, figure: str) -> Verification:
    """A text that states no answer, as one cut off; it is not wrong where another of its figures is right."""
    answer = form_of(figure)
    same = answer is not None and equal(gold, answer) is True
    if not same and unclear(reference, reading):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, _shown(reference), figure)
    return Verification.compared(same, _shown(reference), figure)


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


def explain_plain(reference: str, completion: str) -> Verification:
    """The `math_verify` verifier: the library's judgement, with reasons; a completion that hedges is INCORRECT."""
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    reading = read(completion)
    if hedged(reading):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference)
    return _explain_parsed(reference, reading)


def _explain_parsed(reference: str, reading: Reading) -> Verification:
    gold = _parse_reference(reference)
    if not gold:
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    answer = parse(reading.completion, parsing_timeout=None)
    if not answer:
        reason = Reason.UNKNOWN_FORM if has_answer(reading.completion, reference) else Reason.NO_ANSWER
        return Verification(Verdict.UNPARSEABLE, reason, _shown(gold[-1]))
    same = bool(verify(gold, answer, timeout_seconds=None))
    if same and _false_positive(reference, gold, answer):
        same = False
    if not same and unclear(reference, reading):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, _shown(gold[-1]), _shown(answer[-1]))
    return Verification.compared(same, _shown(gold[-1]), _shown(answer[-1]))


@lru_cache(maxsize=4096)
def _parse_reference(reference: str) -> list[Any]:
    text = reference if "\\boxed" in reference or "$" in reference else f"${reference}$"
    parsed: list[Any] = parse(text, parsing_timeout=None) or parse(reference, parsing_timeout=None)
    return parsed


def _shown(value: Any) -> str:
    """A text or a parsed expression as a verdict's explanation shows it."""
    return str(value)[:_MAX_SHOWN]


def _false_positive(reference: str, gold: list[Any], answer: list[Any]) -> bool:
    """What the library calls equal though it is not: tiny numbers that round alike, a sign choice, lost equations, a
    last word taken for a unit, and a numeral in a base that it passes over."""
    texts = [str(gold[-1]), str(answer[-1])]
    if texts[0].rstrip().endswith(("<", ">", "=")) or _bases(texts[0]) != _bases(texts[1]):
        return True
    if ("±" in texts[0] or "\\pm" in texts[0]) != ("±" in texts[1] or "\\pm" in texts[1]):
        return True
    if ("!" in texts[0] or "!" in texts[1]) and texts[0].replace(" ", "") != texts[1].replace(" ", ""):
        return True
    parsed_to_zero = all(str(side[0]) in ("0", "Eq(0, 0)", "True") for side in (gold, answer))
    return parsed_to_zero and "=" in reference and texts[0].replace(" ", "") != texts[1].replace(" ", "")


def _bases(text: str) -> list[str]:
    return re.findall(r"\d ?_ ?\{? ?(\d+)", text)
