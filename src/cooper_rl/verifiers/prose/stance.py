"""Whether a place of a text says of what stands there that it is the answer.

It does not where it is denied, doubted, one of several or a part of a longer name, nor where it only repeats the
question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cooper_rl.verifiers.prose.sentences import Sentence
from cooper_rl.verifiers.prose.writing import RANGE, Token, Written

_QUOTED = re.compile(r'"[^"]*"')
_CLAUSE_END = re.compile(
    r"[,:()]|\s-\s|\b(?:but|however|although|though|while|whereas|because|since|so|instead)\b", re.IGNORECASE
)
_DENIAL = re.compile(
    r"\b(?:not(?! (?:only|just|merely)\b)|no(?! ?\.| \d| doubt\b| longer\b)|never|neither|nor|without"
    r"|except|excluding|unlike|cannot|\w+n't"
    r"|(?:is|was|are|were|do|does|did|has|had|have|would|could)nt"
    r"|rather than|instead of|other than|as opposed to|far from|contrary to"
    r"|false|untrue|wrong|incorrect|mistaken|myth|confused with|rumou?red)\b",
    re.IGNORECASE,
)
_BUT = re.compile(
    r"\b(?:anything|anyone|anywhere|everything|everyone|everywhere|nothing|all) but\W*(?:\w+\W+){0,2}$", re.I
)
_DENIED_AFTER = re.compile(
    r"\W*(?:is|are|was|were|does|do|did|has|have|had|will|would|can|could|should)"
    r"(?:n't|not)?(?: also| actually| certainly| definitely)?"
    r"(?:(?<=n't)| (?:not\b(?! (?:only|just|merely)\b)|never\b|(?:be )?(?:wrong|incorrect|false|a myth)\b))",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:might|maybe|perhaps|possibly|could (?:have )?be(?:en)?|may (?:be|have|well)"
    r"|not sure|unsure|unclear|uncertain|unknown|either"
    r"|candidates?|options?|possibilit(?:y|ies)|guess(?:es)?|possible (?:answers?|choices?)"
    r"|(?:some|many|others?|people|often|commonly|popularly|widely|mistakenly|wrongly)(?: people)?"
    r" (?:say|said|think|thought|believed?|claim(?:ed)?|assumed?))\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"(?:\b(?:include[sd]?|including|such as|among|for (?:example|instance)|e\.g\.)|^\W*others?\b)(?P<between>.*)",
    re.IGNORECASE | re.DOTALL,
)
_ONE_OF = re.compile(
    r"\b(?:one|some|several|many|any) of (?:the|her|his|their|its)\b|\banother (?:one|example|option|candidate)\b",
    re.IGNORECASE,
)
_DOUBT_AFTER = re.compile(
    r"\W*(?:\w+\W+){0,2}(?:might|may(?= (?:be|have|well)\b)|could(?= be\b)|possibly|perhaps|maybe|i guess|not sure)\b"
    r"|[^.!?]*\b(?:first|initial|original|early) (?:guess|thought|idea|answer)\b|\s*\?",
    re.IGNORECASE,
)
_SENTENCE_START = re.compile(r"[.!?]\s+|\n")
_REGRET = re.compile(
    r"\b(?:no,? wait|wait,|or (?:maybe|perhaps|possibly|rather)|maybe it|perhaps it"
    r"|scratch that|i was wrong|on second thoughts?)\b"
    r"|[.!?]\s+(?:or|maybe|perhaps|alternatively|actually)\b",
    re.IGNORECASE,
)
_IF = re.compile(r"\b(?:if|unless|whether)\b", re.IGNORECASE)
_MORE = r"(?! (?:more|less|so|later|earlier|older|younger|higher|lower)\b)"
_OR_AFTER = re.compile(rf"(?:\W*\w+){{0,4}}?\W*\b(?:and/)?or\b{_MORE}|\s*/|\s*\|", re.IGNORECASE)
_ALSO_AFTER = re.compile(r"\W*(?:as well as|plus|then)\s+(?=[A-Z\d])")
_OR_BEFORE = re.compile(r"(?:\bor\b|/|\bversus\b|\bvs\.?)\W*(?:\w+\W+){0,2}$", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|plays?|played|won|will|would|does|did|do|became|becomes?|lies|lived?|died|made|took"
    r"|takes|comes?|came|began|ended|released|said|wrote|sang|sung|written|called|means?)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(  # "The capital of France is Paris": what follows the preposition is the question's
    r"\W*(?:the|an?|one|another|some|most|my|our|this|that)\b.*"
    r"\b(?:of|in|for|on|at|from|to|with|about|by|against|between|named|called|clue|question|asked)\b\W*(?:\w+\W+){0,2}$",
    re.IGNORECASE | re.DOTALL,
)
_COPULA = re.compile(
    r"\b(?:is|are|was|were)\b(?:(?! (?:not|a|an|also|[a-z]+ed|known|born|set)\b)"
    r"|(?= (?:[a-z]+ly )?(?:known as|called|named|referred to as|(?:[a-z]+ed|made|written|sung|won) by)\b))"
)
_LARGER = frozenset(
    (
        "new",
        "north",
        "south",
        "east",
        "west",
        "saint",
        "st",
        "san",
        "los",
        "las",
        "el",
        "northern",
        "southern",
        "eastern",
        "western",
        "central",
    )
)
_KIND = frozenset(("river", "mountains", "mountain", "ocean", "sea"))  # after a name, they add nothing
_QUANTITY = re.compile(
    r"\b(?:at (?:least|most)|over|under|up to|(?:more|less|fewer|later|earlier|older|younger|higher|lower) than"
    r"|before|after|until|minus|not)\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a sentence of a text: the tokens from `first` to before `last`."""

    whole: Written
    sentence: Sentence
    first: int
    last: int

    @property
    def start(self) -> int:
        """The offset in the text at which it begins."""
        return self.whole.tokens[self.first].start

    @property
    def before(self) -> str:
        """What stands before it in its sentence. What is quoted there is left out, such as a title."""
        return _QUOTED.sub(
            lambda found: '"",' if found.group()[-2:-1] == "," else '""',
            self.whole.text[self.sentence.start : self.start],
        )

    @property
    def after(self) -> str:
        """What follows it in its sentence."""
        return self.whole.text[self.whole.tokens[self.last - 1].end : self.sentence.end]

    @property
    def next(self) -> Token | None:
        """The next token of its sentence."""
        return self.whole.tokens[self.last] if self.last < self.sentence.last else None

    @property
    def previous(self) -> Token | None:
        """The token before it in its sentence."""
        return self.whole.tokens[self.first - 1] if self.first > self.sentence.first else None

    @property
    def is_figure(self) -> bool:
        """Whether it is only a number, a decade or a date."""
        return all(token.is_figure or token.date for token in self.whole.tokens[self.first : self.last])


def why_not_stated(place: Place) -> str:
    """In a word why what stands at a place is not said to be the answer; "" if it is."""
    if place.start < place.sentence.asked:
        return "question"
    for name, found in _CHECKS:
        if found(place):
            return name
    return ""


def is_denied(place: Place) -> bool:
    """Whether its clause has a negation before it, or negates what it says of it."""
    return bool(_DENIAL.search(_clause(place.before)) or _BUT.search(place.before) or _DENIED_AFTER.match(place.after))


def is_doubted(place: Place) -> bool:
    """Whether it is only possible, or somebody's opinion, or under a condition."""
    doubt = _DOUBT.search(place.before) or _IF.search(_clause(place.before))
    return bool(doubt or _DOUBT_AFTER.match(place.after))


def is_example(place: Place) -> bool:
    """Whether it is only an example of what was asked for ("some of them, such as Paris")."""
    before = place.before
    found = _EXAMPLE.search(before)
    return bool((found and not _VERB.search(found["between"])) or _ONE_OF.search(before))


def is_alternative(place: Place) -> bool:
    """Whether "or" or a slash joins it with something else."""
    found = _OR_AFTER.match(place.after)
    joined = found and not _VERB.search(found.group()) and not _CLAUSE_END.search(found.group().strip(" ,("))
    earlier = _OR_BEFORE.search(place.before)
    return bool(joined or _ALSO_AFTER.match(place.after) or (earlier and not _VERB.search(earlier.group())))


def is_part_of_more(place: Place) -> bool:
    """Whether it is a part of a longer name ("Paris Hilton" for Paris), of a range, or of a qualified number."""
    tokens, text, after, before = place.whole.tokens, place.whole.text, place.next, place.previous
    end = tokens[place.last - 1].end
    if place.is_figure:
        ranged = RANGE in (before.key if before else "", after.key if after else "")
        return ranged or bool(_QUANTITY.search(place.before))
    owned = tokens[place.last - 1].word.endswith("'s")  # "Ann Lee's Tower" says no longer name of Ann Lee
    if (
        after
        and after.capital
        and not owned
        and tokens[place.last - 1].capital
        and text[end : after.start] in (" ", "-")
    ):
        shouted = text[place.start : end].isupper() and after.word.upper() == text[after.start : after.end]
        if not after.is_figure and after.word not in _KIND and not shouted:
            return True
    return bool(before and before.word in _LARGER and text[before.end : place.start] in (" ", "-", ". "))


def repeats_question(place: Place) -> bool:
    """Whether it stands within the subject of a sentence whose answer comes after its verb."""
    if _VERB.search(place.before) or not _SUBJECT.match(place.before):
        return False
    return bool(_COPULA.search(place.after))


_CHECKS = (
    ("denied", is_denied),
    ("doubted", is_doubted),
    ("example", is_example),
    ("alternative", is_alternative),
    ("part of more", is_part_of_more),
    ("question's words", repeats_question),
)


def _clause(before: str) -> str:
    """The end of a sentence's beginning, after its last comma or conjunction."""
    at = 0
    for found in _CLAUSE_END.finditer(before):
        at = found.end()
    return before[at:]


def is_taken_back_by(before: str, after: str) -> bool:
    """Whether the words around an answer that a box or cue marks deny or doubt it ("I doubt the answer is ...")."""
    sentence = _SENTENCE_START.split(before)[-1]
    denied = _DENIAL.search(_clause(sentence)) or _DOUBT.search(_clause(sentence)) or _IF.search(_clause(sentence))
    return bool(denied or _REGRET.search(after) or _DOUBT_AFTER.match(after))
