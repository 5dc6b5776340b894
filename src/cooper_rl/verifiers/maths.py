"""Mathematical answers by math-verify, with a cheap exact path before it and its known false positives closed.

The one importer of math_verify. Runs inside a worker, whose pool keeps the deadline: the library's own is off.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from math_verify import parse, verify

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.answers import (
    boxes_with_gaps,
    closing_number,
    corrects_itself,
    has_answer,
    hedged,
    is_bare,
    is_sentence,
    is_solution,
    stated,
    unclear,
)
from cooper_rl.verifiers.equality import equal
from cooper_rl.verifiers.expressions import is_unfinished
from cooper_rl.verifiers.forms import Expression, Form, Group, Relation, Words, form_of
from cooper_rl.verifiers.numbers import Number

_MATCH = {True: (Verdict.CORRECT, Reason.MATCH), False: (Verdict.INCORRECT, Reason.MISMATCH)}
_MAX_SHOWN = 200


def explain(reference: str, completion: str) -> Verification:
    """The `math` verifier: our own forms and equality first, math-verify where those cannot tell."""
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    gold = form_of(stated(reference) or "") if is_solution(reference) else form_of(reference)
    if _contradicts(completion):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference)
    text, bare = stated(completion), is_bare(completion)
    answer = _answer_form(text, gold, bare=bare) if text else None
    if answer is None and bare and isinstance(gold, Number) and not gold.unit:
        text = closing_number(completion)
        answer = form_of(text) if text else None
    if text is None or answer is None:
        return _explain_parsed(reference, completion)
    verdict = equal(gold, answer) if gold is not None else None
    if verdict is False and isinstance(answer, Group) and isinstance(gold, Number):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, shown(reference), shown(text))
    if verdict is not None:
        return Verification(*_MATCH[verdict], shown(reference), shown(text))
    if isinstance(gold, Number) and isinstance(answer, Expression) and is_unfinished(answer.text):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, shown(reference), shown(text))
    return _explain_parsed(reference, completion if isinstance(answer, Words) else f"\\boxed{{{text}}}")


def _answer_form(text: str, gold: Form | None, *, bare: bool) -> Form | None:
    """The form of what is stated; of a bare `4 + 5 = 9` the right side, of running text none."""
    answer = form_of(text)
    if isinstance(answer, Relation) and answer.sign == "=" and not isinstance(gold, Relation | Expression | None):
        return form_of(text.rpartition("=")[2])
    if bare and not isinstance(gold, Words) and (isinstance(answer, Words) or is_sentence(text)):
        return None
    return answer


def _contradicts(completion: str) -> bool:
    """Several answers that do not agree, and no word that takes one of them back."""
    texts = list(dict.fromkeys(box for box, _ in boxes_with_gaps(completion)))
    if len(texts) < 2:
        return hedged(completion)
    if corrects_itself(completion) or stated(completion) == ", ".join(texts):
        return False
    forms = [form_of(text) for text in texts]
    return any(a is None or forms[0] is None or equal(forms[0], a) is False for a in forms[1:])


def explain_plain(reference: str, completion: str) -> Verification:
    """The `math_verify` verifier: the library's judgement, with reasons; a completion that hedges is INCORRECT."""
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    if hedged(completion):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference)
    return _explain_parsed(reference, completion)


def _explain_parsed(reference: str, completion: str) -> Verification:
    gold = _parse_reference(reference)
    if not gold:
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    answer = parse(completion, parsing_timeout=None)
    if not answer:
        reason = Reason.UNKNOWN_FORM if has_answer(completion) else Reason.NO_ANSWER
        return Verification(Verdict.UNPARSEABLE, reason, _shown(gold))
    same = bool(verify(gold, answer, timeout_seconds=None))
    if same and _false_positive(reference, gold, answer):
        same = False
    if not same and unclear(reference, completion):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, _shown(gold), _shown(answer))
    return Verification(*_MATCH[same], _shown(gold), _shown(answer))


@lru_cache(maxsize=4096)
def _parse_reference(reference: str) -> list[Any]:
    text = reference if "\\boxed" in reference or "$" in reference else f"${reference}$"
    parsed: list[Any] = parse(text, parsing_timeout=None) or parse(reference, parsing_timeout=None)
    return parsed


def shown(text: str) -> str:
    """A text as a verdict's explanation shows it."""
    return text[:_MAX_SHOWN]


def _shown(parsed: list[Any]) -> str:
    return str(parsed[-1])[:_MAX_SHOWN]


def _false_positive(reference: str, gold: list[Any], answer: list[Any]) -> bool:
    """What the library calls equal though it is not: tiny numbers that round alike, a sign choice, lost equations."""
    texts = [str(gold[-1]), str(answer[-1])]
    if ("±" in texts[0] or "\\pm" in texts[0]) != ("±" in texts[1] or "\\pm" in texts[1]):
        return True
    if ("!" in texts[0] or "!" in texts[1]) and texts[0].replace(" ", "") != texts[1].replace(" ", ""):
        return True
    parsed_to_zero = all(str(side[0]) in ("0", "Eq(0, 0)", "True") for side in (gold, answer))
    return parsed_to_zero and "=" in reference and texts[0].replace(" ", "") != texts[1].replace(" ", "")
