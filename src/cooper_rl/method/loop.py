"""Cooper's joint step (paper, section 3.3): GRPO trains the policy, and its rollouts train the reward model.

An engine samples completions and takes the policy's step between `score` and `learn`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cooper_rl.method.counterfactual import Counterfactual
from cooper_rl.method.doubt import Doubt, complete
from cooper_rl.method.journal import Journal
from cooper_rl.method.labelled import Labelled
from cooper_rl.method.monitor import VERIFIER, Monitor, Schedule, Skips, check_report, load_states, save_states
from cooper_rl.method.pairs import PairResult, Pairs
from cooper_rl.method.protocols import Ranks, RewardModel, best_scores
from cooper_rl.method.reward import make_reward
from cooper_rl.records import Batch, Report, Rollout, Sample
from cooper_rl.verifiers import RuleVerifier

if TYPE_CHECKING:
    from cooper_rl.settings.method import MethodSettings

REWARD_MODEL = "reward_model"  # the folder in a checkpoint that holds the reward model
ValueSteps = Callable[[Sequence[Sample]], tuple[Sequence[float], Sequence[tuple[Any, ...]]]]


class Cooper:
    """The method, called by an engine on every rank: `score`, `learn`, `save`, `load`. `build.make_cooper` makes one.

    Args:
        reward_model: None where the reward is the rule's alone and nothing is co-trained.
        pairs, labelled: make what the reward model is trained on.
        doubt: holds back what the rule calls wrong and is right too probably.
        counterfactual: asks under wrong references, if anything is.
        schedule: which batches have an update, and which the policy waits for.
        monitors: they run after each update, in this order; these three parts are among them.
    """

    def __init__(
        self,
        settings: MethodSettings,
        verifier: RuleVerifier,
        reward_model: RewardModel | None,
        pairs: Pairs,
        labelled: Labelled,
        doubt: Doubt,
        counterfactual: Counterfactual | None,
        schedule: Schedule,
        monitors: Sequence[Monitor],
        ranks: Ranks,
        journal: Journal,
    ) -> None:
        self.settings, self.verifier, self.reward_model = settings, verifier, reward_model
        self.pairs, self.labelled, self.monitors = pairs, labelled, monitors
        self.doubt, self.counterfactual, self.schedule = doubt, counterfactual, schedule
        self.ranks, self.journal = ranks, journal
        self.value_steps: ValueSteps | None = None  # where steps have a credit of their own (`credit.Credit`)
        self.skips, self.reward_name = Skips(settings.max_skipped_steps), ""
        self._choose_reward()

    def begin(self) -> None:
        """Called before the first step of a new run. A resumed run calls `load` instead."""
        for monitor in self.monitors:
            monitor.begin()

    def score(self, samples: Sequence[Sample], step: int) -> Batch:
        """Stage 1: rewards by the verifier and by the reward model as it is before this step's update.

        Args:
            samples: this rank's; over all ranks, the G samples of a prompt follow one another.
        """
        return self.batch(self.judge(samples), step)

    def judge(self, samples: Sequence[Sample]) -> Batch:
        """This rank's samples with verdict, score and reward: a batch, or a part of one, that has no step yet."""
        started = time.perf_counter()
        judged = self.verifier.begin_many([s.references for s in samples], [s.completion for s in samples])
        # the verifier's processes judge while the reward model scores
        scores, steps = self.value_steps(samples) if self.value_steps else ((), [()] * len(samples))
        scores = scores or best_scores(self.reward_model, samples)
        rows = zip(samples, judged(), scores, steps, strict=True)
        rollouts = tuple(Rollout(s, v, z, self.reward.of(v, z), *own) for s, v, z, own in rows)
        version = self.reward_model.version if self.reward_model else 0
        return Batch(0, rollouts, version=version, seconds=time.perf_counter() - started)

    def judge_alone(self, samples: Sequence[Sample], step: int = 0) -> Batch:
        """As `score`, for samples that stage 2 does not learn from now: in an evaluation, or behind a server."""
        judged = self.judge(samples)
        answered = [(rollout, None) for rollout in judged.rollouts]
        rollouts = complete(answered, self.settings.num_generations, self.reward)
        batch = replace(judged, step=step, rollouts=tuple(rollouts))
        return self.counterfactual.ask_alone(batch, self.reward) if self.counterfactual else batch

    def batch(self, judged: Batch, step: int) -> Batch:
        """The batch of a step, with the rollouts of all ranks, from what each rank has judged."""
        started = time.perf_counter()
        start = self.doubt.start_scores(judged, self.ranks, by_steps=self.value_steps is not None)
        by_rank = self.ranks.gather([list(zip(judged.rollouts, start, strict=True))])
        first = sum(map(len, by_rank[: self.ranks.rank]))
        weigh = partial(self.doubt.weigh, step=step) if self.settings.cotrain else None
        rollouts = complete([row for own in by_rank for row in own], self.settings.num_generations, self.reward, weigh)
        batch = replace(judged, step=step, rollouts=tuple(rollouts), own=range(first, first + len(judged.rollouts)))
        if self.counterfactual:
            batch = self.counterfactual.ask(batch, self.reward)
        if self.settings.cotrain and self.schedule.updates:
            self.pairs.prepare(batch)
        return replace(batch, seconds=judged.seconds + time.perf_counter() - started)

    def learn(self, batch: Batch, *, saving: bool = False) -> Report:
        """Stage 2, after the policy's step: the reward model learns from the batch, and the monitors look at it.

        Args:
            saving: a checkpoint follows.
        """
        report = Report(batch.step, batch)
        if self.settings.cotrain and self.schedule.updates:
            report = self._update(report, batch)
        elif self.settings.cotrain:
            self.labelled.draw(batch)  # its rollouts are replayed in later updates
        for monitor in self.monitors:
            report = check_report(monitor, monitor.after(report, whole=saving))
        self._choose_reward()
        self.journal.write(report)
        self.skips.count("reward model", report.metrics.get("reward_model/skipped", 0.0) > 0)
        self.skips.count(VERIFIER, report.metrics.get("verifier/error_rate", 0.0) == 1)
        return report

    def _update(self, report: Report, batch: Batch) -> Report:
        assert self.reward_model
        started = time.perf_counter()
        own = self.pairs.build(batch)
        paired = time.perf_counter()
        metrics = self.reward_model.update(own.pairs, self.labelled.draw(batch))
        times = {"time/pairs_seconds": paired - started, "time/reward_model_seconds": time.perf_counter() - paired}
        result = PairResult.together(self.ranks.gather([own]))
        return report.having({**metrics, **result.metrics(), **self.pairs.end_step(), **times}, pairs=result.pairs)

    def before_save(self, step: int) -> Report:
        """Called instead of `learn` where a checkpoint follows a step without a fresh batch."""
        report = Report(step)
        for monitor in self.monitors:
            report = check_report(monitor, monitor.before_save(report))
        self.journal.write(report)
        return report

    def _choose_reward(self) -> None:
        name = next((monitor.reward for monitor in self.monitors if monitor.reward), self.settings.reward)
        if name != self.reward_name:
            self.reward_name, self.reward = name, make_reward(name, self.settings.reward_threshold)

    def save(self, folder: Path) -> None:
        """Everything that `load` needs, into a checkpoint; every rank calls it."""
        if self.settings.cotrain and self.reward_model:
            self.reward_model.save(folder / REWARD_MODEL)
        if self.ranks.rank == 0:
            self.labelled.save(folder / REWARD_MODEL)
            save_states(self.monitors, folder)

    def load(self, folder: Path) -> None:
        """Restores what `save` wrote. A monitor that has no state in the checkpoint begins anew."""
        if self.settings.cotrain and self.reward_model:
            self.reward_model.load(folder / REWARD_MODEL)
            self.labelled.load(folder / REWARD_MODEL)
        load_states(self.monitors, folder)
        self._choose_reward()
