"""One writing for what is written in several ways: case, accents, articles, `&`, `U.S.`, numerals, ordinals, dates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from cooper_rl.verifiers.math.numerals import MAGNITUDES, NUMBER_WORDS, in_digits, in_words
from cooper_rl.verifiers.math.units import known_unit
from cooper_rl.verifiers.math.words import ABBREVIATED, MONTHS, WEEKDAYS, Date

KEPT = 1024  # texts whose tokens are cached
MAX_NUMERAL = 8  # words that a number in words may have
RANGE = "~"  # the key of a dash, or of "to", between two numbers
_ARTICLES = ("a", "an", "the")
_GLUED = re.compile(r"\b(on|in|is|was|by|of|from|at|and|as)(?=[A-Z][a-z])")  # "was released onMarch 3"
_COUNTRIES = (
    (re.compile(r"\bUnited States of America\b|\bU\. ?S\. ?A\b\.?|\bU\. ?S\.|\bUSA?\b"), "United States"),
    (re.compile(r"\bU\. ?K\.|\bUK\b"), "United Kingdom"),
)
_FOOTNOTE = re.compile(r"(?<=[A-Za-z]{3})\d{1,2}(?=[\s.,;)]|$)|\[\^?\d{1,3}\^?\]|[¹²³⁴-⁹]+(?=[\s.,;)]|$)")
_FOOTNOTE_OF_YEAR = re.compile(
    r"(\b(?:in|of|to|since|from|, ?|[a-z]{3} |and) ?(?:1[5-9]|20)\d\d)\d{1,2}(?=[.,;]|\s*$|\s+[A-Z])"
)
_NAMES = "|".join(sorted((*MONTHS, *ABBREVIATED), key=len, reverse=True))
_DAYS = "|".join(sorted((*WEEKDAYS, *(name for name, day in ABBREVIATED.items() if day in WEEKDAYS)), key=len)[::-1])
_YEAR = r"[12]\d{3}(?!\d|,\d)"
_DATE = re.compile(
    rf"\b(?:(?:{_DAYS})[.,]{{0,2}} +)?(?:{_NAMES})\b\.? +(?:the +)?\d{{1,2}}(?:st|nd|rd|th)?\b(?!:)"
    rf"(?:,? +(?:of +)?{_YEAR})?"
    rf"|\b(?:(?:{_DAYS})[.,]{{0,2}} +)?(?:the +)?\d{{1,2}}(?:st|nd|rd|th)?(?: +of)? +(?:{_NAMES})\b\.?(?:,? +{_YEAR})?"
    rf"|\b(?:{_NAMES})\b\.?,?(?: +of)? +{_YEAR}"
    r"|\b[12]\d{3}([-/])\d\d\1\d\d\b|\b\d\d?([-/])\d\d?\2[12]\d{3}\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"(?P<decade>'?\d{2,4}'?s\b)"
    r"|(?P<clock>\d{1,2}:\d\d(?!\d))"
    r"|(?P<number>(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?)(?P<ordinal>(?:st|nd|rd|th)\b)?"
    r"|(?P<digits>\d+)"
    r"|(?P<range>(?<=\d) ?- ?(?=\d))"
    r"|(?P<initials>\b(?:[^\W\d_]\.[ ]?){2,})"
    r"|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)*\+*)"
    r"|(?P<sign>[&%])"
)
_DIGIT = re.compile(r"\d")
_KIND_BEFORE = re.compile(
    r"\b(?:vitamin|hepatitis|influenza|group|type|class|grade|plan|section|team|level|schedule|appendix|part|category|series)"
    r"[ -]\Z",
    re.IGNORECASE,
)
_KIND_AFTER = re.compile(r"[ -](?:(?:major|minor|flat|sharp)(?=\W*\Z|[.,;)]| (?:scale|key|chord))|levels?\b)")
_SPACES = re.compile(r"\s+")
_NO_NUMBER_BEFORE = ("no", "some", "any", "every", "each", "which", "this", "that", "only")  # "no one", "this one"
_NO_NUMBER_AFTER = ("of", "another", "who", "that")  # "one of them"
_SIGNS = {"&": "and", "%": "percent"}
_AFTER_HOUR = ("oclock", "am", "pm")  # the keys of words that make the number before them an hour of the day
_LAST_OF_ORDINAL = {"first": "one", "second": "two", "third": "three", "fifth": "five"}
_LAST_OF_ORDINAL |= {"eighth": "eight", "ninth": "nine", "twelfth": "twelve"}
_ORDINAL_WORD = re.compile(r"(?:first|second|third|[a-z]+th)\Z")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or date of a text.

    `key` is its one writing. `start` and `end` are offsets in the text, `word` is the text between them in lower case.
    """

    key: str
    start: int
    end: int
    word: str
    capital: bool = False
    number: Fraction | None = None
    date: Date | None = None

    @property
    def is_figure(self) -> bool:
        """Whether it is a number, decade or time of day in figures."""
        return self.key.startswith("#")


@dataclass(frozen=True, slots=True)
class Written:
    """A text as tokens without articles. `joined` is all their keys; `starts` and `ends` are offsets in it."""

    text: str
    tokens: tuple[Token, ...]
    joined: str
    starts: dict[int, int]
    ends: dict[int, int]

    def places(self, key: str) -> Iterator[tuple[int, int]]:
        """The places of a joined key: the index of the first token, and that after the last one."""
        at = self.joined.find(key) if key else -1
        while at >= 0:
            first, last = self.starts.get(at), self._end(at + len(key))
            if first is not None and last is not None:
                yield first, last + 1
            at = self.joined.find(key, at + 1)

    def _end(self, offset: int) -> int | None:
        """The token that ends at an offset, or one letter later with the `s` of a plural."""
        if (found := self.ends.get(offset)) is not None:
            return found
        plural = self.joined[offset : offset + 1] == "s" and self.joined[offset - 1 : offset].isalpha()
        at = self.ends.get(offset + 1) if plural else None
        surname = at and self.tokens[at].capital and self.tokens[at - 1].capital  # Robin Williams has no plural
        return None if surname else at


@lru_cache(maxsize=KEPT)
def tokenize(text: str, *, footnotes: bool = False) -> Written:
    """The tokens of a text.

    Args:
        footnotes: whether a figure that is glued to a word is the mark of a footnote and is left out ("Paris1.").
    """
    text = _plain(text)
    if footnotes:
        text = _FOOTNOTE_OF_YEAR.sub(r"\1", _FOOTNOTE.sub("", text))
    tokens = tuple(_with_numbers(list(_tokens(text))))
    starts, ends, length = {}, {}, 0
    for index, token in enumerate(tokens):
        starts[length] = index
        length += len(token.key)
        ends[length] = index
    return Written(text, tokens, "".join(token.key for token in tokens), starts, ends)


def _plain(text: str) -> str:
    text = text.translate(
        {0x2019: "'", 0x2018: "'", 0xA0: " ", 0x2212: "-", 0x2013: "-", 0x2014: " - ", 0x201C: '"', 0x201D: '"'}
    )
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    for country, name in _COUNTRIES:
        text = country.sub(name, text)
    return _GLUED.sub(r"\1 ", text)


def _tokens(text: str) -> Iterator[Token]:
    """Words, numbers and dates in their order, with articles left out."""
    at = 0
    for found in _DATE.finditer(text) if _DIGIT.search(text) else ():
        said = _SPACES.sub(" ", found.group())
        date = Date.parse(said[4:] if said[:4].lower() == "the " else said, lambda part: None)
        if date is not None:
            yield from _words(text, at, found.start())
            key = f"@{date.weekday}{date.day}-{date.month}-{date.year};"
            yield Token(key, found.start(), found.end(), found.group().casefold(), date=date)
            at = found.end()
    yield from _words(text, at, len(text))


def _words(text: str, start: int, end: int) -> Iterator[Token]:
    for found in _TOKEN.finditer(text, start, end):
        said, word = found.group(), found.group().casefold()
        value, key = None, ""
        if found["number"] or found["digits"]:
            numeral = in_digits((found["number"] or found["digits"]).lstrip("-"))
            value = numeral[0] * (-1 if said[0] == "-" else 1) if numeral else None
            key = _number_key(value, "th" if found["ordinal"] else "") if value is not None else f"#{word};"
        elif found["range"]:
            key = RANGE
        elif found["decade"] or found["clock"]:
            key = f"#{word.replace(chr(39), '')};"
        else:
            key = _SIGNS.get(said) or _letters(word.removesuffix("'s"))
        if key and (word not in _ARTICLES or (said == "A" and _names_a_kind(text, found))):
            yield Token(key, found.start(), found.end(), word, said[0].isupper(), None if found["ordinal"] else value)


def _names_a_kind(text: str, found: re.Match[str]) -> bool:
    """Whether an A is a letter of its own, and no article: vitamin A, A minor."""
    kind = _KIND_BEFORE.search(text, max(0, found.start() - 20), found.start())
    return bool(kind or _KIND_AFTER.match(text, found.end()))


@lru_cache(maxsize=65536)
def _letters(word: str) -> str:
    """A word without accents, apostrophes and dots. A plus sign at its end is a word of its own ("A+")."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", word) if c.isalnum() and not unicodedata.combining(c))
    return bare + "plus" * word.count("+")


def _number_key(value: Fraction, ending: str = "") -> str:
    return f"#{value}{ending};"


def _with_numbers(tokens: list[Token]) -> Iterator[Token]:
    """The tokens with numbers in words, magnitudes, ordinals and ranges each as one token."""
    at = 0
    while at < len(tokens):
        token, after = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else None
        length, found = _numeral(tokens, at)
        if found is not None:
            yield _as_hour(found, tokens[at + length] if at + length < len(tokens) else None)
        elif token.number is not None and after is not None and after.word in MAGNITUDES and after.word != "dozen":
            value, length = token.number * MAGNITUDES[after.word], 2
            yield replace(token, key=_number_key(value), end=after.end, number=value)
        else:
            length = 1
            yield _as_hour(_beside(tokens[at - 1] if at else None, token, after), after)
        at += length


def _as_hour(token: Token, after: Token | None) -> Token:
    """A number before "o'clock", "am" or "pm" in the writing of a time of day: 3 pm is 3:00 pm, and not 3:00 am."""
    if after is None or after.key not in _AFTER_HOUR or not (token.number in range(25) or ":" in token.key):
        return token
    time = f"{token.number}:00" if token.number is not None else token.key.strip("#;")
    return replace(token, key=f"#{time}{after.key.removesuffix('oclock')};")


def _beside(before: Token | None, token: Token, after: Token | None) -> Token:
    """A token between its neighbours: "to" between figures is a dash, and what follows a number may be a unit."""
    if before is None or not before.is_figure:
        return token
    if token.word == "to" and after is not None and after.is_figure:
        return replace(token, key=RANGE)
    measured = before.number is not None and token.word.isalpha() and token.key not in _AFTER_HOUR
    unit = known_unit(token.word) if measured else ""
    return replace(token, key=unit) if unit else token


def _numeral(tokens: list[Token], at: int) -> tuple[int, Token | None]:
    """The longest number in words from a token on, and how many tokens it takes; (1, None) without one."""
    if tokens[at].word not in NUMBER_WORDS and not _ORDINAL_WORD.match(tokens[at].word):
        return 1, None
    best: tuple[int, Token | None] = (1, None)
    words: list[str] = []
    for token in tokens[at : at + MAX_NUMERAL]:
        ordinal = token.word not in NUMBER_WORDS and bool(_ORDINAL_WORD.match(token.word))
        if not ordinal and token.word not in (*NUMBER_WORDS, "and"):
            break
        words.append(_cardinal(token.word) if ordinal else token.word)
        value = in_words(" ".join(words)) if words[-1] in NUMBER_WORDS else None
        if value is not None:
            span = replace(tokens[at], end=token.end, word=" ".join(words))
            number = None if ordinal else value[0]
            best = len(words), replace(span, key=_number_key(value[0], "th" if ordinal else ""), number=number)
        if ordinal:
            break
    before, after = tokens[at - 1].word if at else "", tokens[at + 1].word if at + 1 < len(tokens) else ""
    pronoun = tokens[at].word == "one" and best[0] == 1 and (before in _NO_NUMBER_BEFORE or after in _NO_NUMBER_AFTER)
    return (1, None) if pronoun else best


def _cardinal(ordinal: str) -> str:
    """ "fifth" -> "five", "twentieth" -> "twenty", "sixth" -> "six"."""
    if ordinal in _LAST_OF_ORDINAL:
        return _LAST_OF_ORDINAL[ordinal]
    return f"{ordinal[:-4]}y" if ordinal.endswith("ieth") else ordinal.removesuffix("th")
