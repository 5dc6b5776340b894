"""Finds the answer that a completion states: in a box, after "####" or "the answer is", or as the whole text.

It works on text only; nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from string import digits

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math.markup import BOLD_EDGE, strip_markup, visible, without_spaces
from cooper_rl.verifiers.math.number import number
from cooper_rl.verifiers.math.numerals import NUMBER_WORDS
from cooper_rl.verifiers.math.retraction import (
    FIGURE,
    changes_to_another,
    figures,
    find_conclusion,
    is_corrected,
    is_denied_box,
    is_denied_cue,
    is_settled,
    is_taken_back,
    same_number,
    value_of,
)
from cooper_rl.verifiers.math.words import WEEKDAYS

MAX_BARE = 300
MAX_QUOTE = 2000
MAX_BOXES = 64  # only the last boxes are read
MAX_BOX = 2000  # characters that a box may have
RECENT = 4  # readings that are cached, since `complete` asks again for what the verifier has read

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"[{}]")
_CONCLUSION = re.compile(  # may come before a bare answer
    r"\s*(?:so|thus|hence|therefore),? (?:we (?:get|have|obtain|find)|(?:it|this|that) (?:is|gives|makes))\b:?"
    r"(?!.*(?:[,;]|\band\b|\bor\b))",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"\b(?:for instance|for example|e\.g\.|such as|format)[^.\n]{0,12}\Z", re.IGNORECASE)
_EMPTY_BOX = re.compile(rf"{_BOX.pattern}\s*\}}")
_CUE_WORD = re.compile(  # with which a cue begins, in lower case; finding these first is ten times as fast
    "answer|option|choice|####|result|ergebnis|\na:|antwort|réponse|reponse|respuesta|résultat|答"
)
_CUE = re.compile(
    r"(?:\b(?:answer|option|choice)\s*(?:is|:|=|would be|must be)"
    r"|####|(?:\b(?:answer|result|ergebnis)|(?<=\bend)(?:result|ergebnis))\b\W{0,6}:|\nA:(?=[^\n]*\s*\Z)"
    r"|\b(?:antwort|r[ée]ponse(?: finale)?|respuesta(?: final)?|resultado|r[ée]sultat)\W{0,4}\s*"
    r"(?::|\b(?:ist|lautet|est|es)\b)"
    r"|答案(?:是|为|為|\W{0,3}[:：])|答\s*[:：])"
    r"[\s*:#]*(?:(?:therefore|thus|then|just|simply|equal to|indeed|donc|also|somit|daher|entonces|pues)\b)?\s*",
    re.IGNORECASE,
)
_APPRAISAL = re.compile(
    r"(?:indeed |also |then )?(?:correct|right|wrong|reasonable|consistent|valid|confirmed)\b", re.I
)
_NEW_QUESTION = re.compile(r"\n\s*(?:Question|Problem|Q|Human|User) ?\d*\s*:|<\|endoftext\|>")
_SENTENCE_END = re.compile(
    r"。|(?<=[\w$)}\]%])\.(?:\s+[A-Z#*\n]|\s*$)|\s(?:because|since|as)\b|, (?:which|so|because|since|as)\b|<\|"
)
_CONNECTOR = re.compile(r"[\s$,;.]*(?:\\text\{)?\s*(?:and|or|,|;)?\s*\}?[\s$\\()\[\]]*")
_WORDS = re.compile(
    rf"\b(?:{'|'.join((*NUMBER_WORDS, *WEEKDAYS))}|half|third|quarter|yes|no|true|false|none|infinity|infinite)\b",
    re.IGNORECASE,
)
_OF_KNOWN = re.compile(r"\b(?:in|for|per|of|each|every|the|these|those|his|her|their) (?:one|two|three|four|five)\b")
_SYMBOL = re.compile(
    r"[\d∞πφ]|\\(?:frac|sqrt|pi|infty)|\\(?:boxed|fbox|text)\s*\{[^{}]*[^\s{}]|\b[A-J]\b|[a-z]\s*=", re.IGNORECASE
)
_FRAME = re.compile(
    r"\\\w+|\b(?:so|thus|hence|therefore|then|and|the|my|our|final|correct|right|answer|result|solution|option|choice|is|it|its|"
    r"that|this|which|to|be|would|must|makes|we|get|have)\b",
    re.IGNORECASE,
)
_OFFERED = (  # a number with what belongs to it: 25%, 1 dozen, 3 pm
    r"(?<![\d.,/:])\$?(-?[\d.,/:]*\d(?:\s?(?:%|[ap]\.?m\b|percent\b|dozen\b|hundred\b|thousand\b|million\b|billion\b))?)"
)
_HEDGE = re.compile(rf"(?:answer is|answer:|####)[^.\n]*?{_OFFERED}\s*(?:,\s*)?(?:or|and maybe|or maybe)\s+{_OFFERED}")
_MAYBE = re.compile(rf"\b(?:it )?could be\s+{_OFFERED}[^.\n]*?\b(?:or|maybe|perhaps)\s+{_OFFERED}", re.IGNORECASE)
_DOUBT = re.compile(r"\b(?:could|might|may) be\b[^\n]{1,300}\b(?:but|or) (?:maybe|perhaps|possibly)\b", re.IGNORECASE)
_OR_BETWEEN = re.compile(r"[^\n]{0,20}\b(?:or|maybe|perhaps|possibly)\b[^\n]{0,20}", re.IGNORECASE)
_OFFERS = (" or", " Or", ",or", "aybe", "erhaps")
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|makes?|gets?|gives?|equals|will|would|needs?|so|thus|there|lautet|beträgt|ist|sind"
    r"|est|sont|es|son)\b|(?-i:^\s*[A-Z][a-z']* [a-z]{2,} (?!and\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A completion with the answer that it states.

    `stated` is the text of the answer, or None if it could only be guessed. `boxes` has the contents of the last boxes,
    `gaps` the texts between them. `bare` is true if the completion has neither a box nor a cue such as "the answer is".
    `corrected` is true if words before the last box retract an earlier box. It is also true if the answer itself is
    retracted or denied. Then nothing is `stated`.
    """

    completion: str
    stated: str | None
    boxes: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    bare: bool = False
    corrected: bool = False


def complete(found: Verification, reference: str, completion: str) -> Verification:
    """A verification with `several_answers` and `answer` filled in.

    A simple verifier calls a text without any answer a mismatch. It gets the reason `NO_ANSWER`, and keeps its verdict.
    """
    reading = read(completion)
    mismatch = found.verdict is Verdict.INCORRECT and found.reason is Reason.MISMATCH
    if mismatch and not has_answer(reading.completion, reference):
        return replace(found, reason=Reason.NO_ANSWER)
    several = is_hedged(reading)
    stated = reading.stated or (found.parsed_answer if found.verdict is Verdict.CORRECT else None)
    if several or found.reason is Reason.CONTRADICTION:
        stated = None
    return replace(found, several_answers=several, answer=one_writing(stated) if stated else None)


@lru_cache(maxsize=4096)
def one_writing(answer: str) -> str | None:
    """The answer as a text that is the same for answers that differ in markup, case and spaces, or are one number."""
    text = strip_markup(answer)
    found = number(text)
    bare = found and not (found.unit or found.base or found.clock)
    return str(found.value) if found and bare else without_spaces(text).casefold() or None


@lru_cache(maxsize=RECENT)
def read(completion: str) -> Reading:
    """Finds the answer that a completion states.

    It is the last box; boxes joined by "and" or a comma are one list. Without a box, it is the text after the last
    "answer is" or "####". Without these, it is the whole completion, if that is short enough. Where a completion ends
    its thinking with `</think>`, only the text after it is read.
    """
    thinking, _, said = completion.rpartition("</think>")
    completion = _without_next_question(visible(said if said.strip() else thinking))
    boxes, gaps = _boxes(completion)
    after = gaps.pop()
    if boxes and changes_to_another(boxes[-1], after):
        return Reading(completion, None, corrected=True)
    taken_back = bool(boxes) and is_taken_back(after)
    if boxes and not taken_back and (said_after := _other_answer(boxes[-1], after)):
        boxes, gaps = [*boxes, said_after], [*gaps, after]
    if boxes and not taken_back:
        first = next(i for i, box in enumerate(boxes) if set(boxes[i:]) == {boxes[-1]})  # of the last answer
        corrected = first > 0 and is_corrected(gaps[first])
        return Reading(completion, _last_list(boxes, gaps), tuple(boxes), tuple(gaps[1:]), corrected=corrected)
    said_from = len(completion) - len(after) if taken_back else 0
    ends = [end for end in _ends_of_cues(completion, said_from) if not _APPRAISAL.match(completion, end)]
    if ends:
        stated = _after_cue(completion[ends[-1] :])
        denied = is_denied_cue(completion[: ends[-1]].lower().rpartition("answer")[0])
        changed = stated and changes_to_another(stated, completion[ends[-1] :])
        settled = stated and " or " in stated and is_settled(completion, ends[-1])
        return Reading(completion, None if denied or changed or settled else stated, corrected=bool(changed or denied))
    if taken_back:
        return Reading(completion, None)
    text = _EMPTY_BOX.sub("", completion)
    if found := _CONCLUSION.match(text):
        text = text[found.end() :]
    text = text.strip()
    return Reading(completion, text if 0 < len(text) <= MAX_BARE and "\n" not in text else None, bare=True)


def _without_next_question(completion: str) -> str:
    """A completion without the questions that a base model asks itself after its answer."""
    for found in _NEW_QUESTION.finditer(completion):
        before = completion[: found.start()]
        if _BOX.search(before) or next(_ends_of_cues(before, 0), None) is not None:
            return before
    return completion


def _other_answer(box: str, after: str) -> str | None:
    """The number that the text after the last box concludes to be the answer, where the box has another one."""
    conclusion = find_conclusion(after)
    ends = [] if conclusion is None else list(_ends_of_cues(after, conclusion))
    said = _after_cue(after[ends[-1] :]) if ends else None
    if said is None or value_of(said) is None or value_of(box) is None or same_number(said, box):
        return None
    return said


def _ends_of_cues(text: str, start: int) -> Iterator[int]:
    """Where the cues end, such as "the answer is", that begin after this place."""
    lowered = text.replace("İ", "I").lower()  # the one letter that is two in lower case
    for word in _CUE_WORD.finditer(lowered, start):
        if word.start() >= start and (cue := _CUE.match(text, word.start())):
            start = cue.end()
            yield start


def _boxes(text: str) -> tuple[list[str], list[str]]:
    """The contents of the last boxes, the text before each of them, and the text after the last one.

    A box in a quotation, and one that is given as an example, is left out.
    """
    boxes, gaps, end = [], [], 0
    for match in list(_BOX.finditer(text))[-MAX_BOXES:]:
        depth, start = 1, match.end()
        for brace in _BRACE.finditer(text, start, start + MAX_BOX):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                content = text[start : brace.start()].strip()
                if content and not _is_mentioned(text, match.start(), brace.end()):
                    boxes.append(content)
                    gaps.append(text[end : match.start()])
                end = brace.end()
                break
    return boxes, [*gaps, text[end:]]


def _is_mentioned(text: str, start: int, end: int) -> bool:
    """Whether a box stands in quotation marks, or after "for example" or "is not"."""
    before = text[max(0, start - MAX_QUOTE) : start].replace("“", '"').rpartition("\n\n")[2]
    quoted = before.count('"') % 2 == 1 and any(mark in text[end : end + MAX_BARE] for mark in '"”')
    return quoted or bool(_EXAMPLE.search(before[-60:]) or is_denied_box(before))


def _last_list(boxes: list[str], gaps: list[str]) -> str:
    first = len(boxes) - 1
    while first > 0 and _CONNECTOR.fullmatch(gaps[first]):
        first -= 1
    return ", ".join(boxes[first:]) if len(set(boxes[first:])) > 1 else boxes[-1]


def _after_cue(text: str) -> str | None:
    answer = BOLD_EDGE.split(text.partition("\n")[0][:MAX_BARE], maxsplit=1)[0]
    end = _SENTENCE_END.search(answer)
    concludes = end and " so" in end.group() and FIGURE.search(answer[end.end() :].partition(".")[0])
    answer = answer[: end.start()].strip() if end else answer.strip()
    if concludes:  # 9 eggs are left, so she makes 18 dollars
        return None
    return answer if any(c.isalnum() for c in answer) and "\\boxed" not in answer else None


def is_solution(reference: str) -> bool:
    """Whether a reference is a worked solution that states its answer, not the answer alone."""
    return len(reference) > MAX_BARE or _is_marked(reference)


def is_unmarked_solution(reference: str) -> bool:
    """Whether a reference is a worked solution whose answer is neither in a box nor after "####"."""
    return is_solution(reference) and not _is_marked(reference)


def _is_marked(reference: str) -> bool:
    return bool(_BOX.search(reference)) or "####" in reference


def is_sentence(text: str) -> bool:
    """Whether a bare text is a sentence about the answer rather than the answer itself."""
    return bool(_VERB.search(re.sub(r"\\text\s*\{[^{}]*\}", " ", text)))


def has_answer(completion: str, reference: str) -> bool:
    """Whether anything in the text could be an answer in some form. False for empty text and garbage.

    If the reference is a word, any word could be the answer, except words such as "so the answer is".
    """
    if any(digit in completion for digit in digits):  # the patterns are slow
        return True
    if _SYMBOL.search(completion) or _WORDS.search(completion):
        return True
    in_words = not _SYMBOL.search(reference)
    return in_words and bool(re.search(r"[^\W\d_]{2,}", _FRAME.sub(" ", completion)))


def closing_number(completion: str) -> str | None:
    """The only number in digits of the last line ("So they need 12 buses."); None if its words name another number."""
    last = completion.strip().rpartition("\n")[2][-MAX_BARE:].replace("**", "")
    found = figures(last)
    others = _OF_KNOWN.sub(" ", FIGURE.sub(" ", last))
    if len(found) != 1 or _WORDS.search(others) or re.search(r"[\d\\^_=+*/]", others):
        return None
    return found[0]


def last_figure(completion: str) -> str | None:
    """The last number in digits of a text that states no answer, for example because it was cut off.

    None if the line has LaTeX or names numbers in words.
    """
    lines = [line for line in completion[-10 * MAX_BARE :].split("\n") if FIGURE.search(line)]
    if not lines or "\\" in lines[-1] or _WORDS.search(FIGURE.sub(" ", lines[-1])):
        return None
    return figures(lines[-1])[-1]


@lru_cache(maxsize=2 * RECENT)
def is_hedged(reading: Reading, *, in_boxes: bool = True) -> bool:
    """Whether a completion offers several answers that differ as text or number, and does not decide between them.

    Args:
        in_boxes: whether boxes that differ are enough, whatever stands between them.
    """
    boxes = set(reading.boxes)
    differ = len(boxes) > 1 and len({box if value_of(box) is None else value_of(box) for box in boxes}) > 1
    if differ and (in_boxes or any(_OR_BETWEEN.fullmatch(gap) for gap in reading.gaps)):
        return True
    if len(boxes) == 1 or not any(word in reading.completion for word in _OFFERS):  # the patterns are slow
        return False
    if _DOUBT.search(reading.completion[-2 * MAX_BARE :]) and not _MAYBE.search(reading.completion):
        return True
    patterns = (_HEDGE, _MAYBE) if "could be" in reading.completion.lower() else (_HEDGE,)
    offers = [found for pattern in patterns for found in pattern.finditer(reading.completion)]
    return any(not same_number(*found.groups()) and not is_settled(reading.completion, found.end()) for found in offers)


def unclear(reference: str, reading: Reading) -> bool:
    """Whether a completion names the reference's number without a box or a cue ("That makes 12. I am 90% sure.").

    Reading another of its numbers as the answer may then be the verifier's mistake.
    """
    gold = value_of(reference)
    return gold is not None and reading.bare and any(value_of(text) == gold for text in figures(reading.completion))
