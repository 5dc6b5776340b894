"""The `text` verifier: CORRECT where a text in plain words states the reference as its answer.

It never sees the question. INCORRECT is kept for answers that exclude one another, which are yes and no, numbers, and
dates. All else is left open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, compare
from cooper_rl.verifiers.math.library import shorten
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.reader import form_of
from cooper_rl.verifiers.math.stated import RECENT, Reading, has_answer, is_hedged, read
from cooper_rl.verifiers.math.units import CURRENCIES, known_unit
from cooper_rl.verifiers.math.words import MONTHS, WEEKDAYS, Date, Words
from cooper_rl.verifiers.prose.references import dates_of, may_be_year, parts, ways_to_say, without_lead
from cooper_rl.verifiers.prose.rivals import (
    is_among_fragments,
    is_beside_another_clause,
    is_in_list,
    is_reconsidered,
    is_repeated_with_another,
)
from cooper_rl.verifiers.prose.stance import (
    Place,
    Sentence,
    find_retraction_end,
    is_taken_back_by,
    sentences,
    why_not_stated,
)
from cooper_rl.verifiers.prose.writing import Written, tokenize
from cooper_rl.verifiers.simple import explain_choice

MAX_FREE = 2000  # characters of a text that is read whole, since it marks no answer
OPENING = 2  # sentences at its beginning that may state the answer, besides the last one
_CHOICE = re.compile(r"\(?[A-J][).]?")
_YES_OR_NO = re.compile(r"yes|no|true|false", re.IGNORECASE)
_MARKUP = re.compile(r"\\(?:text(?:bf|it|rm)?|mathrm|mathbf|operatorname)\s*\{([^{}]*)\}|\*\*|__|`|\\[,;! ]|\$")
MAX_CHARACTERS = 80  # of a number or date with what may stand beside it
_DECISION = re.compile(
    r"\W*(?P<word>yes|no|true|false)\b(?!\W*(?:and|or|/)?\W*(?:yes|no|true|false)\b)"
    r"(?!\s+(?:doubt|question|one|problem|matter|wonder|less|way|longer|idea|more|other|reason|need|evidence)\b)"
    r"(?!\. ?\d)",
    re.IGNORECASE,
)
_DENIED = re.compile(  # "Yes, they are not."
    r"\W*(?:\w+\W+){1,4}?(?:not\b(?! (?:only|just|merely)\b)|never\b)|\W*(?:\w+\W+){0,3}?\w+n't\b", re.IGNORECASE
)
_TURNED = re.compile(  # what may say the opposite of the first word
    r"(?P<denied>\bnot\W+|n't\W+)?\b(?P<word>yes|no(?=\W*(?:\Z|[.,;!]))|true|false|wrong|incorrect)\b", re.IGNORECASE
)
_JUDGED = re.compile(
    r"\W*(?:it|this|that|(?:the|this|that) (?:statement|claim|sentence))(?:'s| is) (?P<word>true|false)\b", re.I
)
_MEANS_YES = {"yes": True, "true": True, "no": False, "false": False}
_ROUGHLY = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|over|circa|ca?\.|some|more|less|least|most)|~|\+", re.I
)
_MONEY = re.compile(r"[$€£¥₹]|\b(?:USD|EUR|GBP|(?i:dollar|euro|yen|rupee)(?=s?\b))")
_ALSO_WORDS = frozenset(  # names that are words too
    (
        *("May", "March", "August", "Hope", "Will", "Mark", "Grace", "Bill", "Faith", "Joy", "Frank", "Rob", "Pat"),
        *("Cork", "Bath", "Reading", "Nice"),
    )
)
_BEFORE = re.compile(r"(?:(?:it|this|that|there) )?(?:is|was|were|are) ", re.IGNORECASE)


def explain(reference: str, completion: str) -> Verification:
    """The verdict on a completion, with its reason and both answers.

    A box or what follows "the answer is" is the answer. Without these, a text of up to `MAX_FREE` characters is read
    whole.
    """
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    if _CHOICE.fullmatch(reference.strip()):
        return explain_choice(reference, completion)
    text = _answer_of(completion)
    if text == "":
        return Verification(Verdict.UNPARSEABLE, Reason.NO_ANSWER, shorten(reference))
    left_open = Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, shorten(reference), shorten(text or ""))
    if text is None:
        return left_open
    if _YES_OR_NO.fullmatch(reference.strip(" .")):
        said, gold = decision(text), decision(reference.strip())
        return left_open if said is None else Verification.compared(said is gold, reference.strip(), shorten(text))
    stated = _states(reference, tokenize(text, footnotes=True), not read(completion).bare)
    if stated == exclude(reference, text):  # both: 39 is stated of $39, by £39
        return left_open
    return Verification.compared(stated, shorten(reference), shorten(text))


@lru_cache(maxsize=RECENT)
def _answer_of(completion: str) -> str | None:
    """The text of the answer; "" for a completion without any, and None where it cannot be told or has several."""
    reading = read(completion)
    if not has_answer(reading.completion, ""):
        return ""
    return None if is_hedged(reading) else _answer_text(reading) or None


def _answer_text(reading: Reading) -> str | None:
    """The part of a completion that is its answer; None if it cannot be told, or is denied or doubted around it."""
    text = reading.completion
    if reading.bare:
        return _plain(text) if len(text) <= MAX_FREE else None
    if reading.stated is None:
        return None
    last = reading.boxes[-1] if reading.boxes else reading.stated
    before, _, after = text.rpartition(last)
    return None if is_taken_back_by(before, after) else _plain(reading.stated)


def _plain(text: str) -> str:
    return _MARKUP.sub(lambda found: found.group(1) or "", text)


def _states(reference: str, whole: Written, marked: bool) -> bool:
    """Whether a text states the reference: as a whole, or all items of a list in any order."""
    keys = ways_to_say(reference)
    if _other_money(reference, whole.text) or (reference in _ALSO_WORDS and _is_only_a_word(reference, whole)):
        return False
    if whole.joined in keys and not whole.text.rstrip().endswith("?"):
        return True
    places = [*(place for key in keys for place in whole.places(key)), *dates_of(reference, whole)]
    if _states_any(places, whole, marked):
        return True
    items = parts(reference)
    return bool(items) and all(_states_any([*whole.places(item)], whole, marked, len(items)) for item in items)


def _other_money(reference: str, text: str) -> bool:
    """Whether a text has money of other kinds alone than the reference's."""
    own, its = (set(map(_money, _MONEY.findall(side))) for side in (reference, text))
    return bool(own and its and not own & its)


def _money(sign: str) -> str:
    return CURRENCIES.get(sign) or known_unit(sign)


def _is_only_a_word(reference: str, whole: Written) -> bool:
    """Whether a name that is also a word stands only as the word in a text that has names: it may rain in June."""
    found = [token.capital for token in whole.tokens if token.word == reference.lower()]
    names = any(token.capital and token.start > 0 and token.word != "i" for token in whole.tokens)
    return names and not any(found)


def _states_any(places: Sequence[tuple[int, int]], whole: Written, marked: bool, asked: int = 1) -> bool:
    """Whether any of the places is stated as the answer.

    Args:
        asked: how many answers the reference has.
    """
    if not places:
        return False
    in_text = list(sentences(whole))
    found = [place for place in _find_places(places, whole, in_text, marked) if not why_not_stated(place)]
    retracted = find_retraction_end(whole.text)
    still_meant = [sentence for sentence in in_text if sentence.end > retracted]
    return any(
        place.start >= retracted
        and not is_in_list(place, asked)
        and not is_among_fragments(place, still_meant, asked)
        and not is_reconsidered(place, still_meant)
        and (asked > 1 or not (is_beside_another_clause(place) or is_repeated_with_another(place, still_meant)))
        for place in found
    )


def _find_places(
    places: Sequence[tuple[int, int]], whole: Written, in_text: Sequence[Sentence], marked: bool
) -> Iterator[Place]:
    """The places with their sentences, of those sentences that may state the answer."""
    for first, last in places:
        for number, sentence in enumerate(in_text):
            if sentence.first <= first < sentence.last and (marked or number < OPENING or sentence is in_text[-1]):
                yield Place(whole, _extend(sentence, last, whole), first, last)


def _extend(sentence: Sentence, last: int, whole: Written) -> Sentence:
    """The sentence, longer if an answer such as "Panic! at the Disco" ends after it."""
    if last <= sentence.last:
        return sentence
    return replace(sentence, last=last, end=whole.tokens[last - 1].end)


def decision(text: str) -> bool | None:
    """Yes or no, as a text says it in its first words ("No, it is not", "That is true"); None if it says neither."""
    found = _DECISION.match(text) or _JUDGED.match(text)
    if not found:
        return None
    said = _MEANS_YES[found["word"].lower()]
    later = [
        (each["word"].lower() in ("yes", "true")) is not bool(each["denied"])
        for each in _TURNED.finditer(text, found.end())
    ]
    denied = said and _DENIED.match(text, found.end())
    return said if not denied and all(each is said for each in later) else None


def exclude(reference: str, text: str) -> bool:
    """Whether a text is another number or date than the reference. Both have to be nothing but a number or date."""
    if len(text) > MAX_CHARACTERS or "/" in text or _ROUGHLY.search(reference) or _ROUGHLY.search(text):
        return False
    gold, answer = (_number_or_date(without_lead(side.strip())) for side in (reference, _BEFORE.sub("", text, count=1)))
    if gold is None or answer is None:
        return False
    if isinstance(gold, Date) and isinstance(answer, Number):
        return _other_year(gold, answer)
    if isinstance(gold, Number) and isinstance(answer, Date):
        return _other_year(answer, gold)
    return compare(gold, answer) is Comparison.DIFFERENT


def _number_or_date(text: str) -> AnswerForm | None:
    found = form_of(text)
    day = isinstance(found, Words) and found.text in (*WEEKDAYS, *MONTHS)
    return found if day or isinstance(found, Number | Date) else None


def _other_year(date: Date, number: Number) -> bool:
    return bool(date.year) and may_be_year(number.value) and number.value != date.year
