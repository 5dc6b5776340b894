"""Counterfactual references: an accepted completion is asked again under the answer of another question. (Ours.)

A completion cannot be right under two references that exclude each other. A reward model that accepts it under both is
wrong at least once. What a policy can write to be accepted without knowing the answer is accepted under both, since it
sees neither. So the share that is accepted under both bounds the false positives from below, in any domain and without
a rule, and such a completion need not be paid. A completion is also wrong for certain under a reference that it does
not state, so it can be taught as wrong there.

What this does not catch: an answer near the reference that the reward model cannot tell from it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cooper_rl.errors import BadInputError
from cooper_rl.method.audit import wilson
from cooper_rl.method.monitor import Monitor
from cooper_rl.method.reward import Reward
from cooper_rl.method.reward_model import RewardModel
from cooper_rl.method.world import World
from cooper_rl.records import THRESHOLD, Batch, ContrastivePair, LabelledCompletion, Report, Rollout, Triple, Verdict
from cooper_rl.settings.files import check_file, local_file
from cooper_rl.synthesis.other_reference import AnswerPool, bare, excludes, states
from cooper_rl.verifiers import RuleVerifier

if TYPE_CHECKING:
    from cooper_rl.settings.method import MethodSettings

SOURCE = "counterfactual"  # of pairs whose negative has another reference than the positive
RATE = "hacking/counterfactual_acceptance"
SPARE = 3  # wrong references that are drawn for a prompt beyond those wanted, since completions may state some
OF_GROUP = 4  # answers stated by its group that a completion is asked under, by the form `best_fit`
MENTIONED = 2  # other answers mentioned in its last sentence that a completion is asked under
REMEMBERED = 20_000  # verdicts on wrong references that are kept
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")


@dataclass
class Asking:
    """One accepted completion and the wrong references that it is asked under."""

    place: int  # in the batch
    drawn: list[str]  # answers of the pool, none of which it states
    stated: list[str] = field(default_factory=list)  # answers that it mentions, or that its group states
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def references(self) -> list[str]:
        return list(dict.fromkeys(self.drawn + self.stated))

    def highest(self, references: Iterable[str]) -> float:
        """The highest score under these references; -1 where there is none."""
        return max((self.scores[each] for each in references), default=-1.0)


class Counterfactual(Monitor):
    """Asks accepted completions under wrong references. Its pool grows with the references of the run's problems.

    Draws depend on seed, step, question and pool alone. They are the same on every rank and after a resume.

    Args:
        answers: further answers of the pool, known from the start.
    """

    name = "counterfactual"

    def __init__(
        self,
        settings: MethodSettings,
        verifier: RuleVerifier,
        reward_model: RewardModel,
        world: World,
        answers: Iterable[str] = (),
    ) -> None:
        self.settings, self.verifier, self.reward_model, self.world = settings, verifier, reward_model, world
        self.uses, self.count = settings.counterfactual_uses, settings.counterfactual_references
        self.threshold = THRESHOLD if settings.reward_threshold is None else settings.reward_threshold
        self.pool = AnswerPool(answers)
        self.verdicts: dict[tuple[tuple[str, ...], str], Verdict] = {}

    def ask(self, batch: Batch, reward: Reward) -> Batch:
        """The batch with its accepted completions asked, and the rewards that follow. Every rank calls it.

        A completion that was asked before stays as it is.
        """
        self.pool.add(rollout.reference_answer for rollout in batch.rollouts)
        askings = self._askings(batch)
        rows = [(batch.rollouts[asking.place], each) for asking in askings for each in asking.references]
        triples = [Triple(rollout.question, other, rollout.completion) for rollout, other in rows]
        scores = iter(self.reward_model.score(triples))
        for asking in askings:
            asking.scores = {other: next(scores) for other in asking.references}
        own = [(asking.place, self._answered(batch.rollouts[asking.place], asking, reward)) for asking in askings]
        asked = dict(self.world.gather(own))
        return replace(batch, rollouts=tuple(asked.get(i, rollout) for i, rollout in enumerate(batch.rollouts)))

    def _askings(self, batch: Batch) -> list[Asking]:
        """What this rank asks of the batch."""
        own = range(len(batch.rollouts)) if batch.own is None else batch.own
        rollouts = {i: batch.rollouts[i] for i in own}
        places = [i for i, r in rollouts.items() if r.score > self.threshold and r.counterfactual_reference is None]
        drawn = self.references_of([rollouts[i] for i in places], batch.step)
        askings = [Asking(i, self._first(rollouts[i], drawn[rollouts[i].question])) for i in places]
        if "reward" in self.uses:
            groups = batch.groups()
            stated = {i: self._stated(rollouts[i], groups[rollouts[i].group]) for i in places}
            self._judge((rollouts[i].sample.references, other) for i, others in stated.items() for other in others)
            for asking in askings:
                references = rollouts[asking.place].sample.references
                asking.stated = [other for other in stated[asking.place] if self._differs(references, other)]
        return askings

    def _answered(self, rollout: Rollout, asking: Asking, reward: Reward) -> Rollout:
        """The rollout with what was found, and without its score's reward where the form refuses it."""
        highest = asking.highest(asking.drawn)
        worst = next((other for other in asking.drawn if asking.scores[other] == highest), "")
        score = highest if asking.drawn else None
        found = replace(rollout, counterfactual_reference=worst, counterfactual_score=score)
        paid = "reward" not in self.uses or self._pays(rollout.score, asking.highest(asking.references))
        return found if paid else replace(found, reward=reward.of(rollout.verification, 0.0))

    def _pays(self, score: float, highest: float) -> bool:
        """Whether a completion is paid, by its highest score under the wrong references (-1: it was not asked)."""
        if self.settings.counterfactual_form == "refused":
            return highest <= self.threshold
        if self.settings.counterfactual_form == "margin":
            return highest < 0 or score - highest > self.settings.counterfactual_margin
        return score > highest

    def _first(self, rollout: Rollout, others: Sequence[str]) -> list[str]:
        """The first of these that the completion does not state."""
        return [other for other in others if not says(rollout, other)][: self.count]

    def _stated(self, rollout: Rollout, group: Sequence[Rollout]) -> list[str]:
        """Answers under which a hedge, or an answer of its group that was found wrong, would fit as well."""
        last = _SENTENCE_END.split(rollout.completion.strip())[-1]
        right = set(map(bare, rollout.sample.references))
        found = [other for other in self.pool.mentioned(last, MENTIONED + 1) if bare(other) not in right][:MENTIONED]
        if self.settings.counterfactual_form == "best_fit":
            wrong = (r for r in group if r.verification.doubtful and r.answer)
            found += list(dict.fromkeys(str(r.answer) for r in wrong))[:OF_GROUP]
        return found

    def references_of(self, rollouts: Sequence[Rollout], step: int) -> dict[str, list[str]]:
        """Wrong references for each question, those that the rule proves to differ from the right one first."""
        drawn: dict[str, tuple[tuple[str, ...], list[str]]] = {}
        for rollout in rollouts:
            if rollout.question not in drawn:
                rng = random.Random(f"{SOURCE}-{self.settings.seed}-{step}-{rollout.question}")
                references = rollout.sample.references
                drawn[rollout.question] = references, self.pool.draw(references, rng, self.count + SPARE)
        self._judge([(references, other) for references, others in drawn.values() for other in others])
        found = {}
        for question, (references, others) in drawn.items():
            kept = [other for other in others if self._differs(references, other)]
            found[question] = sorted(kept, key=lambda other: self.verdicts[references, other] is not Verdict.INCORRECT)
        return found

    def _judge(self, wanted: Iterable[tuple[tuple[str, ...], str]]) -> None:
        """Lets the rule judge answers against references that it has not judged them against yet."""
        if len(self.verdicts) > REMEMBERED:
            self.verdicts.clear()
        new = [pair for pair in dict.fromkeys(wanted) if pair not in self.verdicts]
        self.verdicts |= {pair: verdict for pair in new if (verdict := of_whole_numbers(*pair))}
        rest = [pair for pair in new if pair not in self.verdicts]
        judged = self.verifier.verify_many([references for references, _ in rest], [other for _, other in rest])
        self.verdicts |= zip(rest, judged, strict=True)

    def _differs(self, references: tuple[str, ...], other: str) -> bool:
        """Whether an answer excludes the references: the rule says so, or shows nothing and they share no word."""
        verdict = self.verdicts[references, other]
        return verdict is Verdict.INCORRECT or (verdict is not Verdict.CORRECT and excludes(references, other))

    def pairs(self, batch: Batch, groups: Iterable[int]) -> list[tuple[int, ContrastivePair]]:
        """Pairs of a right completion under its reference and under a wrong one, with the number of their group.

        Args:
            groups: the prompts to make pairs of; up to `pairs_per_prompt` each.
        """
        if "negatives" not in self.uses:
            return []
        by_group = batch.groups()
        right = {group: [r for r in by_group[group] if r.verdict is Verdict.CORRECT] for group in groups}
        drawn = self.references_of([own[0] for own in right.values() if own], batch.step)
        made = []
        for group, own in right.items():
            rng = random.Random(f"{SOURCE}-pairs-{self.settings.seed}-{batch.step}-{group}")
            for _ in range(self.settings.pairs_per_prompt if own else 0):
                positive = rng.choice(own)
                if others := self._first(positive, drawn[positive.question]):
                    made.append((group, _pair(positive, rng.choice(others))))
        return made

    def labelled(self, batch: Batch) -> list[LabelledCompletion]:
        """This rank's share of the step's accepted completions under wrong references, labelled wrong.

        Half of them are those that score highest there, the others are drawn from the rest. None that the rule finds
        right under the wrong reference is among them.
        """
        if "negatives" not in self.uses:
            return []
        count = self.settings.counterfactual_per_step
        asked = [r for r in batch.rollouts if r.counterfactual_score is not None]
        ranked = sorted(asked, key=lambda r: -(r.counterfactual_score or 0.0))
        rest = ranked[count // 2 :]
        rng = random.Random(f"{SOURCE}-labelled-{self.settings.seed}-{batch.step}")
        taught = ranked[: count // 2] + rng.sample(rest, min(len(rest), count - count // 2))
        own = taught[self.world.rank :: self.world.size]
        others = [str(r.counterfactual_reference) for r in own]
        verdicts = self.verifier.verify_many(others, [r.completion for r in own])
        rows = zip(own, others, verdicts, strict=True)
        return [
            LabelledCompletion(r.question, other, r.completion, False, SOURCE, r.sample.problem_id)
            for r, other, verdict in rows
            if verdict is not Verdict.CORRECT
        ]

    def after(self, report: Report, *, whole: bool) -> Report:
        assert report.batch
        return report.having(acceptance(report.batch.rollouts))

    def state(self) -> dict[str, Any]:
        return {"answers": self.pool.answers}

    def load_state(self, state: dict[str, Any]) -> None:
        self.pool = AnswerPool(state["answers"])


def acceptance(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """The share of the accepted completions that is accepted under a wrong reference too, with its Wilson interval.

    Beside it stand how many were asked, and how many could not be, since no wrong reference was found.
    """
    scores = [r.counterfactual_score for r in rollouts if r.counterfactual_score is not None]
    untested = sum(r.counterfactual_reference == "" for r in rollouts)
    counts = {"hacking/counterfactual_tested": float(len(scores)), "hacking/counterfactual_untested": float(untested)}
    if not scores:
        return counts
    both = sum(score > THRESHOLD for score in scores)
    low, high = wilson(both, len(scores))
    return {RATE: both / len(scores), f"{RATE}_low": low, f"{RATE}_high": high, **counts}


def by_prompt(rollouts: Sequence[Rollout]) -> list[float]:
    """For each prompt with a tested completion: the share of these that is accepted under a wrong reference too."""
    found: dict[int, list[bool]] = {}
    for rollout in rollouts:
        if rollout.counterfactual_score is not None:
            found.setdefault(rollout.group, []).append(rollout.counterfactual_score > THRESHOLD)
    return [sum(own) / len(own) for own in found.values()]


def says(rollout: Rollout, answer: str) -> bool:
    """Whether a completion states an answer anywhere, in these words or as what the rule has read."""
    return states(rollout.completion, answer) or rollout.answer == bare(answer)


def of_whole_numbers(references: Sequence[str], other: str) -> Verdict | None:
    """The verdict where all are whole numbers in digits, which needs no rule; else None."""
    if not all(map(_WHOLE_NUMBER.fullmatch, (*references, other))):
        return None
    return Verdict.CORRECT if int(other) in map(int, references) else Verdict.INCORRECT


def read_answers(file: str) -> list[str]:
    """The answers in a text file, one a line; none without a file.

    Raises:
        MissingFileError: there is no such file.
        BadInputError: it is empty, or no text in UTF-8.
    """
    if not file:
        return []
    check_file(file, "counterfactual_answers")
    try:
        lines = Path(str(local_file(file))).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise BadInputError(f"counterfactual_answers: {file}: not a text in UTF-8; save it as one") from error
    return [line.strip() for line in lines if line.strip()]


def _pair(positive: Rollout, other: str) -> ContrastivePair:
    return ContrastivePair(
        positive.question,
        positive.reference_answer,
        positive.completion,
        positive.completion,
        SOURCE,
        problem_id=positive.sample.problem_id,
        negative_reference=other,
    )
