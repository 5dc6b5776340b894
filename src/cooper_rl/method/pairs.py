"""Stage 2's pairs: for each prompt a right completion and wrong ones, each wrong one confirmed by the rule verifier."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.records import ContrastivePair, Reason, Rollout, Verdict, Verification
from cooper_rl.synthesis.perturb import perturb
from cooper_rl.verifiers import RuleVerifier

# (question, positive) of each request -> wrong rewrites, None where the assistant failed.
Rewrite = Callable[[Sequence[tuple[str, str]], int], list[str | None]]


@dataclass
class PairResult:
    """The pairs of a step and how they came about."""

    pairs: list[ContrastivePair] = field(default_factory=list)
    prompts: int = 0
    proposed: int = 0
    rejected: int = 0
    fallback: int = 0

    @classmethod
    def together(cls, results: Sequence[PairResult]) -> PairResult:
        """What several ranks made of a step."""
        return cls(
            [pair for result in results for pair in result.pairs],
            sum(result.prompts for result in results),
            sum(result.proposed for result in results),
            sum(result.rejected for result in results),
            sum(result.fallback for result in results),
        )

    def metrics(self) -> dict[str, float]:
        """`pairs/*` as logged: `yield` is the share of prompts with at least one pair."""
        with_pair = {pair.question for pair in self.pairs}
        return {
            "pairs/yield": len(with_pair) / max(1, self.prompts),
            "pairs/count": float(len(self.pairs)),
            "pairs/negative_reject_rate": self.rejected / max(1, self.proposed),
            "pairs/fallback": float(self.fallback),
            "pairs/mined": float(sum(pair.negative_source == "mined" for pair in self.pairs)),
        }


def accepts_negative(verification: Verification, source: str) -> bool:
    """Whether a completion may be taught as wrong.

    INCORRECT against the reference answer counts, whatever the source. TIMEOUT and ERROR never do. UNPARSEABLE counts
    only for a mined completion with no answer at all: a right answer in an unknown form must not be taught as wrong.
    """
    if verification.verdict is Verdict.INCORRECT:
        return True
    return source == "mined" and (verification.verdict, verification.reason) == (
        Verdict.UNPARSEABLE,
        Reason.NO_ANSWER,
    )


def draw_positive(
    group: Sequence[Rollout], config: CooperConfig, worked_solution: str | None, rng: random.Random
) -> tuple[str, str] | None:
    """(text, source) of a positive drawn at random among the CORRECT rollouts, or None.

    With probability `positive_label_noise` it is drawn from the others instead (the precision ablation).
    """
    right = [r.completion for r in group if r.verdict is Verdict.CORRECT]
    others = [r.completion for r in group if r.verdict is not Verdict.CORRECT]
    if others and rng.random() < config.positive_label_noise:
        return rng.choice(others), "rollout"
    if right:
        return rng.choice(right), "rollout"
    if config.positive_fallback == "worked_solution" and worked_solution:
        return worked_solution, "worked_solution"
    return None


def slots(weights: Mapping[str, float], pairs_per_prompt: int) -> list[str]:
    """The source of each of a prompt's pairs: shares by weight, largest remainders first."""
    total = sum(weights.values())
    exact = {source: weight / total * pairs_per_prompt for source, weight in weights.items() if weight > 0}
    counts = {source: int(share) for source, share in exact.items()}
    by_remainder = sorted(exact, key=lambda s: counts[s] - exact[s])
    for source in by_remainder[: pairs_per_prompt - sum(counts.values())]:
        counts[source] += 1
    return [source for source, count in counts.items() for _ in range(count)]


def mined(group: Sequence[Rollout]) -> Iterator[str]:
    """The group's wrong completions that the reward model scores highest, best first, no text twice."""
    ranked = sorted(group, key=lambda rollout: -rollout.score)
    texts = {r.completion: None for r in ranked if accepts_negative(r.verification, "mined")}
    return iter(texts)


@dataclass(eq=False)
class Slot:
    """A pair to be: a prompt's group with its positive drawn, and where the negative is to come from."""

    group: list[Rollout]
    positive: str
    positive_source: str
    negative_source: str
    rng: random.Random

    def pair(self, negative: str) -> ContrastivePair:
        """The slot's positive beside this negative."""
        rollout = self.group[0]
        return ContrastivePair(
            rollout.question,
            rollout.reference_answer,
            self.positive,
            negative,
            self.negative_source,
            self.positive_source,
            rollout.problem_id,
        )


def draw_slots(
    rollouts: Sequence[Rollout],
    worked_solutions: Mapping[int, str],
    config: CooperConfig,
    seed: str,
    share: tuple[int, int] = (0, 1),
) -> list[Slot]:
    """The pairs to be of every prompt that has a positive.

    What is drawn for a prompt depends on the seed and its number alone. `share` (i of n): this rank's part of them.
    """
    groups: dict[int, list[Rollout]] = {}
    for rollout in rollouts:
        if rollout.group % share[1] == share[0]:
            groups.setdefault(rollout.group, []).append(rollout)
    found = []
    for index, group in groups.items():
        rng = random.Random(f"{seed}-{index}")
        for source in slots(config.negative_sources, config.pairs_per_prompt):
            positive = draw_positive(group, config, worked_solutions.get(index), rng)
            if positive is not None:
                found.append(Slot(group, *positive, source, rng))
    return found


def assistant_requests(open_slots: Sequence[Slot]) -> list[tuple[str, str]]:
    """(question, positive) of each slot whose negative the assistant writes."""
    return [(slot.group[0].question, slot.positive) for slot in open_slots if slot.negative_source == "assistant"]


def build_pairs(
    rollouts: Sequence[Rollout],
    worked_solutions: Mapping[int, str],
    config: CooperConfig,
    verifier: RuleVerifier,
    rewrite: Rewrite | None,
    seed: str,
    *,
    share: tuple[int, int] = (0, 1),
) -> PairResult:
    """Positive and negatives for every prompt of the step (see `draw_slots`); one without a valid pair is left out.

    Proposed negatives of all prompts are verified together; a refused one is tried again, `negative_tries` times, and
    then as often from `negative_fallback`, if that is set.
    """
    open_slots = draw_slots(rollouts, worked_solutions, config, seed, share)
    result = PairResult(prompts=len({r.group for r in rollouts if r.group % share[1] == share[0]}))
    _drop_wrong_worked_solutions(open_slots, verifier)
    exploits: dict[int, Iterator[str]] = {}
    for slot in [slot for slot in open_slots if slot.negative_source == "mined"]:
        open_slots.remove(slot)  # already judged against the reference when it was rewarded
        index = slot.group[0].group
        negative = next(exploits.setdefault(index, mined(slot.group)), None)
        if negative is not None:
            result.pairs.append(slot.pair(negative))
    for attempt in range(config.negative_tries):
        open_slots = _try(open_slots, rollouts, result, verifier, rewrite, attempt)
    if config.negative_fallback != "none":
        for slot in open_slots:
            slot.negative_source = config.negative_fallback
        result.fallback = len(open_slots)
        for attempt in range(config.negative_tries):
            open_slots = _try(open_slots, rollouts, result, verifier, rewrite, attempt)
    return result


def _try(
    open_slots: list[Slot],
    rollouts: Sequence[Rollout],
    result: PairResult,
    verifier: RuleVerifier,
    rewrite: Rewrite | None,
    attempt: int,
) -> list[Slot]:
    """One proposal for every open slot, verified against the reference answer; returns the slots still open."""
    proposals: list[str | None] = []
    asked = assistant_requests(open_slots)
    rewritten = iter(rewrite(asked, attempt) if asked and rewrite else [None] * len(asked))
    for slot in open_slots:
        if slot.negative_source == "assistant":
            proposals.append(next(rewritten))
        elif slot.negative_source == "perturb":
            proposals.append(perturb(slot.positive, slot.rng))
        else:
            others = [r.completion for r in rollouts if r.group != slot.group[0].group]
            proposals.append(slot.rng.choice(others) if others else None)
    made = [(slot, text) for slot, text in zip(open_slots, proposals, strict=True) if text is not None]
    verifications = verifier.explain_many([s.group[0].reference_answer for s, _ in made], [text for _, text in made])
    accepted = set()
    for (slot, text), verification in zip(made, verifications, strict=True):
        result.proposed += 1
        if accepts_negative(verification, slot.negative_source) and text != slot.positive:
            accepted.add(id(slot))
            result.pairs.append(slot.pair(text))
        else:
            result.rejected += 1
    return [slot for slot in open_slots if id(slot) not in accepted]


def _drop_wrong_worked_solutions(open_slots: list[Slot], verifier: RuleVerifier) -> None:
    """Drops slots whose positive is a worked solution that the rule does not find CORRECT."""
    worked = [slot for slot in open_slots if slot.positive_source == "worked_solution"]
    texts = sorted({(slot.group[0].reference_answer, slot.positive) for slot in worked})
    verdicts = verifier.verify_many([r for r, _ in texts], [t for _, t in texts])
    refused = {text for text, verdict in zip(texts, verdicts, strict=True) if verdict is not Verdict.CORRECT}
    for slot in worked:
        if (slot.group[0].reference_answer, slot.positive) in refused:
            open_slots.remove(slot)
