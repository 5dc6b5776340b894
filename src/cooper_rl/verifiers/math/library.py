"""math-verify's judgement of an answer, without its known false positives.

This is the only module that imports math_verify. It runs in a worker whose pool keeps the deadline, so the library's
own time-out is off.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from math_verify import parse, verify

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math.stated import Reading, has_answer, is_hedged, read, unclear

_MAX_SHOWN = 200
_APART = re.compile(r"(?<![\\A-Za-z])[A-Za-z\d]\s+\d(?!\d{2}(?!\d))")  # figures of a grid or a sequence, not 1 000
_SUM = re.compile(r"\W*\d[^A-Za-z]*[-+*/][^A-Za-z]*=[^A-Za-z=]*")  # an equation of numbers


def explain(reference: str, completion: str) -> Verification:
    """The `math_verify` verifier: the library's judgement with its reason. A completion that hedges is INCORRECT."""
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    reading = read(completion)
    if is_hedged(reading):
        return Verification(Verdict.INCORRECT, Reason.CONTRADICTION, reference)
    return explain_reading(reference, reading)


def explain_reading(reference: str, reading: Reading) -> Verification:
    """The library's judgement on a completion that has been read, with its reason."""
    gold = _parse_reference(reference)
    if not gold:
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    answer = parse(reading.completion, parsing_timeout=None)
    if not answer:
        reason = Reason.UNKNOWN_FORM if has_answer(reading.completion, reference) else Reason.NO_ANSWER
        return Verification(Verdict.UNPARSEABLE, reason, shorten(gold[-1]))
    same = bool(verify(gold, answer, timeout_seconds=None))
    if same and _false_positive(reference, gold, answer):
        same = False
    if not same and unclear(reference, reading):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, shorten(gold[-1]), shorten(answer[-1]))
    return Verification.compared(same, shorten(gold[-1]), shorten(answer[-1]))


@lru_cache(maxsize=4096)
def _parse_reference(reference: str) -> list[Any]:
    text = reference if "\\boxed" in reference or "$" in reference else f"${reference}$"
    parsed: list[Any] = parse(text, parsing_timeout=None) or parse(reference, parsing_timeout=None)
    return parsed


def shorten(value: Any) -> str:
    """A text or a parsed expression, as it is shown in the explanation of a verdict."""
    return str(value)[:_MAX_SHOWN]


def _false_positive(reference: str, gold: list[Any], answer: list[Any]) -> bool:
    """Whether the library calls two answers equal that are not.

    The known causes are tiny numbers that round to the same value, a sign choice, and equations that the library drops.
    It also takes a last word for a unit, ignores a base, multiplies `1 2 3`, and of `2+2*3=8` keeps the 8.
    """
    texts = [str(gold[-1]), str(answer[-1])]
    shown_apart = any(_APART.search(text) or _SUM.fullmatch(text) for text in texts)
    if shown_apart and texts[0].replace(" ", "") != texts[1].replace(" ", ""):
        return True
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
