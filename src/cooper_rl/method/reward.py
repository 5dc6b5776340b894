"""Stage 1's reward: a callable that is not an nn.Module, so that TRL hands it every column, the reference too."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.records import Rollout, Verdict
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
        self.arm = config.arm  # the alarm may change it to hybrid
        self.verifier = verifier
        self.reward_model = reward_model
        self.rollouts: list[Rollout] = []
        self.worked_solutions: list[str] = []
        self.started = self.seconds = 0.0
        self.rewarded: Callable[[], None] = lambda: None  # called when the rewards of a batch are there

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        reference_answer: Sequence[str],
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
                reward=reward_of(self.arm, scores[i], verifications[i].verdict, self.config.reward_threshold),
                group=i // self.config.num_generations,
                problem_id=problem_id[i] if problem_id else "",
            )
            for i in range(len(texts))
        ]
        self.worked_solutions = list(worked_solution) if worked_solution else [""] * len(texts)
        self.seconds = time.perf_counter() - self.started
        self.rewarded()
        return [rollout.reward for rollout in self.rollouts]


def text_of(messages: Any) -> str:
    """The text of a completion or prompt, plain or conversational (its last message)."""
    return messages if isinstance(messages, str) else str(messages[-1]["content"])
