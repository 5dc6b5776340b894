"""Where a completion states its answer: boxes, "####", "the answer is", or nothing but an answer. Text only."""

from __future__ import annotations

import re
from fractions import Fraction

_CUE = re.compile(r"(?:answer is|answer:|####)[ \t]*", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d{1,30})(?:\.\d{1,30})?(?:/\d{1,30})?")
_WORDS = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|"
    r"sixty|seventy|eighty|ninety|hundred|thousand|half|third|quarter|yes|no|true|false|none|infinity|infinite|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_SYMBOL = re.compile(r"[\d∞πφ]|\\(?:boxed|frac|sqrt|pi|infty|text)|\b[A-J]\b|[a-z]\s*=", re.IGNORECASE)
_HEDGE = re.compile(
    r"(?:answer is|answer:|####)[^.\n]*?(-?[\d.,/]*\d)\s*(?:,\s*)?(?:or|and maybe|or maybe)\s+(-?[\d.,/]*\d)"
)
_MAYBE = re.compile(
    r"\b(?:it )?could be\s+\$?(-?[\d.,/]*\d)[^.\n]*?\b(?:or|maybe|perhaps)\s+\$?(-?[\d.,/]*\d)", re.IGNORECASE
)


def plain_number(text: str) -> Fraction | None:
    """An integer, decimal, simple fraction or number with thousands separators as an exact value; else None."""
    text = text.strip().strip("$").rstrip(".").strip()
    if not _NUMBER.fullmatch(text):
        return None
    numerator, _, denominator = text.replace(",", "").partition("/")
    if denominator and (int(denominator) == 0 or "." in numerator):
        return None
    return Fraction(numerator) / int(denominator or 1)


def hedged(completion: str) -> bool:
    """Whether the completion offers several answers that differ as text or number."""
    boxes = [box for box, _ in boxes_with_gaps(completion)]
    if len({plain_number(box) if plain_number(box) is not None else box for box in boxes}) > 1:
        return True
    pairs = [m.groups() for pattern in (_HEDGE, _MAYBE) for m in pattern.finditer(completion)]
    return any(plain_number(a) != plain_number(b) for a, b in pairs)


def has_answer(completion: str) -> bool:
    """Whether anything in the text could be an answer in some form; False for empty text and garbage."""
    return bool(_SYMBOL.search(completion) or _WORDS.search(completion))


def unclear(reference: str, completion: str) -> bool:
    """Whether the completion names the reference's number outside any box or cue, so that taking another of its
    numbers for the answer may be the verifier's mistake ("That makes 12. I am 90% sure.")."""
    gold = plain_number(reference)
    if gold is None or boxes_with_gaps(completion) or _CUE.search(completion):
        return False
    return any(plain_number(found.group()) == gold for found in _NUMBER.finditer(completion))


_STATED = re.compile(
    r"(?:\b(?:final |correct |right )?(?:answer|option|choice)\s*(?:is|:|=|would be|must be)"
    r"|####|\banswer\b\W{0,6}:|\nA:(?=[^\n]*\s*\Z))"
    r"[\s*:]*(?:(?:therefore|thus|then|just|simply|equal to|indeed)\b)?\s*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(
    r"(?<=[\w$)}\]%])\.(?:\s+[A-Z#*\n]|\s*$)|\s(?:because|since|as)\b|, (?:which|so|because|since|as)\b|<\|"
)
_CORRECTION = re.compile(
    r"\b(?:wait|actually|correction|mistake|wrong|let me (?:re|correct|double)|scratch that|sorry|instead)\b",
    re.IGNORECASE,
)
_CONNECTOR = re.compile(r"[\s$,;.]*(?:\\text\{)?\s*(?:and|or|,|;)?\s*\}?[\s$\\()\[\]]*")
MAX_BARE = 300
MAX_BOXES = 64  # the last ones


def boxes_with_gaps(text: str) -> list[tuple[str, str]]:
    """Each box's content with the text between it and the box before it."""
    found, end = [], 0
    for match in list(re.finditer(r"\\(?:boxed|fbox)\s*\{", text))[-MAX_BOXES:]:
        depth, start = 1, match.end()
        for index in range(start, min(len(text), start + 2000)):
            depth += (text[index] == "{") - (text[index] == "}")
            if depth == 0:
                found.append((text[start:index].strip(), text[end : match.start()]))
                end = index + 1
                break
    return [box for box in found if box[0]]


def stated(completion: str) -> str | None:
    """The text of the answer that a completion states, or None where only a guess could tell.

    The last box counts, boxes joined by "and" or a comma are one list; without a box, the last "answer is" or "####";
    without either, a completion that is short enough to be an answer itself.
    """
    boxes = boxes_with_gaps(completion)
    if boxes:
        run = [boxes[-1][0]]
        for (_, gap), (before, _) in zip(boxes[:0:-1], boxes[-2::-1], strict=True):
            if not _CONNECTOR.fullmatch(gap):
                break
            run.insert(0, before)
        return ", ".join(run) if len(set(run)) > 1 else run[-1]
    cues = list(_STATED.finditer(completion))
    if cues:
        answer = completion[cues[-1].end() :].partition("\n")[0][:MAX_BARE].partition("**")[0]
        end = _SENTENCE_END.search(answer)
        answer = answer[: end.start()].strip() if end else answer.strip()
        return answer if any(c.isalnum() for c in answer) and "\\boxed" not in answer else None
    text = completion.strip()
    return text if 0 < len(text) <= MAX_BARE and "\n" not in text else None


_FIGURE = re.compile(r"(?<![\w.,/])[-+]?[$€£]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?")


def closing_number(completion: str) -> str | None:
    """The only figure of the last line ("So they need 12 buses."), if its other words name no number."""
    last = completion.strip().rpartition("\n")[2][-MAX_BARE:]
    figures = [figure.group().rstrip(",") for figure in _FIGURE.finditer(last)]
    others = _FIGURE.sub(" ", last)
    if len(figures) != 1 or _WORDS.search(others) or re.search(r"[\d\\^_=+*/]", others):
        return None
    return figures[0]


def corrects_itself(completion: str) -> bool:
    """Whether the text before its last box takes an earlier one back."""
    boxes = boxes_with_gaps(completion)
    return len(boxes) > 1 and bool(_CORRECTION.search(boxes[-1][1]))


_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|makes?|gets?|gives?|equals|will|would|needs?|so|thus|there)\b", re.IGNORECASE
)


def is_sentence(text: str) -> bool:
    """Whether a bare text says something about its answer, rather than being one."""
    return bool(_VERB.search(re.sub(r"\\text\s*\{[^{}]*\}", " ", text)))


def is_bare(completion: str) -> bool:
    """Whether the completion is nothing but an answer: no box, no cue."""
    return not boxes_with_gaps(completion) and not _STATED.search(completion)


def is_solution(reference: str) -> bool:
    """Whether a reference is a worked solution that states its answer, not the answer alone."""
    return len(reference) > MAX_BARE or bool(boxes_with_gaps(reference)) or "####" in reference
