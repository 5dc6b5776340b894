"""Wrong references: for a question with the reference answer r, the answer r' to another question, of the same kind.

Whatever a completion says, it cannot be right under both r and r', since they exclude each other. Where it does not
state r', it is wrong under r'. No rule has to read the completion for that.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from itertools import islice

from cooper_rl.synthesis.exclusion import (
    CHOICE,
    DECISION,
    MAX_CHARACTERS,
    OPTION,
    bare,
    excludes,
    in_words,
    kind_of,
    opposite_of,
)

CAPACITY = 4096  # answers that a pool keeps beside those that it began with; it forgets the oldest
TRIES = 8  # answers that are looked at for each one that is wanted
MAX_WORDS = 8  # an answer with more words is not looked for in completions
_OPTIONS = ("A", "B", "C", "D")  # those of a question that names none, until two are known
_NAMED_OPTION = re.compile(r"^\s*\(?([A-J])[).:]|\(([A-J])\)", re.MULTILINE)


class AnswerPool:
    """Answers of other questions, by kind, each once, in the order in which they came.

    Args:
        answers: are never forgotten.
    """

    def __init__(self, answers: Iterable[str] = ()) -> None:
        self.by_kind: dict[str, list[str]] = {}
        self.known: dict[str, str] = {}  # the answers as they were written, by `bare`
        self.by_words: dict[str, str] = {}  # the same by their words alone
        self._take(answers)
        self.fixed = len(self.known)

    @property
    def answers(self) -> list[str]:
        """The answers that came later, the oldest first."""
        return list(islice(self.known.values(), self.fixed, None))

    def copy(self) -> AnswerPool:
        """A pool with the same answers, to which others can be added for one use."""
        made = AnswerPool()
        made.by_kind = {kind: list(answers) for kind, answers in self.by_kind.items()}
        made.known, made.by_words, made.fixed = dict(self.known), dict(self.by_words), self.fixed
        return made

    def add(self, answers: Iterable[str]) -> None:
        """Takes up answers that are not known yet and that are short enough."""
        self._take(answers)
        while len(self.known) - self.fixed > CAPACITY:
            self._forget(next(islice(self.known, self.fixed, None)))

    def _take(self, answers: Iterable[str]) -> None:
        for answer in answers:
            key = bare(answer)
            if key and key not in self.known and len(answer) <= MAX_CHARACTERS:
                self.known[key] = answer
                self.by_words.setdefault(in_words(answer).strip(), answer)
                self.by_kind.setdefault(kind_of(answer), []).append(answer)

    def _forget(self, key: str) -> None:
        oldest = self.known.pop(key)
        self.by_kind[kind_of(oldest)].remove(oldest)
        self.by_words.pop(in_words(oldest).strip(), None)

    def draw(self, references: Sequence[str], rng: random.Random, count: int, question: str = "") -> list[str]:
        """Up to `count` answers of the reference's kind that exclude it, each once.

        Args:
            references: all answers that are right, the reference answer first.
            question: where it names options, these are the ones.
        """
        kind = kind_of(references[0])
        if kind == DECISION:
            return [opposite_of(references[0])]
        if kind == CHOICE:
            return self._options(references, rng, count, question)
        return _drawn(self.by_kind.get(kind, []), references, rng, count)

    def draw_any(self, references: Sequence[str], rng: random.Random, count: int) -> list[str]:
        """As `draw`, of any kind: for a reference that is the only one of its kind."""
        return _drawn(list(self.known.values()), references, rng, count)

    def _options(self, references: Sequence[str], rng: random.Random, count: int, question: str) -> list[str]:
        """Other letters in the reference's writing: those of the question, else those of the pool, else A to D."""
        found = OPTION.fullmatch(references[0].strip())
        assert found
        letters = {one or other for one, other in _NAMED_OPTION.findall(question)}
        if len(letters) < 2:
            known = [match for each in self.by_kind.get(CHOICE, []) if (match := OPTION.fullmatch(each.strip()))]
            letters = {match[2] for match in known}
        right = {match[2] for each in references if (match := OPTION.fullmatch(each.strip()))}
        others = sorted((letters if len(letters - right) else {*_OPTIONS}) - right)
        rng.shuffle(others)
        return [f"{found[1]}{letter}{found[3]}" for letter in others[:count]]

    def mentioned(self, text: str, count: int) -> list[str]:
        """Up to `count` answers of the pool that a text has in it as whole words, but no options, yes or no."""
        words = in_words(text).split()
        found: dict[str, str] = {}
        for start in range(len(words)):
            for end in range(start + 1, min(start + MAX_WORDS, len(words)) + 1):
                answer = self.by_words.get(" ".join(words[start:end]))
                if answer is not None and kind_of(answer) not in (DECISION, CHOICE):
                    found.setdefault(bare(answer), answer)
        return list(found.values())[:count]


def _drawn(pool: Sequence[str], references: Sequence[str], rng: random.Random, count: int) -> list[str]:
    drawn: dict[str, str] = {}
    for _ in range(min(TRIES * count, 4 * len(pool))):
        if len(drawn) == count:
            break
        other = rng.choice(pool)
        if excludes(references, other):
            drawn.setdefault(bare(other), other)
    return list(drawn.values())
