"""The sentences of a text, and whether one of them says of what stands at a place that it is the answer.

It does not where it is denied, doubted, one of several or a part of a longer name, nor where it only repeats the
question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cooper_rl.verifiers.math.words import MONTHS, WEEKDAYS
from cooper_rl.verifiers.prose.writing import RANGE, Token, Written

_QUOTED = re.compile(r'"[^"]*"')
_CLAUSE_END = re.compile(
    r"[,:()]|\s-\s|\b(?:but|however|although|though|while|whereas|because|since|so|instead)\b", re.IGNORECASE
)
_DENIAL = re.compile(
    r"\b(?:not(?! (?:only|just|merely)\b)|no(?! ?\.| \d| doubt\b| longer\b)|never|hardly|scarcely|neither|nor|without"
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
    r"(?: nothing to do\b|(?:n't|not)?(?: also| actually| certainly| definitely)?"
    r"(?:(?<=n't)| (?:not\b(?! (?:only|just|merely)\b)|never\b|(?:be )?(?:wrong|incorrect|false|a myth)\b)))",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:would (?:expect|think|guess)|might|maybe|perhaps|possibly|could (?:have )?be(?:en)?|may (?:be|have|well)"
    r"|(?<!no )(?<!without )(?<!without a )doubt(?:ed|s)?|not sure|unsure|unclear|uncertain|unknown|either"
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
    r"|\W*(?:they|some|people|others) (?:claim|say|think|believe)|[^.!?]*\bbut (?:i|we) (?:think|believe|say)\b"
    r"|[^.!?]*\b(?:first|initial|original|early) (?:guess|thought|idea|answer)\b|\s*\?",
    re.IGNORECASE,
)
_SENTENCE_START = re.compile(r"[.!?]\s+|\n")
_REGRET = re.compile(
    r"\b(?:no,? wait|wait,|or (?:maybe|perhaps|possibly|rather)|maybe it|perhaps it"
    r"|scratch that|i was wrong|on second thoughts?|that(?:'s| is) (?:not|false|wrong|incorrect|untrue))\b"
    r"|[.!?]\s+(?:or|maybe|perhaps|alternatively|actually)\b",
    re.IGNORECASE,
)
_IF = re.compile(r"\b(?:if|unless|whether)\b", re.IGNORECASE)
_MORE = r"(?! (?:more|less|so|later|earlier|older|younger|higher|lower)\b)"
_OR_AFTER = re.compile(
    rf"(?:\W*\b\w+\b){{0,4}}?\W*\b(?:and/)?or\b{_MORE}|\s*/|\s*\|"
    r"|\W*(?:(?:versus|vs\.?)\s|(?:alternatively|otherwise|failing that)\b)",
    re.IGNORECASE,
)
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
        *("new", "north", "south", "east", "west", "saint", "st", "san", "los", "las", "el", "northern", "southern"),
        *("eastern", "western", "central"),
    )
)
_MONTHS = "|".join(MONTHS)
_DAY = rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?(?:{_MONTHS})\b"  # 3rd of May, May
_CALENDAR = frozenset((*WEEKDAYS, *MONTHS))
_KIND = frozenset(("river", "mountains", "mountain", "ocean", "sea"))  # after a name, they add nothing
_QUANTITY = re.compile(
    r"\b(?:at (?:least|most)|over|under|up to|(?:more|less|fewer|later|earlier|older|younger|higher|lower) than"
    r"|before|after|until|minus|not)\W*$",
    re.IGNORECASE,
)
_DATE_BESIDE = re.compile(  # after a date: a further one, or another month
    rf"\W*(?:,|and|also|and also) (?:on )?{_DAY}| of (?:{_MONTHS})\b|\s*\({_DAY}", re.IGNORECASE
)
_ANOTHER = re.compile(  # what stands before a number, date or day that makes it another one
    r"\b(?:before|after|since|from|until|till|past|(?:quarter|five|ten|twenty|twenty-five|minutes) to"
    r"|(?:half|third|quarters?|week|eve) of(?: the)?|(?:any|every|all) (?:day )?but)\W*$",
    re.IGNORECASE,
)
_RANGED = re.compile(r"[\s.apmAPM]{0,7}(?:to|through|until|till|[-–])\s*(?:the |[A-Z][a-z]+ )?\d")
_ERA = re.compile(r"\s*B\.? ?C\b", re.IGNORECASE)
_MAGNIFIED = re.compile(r"\s?(?:[kKMB]|bn|mn|thousand|million|billion|trillion)\b")
_BESIDE = re.compile(r"[^,.]{1,40}, (?:near|outside|opposite|(?:north|south|east|west) of)(?: the)?\W*$", re.IGNORECASE)
_RELATIVES = (
    "daughter|son|wife|husband|mother|father|brother|sister|aunt|uncle|niece|nephew|cousin|friend|grand\\w+|widow"
)
_OF_RELATIVE = re.compile(rf"\b(?:{_RELATIVES})s? of(?: (?:his|her|their|my|your|the))?\W*$", re.IGNORECASE)
_RELATIVE = re.compile(rf"\s+(?:{_RELATIVES})s?\b", re.IGNORECASE)
_FORMER = re.compile(r"\b(?:formerly|previously|originally|once|used to be)\b", re.IGNORECASE)
_NOW = re.compile(r"\bnow\b", re.IGNORECASE)
_END = re.compile(r"[.!?:]?\n+\s*|[.!?]+[\"')\]*]*(?:\s+|\Z)|(?<=[a-z])[.](?=[A-Z])|\s*[;|•]\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Mt|Ft|Jr|Sr|Lt|Gen|Col|Capt|Sgt|Rev|Prof|vs?|No|Vol|ca?|approx|e\.g|i\.e|etc|Inc|Co|Bros)"
    r"|(?:^|[\s.(])[A-Za-z]|(?:^|\n|:)\s*\(?\d{1,2})\.$"
)
_AUXILIARY = r"(?:is|are|was|were|did|does|do|has|have|had|can|could|will|would|should|may|might)"
_QUESTION = re.compile(
    r"[\s*#>(-]*(?:(?:so|and|but|question|q)\b\W+)?(?:(?:in|on|at|to|for|by|of|from|with) )?"
    rf"(?:(?:who|whom|whose|what|which|how)\b|(?:when|where|why) {_AUXILIARY}\b|(?:who|what|when|where|how)'s\b"
    rf"|{_AUXILIARY} (?:it|he|she|they|this|that|there|the|you)\b)",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:no,? wait|oh wait|wait[,.!]|scratch that|correction:|let me correct|i was wrong|i made a mistake|i meant|"
    r"on second thoughts?|sorry,|my mistake|(?:but|or|it is|it's|is|was) actually\b|(?<=[.!?] )actually,"
    r"|but (?:it|that|the answer)(?:'s| is| was) (?-i:(?=[A-Z\d])))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """The tokens of a sentence, from `first` to before `last`, and the offsets of its text.

    What stands before `asked` is a question: all of "Who was it?", and the part before the colon of "Who was it: Ann."
    """

    first: int
    last: int
    start: int
    end: int
    asked: int


def sentences(whole: Written) -> Iterator[Sentence]:
    """The sentences of a text. Lines, and parts between semicolons, bars and bullets, are sentences too."""
    start = token = 0
    ends = [found for found in _END.finditer(whole.text) if not _is_abbreviation(whole.text, found)]
    for stop, mark in [*((found.end(), found.group()) for found in ends), (len(whole.text), "")]:
        first = token
        while token < len(whole.tokens) and whole.tokens[token].start < stop:
            token += 1
        if token > first:
            yield Sentence(first, token, start, stop, start + _question_length(whole.text[start:stop], "?" in mark))
        start = stop


def _question_length(sentence: str, marked: bool) -> int:
    """How many characters of a sentence are a question."""
    if marked:
        return len(sentence)
    if not _QUESTION.match(sentence):
        return 0
    colon = sentence.find(": ")
    return colon if colon > 0 else len(sentence)


def _is_abbreviation(text: str, found: re.Match[str]) -> bool:
    return found.group().startswith(".") and bool(
        _ABBREVIATION.search(text[max(0, found.start() - 12) : found.start() + 1])
    )


def find_retraction_end(text: str) -> int:
    """Where the last correction ends ("Paris. No, wait: Rome"); 0 without one. Text before it no longer counts."""
    return max((found.end() for found in _CORRECTION.finditer(text)), default=0)


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
    if _FORMER.search(place.before) and _NOW.search(place.after):
        return True
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
    if _is_other_quantity(place):
        return True
    if place.is_figure:
        ranged = RANGE in (before.key if before else "", after.key if after else "")
        return ranged or bool(_QUANTITY.search(place.before) or _MAGNIFIED.match(place.after))
    apposition = not _VERB.search(place.before)  # "Chelsea, daughter of Bill Clinton"
    if apposition and (_BESIDE.match(place.before) or _OF_RELATIVE.search(place.before)):
        return True
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
    compass = after and text[end : after.start] == "-" and after.word in _LARGER  # north-west
    if compass or (owned and _RELATIVE.match(place.after)):
        return True
    return bool(before and before.word in _LARGER and text[before.end : place.start] in (" ", "-", ". "))


def _is_other_quantity(place: Place) -> bool:
    """Whether words beside a number, date or day make it another one: half of 98 litres, since 3 May, 1492 BC."""
    tokens = place.whole.tokens[place.first : place.last]
    day = len(tokens) == 1 and tokens[0].word in _CALENDAR
    if not (day or tokens[0].is_figure or tokens[0].date):
        return False
    if any(token.key == RANGE for token in tokens):  # from 1985 to 1993
        return False
    if tokens[-1].date and _DATE_BESIDE.match(place.after):
        return True
    begins = re.search(r"\bfrom\W*$", place.before) and _RANGED.match(place.after)
    other = _ANOTHER.search(place.before) or _ERA.match(place.after)
    return bool(not begins and (other or (tokens[0].date and _RANGED.match(place.after))))


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
