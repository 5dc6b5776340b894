"""Whether two answers exclude each other by their words and numbers alone, and whether a text states an answer.

In doubt two answers do not exclude each other, and a text states an answer. A wrong reference that is given up costs
nothing; one that is right after all makes a false label.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

MAX_CHARACTERS = 200  # a longer answer, such as a worked solution, is never a wrong reference and gets none
_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true", "correct": "incorrect", "valid": "invalid"}
_OPPOSITES |= {right: left for left, right in _OPPOSITES.items()}
OPTION = re.compile(r"(\(?)([A-J])([).]?)")
DECISION = "yes or no"
CHOICE = "option"
_LEAD = re.compile(r"(?:the|an?) (?=\S)", re.IGNORECASE)
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_NUMBER = re.compile(r"\d*\.?\d+")
_RATIO = re.compile(r"(\d+) ?[/:] ?(\d+)")
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)  # no spaces between words
_SMALL_WORDS = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "is", "it", "of", "on", "or", "the", "to"))
_ALIKE = 0.75  # two words whose letters agree to this share may be one word: colour, color
_STEM = 4  # two words that begin with so many equal letters may be one word: France, French


@lru_cache(maxsize=16384)
def bare(answer: str) -> str:
    """An answer as it is compared: lower case, one space between words, no accents, no full stop at its end."""
    if answer.isascii():
        return " ".join(answer.casefold().split()).strip(" .")
    plain = unicodedata.normalize("NFKD", answer)
    letters = "".join(char for char in plain if not unicodedata.combining(char) and unicodedata.category(char) != "Cf")
    letters = re.sub(r"[\u2010-\u2015\u2212]", "-", letters).replace("\u2019", "'")
    return " ".join(letters.casefold().split()).strip(" .")


@lru_cache(maxsize=16384)
def kind_of(answer: str) -> str:
    """The kind of an answer: what its characters look like, with runs of digits and letters in their place.

    "Paris" and "Rome" are of one kind, as are 7 and 85, but not 1999 and 85, nor "Paris" and "a town in France".
    """
    text = answer.strip()
    if bare(text) in _OPPOSITES:
        return DECISION
    if OPTION.fullmatch(text):
        return CHOICE
    text = _LEAD.sub("", text, count=1)
    words = text.split()
    if len(words) > 3 and not _DIGITS.search(text):
        return "sentence" if len(words) > 8 else "phrase"
    shape = _DIGITS.sub(lambda found: "0000" if len(found.group()) > 3 else "0", text)
    return re.sub(r"\s+", " ", _LETTERS.sub(lambda found: "A" if found.group()[0].isupper() else "a", shape))


@lru_cache(maxsize=4096)  # a step asks several times about each of its completions
def in_words(text: str) -> str:
    """The words and numbers of a text with a space between them and at both ends, so that one text is found in another.

    Signs, marks and markup are left out, and so are commas of thousands.
    """
    return f" {' '.join(_TOKEN.findall(_THOUSANDS.sub('', bare(text))))} "


def states(text: str, answer: str) -> bool:
    """Whether a text has this answer in it, in these words: as whole words, in the plural, or within unspaced script.

    A letter of an option counts in capitals, in brackets and after the word "option".
    """
    answer = answer.strip()
    if found := OPTION.fullmatch(answer):
        letter = found[2]
        named = rf"\(\s*{letter}\s*\)|\b(?:option|choice|answer)\W{{1,3}}{letter}\b"
        return bool(re.search(rf"(?<![\w']){letter}(?![\w'])", text) or re.search(named, text, re.IGNORECASE))
    if _UNSPACED.search(answer):
        return bare(answer).replace(" ", "") in bare(text).replace(" ", "")
    words, wanted = in_words(text), in_words(answer)
    plural = wanted[-2:-1].isalpha() and any(wanted[:-1] + end in words for end in ("s ", "es "))
    return wanted in words or plural or not wanted.strip()


def excludes(references: Sequence[str], other: str) -> bool:
    """Whether an answer differs from each reference: as another number of its kind, or in words akin to none of its.

    Answers with numbers exclude each other only where all but the numbers is the same: 7 km and 5 km, not 5 km and
    5,000 m. Other answers may share no word, begin alike, be spelt alike, or be an abbreviation of the other.
    """
    return all(_exclude(reference, other) for reference in references)


@lru_cache(maxsize=16384)
def _exclude(reference: str, other: str) -> bool:
    if max(len(reference), len(other)) > MAX_CHARACTERS:
        return False
    kinds = {kind_of(reference), kind_of(other)}
    if kinds in ({DECISION}, {CHOICE}):
        return bare(reference) != bare(other)
    if kinds & {DECISION, CHOICE}:
        return False
    if _DIGITS.search(reference) or _DIGITS.search(other):
        letters = [_LETTERS.findall(bare(side)) for side in (reference, other)]
        return len(kinds) == 1 and letters[0] == letters[1] and _numbers(reference) != _numbers(other)
    return not _akin(reference, other)


def _numbers(text: str) -> list[Fraction]:
    """The numbers of a text in rising order; two numbers as a ratio or fraction are one."""
    text = _THOUSANDS.sub("", text)
    ratios = [Fraction(int(top), int(bottom)) for top, bottom in _RATIO.findall(text) if int(bottom)]
    return sorted(ratios + [Fraction(number) for number in _NUMBER.findall(_RATIO.sub(" ", text))])


def _akin(reference: str, other: str) -> bool:
    """Whether two answers in words may mean the same, as far as their letters tell."""
    if bool(_UNSPACED.search(reference)) != bool(_UNSPACED.search(other)):
        return True
    left, right = ([w for w in _LETTERS.findall(bare(side)) if w not in _SMALL_WORDS] for side in (reference, other))
    if not left or not right or _script(left[0]) != _script(right[0]):
        return True
    if bare(reference) in bare(other) or bare(other) in bare(reference) or _short(left, right) or _short(right, left):
        return True
    return any(_alike(one, another) for one in left for another in right)


def _alike(one: str, other: str) -> bool:
    begins = len(one) >= _STEM and one[:_STEM] == other[:_STEM]
    return begins or one == other or difflib.SequenceMatcher(None, one, other).ratio() >= _ALIKE


def _short(words: Sequence[str], long: Sequence[str]) -> bool:
    """Whether a single word may be made of the others' first letters: NYC, WWII."""
    initials = "".join(word[0] for word in long)
    return len(words) == 1 and len(long) > 1 and words[0][:2] == initials[:2] and len(words[0]) <= len(long) + 2


def _script(word: str) -> str:
    return unicodedata.name(word[0], "?").split()[0]


def opposite_of(answer: str) -> str:
    """The other one of yes and no, true and false, in the same case."""
    other = _OPPOSITES[bare(answer)]
    text = answer.strip()
    return other.upper() if text.isupper() else other.capitalize() if text[0].isupper() else other
