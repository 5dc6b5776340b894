"""Verifiers that compare no values: exact text, options, GSM8K as a harness reads it, and reasoning-gym's scorers."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from typing import Any

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.kinds import Explain
from cooper_rl.verifiers.math.markup import CHOICE_LABEL, same_text, strip_markup, without_marks
from cooper_rl.verifiers.math.stated import has_answer, read

_LETTER = re.compile(  # at the beginning; not an initial, the article or the pronoun: "J. K.", "A dog", "I think"
    rf"{CHOICE_LABEL}(?:\((?P<round>[A-J])\)"
    r"|(?P<marked>[A-J])(?:\)|:(?! ?\(?[A-J]\b)|\.(?! ?[A-Z]\.)|,(?!\s*(?:and |or )?[A-J]\b)|\s*\Z)"
    r"|(?P<bare>[B-HJ]|A(?! [a-z])|A(?= (?:is|because|since)\b))(?=\s)(?!\s*=))"
    r"(?!\W*(?:or|and|[,/&])\W*[A-HJ]\b)"
)
_LATER = re.compile(  # after words, before the end of a clause: "I would go with (C)."
    r"\b(?i:is|be|pick|choose|select|with|option|choice|answer|say|so|therefore)[\s:]+"
    r"(?:\((?P<round>[A-J])\)|(?P<bare>[A-HJ]))(?=\s*(?:[.,;)!]|\Z|because\b|since\b))"
)
_JUDGED = re.compile(r"\s*(?:is|isn't|was|wasn't|can|cannot|can't|does|doesn't|would|wouldn't|fails?|seems?)\b[^.,;:]*")
_REJECTED = re.compile(
    r"\b(?:not|never|cannot|wrong|incorrect|false|fails?|eliminated?|excluded?|impossible|except|ruled? out)\b|n't\b",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\b(?:because|since|as)\b")
MAX_CONTENT = 3  # words of an option's content that are compared
_TOKENS = re.compile(r"[^\W_]+")
_EVALUATES = re.compile(r"(?<![\w.])eval\(|parse_expr|sympify")
_ARITHMETIC = re.compile(r"(?:\d+(?:\.\d+)?|(?<![A-Za-z])[A-Za-z](?![A-Za-z])|[-+*/()=,^\s])*")
_TOWER = re.compile(r"(?:\*\*|\^)\s*(?:\(|\d{3}|\w+\s*(?:\*\*|\^))")  # a power of a power, or of a large number
LONGEST = 2000  # characters of an answer that a scorer may evaluate


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
    gold, content = option(reference, completes=False)
    if gold is None:
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    text = read(completion).stated
    if text is not None and len(content.strip()) > 1 and same_text(text, content):
        return Verification.compared(True, gold, gold)
    answer, said = option(text) if text is not None else (None, "")
    if answer is None or (answer == gold and _is_other_content(content, said)):
        return unread(reference, completion)
    return Verification.compared(gold == answer, gold, answer)


def _is_other_content(content: str, said: str) -> bool:
    """Whether two short contents of one option share no word or number: (C) 25 for (C) 24."""
    own, its = (set(_TOKENS.findall(strip_markup(side).casefold())) for side in (content, said))
    numbers = [{word for word in words if word.isdecimal()} for words in (own, its)]
    if all(numbers):
        return not numbers[0] & numbers[1]
    return bool(own) and 0 < len(its) <= MAX_CONTENT and not own & its


def option(text: str, *, completes: bool = True) -> tuple[str | None, str]:
    """The letter of the option that a text names ("B", "(B)", "B) 12 apples", "Option B"), and its content.

    None for the letter where there is none, where several are named, or where one is rejected ("A is wrong, so B").

    Args:
        completes: whether the text is a completion's answer, which may reject an option.
    """
    plain = without_marks(strip_markup(text)).strip("* ")
    if found := _LETTER.match(plain):
        name, letter = _named(found)
        judged = _JUDGED.match(plain[found.end(name) :].lstrip(")"))
        if completes and judged and _REJECTED.search(_BECAUSE.split(judged.group())[0]):
            return None, ""
        if name != "bare":
            return letter, plain[found.end() :]
        others = {_named(each)[1] for each in _LATER.finditer(plain, found.end())} - {letter}
        return (None if others else letter), ""  # "B is too small. So D."
    later = list(_LATER.finditer(plain))
    if len({_named(each)[1] for each in later}) != 1 or _REJECTED.search(plain[: later[0].end()]):
        return None, ""
    return _named(later[0])[1], ""


def _named(found: re.Match[str]) -> tuple[str, str]:
    """The name of the pattern's group that matched, and the letter."""
    return next((name, letter) for name, letter in found.groupdict().items() if letter)


def unread(reference: str, completion: str) -> Verification:
    """The verdict UNPARSEABLE, for a completion that states no answer in a known form."""
    reason = Reason.UNKNOWN_FORM if has_answer(completion, reference) else Reason.NO_ANSWER
    return Verification(Verdict.UNPARSEABLE, reason, reference)


def task_verifier(task: str) -> Explain:
    """The `reasoning_gym:<task>` verifier. The slow import comes now, not in the deadline of the first item."""
    scorer(task)
    return partial(explain_task, task=task)


def explain_task(reference: str, completion: str, *, task: str) -> Verification:
    """The judgement of a task: CORRECT where the task's own scorer gives the full mark.

    The reference is the entry as JSON (`{"answer": ..., "metadata": ...}`). Where the task's scorer needs no metadata,
    the answer is enough.
    """
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    entry, text = _entry(reference), read(completion).stated
    if text is None:
        return unread(str(entry["answer"]), completion)
    if evaluates(task) and not is_harmless(text):
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, str(entry["answer"]), text)
    mark = scorer(task).score_answer(text, entry=_fit_to_scorer(reference, task))
    return Verification.compared(mark == 1.0, str(entry["answer"]), text)


@lru_cache(maxsize=4096)
def _fit_to_scorer(reference: str, task: str) -> dict[str, Any]:
    """The entry as the task's scorer needs it: with tuples, where the entry's own answer has no full mark otherwise."""
    entry = _entry(reference)
    right = scorer(task).score_answer(str(entry["answer"]), entry=entry) == 1.0
    return entry if right else {key: _with_tuples(value) for key, value in entry.items()}


def _with_tuples(value: Any) -> Any:
    """A value with a tuple in the place of each list: JSON has no tuples."""
    if isinstance(value, dict):
        return {key: _with_tuples(own) for key, own in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


@cache
def evaluates(task: str) -> bool:
    """Whether a task's scorer may run the answer as Python, by `eval` or by sympy's parser, as its source shows."""
    module = inspect.getmodule(type(scorer(task)))
    return bool(module and _EVALUATES.search(inspect.getsource(module)))


def is_harmless(text: str) -> bool:
    """Whether a text, run as Python, calls and names nothing: a literal, or arithmetic in letters and numbers."""
    if len(text) > LONGEST:
        return False
    if _ARITHMETIC.fullmatch(text) and not _TOWER.search(text):
        return True
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def entry_as_reference(entry: Mapping[str, Any]) -> str:
    """An entry of a task as the reference of its verifier, with the metadata that some scorers need."""
    return json.dumps({"answer": entry["answer"], "metadata": entry["metadata"]}, default=str)


def _entry(reference: str) -> dict[str, Any]:
    try:
        entry = json.loads(reference)
    except json.JSONDecodeError:
        entry = None
    return entry if isinstance(entry, dict) and "answer" in entry else {"answer": reference, "metadata": {}}


@cache
def scorer(task: str) -> Any:
    """The reasoning-gym data set of a task, whose `score_answer` marks answers."""
    import reasoning_gym

    return reasoning_gym.create_dataset(task, size=1, seed=0)
