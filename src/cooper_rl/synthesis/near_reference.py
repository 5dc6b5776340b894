"""Near wrong references: the right answer with one part of another answer, as 12 March for 12 February.

They test whether a reward model reads all parts of an answer. An answer of another question is mostly wrong in all its
parts, so a completion that has only some of the right ones is refused under it. Since a near reference may be right in
other words (0.50 for .5), it is taken only where the rule proves it wrong.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from cooper_rl.records import LabelledCompletion, Verdict
from cooper_rl.synthesis.exclusion import CHOICE, DECISION, bare, in_words, kind_of, states
from cooper_rl.synthesis.other_reference import TRIES, AnswerPool
from cooper_rl.verifiers import RuleVerifier

DRAWS = 8  # near references that are made for a question, since the rule may prove few of them wrong
_PARTS = (re.compile(r"\d+|[^\W\d_]+"), re.compile(r"\d|[^\W\d_]+"))  # words and numbers, words and digits


def draw_near(pool: AnswerPool, reference: str, rng: random.Random, count: int = DRAWS) -> list[str]:
    """Up to `count` answers made of the reference and one part of another answer of its kind, each once.

    Whether one excludes the reference is for a rule to prove. There is none for an option, a yes or a no.
    """
    kind = kind_of(reference)
    answers = pool.by_kind.get(kind, []) if kind not in (DECISION, CHOICE) else []
    made: dict[str, str] = {}
    for _ in range(TRIES * count if answers else 0):
        parts = rng.choice(_PARTS)
        own, theirs = list(parts.finditer(reference)), parts.findall(rng.choice(answers))
        if len(own) < 2 or len(own) != len(theirs):
            continue
        at = rng.randrange(len(own))
        near = reference[: own[at].start()] + theirs[at] + reference[own[at].end() :]
        if bare(near) != bare(reference):
            made.setdefault(bare(near), near)
    return list(made.values())[:count]


def nearest_first(completion: str, others: Iterable[str]) -> list[str]:
    """The answers that share most words with a completion first; else they keep their order."""
    words = set(in_words(completion).split())
    return sorted(others, key=lambda other: -len(words & set(in_words(other).split())))


def under_near_references(
    triples: Sequence[LabelledCompletion], pool: AnswerPool, rng: random.Random, rule: RuleVerifier
) -> dict[int, LabelledCompletion]:
    """The triples under a near wrong reference each, labelled wrong, by their place; those without any are left out.

    Of those that the rule proves wrong and that the completion does not state, one is taken that shares most words with
    the completion. The completion is then wrong under it if it is right under the right reference.
    """
    drawn = [(place, near) for place, t in enumerate(triples) for near in draw_near(pool, t.reference_answer, rng)]
    verdicts = rule.verify_many([triples[place].references for place, _ in drawn], [near for _, near in drawn])
    proved: dict[int, list[str]] = {}
    for (place, near), verdict in zip(drawn, verdicts, strict=True):
        if verdict is Verdict.INCORRECT and not states(triples[place].completion, near):
            proved.setdefault(place, []).append(near)
    nearest = {place: nearest_first(triples[place].completion, others)[0] for place, others in proved.items()}
    said = rule.verify_many([*nearest.values()], [triples[place].completion for place in nearest])
    return {
        place: replace(triples[place], reference_answer=near, aliases=(), correct=False, first_error=None)
        for (place, near), verdict in zip(nearest.items(), said, strict=True)
        if verdict is not Verdict.CORRECT
    }


def near_counterfactuals(triples: Sequence[LabelledCompletion], share: float, seed: int) -> list[LabelledCompletion]:
    """Right triples under near wrong references, labelled wrong.

    Args:
        triples: the triples of one set, whose reference answers give the parts.
        share: how many are made, as a share of the triples from 0 to 1. There are fewer where no answer is left.
        seed: triples and answers are drawn with this seed.
    """
    rng = random.Random(f"near-counterfactual-{seed}")
    wanted, right = round(share * len(triples)), [triple for triple in triples if triple.correct]
    if not wanted or not right:
        return []
    pool = AnswerPool(dict.fromkeys(t.reference_answer for t in triples))
    order, made = rng.sample(right, len(right)), list[LabelledCompletion]()
    with RuleVerifier("auto") as rule:
        while order and len(made) < wanted:  # no more are judged than are needed
            made += under_near_references(order[:wanted], pool, rng, rule).values()
            order = order[wanted:]
    return made[:wanted]
