"""Wrong references: for a question with the reference answer r, the answer r' to another question, of the same kind.

Whatever a completion says, it cannot be right under both r and r', since they exclude each other. Where it does not
state r', it is wrong under r'. No rule has to read the completion for that.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterable, Sequence
from fractions import Fraction

CAPACITY = 4096  # answers that a pool keeps; where there are more, it forgets the oldest
TRIES = 8  # answers that are looked at for each one that is wanted
MAX_WORDS = 8  # an answer with more words is not looked for in completions

_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true", "correct": "incorrect", "valid": "invalid"}
_OPPOSITES |= {right: left for left, right in _OPPOSITES.items()}
_OPTION = re.compile(r"(\(?)([A-J])([).]?)")
_OPTIONS = "ABCD"
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")
_FRACTION = re.compile(r"(\d+) ?/ ?(\d+)")
_SMALL_WORDS = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "is", "it", "of", "on", "or", "the", "to"))


def bare(answer: str) -> str:
    """An answer as it is compared: lower case, one space between words, no accents, no full stop at its end."""
    plain = unicodedata.normalize("NFKD", answer)
    letters = "".join(char for char in plain if not unicodedata.combining(char))
    return " ".join(letters.casefold().split()).strip(" .")


def kind_of(answer: str) -> str:
    """The kind of an answer: what its characters look like, with runs of digits and letters in their place.

    "Paris" and "Rome" are of one kind, as are 7 and 85, but not 1999 and 85, nor "Paris" and "a town in France".
    """
    text = answer.strip()
    if bare(text) in _OPPOSITES:
        return "yes or no"
    if _OPTION.fullmatch(text):
        return "option"
    words = text.split()
    if len(words) > 3 and not _DIGITS.search(text):
        return "sentence" if len(words) > MAX_WORDS else "phrase"
    shape = _DIGITS.sub(lambda found: "0000" if len(found.group()) > 3 else "0", text)
    return re.sub(r"\s+", " ", _LETTERS.sub(lambda found: "A" if found.group()[0].isupper() else "a", shape))


def words_of(answer: str) -> set[str]:
    """The words of an answer that tell something, and the values of its numbers."""
    return {*_LETTERS.findall(bare(answer)), *map(str, _numbers(answer))} - _SMALL_WORDS


def states(text: str, answer: str) -> bool:
    """Whether a text has this answer in it, as whole words. The letter of an option counts in its own case only."""
    answer = answer.strip()
    if found := _OPTION.fullmatch(answer):
        return re.search(rf"(?<![\w']){found[2]}(?![\w'])", text) is not None
    return re.search(rf"(?<!\w){re.escape(bare(answer))}(?!\w)", bare(text)) is not None


def excludes(references: Sequence[str], other: str) -> bool:
    """Whether an answer differs from all references by its words alone: it shares none with them.

    Two plain numbers differ by their values. An option or a yes differs from every other.
    """
    kinds = {kind_of(other), *map(kind_of, references)}
    if kinds in ({"yes or no"}, {"option"}):
        return bare(other) not in map(bare, references)
    words = words_of(other)
    return bool(words) and not any(words & words_of(reference) for reference in references)


class AnswerPool:
    """Answers of other questions, by kind, each once, in the order in which they came."""

    def __init__(self, answers: Iterable[str] = ()) -> None:
        self.by_kind: dict[str, list[str]] = {}
        self.known: dict[str, str] = {}  # the answers as they were written, by `bare`
        self.add(answers)

    @property
    def answers(self) -> list[str]:
        """All answers, the oldest first."""
        return list(self.known.values())

    def add(self, answers: Iterable[str]) -> None:
        """Takes up answers that are not known yet."""
        for answer in answers:
            key = bare(answer)
            if not key or key in self.known:
                continue
            self.known[key] = answer
            self.by_kind.setdefault(kind_of(answer), []).append(answer)
            if len(self.known) > CAPACITY:
                oldest = self.known.pop(next(iter(self.known)))
                self.by_kind[kind_of(oldest)].remove(oldest)

    def draw(self, references: Sequence[str], rng: random.Random, count: int) -> list[str]:
        """Up to `count` answers that may stand in the place of a question's reference answer, each once.

        They are of its kind, where the pool has such ones, else of any. A number may share digits with it, so a rule
        has still to show that two numbers differ.

        Args:
            references: all answers that are right, the reference answer first.
        """
        first = references[0].strip()
        kind = kind_of(first)
        if kind == "yes or no":
            return [opposite_of(first)]
        if kind == "option":
            return self._options(references, rng, count)
        drawn: dict[str, str] = {}
        for pool in (self.by_kind.get(kind, []), self.answers):
            for _ in range(min(TRIES * count, 4 * len(pool))):
                if len(drawn) == count:
                    break
                other = rng.choice(pool)
                if excludes(references, other) or differing_numbers(references, other):
                    drawn.setdefault(bare(other), other)
            if drawn:
                break
        return list(drawn.values())

    def _options(self, references: Sequence[str], rng: random.Random, count: int) -> list[str]:
        """Other letters in the reference's writing: those of the pool, else A to D."""
        found = _OPTION.fullmatch(references[0].strip())
        assert found
        known = [match for each in self.by_kind.get("option", []) if (match := _OPTION.fullmatch(each.strip()))]
        letters = {match[2] for match in known} | set(_OPTIONS)
        others = sorted(letters - {match[2] for each in references if (match := _OPTION.fullmatch(each.strip()))})
        rng.shuffle(others)
        return [f"{found[1]}{letter}{found[3]}" for letter in others[:count]]

    def mentioned(self, text: str, count: int) -> list[str]:
        """Up to `count` answers of the pool that a text has in it as whole words."""
        words = _WORD.findall(bare(text))
        found: dict[str, str] = {}
        for start in range(len(words)):
            for end in range(start + 1, min(start + MAX_WORDS, len(words)) + 1):
                key = " ".join(words[start:end])
                if key in self.known:
                    found.setdefault(key, self.known[key])
        return list(found.values())[:count]


def differing_numbers(references: Sequence[str], other: str) -> bool:
    """Whether an answer is as each reference, but with other numbers: 7 km for 5 km, 5/3 for 5/2, not 2/4 for 1/2."""
    return all(
        kind_of(other) == kind_of(reference)
        and _LETTERS.findall(bare(other)) == _LETTERS.findall(bare(reference))
        and _numbers(other) != _numbers(reference)
        for reference in references
    )


def _numbers(text: str) -> list[Fraction]:
    """The numbers of a text; a fraction of two whole numbers is one."""
    values = [Fraction(int(top), int(bottom)) for top, bottom in _FRACTION.findall(text) if int(bottom)]
    rest = _FRACTION.sub(" ", text).replace(",", "")
    return values + [Fraction(number) for number in re.findall(r"\d*\.?\d+", rest)]


def opposite_of(answer: str) -> str:
    """The other one of yes and no, true and false, in the same case."""
    other = _OPPOSITES[bare(answer)]
    text = answer.strip()
    return other.upper() if text.isupper() else other.capitalize() if text[0].isupper() else other
