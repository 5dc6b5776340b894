"""The method behind the server: it learns from each complete batch once, and goes on after a kill where it was."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cooper_rl.checkpoints import checkpoints, complete_checkpoint, last_checkpoint, step_of
from cooper_rl.engines.loading import environment, resolved
from cooper_rl.errors import CooperError
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.method.loop import Cooper
from cooper_rl.method.monitor import mean_reward
from cooper_rl.serve.ledger import Known, Ledger
from cooper_rl.serve.scorer import Scorer
from cooper_rl.serve.wire import LearnAnswer, RefusedError, finite_only
from cooper_rl.settings.asking import ServeSettings


class Learner:
    """One run: its core, its record and its folder. All calls are made by one thread.

    Args:
        heldout: the triples that the reward model is measured on; the policy is the client's, so no problems.
    """

    def __init__(self, cooper: Cooper, settings: ServeSettings, heldout: HeldOut | None = None) -> None:
        self.cooper, self.settings, self.heldout = cooper, settings, heldout
        self.folder = Path(settings.output_dir)
        self.step, self.started = 0, time.monotonic()
        self.metrics: dict[str, float | None] = {}  # of the last step

    def start(self, recipe: Mapping[str, Any], *, resume: bool) -> None:
        """Opens the run folder. A run that is resumed learns again what its last complete checkpoint does not hold."""
        self.ledger = Ledger(self.folder)
        self.scorer = Scorer(self.cooper, self.ledger, self.settings)
        checkpoint = last_checkpoint(self.folder) if resume else None
        after = step_of(checkpoint) if checkpoint else -1
        settings = resolved(recipe, self.settings, self.settings.max_steps)
        self.cooper.journal.begin(settings, environment(self.settings.seed), after)
        if checkpoint:
            self.cooper.load(checkpoint)
            self.step = after
        else:
            self.cooper.journal.log(0, self.measure(0))
            self.cooper.begin()
        for batch in self.ledger.after(self.step):
            if batch.step != self.step + 1:
                raise CooperError(f"{self.ledger.path}: the batch of step {self.step + 1} is missing")
            self._learn(batch)
        if 0 < self.settings.max_steps <= self.step:
            self.cooper.journal.finish(self.step, time.monotonic() - self.started)
        self.scorer.completed = [batch.id for batch in self.ledger.waiting()]

    @property
    def version(self) -> int:
        """How many updates the reward model has had."""
        return self.scorer.version

    def due(self) -> list[str]:
        """The batches that were completed since the last call, where they are to be learned from unasked."""
        found, self.scorer.completed = self.scorer.completed, []
        return found if self.settings.learn == "complete" else []

    def learn(self, id: str) -> LearnAnswer:
        """Learns from a batch, or answers what was recorded when it was learned from.

        Raises:
            RefusedError: 404 or 409: there is no such batch, or it is not complete.
        """
        batch = self.ledger.batch(id)
        if batch is None:
            raise RefusedError(404, f"batch {id!r}: there is no such batch; send its samples to /score first")
        if batch.completed is None:
            raise RefusedError(409, f'batch {id!r}: it is not complete; send "last": true with its last samples')
        if batch.step is None:
            self._learn(batch)
            batch = self.ledger.batch(id)
        assert batch and batch.step is not None and batch.version is not None
        return LearnAnswer(version=batch.version, step=batch.step, metrics=dict(batch.metrics))

    def _learn(self, known: Known) -> None:
        """Stage 2 on a batch. A batch that was learned from before the run was resumed keeps its record."""
        step, before = self.step + 1, self.version
        batch = self.cooper.batch(self.ledger.rollouts(known), step)
        every = int(self.settings.save_steps)
        saving = step == self.settings.max_steps or bool(every and step % every == 0)
        report = self.cooper.learn(batch, saving=saving)
        own = {
            "reward": mean_reward(batch.rollouts),
            "serve/samples": float(len(batch.rollouts)),
            "serve/staleness": float(before - batch.version),
            "serve/version": float(self.version),
            "time/score_seconds": batch.seconds,
        }
        self.metrics = finite_only({**own, **report.metrics, **self.measure(step)})
        self.cooper.journal.log(step, self.metrics)
        if known.step is None:
            self.ledger.learned(known, step, self.version, self.metrics)
        self.step = step
        if saving or report.stop:
            self._write_checkpoint()
        if step == self.settings.max_steps:
            self.cooper.journal.finish(step, time.monotonic() - self.started)
        if report.stop:
            raise CooperError(
                f"{self.folder}: the hacking alarm stopped the run after step {step}, with a checkpoint; look at the"
                " report, then start again with --resume --alarm_action log (or hybrid)"
            )

    def measure(self, step: int) -> dict[str, float]:
        """The reward model's accuracy on the held-out triples, where it is due."""
        every = self.settings.heldout_steps
        due = step in (0, self.settings.max_steps) or bool(every and step % every == 0)
        if self.heldout is None or not due:
            return {}
        return self.heldout.measure(None, None, self.cooper.reward_model, self.cooper.verifier)

    def save(self) -> LearnAnswer:
        """Writes a checkpoint now. The guard checks all of its set before, and may roll updates back."""
        report = self.cooper.before_save(self.step)
        self._write_checkpoint()
        return LearnAnswer(version=self.version, step=self.step, metrics=finite_only(dict(report.metrics)))

    def _write_checkpoint(self) -> None:
        """Writes the checkpoint of this step, then removes the oldest ones and the rollouts that none needs."""
        folder = self.folder / f"checkpoint-{self.step}"
        self.cooper.save(folder)
        complete_checkpoint(folder, self.step)
        steps = [step_of(path) for path in checkpoints(self.folder)]
        kept = self.settings.save_total_limit
        for step in steps[:-kept] if kept else []:
            shutil.rmtree(self.folder / f"checkpoint-{step}")
        if len(steps) > 1:
            self.ledger.forget(steps[-2])

    def close(self) -> None:
        """Saves what was learned since the last checkpoint, and closes the record."""
        if self.step and not (self.folder / f"checkpoint-{self.step}" / "complete.json").is_file():
            self.save()
        self.ledger.close()
