"""Counterfactual references: an accepted completion is asked again under the answer of another question. (Ours.)

A completion cannot be right under two references that exclude each other. A reward model that accepts it under both is
wrong at least once. A trick that works without knowing the answer works under any reference, and the policy sees none.
So a completion that is accepted under a wrong reference too need not be paid. It is also wrong for certain under a
reference that it does not state, so it can be taught as wrong there. No rule has to prove an answer wrong.

What this does not catch: an answer near the reference that the reward model cannot tell from it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cooper_rl.method.monitor import Monitor, acceptance
from cooper_rl.method.protocols import Ranks, RewardModel
from cooper_rl.method.reward import Reward
from cooper_rl.records import THRESHOLD, Batch, ContrastivePair, LabelledCompletion, Report, Rollout, Triple, Verdict
from cooper_rl.synthesis.exclusion import CHOICE, DECISION, bare, excludes, kind_of, states
from cooper_rl.synthesis.near_reference import draw_near, nearest_first
from cooper_rl.synthesis.other_reference import AnswerPool
from cooper_rl.verifiers import RuleVerifier

if TYPE_CHECKING:
    from cooper_rl.settings.method import MethodSettings

SOURCE = "counterfactual"  # of pairs whose negative has another reference than the positive
SPARE = 3  # wrong references that are drawn for a prompt beyond those wanted, since completions may state some
OF_GROUP = 4  # answers stated by its group that a completion is asked under, by the form `best_fit`
MENTIONED = 2  # other answers mentioned at its end that a completion is asked under
END = 200  # characters at the end of a completion in which other answers are looked for
REMEMBERED = 20_000  # verdicts on wrong references that are kept

Question = tuple[str, tuple[str, ...]]  # a question with all its right answers


@dataclass
class Asking:
    """One accepted completion and the wrong references that it is asked under."""

    place: int  # in the batch
    drawn: list[str]  # answers of the reference's kind, none of which it states: these are measured
    more: list[str] = field(default_factory=list)  # asked for the reward alone
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def references(self) -> list[str]:
        return list(dict.fromkeys(self.drawn + self.more))

    def highest(self, references: Iterable[str]) -> float:
        """The highest score under these references; -1 where there is none."""
        return max((self.scores[each] for each in references if each in self.scores), default=-1.0)


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
        ranks: Ranks,
        answers: Sequence[str] = (),
    ) -> None:
        self.settings, self.verifier, self.reward_model, self.ranks = settings, verifier, reward_model, ranks
        self.uses, self.count = settings.asked_for, settings.counterfactual_references or 1
        self.threshold = threshold_of(settings)
        self.given = answers
        self.pool = AnswerPool(answers)
        self.verdicts: dict[tuple[tuple[str, ...], str], Verdict] = {}

    def ask(self, batch: Batch, reward: Reward) -> Batch:
        """The batch with its accepted completions asked, and the rewards that follow. Every rank calls it.

        A completion that was asked before stays as it is. The pool takes up the batch's references.
        """
        self.pool.add(rollout.reference_answer for rollout in batch.rollouts)
        return _replace_rollouts(batch, dict(self.ranks.gather(list(self._ask_all(batch, reward, self.pool).items()))))

    def ask_alone(self, batch: Batch, reward: Reward) -> Batch:
        """As `ask`, for completions that stage 2 does not learn from now. The pool stays as it is."""
        pool = self.pool.copy()
        pool.add(rollout.reference_answer for rollout in batch.rollouts)
        return _replace_rollouts(batch, self._ask_all(batch, reward, pool))

    def _ask_all(self, batch: Batch, reward: Reward, pool: AnswerPool) -> dict[int, Rollout]:
        """This rank's rollouts that change, by their place."""
        own = range(len(batch.rollouts)) if batch.own is None else batch.own
        rollouts = {i: batch.rollouts[i] for i in own if batch.rollouts[i].counterfactual_reference is None}
        accepted = {i: rollout for i, rollout in rollouts.items() if rollout.score > self.threshold}
        askings = self._askings(accepted, batch, pool)
        rows = [(asking, other) for asking in askings for other in asking.references]
        triples = [Triple(accepted[a.place].question, other, accepted[a.place].completion) for a, other in rows]
        for (asking, other), score in zip(rows, self.reward_model.score(triples), strict=True):
            if math.isfinite(score):
                asking.scores[other] = score
        changed = {asking.place: self._take_answers(accepted[asking.place], asking, reward) for asking in askings}
        if "reward" in self.uses and self.settings.reward_threshold is None:  # else what is refused is paid best
            low = {i: r for i, r in rollouts.items() if i not in accepted and r.score <= self.threshold}
            changed |= {i: replace(r, reward=reward.of(r.verification, 0.0)) for i, r in low.items()}
        return changed

    def _askings(self, accepted: dict[int, Rollout], batch: Batch, pool: AnswerPool) -> list[Asking]:
        drawn = self._references_of(accepted.values(), batch.step, pool)
        askings = [Asking(i, self._first(rollout, drawn[_question(rollout)])) for i, rollout in accepted.items()]
        if "reward" not in self.uses:
            return askings
        groups = batch.groups()
        for asking in askings:
            rollout = accepted[asking.place]
            asking.more = self._more(rollout, groups[rollout.group], drawn[_question(rollout)], pool)
            if not asking.drawn and not asking.more:
                rng = self._rng("any", batch.step, rollout)
                asking.more = self._first(rollout, pool.draw_any(rollout.sample.references, rng, self.count + SPARE))
        self._judge((accepted[a.place].sample.references, other) for a in askings for other in a.more)
        for asking in askings:
            references = accepted[asking.place].sample.references
            asking.more = [other for other in asking.more if self._differs(references, other)]
        return askings

    def _take_answers(self, rollout: Rollout, asking: Asking, reward: Reward) -> Rollout:
        """The rollout with what was found, and without its score's reward where the form refuses it.

        It counts as tested where it was asked under as many references of its kind as are wanted.
        """
        highest = asking.highest(asking.drawn)
        tested = highest >= 0 and (len(asking.drawn) == self.count or kind_of(rollout.reference_answer) == DECISION)
        worst = next((other for other in asking.drawn if asking.scores.get(other) == highest), "") if tested else ""
        found = replace(rollout, counterfactual_reference=worst, counterfactual_score=highest if tested else None)
        paid = "reward" not in self.uses or self._pays(rollout.score, asking.highest(asking.scores))
        return found if paid else replace(found, reward=reward.of(rollout.verification, 0.0))

    def _pays(self, score: float, highest: float) -> bool:
        """Whether a completion is paid, by its highest score under the wrong references (-1: it was not asked)."""
        if self.settings.counterfactual_form == "refused":
            return highest <= self.threshold
        if self.settings.counterfactual_form == "margin":
            return highest < 0 or score - highest > self.settings.counterfactual_margin
        return score > highest

    def _first(self, rollout: Rollout, others: Sequence[str]) -> list[str]:
        """The first of these that the completion does not state. Near ones that share its words come first."""
        if self.settings.counterfactual_near:
            others = nearest_first(rollout.completion, others)
        return [other for other in others if not says(rollout, other)][: self.count]

    def _more(self, rollout: Rollout, group: Sequence[Rollout], drawn: Sequence[str], pool: AnswerPool) -> list[str]:
        """Answers under which a list of guesses, or an answer of its group that was found wrong, would fit as well."""
        right = set(map(bare, rollout.sample.references))
        end = rollout.completion.strip()[-END:]
        if kind_of(rollout.reference_answer) in (DECISION, CHOICE):
            found = [other for other in drawn if states(end, other)]
        else:
            found = [other for other in pool.find_mentioned(end, MENTIONED + 1) if bare(other) not in right]
        found = found[:MENTIONED]
        if self.settings.counterfactual_form == "best_fit":
            wrong = (r for r in group if r.verification.doubtful and r.answer)
            found += list(dict.fromkeys(str(r.answer) for r in wrong))[:OF_GROUP]
        return found

    def _references_of(self, rollouts: Iterable[Rollout], step: int, pool: AnswerPool) -> dict[Question, list[str]]:
        """Wrong references for each question: near ones, then others, those that the rule proves wrong first."""
        far: dict[Question, list[str]] = {}
        near: dict[Question, list[str]] = {}
        for rollout in rollouts:
            if (question := _question(rollout)) in far:
                continue
            rng, count = self._rng("drawn", step, rollout), self.count + SPARE
            far[question] = pool.draw(rollout.sample.references, rng, count, rollout.question)
            near[question] = []
            if self.settings.counterfactual_near:
                near[question] = draw_near(pool, rollout.reference_answer, self._rng("near", step, rollout))
        drawn = (*far.items(), *near.items())
        self._judge((references, other) for (_, references), others in drawn for other in others)
        found = {}
        for question, others in far.items():
            references = question[1]
            kept = [other for other in others if self._differs(references, other)]
            kept.sort(key=lambda other: not self._proves_wrong(references, other))
            found[question] = [other for other in near[question] if self._proves_wrong(references, other)] + kept
        return found

    def _rng(self, use: str, step: int, rollout: Rollout) -> random.Random:
        words = (SOURCE, use, str(self.settings.seed), str(step), rollout.question, *rollout.sample.references)
        return random.Random("\n".join(words).encode("utf-8", "surrogatepass"))

    def _judge(self, wanted: Iterable[tuple[tuple[str, ...], str]]) -> None:
        """Lets the rule judge answers against references that it has not judged them against yet."""
        if len(self.verdicts) > REMEMBERED:
            self.verdicts.clear()
        new = [pair for pair in dict.fromkeys(wanted) if pair not in self.verdicts]
        judged = self.verifier.verify_many([references for references, _ in new], [other for _, other in new])
        self.verdicts |= zip(new, judged, strict=True)

    def _differs(self, references: tuple[str, ...], other: str) -> bool:
        """Whether an answer excludes the references: in its words, and the rule does not find it right."""
        return self.verdicts[references, other] is not Verdict.CORRECT and excludes(references, other)

    def _proves_wrong(self, references: tuple[str, ...], other: str) -> bool:
        return self.verdicts[references, other] is Verdict.INCORRECT

    def pairs(self, batch: Batch, groups: Iterable[int]) -> list[tuple[int, ContrastivePair]]:
        """Pairs of a right completion under its reference and under a wrong one, with the number of their group.

        Args:
            groups: the prompts to make pairs of; up to `pairs_per_prompt` each.
        """
        if "negatives" not in self.uses:
            return []
        self.pool.add(rollout.reference_answer for rollout in batch.rollouts)  # it may have been scored elsewhere
        by_group = batch.groups()
        right = {group: [r for r in by_group[group] if r.verdict is Verdict.CORRECT] for group in groups}
        drawn = self._references_of([r for own in right.values() for r in own], batch.step, self.pool)
        made = []
        for group, own in right.items():
            rng = random.Random(f"{SOURCE}-pairs-{self.settings.seed}-{batch.step}-{group}")
            for _ in range(self.settings.pairs_per_prompt if own else 0):
                positive = rng.choice(own)
                if others := self._first(positive, drawn[_question(positive)]):
                    made.append((group, _pair(positive, rng.choice(others))))
        return made

    def draw_labelled(self, batch: Batch) -> list[LabelledCompletion]:
        """This rank's share of the step's accepted completions under wrong references, labelled wrong.

        Half of them are those that score highest there, the others are drawn from the rest. None is among them that the
        rule finds right under the wrong reference. Where a yes, a no or an option is asked for, the rule has to find it
        wrong there, since a completion may say so in many words.
        """
        if "negatives" not in self.uses:
            return []
        count = self.settings.counterfactual_per_step
        asked = [r for r in batch.rollouts if r.counterfactual_score is not None and r.counterfactual_reference]
        ranked = sorted(asked, key=lambda r: -(r.counterfactual_score or 0.0))
        rest = ranked[count // 2 :]
        rng = random.Random(f"{SOURCE}-labelled-{self.settings.seed}-{batch.step}")
        taught = ranked[: count // 2] + rng.sample(rest, min(len(rest), count - count // 2))
        own = taught[self.ranks.rank :: self.ranks.size]
        others = [str(r.counterfactual_reference) for r in own]
        verdicts = self.verifier.verify_many(others, [r.completion for r in own])
        rows = zip(own, others, verdicts, strict=True)
        return [
            LabelledCompletion(r.question, other, r.completion, False, SOURCE, r.sample.problem_id)
            for r, other, verdict in rows
            if r.verdict is Verdict.CORRECT or surely_wrong(other, verdict)
        ]

    def after(self, report: Report, *, whole: bool) -> Report:
        assert report.batch
        return report.having(acceptance(report.batch.rollouts, self.threshold))

    def state(self) -> dict[str, Any]:
        return {"answers": self.pool.answers}

    def load_state(self, state: dict[str, Any]) -> None:
        self.pool = AnswerPool(self.given)
        self.pool.add(state["answers"])


def threshold_of(settings: MethodSettings) -> float:
    """A completion with a score above it counts as accepted."""
    return THRESHOLD if settings.reward_threshold is None else settings.reward_threshold


def says(rollout: Rollout, answer: str) -> bool:
    """Whether a completion states an answer anywhere, in these words or as what the rule has read."""
    return states(rollout.completion, answer) or rollout.answer == bare(answer)


def surely_wrong(reference: str, verdict: Verdict) -> bool:
    """Whether a completion that does not state a reference in its words is wrong under it, given the rule's verdict."""
    many_words = kind_of(reference) in (DECISION, CHOICE)
    return verdict is Verdict.INCORRECT if many_words else verdict is not Verdict.CORRECT


def _question(rollout: Rollout) -> Question:
    return rollout.question, rollout.sample.references


def _replace_rollouts(batch: Batch, changed: dict[int, Rollout]) -> Batch:
    return replace(batch, rollouts=tuple(changed.get(i, rollout) for i, rollout in enumerate(batch.rollouts)))


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
