"""Mathematical answers by math-verify, with a cheap exact path before it and its known false positives closed.

The one importer of math_verify. Runs inside a worker, whose pool keeps the deadline: the library's own is off.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from math_verify import parse, verify

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.answers import has_answer, hedged, plain_number, stated_number, unclear

_MATCH = {True: (Verdict.CORRECT, Reason.MATCH), False: (Verdict.INCORRECT, Reason.MISMATCH)}
_MAX_SHOWN = 200


def explain(reference: str, completion: str) -> Verification:
    """The `math` verifier."""
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    if hedged(completion):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference)
    gold, stated = plain_number(reference), stated_number(completion)
    if gold is not None and stated is not None:
        return Verification(*_MATCH[gold == stated], str(gold), str(stated))
    return _explain_parsed(reference, completion, strict=True)


def explain_plain(reference: str, completion: str) -> Verification:
    """The `math_verify` verifier: the library as it is, with reasons and a completion that hedges found INCORRECT."""
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    if hedged(completion):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference)
    return _explain_parsed(reference, completion, strict=False)


def _explain_parsed(reference: str, completion: str, *, strict: bool) -> Verification:
    gold = _parse_reference(reference)
    if not gold:
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    answer = parse(completion, parsing_timeout=None)
    if not answer:
        reason = Reason.UNKNOWN_FORM if has_answer(completion) else Reason.NO_ANSWER
        return Verification(Verdict.UNPARSEABLE, reason, _shown(gold))
    equal = bool(verify(gold, answer, timeout_seconds=None))
    if equal and strict and _false_positive(reference, gold, answer):
        equal = False
    if not equal and strict and unclear(reference, completion):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, _shown(gold), _shown(answer))
    return Verification(*_MATCH[equal], _shown(gold), _shown(answer))


@lru_cache(maxsize=4096)
def _parse_reference(reference: str) -> list[Any]:
    text = reference if "\\boxed" in reference or "$" in reference else f"${reference}$"
    parsed: list[Any] = parse(text, parsing_timeout=None) or parse(reference, parsing_timeout=None)
    return parsed


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
