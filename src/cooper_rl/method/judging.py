"""Stage 1's first half: each sample gets its verdict, its score and its reward."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from cooper_rl.method.credit import Credit, PolicyValues
from cooper_rl.method.reward import Reward
from cooper_rl.records import Batch, Rollout, Sample
from cooper_rl.verifiers import RuleVerifier


def judged(
    samples: Sequence[Sample],
    verifier: RuleVerifier,
    credit: Credit,
    reward: Reward,
    policy_values: PolicyValues | None = None,
) -> Batch:
    """The samples as rollouts, in a batch that has no step yet: they may be a part of one.

    The verifier's processes judge while the reward model scores.
    """
    started = time.perf_counter()
    columns = [s.reference_answer for s in samples], [s.completion for s in samples]
    with ThreadPoolExecutor(1) as beside:
        verdicts = beside.submit(verifier.explain_many, *columns)
        scored = credit.scored(samples, policy_values)
    rows = zip(samples, verdicts.result(), *scored, strict=True)
    rollouts = tuple(Rollout.of(s, v, score, reward.of(v, score), ends, values) for s, v, score, ends, values in rows)
    version = credit.reward_model.version if credit.reward_model else 0
    return Batch(0, rollouts, version=version, seconds=time.perf_counter() - started)
