"""Stage 2's pairs: for each prompt a right completion and wrong ones, each wrong one confirmed by the rule verifier."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cooper_rl.records import ContrastivePair, Reason, Rollout, Verdict, Verification
from cooper_rl.rl.config import CooperConfig
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm.perturb import perturb

# (question, positive) of each request -> wrong rewrites, None where the assistant failed.
Rewrite = Callable[[Sequence[tuple[str, str]], int], list[str | None]]


@dataclass
class PairResult:
    """The pairs of a step and how they came about."""

    pairs: list[ContrastivePair] = field(default_factory=list)
    prompts: int = 0
    proposed: int = 0
    rejected: int = 0

    def metrics(self) -> dict[str, float]:
        """`pairs/*` as logged: `yield` is the share of prompts with at least one pair."""
        with_pair = {pair.question for pair in self.pairs}
        return {
            "pairs/yield": len(with_pair) / max(1, self.prompts),
            "pairs/count": float(len(self.pairs)),
            "pairs/negative_reject_rate": self.rejected / max(1, self.proposed),
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


def build_pairs(
    rollouts: Sequence[Rollout],
    worked_solutions: Mapping[int, str],
    config: CooperConfig,
    verifier: RuleVerifier,
    rewrite: Rewrite | None,
    rng: random.Random,
) -> PairResult:
    """Positive and negatives for every prompt of the step; a prompt without a valid pair is left out.

    Proposed negatives of all prompts are verified together; a refused one is tried again, `negative_tries` times.
    """
    groups: dict[int, list[Rollout]] = {}
    for rollout in rollouts:
        groups.setdefault(rollout.group, []).append(rollout)
    result = PairResult(prompts=len(groups))
    open_slots: list[tuple[list[Rollout], str, str, str]] = []  # group, positive, its source, negative source
    for index, group in groups.items():
        exploits = mined(group)
        for source in slots(config.negative_sources, config.pairs_per_prompt):
            positive = draw_positive(group, config, worked_solutions.get(index), rng)
            if positive is None:
                continue
            if source == "mined":  # already judged against the reference when it was rewarded
                negative = next(exploits, None)
                if negative is not None:
                    result.pairs.append(_pair(group[0], positive, negative, source))
            else:
                open_slots.append((group, *positive, source))
    _checked_worked_solutions(open_slots, result, verifier)
    for attempt in range(config.negative_tries):
        open_slots = _try(open_slots, rollouts, result, verifier, rewrite, rng, attempt)
    return result


def _try(
    open_slots: list[tuple[list[Rollout], str, str, str]],
    rollouts: Sequence[Rollout],
    result: PairResult,
    verifier: RuleVerifier,
    rewrite: Rewrite | None,
    rng: random.Random,
    attempt: int,
) -> list[tuple[list[Rollout], str, str, str]]:
    """One proposal for every open slot, verified against the reference answer; returns the slots still open."""
    proposals: list[str | None] = []
    asked = [(group[0].question, positive) for group, positive, _, source in open_slots if source == "assistant"]
    rewritten = iter(rewrite(asked, attempt) if asked and rewrite else [None] * len(asked))
    for group, positive, _, source in open_slots:
        if source == "assistant":
            proposals.append(next(rewritten))
        elif source == "perturb":
            proposals.append(perturb(positive, rng))
        else:
            others = [r.completion for r in rollouts if r.group != group[0].group]
            proposals.append(rng.choice(others) if others else None)
    made = [(slot, text) for slot, text in zip(open_slots, proposals, strict=True) if text is not None]
    verifications = verifier.explain_many([s[0][0].reference_answer for s, _ in made], [text for _, text in made])
    accepted = set()
    for (slot, text), verification in zip(made, verifications, strict=True):
        result.proposed += 1
        if accepts_negative(verification, slot[3]) and text != slot[1]:
            accepted.add(id(slot))
            result.pairs.append(_pair(slot[0][0], (slot[1], slot[2]), text, slot[3]))
        else:
            result.rejected += 1
    return [slot for slot in open_slots if id(slot) not in accepted]


def _checked_worked_solutions(
    open_slots: list[tuple[list[Rollout], str, str, str]], result: PairResult, verifier: RuleVerifier
) -> None:
    """Drops pairs whose positive is a worked solution that the rule does not find CORRECT."""
    texts = {(p.reference_answer, p.positive) for p in result.pairs if p.positive_source == "worked_solution"}
    texts |= {(s[0][0].reference_answer, s[1]) for s in open_slots if s[2] == "worked_solution"}
    ordered = sorted(texts)
    verdicts = verifier.verify_many([r for r, _ in ordered], [t for _, t in ordered])
    refused = {pair for pair, verdict in zip(ordered, verdicts, strict=True) if verdict is not Verdict.CORRECT}
    result.pairs[:] = [p for p in result.pairs if (p.reference_answer, p.positive) not in refused]
    open_slots[:] = [s for s in open_slots if (s[0][0].reference_answer, s[1]) not in refused]


def _pair(rollout: Rollout, positive: tuple[str, str], negative: str, source: str) -> ContrastivePair:
    return ContrastivePair(
        rollout.question, rollout.reference_answer, positive[0], negative, source, positive[1], rollout.problem_id
    )
