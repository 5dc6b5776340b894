"""Verifiers that need no mathematics: exact text, multiple choice, and GSM8K as an evaluation harness reads it."""

from __future__ import annotations

import re

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math.markup import CHOICE_LABEL, strip_markup, without_marks
from cooper_rl.verifiers.math.stated import has_answer, read

_LETTER = re.compile(rf"{CHOICE_LABEL}\(?([A-J])\)?(?=$|[\s.:,)])(?!\W*(?:or|and|[,/&])\W*[A-HJ]\b)")


def explain_exact(reference: str, completion: str) -> Verification:
    """The `exact` verifier: CORRECT where the words are the same; case, spaces and markup do not count."""
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    text = read(completion).stated
    if text is None:
        return unread(reference, completion)
    gold, answer = (without_marks(strip_markup(side)).casefold() for side in (reference, text))
    return Verification.compared(gold == answer, gold, answer)


def explain_gsm8k_strict(reference: str, completion: str) -> Verification:
    """lm-evaluation-harness's `strict-match` of GSM8K: the number after the first "#### "."""
    found = re.search(r"#### (-?[0-9.,]+)", completion)
    return _gsm8k(reference, found.group(1) if found else None)


def explain_gsm8k_flexible(reference: str, completion: str) -> Verification:
    """lm-evaluation-harness's `flexible-extract` of GSM8K: the last thing that looks like a number."""
    found = re.findall(r"-?[$0-9.,]{2,}|-?[0-9]+", completion)
    return _gsm8k(reference, found[-1] if found else None)


def _gsm8k(reference: str, answer: str | None) -> Verification:
    """Compares as the harness does: as text, without commas, dollar signs and a full stop at the end."""
    gold = _gsm8k_text(reference.rpartition("#### ")[2].strip())
    if not gold:
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    if answer is None:
        return Verification(Verdict.UNPARSEABLE, Reason.NO_ANSWER, gold)
    text = _gsm8k_text(answer.strip())
    return Verification.compared(text == gold, gold, text)


def _gsm8k_text(text: str) -> str:
    return re.sub(r"\.$", "", text.replace(",", "").replace("$", "")).casefold()


def explain_choice(reference: str, completion: str) -> Verification:
    """The `choice` verifier: the letter of the option, with or without its text."""
    gold = letter(reference)
    if gold is None:
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    text = read(completion).stated
    answer = letter(text) if text is not None else None
    if answer is None:
        return unread(reference, completion)
    return Verification.compared(gold == answer, gold, answer)


def letter(text: str) -> str | None:
    """The letter of the option that a text begins with ("B", "(B)", "B) 12 apples", "Option B"); None without one."""
    found = _LETTER.match(without_marks(strip_markup(text)).strip("* "))
    return found.group(1) if found else None


def unread(reference: str, completion: str) -> Verification:
    """The verdict UNPARSEABLE, for a completion that states no answer in a known form."""
    reason = Reason.UNKNOWN_FORM if has_answer(completion, reference) else Reason.NO_ANSWER
    return Verification(Verdict.UNPARSEABLE, reason, reference)
