"""Wrong references: for a question with the reference answer r, the answer r' to another question, of the same kind.

Whatever a completion says, it cannot be right under both r and r', since they exclude each other. Where it does not
state r', it is wrong under r'. No rule has to read the completion for that. Such a counterfactual triple differs from
the right one that it was made of in the reference alone: only a model that reads the reference can tell them apart.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from cooper_rl.records import LabelledCompletion
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
    states,
)

CAPACITY = 4096  # answers that a pool keeps beside those that it began with; it forgets the oldest
TRIES = 8  # answers that are looked at for each one that is wanted
MAX_WORDS = 8  # an answer with more words is not looked for in completions
_OPTIONS = ("A", "B", "C", "D")  # those of a question that names none, until two are known
_NAMED_OPTION = re.compile(r"^\s*\(?([A-J])[).:]|\(([A-J])\)", re.MULTILINE)
SETTLED = (  # on the first answer, after the second was named
    *("It is {0}, not {1}.", "I first thought of {1}, but it is {0}.", "{1}? No, {0}.", "Not {1} but {0}"),
    *("{1} is wrong, {0} is right.", "{0} (and not {1})"),
)
OPEN = ("{0} or {1}", "Either {0} or {1}.", "Maybe {0}, maybe {1}.", "It is {0}. It is {1}.", "{0} / {1}", "{0}, {1}")
LONGEST = 60  # characters of an answer that is put into a made-up completion
DRAWS = 4  # answers that are drawn for a triple; the first that its completion does not state is taken


class AnswerPool:
    """Answers of other questions, by kind, each once, in the order in which they came.

    Args:
        answers: are never forgotten.
    """

    def __init__(self, answers: Iterable[str] = ()) -> None:
        self.by_kind: dict[str, list[str]] = {}
        self.known: dict[str, str] = {}  # the answers as they were written, by `bare`
        self.by_words: dict[str, dict[str, str]] = {}  # the same by their first word, then by their words alone
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
        made.by_words = {first: dict(answers) for first, answers in self.by_words.items()}
        made.known, made.fixed = dict(self.known), self.fixed
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
                first, words = _words_of(answer)
                self.by_words.setdefault(first, {}).setdefault(words, answer)
                self.by_kind.setdefault(kind_of(answer), []).append(answer)

    def _forget(self, key: str) -> None:
        oldest = self.known.pop(key)
        self.by_kind[kind_of(oldest)].remove(oldest)
        first, words = _words_of(oldest)
        self.by_words.get(first, {}).pop(words, None)
        if not self.by_words.get(first):
            self.by_words.pop(first, None)

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
        return _draw(self.by_kind.get(kind, []), references, rng, count)

    def draw_any(self, references: Sequence[str], rng: random.Random, count: int) -> list[str]:
        """As `draw`, of any kind: for a reference that is the only one of its kind."""
        return _draw(list(self.known.values()), references, rng, count)

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

    def find_mentioned(self, text: str, count: int) -> list[str]:
        """Up to `count` answers of the pool that a text has in it as whole words, but no options, yes or no."""
        words = in_words(text).split()
        found: dict[str, str] = {}
        for start, first in enumerate(words):
            answers = self.by_words.get(first, {})
            for end in range(start + 1, min(start + MAX_WORDS, len(words)) + 1 if answers else 0):
                answer = answers.get(" ".join(words[start:end]))
                if answer is not None and kind_of(answer) not in (DECISION, CHOICE):
                    found.setdefault(bare(answer), answer)
        return list(found.values())[:count]


def _words_of(answer: str) -> tuple[str, str]:
    """The first word of an answer, and all its words; "" for each where it has none."""
    words = in_words(answer).strip()
    return words.partition(" ")[0], words


def _draw(pool: Sequence[str], references: Sequence[str], rng: random.Random, count: int) -> list[str]:
    drawn: dict[str, str] = {}
    for _ in range(min(TRIES * count, 4 * len(pool))):
        if len(drawn) == count:
            break
        other = rng.choice(pool)
        if excludes(references, other):
            drawn.setdefault(bare(other), other)
    return list(drawn.values())


def counterfactual(triple: LabelledCompletion, pool: AnswerPool, rng: random.Random) -> LabelledCompletion | None:
    """The triple under a wrong reference answer, labelled wrong; None where the pool has none for it."""
    if not triple.reference_answer.strip():
        return None
    if not triple.correct and kind_of(triple.reference_answer) in (DECISION, CHOICE):
        return None  # a wrong yes may mean no, in many words
    others = pool.draw(triple.references, rng, DRAWS, triple.question)
    other = next((each for each in others if not states(triple.completion, each)), None)
    if other is None:
        return None
    return replace(triple, reference_answer=other, aliases=(), correct=False, first_error=None)


def counterfactuals(triples: Sequence[LabelledCompletion], share: float, seed: int) -> list[LabelledCompletion]:
    """Triples under wrong reference answers, which are those of the others; right completions first of all.

    Args:
        triples: the triples of one set, so that the wrong reference answers are such as the set has.
        share: how many are made, as a share of the triples from 0 to 1. There are fewer where no answer is left.
        seed: order and answers are drawn with this seed.
    """
    rng = random.Random(f"counterfactual-{seed}")
    wanted = round(share * len(triples))
    if not wanted:
        return []
    pool = AnswerPool(dict.fromkeys(t.reference_answer for t in triples))
    order = sorted(rng.sample(triples, len(triples)), key=lambda triple: not triple.correct)
    made: list[LabelledCompletion] = []
    for triple in order:
        if len(made) < wanted and (other := counterfactual(triple, pool, rng)) is not None:
            made.append(other)
    return made


def under_aliases(triples: Sequence[LabelledCompletion], share: float, seed: int) -> Iterator[LabelledCompletion]:
    """Triples with one of their aliases in the place of the reference answer. The label stays.

    A right completion gets an alias that it states, where it states one. A wrong one gets any.

    Args:
        share: the probability, from 0 to 1, that a triple with aliases is repeated in this way.
        seed: triples and aliases are drawn with this seed.
    """
    rng = random.Random(f"aliases-{seed}")
    for triple in triples:
        if not triple.aliases or rng.random() >= share:
            continue
        stated = [each for each in triple.aliases if states(triple.completion, each)] if triple.correct else []
        yield replace(triple, reference_answer=rng.choice(stated or triple.aliases))


def mentioning_two(triples: Sequence[LabelledCompletion], share: float, seed: int) -> Iterator[LabelledCompletion]:
    """Made-up completions that name the right answer and another question's.

    A quarter is right, since it settles on the right answer. A quarter settles on the other one. Half leaves open which
    of the two it means, or lists several.

    Args:
        triples: the triples of one set.
        share: the probability, from 0 to 1, that a triple's question gets such a completion.
        seed: questions, answers and wordings are drawn with this seed.
    """
    rng = random.Random(f"two-answers-{seed}")
    pool = AnswerPool(dict.fromkeys(t.reference_answer for t in triples)) if share else AnswerPool()
    for triple in triples:
        own = triple.reference_answer
        if rng.random() >= share or not 0 < len(own.strip()) <= LONGEST:
            continue
        others = [other for other in pool.draw(triple.references, rng, DRAWS) if len(other) <= LONGEST]
        if not others:
            continue
        form = rng.choice(("right", "other", "open", "open"))
        answers = [own, others[0]] if form == "right" or rng.random() < 0.5 else [others[0], own]
        if form == "other":
            answers = [others[0], own]
        said = rng.choice(OPEN if form == "open" else SETTLED).format(*answers)
        if form == "open" and rng.random() < 0.3:
            said = ", ".join(rng.sample([own, *others], 1 + len(others)))
        yield LabelledCompletion(triple.question, own, said, form == "right", "two answers", triple.problem_id)
