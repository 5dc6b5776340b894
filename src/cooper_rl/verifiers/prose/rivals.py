"""Whether a text offers other answers beside the one at a place.

They stand in a list of candidates, in the same sentence said again, or in a clause about somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from cooper_rl.verifiers.prose.stance import Place, Sentence
from cooper_rl.verifiers.prose.writing import Token, Written

FEW = 3  # so many items in a row are a list of candidates if "and" or "or" joins the last one
MANY = 3  # so many are one without it; two may name a place ("Norfolk, Virginia")
RUN = 3  # so many more words before and after a name, all in capitals, are other names
LABEL = 2  # tokens beside an answer that may belong to its item
ITEM = 4  # tokens that an item may have
FRAME = 3  # tokens before an answer by which another sentence is the same but for its answer
FRAGMENT = 6  # tokens that a line or sentence without a verb may have to be a candidate
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|be|been|will|would|does|did|who|which|that|where|when)\b|\w{2,}ed\b",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"[\W_]*(?:(?:that|this|which)(?:'s| is) (?:not|false|wrong|incorrect|untrue)\b"
    r"|or\b|maybe|perhaps|possibly|alternatively|no[,.!]|it (?:could|might|may) (?:also )?be|hmm|then again)",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\s*(?:[-*•]|\(?\d{1,2}[.)])\s+\S")
_END = (-1, False)  # what stands for the end of a list
_STOP = re.compile(r"[:.!?()]")
_INLINE_MARKER = re.compile(r"(?:^|\s)(?:\(?\d{1,2}\)|\(?[A-Ha-h]\)|\d\.)\s")
_DASH = re.compile(r"\s-\s")
_PLACED = frozenset(("in", "on", "at", "by", "to", "for", "from", "with"))  # what names stand behind
_LINKING = _PLACED | {"of", "as", "de", "la", "von", "van"}
_PRONOUNS = frozenset(("it", "he", "she", "they", "this", "that", "there", "these", "those", "who", "which"))
_CLAUSE_JOINTS = frozenset(("and", "while", "whereas", "but"))
_AUXILIARIES = frozenset(("is", "are", "was", "were", "be", "been", "has", "have", "had"))


def is_in_list(place: Place, asked: int = 1) -> bool:
    """Whether it is one item of a list in its sentence. Two items are a list if the sentence is nothing else.

    Args:
        asked: so many items are the reference's own.
    """
    sentence = place.sentence
    joints = [*_row(place, 1), *_row(place, -1)]
    alone = not _VERB.search(place.whole.text[sentence.start : sentence.end])
    two = alone and sentence.last - sentence.first <= FRAGMENT and (any(joints) or place.is_figure)
    least = 2 if two else FEW if any(joints) or place.is_figure else MANY
    markers = _INLINE_MARKER.findall(place.whole.text[sentence.start : sentence.end])
    return max(len(joints) + 1, len(markers)) > max(asked, least - 1) or (asked == 1 and _is_in_run(place, alone))


def _is_in_run(place: Place, alone: bool) -> bool:
    """Whether it stands among others with only spaces between ("Paris London Rome", "1988 1989 1990")."""
    tokens, sentence = place.whole.tokens, place.sentence
    kind, more = _kind(tokens[place.first]), 0
    if kind == "word" and not (alone and _kind(tokens[sentence.first]) == "word"):
        return False
    for at, way in ((place.first - 1, -1), (place.last, 1)):
        while _inside(sentence, at) and _kind(tokens[at]) == kind and tokens[at].word not in _LINKING:
            low, high = (at, at + 1) if way < 0 else (at - 1, at)
            if place.whole.text[tokens[low].end : tokens[high].start] != " ":
                break
            at, more = at + way, more + 1
    return more >= (1 if kind == "figure" else RUN)


def _row(place: Place, way: int) -> Iterator[bool]:
    """For each further item on one side (1: right, -1: left), whether "and" or "or" joins it."""
    whole, kind = place.whole, _kind(place.whole.tokens[place.first])
    at = place.last - 1 if way > 0 else place.first
    room = LABEL
    while True:
        joint = _joint(whole, place.sentence, at, way)
        if joint == _END:
            return
        if joint is None:
            at, room = at + way, room - 1
            if room < 0 or not _inside(place.sentence, at) or _VERB.fullmatch(whole.tokens[at].word):
                return
            continue
        at, joined = joint
        if not _inside(place.sentence, at) or _kind(whole.tokens[at]) != kind or _VERB.fullmatch(whole.tokens[at].word):
            return
        yield joined
        room = ITEM - 1


def _inside(sentence: Sentence, at: int) -> bool:
    return sentence.first <= at < sentence.last


def _joint(whole: Written, sentence: Sentence, at: int, way: int) -> tuple[int, bool] | None:
    """Where the next item begins (or ends, to the left) if a comma, slash, "and" or "or" follows a token.

    None where the token's item goes on, and `_END` where a stronger mark ends the list.
    """
    step, joined, parted = at + way, False, False
    while _inside(sentence, step):
        low, high = sorted((step - way, step))
        gap = whole.text[whole.tokens[low].end : whole.tokens[high].start]
        if _STOP.search(gap):
            return _END
        parted = parted or any(sign in gap for sign in ",/") or bool(_DASH.search(gap))
        glued = whole.tokens[step].word == "&" and not gap.endswith(" ")  # R&B
        if whole.tokens[step].key not in ("and", "or") or glued:
            return (step, joined) if joined or parted else None
        step, joined = step + way, True
    return None


def _kind(token: Token) -> str:
    return "figure" if token.is_figure or token.date else "name" if token.capital else "word"


def is_repeated_with_another(place: Place, sentences: Sequence[Sentence]) -> bool:
    """Whether another sentence says the same of something else: "It was Paris. It was Rome.", "Rome is, too"."""
    tokens, own = place.whole.tokens, place.sentence
    answer = [token.key for token in tokens[place.first : place.last]]
    before = [token.key for token in tokens[max(own.first, place.first - FRAME) : place.first]]
    after = [token.key for token in tokens[place.last : min(own.last, place.last + FRAME)]]
    for other in (each for each in sentences if each.start != own.start):
        keys = [token.key for token in tokens[other.first : other.last]]
        for at, token in enumerate(tokens[other.first : other.last]):
            same_before = len(before) > 1 and at >= len(before) and keys[at - len(before) : at] == before
            same_after = len(after) > 1 and keys[at + 1 : at + 1 + len(after)] == after
            if not (same_before or same_after) or _kind(token) == "word" or token.word in _PRONOUNS:
                continue
            end = at + 1 if same_after else at + len(answer)
            if keys[max(0, end - len(answer)) : end] != answer:
                return True
    return False


def is_beside_another_clause(place: Place) -> bool:
    """Whether its sentence says the same of somebody else too: "Ann sang and Bo sang", "in Rome, while Bo ate in Oslo".

    Such a sentence answers two questions, so that it may be only quoted. The second clause begins with a name. It has
    the verb of the first, or a name, number or date where the first has its own: behind the same preposition.
    """
    tokens, own = place.whole.tokens, place.sentence
    for joint in range(own.first + 1, own.last - 2):
        if tokens[joint].word not in _CLAUSE_JOINTS or place.first <= joint < place.last:
            continue
        left, right = tokens[own.first : joint], tokens[joint + 1 : own.last]
        verb = next((token for token in right[1:] if not token.capital), None)
        between = place.whole.text[min(place.start, right[0].start) : max(place.start, right[0].start)]
        if not right[0].capital or verb is None or not _may_be_verb(verb, place.whole.text) or _STOP.search(between):
            continue
        if verb.word not in _AUXILIARIES and any(token.word == verb.word for token in left):
            return True
        if _has_in_its_role(place, right if place.first < joint else left):
            return True
    return False


def _may_be_verb(token: Token, text: str) -> bool:
    other = token.word in _LINKING | _CLAUSE_JOINTS | _PRONOUNS or token.word.endswith("ing")
    participle = text.startswith(" by ", token.end)  # "the empire led by Darius"
    return _kind(token) == "word" and not (other or participle) and text[token.start - 1] == " "


def _has_in_its_role(place: Place, clause: Sequence[Token]) -> bool:
    """Whether another clause has another date or amount, or a name behind the preposition that the place has."""
    tokens, text, before = place.whole.tokens, place.whole.text, place.previous
    answer, unit = tokens[place.first], tokens[place.first + 1] if _inside(place.sentence, place.first + 1) else None
    if answer.date:
        return any(token.date and token.key != answer.key for token in clause)
    lead = text[before.start : answer.start].lower() if before and before.word in _PLACED else None  # "in the "
    for token, following in pairwise(clause):
        amount = answer.is_figure and token.is_figure and unit and following.key == unit.key and token.key != answer.key
        placed = text[token.start : following.start].lower() == lead and _kind(following) == _kind(answer)
        if amount or (placed and following.key != answer.key):
            return True
    return False


def is_among_fragments(place: Place, sentences: Sequence[Sentence], asked: int = 1) -> bool:
    """Whether it is one of several lines or sentences without a verb ("Paris. London. Rome.", "1. Paris" and so on)."""
    fragments = [each for each in sentences if _is_fragment(place.whole.text, each)]
    return place.sentence in fragments and len(fragments) > asked


def is_reconsidered(place: Place, sentences: Sequence[Sentence]) -> bool:
    """Whether a later sentence turns to another answer ("Or maybe it was Rome.")."""
    text = place.whole.text
    return any(_TURN.match(text[each.start : each.end]) for each in sentences if each.start > place.start)


def _is_fragment(text: str, sentence: Sentence) -> bool:
    said = text[sentence.start : sentence.end]
    return bool(_MARKER.match(said)) or (sentence.last - sentence.first <= FRAGMENT and not _VERB.search(said))
