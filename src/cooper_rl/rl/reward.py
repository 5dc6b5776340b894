"""Stage 1's reward: a callable that is not an nn.Module, so that TRL hands it every column, the reference too."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from cooper_rl.records import Reason, Rollout, Verdict
from cooper_rl.rl.config import CooperConfig
from cooper_rl.rl.pairs import accepts_negative
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm import VerifyRM


def reward_of(arm: str, score: float, verdict: Verdict, threshold: float | None = None) -> float:
    """The reward of one completion.

    rule: 1 where the rule says CORRECT. static and cooper: the reward model's score, or score > threshold.
    hybrid: 1 where the rule says CORRECT, the reward model asked otherwise (the TinyV recipe).
    """
    if arm == "rule" or (arm == "hybrid" and verdict is Verdict.CORRECT):
        return float(verdict is Verdict.CORRECT)
    return score if threshold is None else float(score > threshold)


class CooperReward:
    """Scores and judges each generation batch, and keeps its rollouts for stage 2.

    The rewards of a step come from the reward model before that step's update.
    """

    __name__ = "cooper"

    def __init__(self, config: CooperConfig, verifier: RuleVerifier, reward_model: VerifyRM | None) -> None:
        self.config = config
        self.verifier = verifier
        self.reward_model = reward_model
        self.rollouts: list[Rollout] = []
        self.worked_solutions: dict[int, str] = {}
        self.started = self.seconds = 0.0

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        reference_answer: Sequence[str],
        log_metric: Callable[[str, float], None],
        question: Sequence[str] | None = None,
        problem_id: Sequence[str] | None = None,
        worked_solution: Sequence[str] | None = None,
        **_: Any,
    ) -> list[float]:
        """Rewards of a generation batch in TRL's order: the G completions of a prompt follow one another."""
        self.started = time.perf_counter()
        questions = list(question) if question else [text_of(prompt) for prompt in prompts]
        texts = [text_of(completion) for completion in completions]
        verifications = self.verifier.explain_many(list(reference_answer), texts)
        scores = [math.nan] * len(texts)
        if self.reward_model is not None:
            scores = self.reward_model.score(questions, list(reference_answer), texts).tolist()
        self.rollouts = [
            Rollout(
                question=questions[i],
                reference_answer=reference_answer[i],
                completion=texts[i],
                score=scores[i],
                verdict=verifications[i].verdict,
                reason=verifications[i].reason,
                reward=reward_of(self.config.arm, scores[i], verifications[i].verdict, self.config.reward_threshold),
                group=i // self.config.num_generations,
                problem_id=problem_id[i] if problem_id else "",
            )
            for i in range(len(texts))
        ]
        firsts = range(0, len(texts), self.config.num_generations)
        self.worked_solutions = {
            i // self.config.num_generations: worked_solution[i] for i in firsts if worked_solution
        }
        self.seconds = time.perf_counter() - self.started
        for name, value in rollout_metrics(self.rollouts).items():
            log_metric(name, value)
        return [rollout.reward for rollout in self.rollouts]


def rollout_metrics(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """What the rule and the reward model say of a step's rollouts, beside each other."""
    count = len(rollouts)

    def share(verdict: Verdict) -> float:
        return sum(r.verdict is verdict for r in rollouts) / count

    metrics = {
        "accuracy/rule": share(Verdict.CORRECT),
        "verifier/unparseable_rate": share(Verdict.UNPARSEABLE),
        "verifier/timeout_rate": share(Verdict.TIMEOUT),
        "verifier/no_answer_rate": sum(r.reason is Reason.NO_ANSWER for r in rollouts) / count,
        "hacking/gap": sum(r.reward for r in rollouts) / count - share(Verdict.CORRECT),
    }
    wrong = [r for r in rollouts if accepts_negative(r.verification, "mined") and not math.isnan(r.score)]
    if wrong:
        metrics["hacking/false_positive_rate"] = sum(r.score > 0.5 for r in wrong) / len(wrong)
    return metrics


def text_of(messages: Any) -> str:
    """The text of a completion or prompt, plain or conversational (its last message)."""
    return messages if isinstance(messages, str) else str(messages[-1]["content"])
