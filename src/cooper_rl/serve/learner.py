"""The method behind the server: one thread does what clients ask for, in the order in which they ask.

It learns from a batch before it scores any call that came after the batch was complete, and from each batch once; after
a kill it goes on where it was. So a trainer that sends one batch at a time gets the rewards that it would get in one
process, whether or not it waits for the learning.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cooper_rl.checkpoints import checkpoints, complete_checkpoint, full_disk, last_checkpoint, step_of
from cooper_rl.engines.loading import environment, resolve_recipe
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.method.loop import Cooper
from cooper_rl.method.monitor import mean_reward
from cooper_rl.serve.ledger import Known, Ledger
from cooper_rl.serve.scorer import Scorer
from cooper_rl.serve.wire import LearnAnswer, RefusedError, ScoreBody, finite_only
from cooper_rl.settings.asking import ServeSettings

RESUME = "--resume"  # how a server goes on after an error


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
        """Opens the run folder. A run that is resumed learns again what its last complete checkpoint does not hold.

        Raises:
            BadInputError: the folder cannot be written, or another process does so.
        """
        with full_disk(self.folder, RESUME, BadInputError):
            self._open(recipe, resume)

    def _open(self, recipe: Mapping[str, Any], resume: bool) -> None:
        self.ledger = Ledger(self.folder)
        self.scorer = Scorer(self.cooper, self.ledger, self.settings)
        checkpoint = last_checkpoint(self.folder) if resume else None
        after = step_of(checkpoint) if checkpoint else -1
        settings = resolve_recipe(recipe, self.settings, self.settings.max_steps)
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
            with full_disk(self.folder, RESUME):
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
            self.ledger.mark_learned(known, step, self.version, self.metrics)
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
        found = self.heldout.measure(None, None, self.cooper.reward_model, self.cooper.verifier)
        self.cooper.journal.log_heldout(step, self.heldout.last)
        return found

    def save(self) -> LearnAnswer:
        """Writes a checkpoint now. The guard checks all of its set before, and may roll updates back."""
        report = self.cooper.before_save(self.step)
        with full_disk(self.folder, RESUME):
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


logger = logging.getLogger(__name__)
ROUND = 1024  # samples that are scored at once, from calls that wait at the same time


@dataclass(frozen=True)
class Job:
    """Something to do, and where its answer goes. A call to score is not run but scored with others."""

    run: Callable[[], Any] | None
    call: ScoreBody | None = None
    asked: bool = True  # whether a client waits for it
    answer: Future[Any] = field(default_factory=Future)

    @property
    def shared(self) -> bool:
        """Whether it may be scored together with other calls. A batch that may be whole is scored alone.

        Scores depend on what is scored with them, in their last digits.
        """
        return self.call is not None and not self.call.last


class Desk:
    """Takes calls from any thread.

    Args:
        limit: calls that may wait; further ones are refused.
    """

    def __init__(self, learner: Learner, limit: int) -> None:
        self.learner, self.limit = learner, limit
        self.stopped = ""  # why nothing is done any more; empty while all is well
        self.samples = self.rounds = 0  # scored since the start, for /metrics
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._schedule()
        self._thread = threading.Thread(target=self._work, name="cooper-desk", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return sum(job.asked for job in self._jobs)

    def score(self, call: ScoreBody) -> Future[Any]:
        """The answer to a call that passed `check_call`.

        Raises:
            RefusedError: 429 or 503: too many calls wait, or the run has stopped.
        """
        return self._add(Job(None, call))

    def learn(self, batch: str) -> Future[Any]:
        """The answer once the batch was learned from. Raises as `score` does."""
        return self._add(Job(lambda: self.learner.learn(batch)))

    def save(self) -> Future[Any]:
        """The answer once a checkpoint was written. Raises as `score` does."""
        return self._add(Job(self.learner.save))

    def close(self) -> None:
        """Does what waits, then writes a checkpoint."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _add(self, job: Job) -> Future[Any]:
        with self._changed:
            if self.stopped:
                raise RefusedError(503, self.stopped)
            if self._closing:
                raise RefusedError(503, "the server is stopping; send the call again when it is back", again=True)
            if self.waiting >= self.limit:
                raise RefusedError(429, f"{self.limit} calls wait already; send the call again a little later")
            self._jobs.append(job)
            self._changed.notify()
        return job.answer

    def _schedule(self) -> None:
        """Puts the batches that are due behind what waits already."""
        for batch in self.learner.due():
            self._jobs.append(Job(partial(self.learner.learn, batch), asked=False))

    def _take(self) -> list[Job]:
        """The next job, or the next calls that are scored together; empty when the desk closes."""
        with self._changed:
            while not self._jobs and not self._closing:
                self._changed.wait()
            taken: list[Job] = []
            samples = 0
            while self._jobs:
                job = self._jobs[0]
                samples += len(job.call.samples) if job.call else 0
                if taken and not (job.shared and taken[0].shared and samples <= ROUND):
                    break
                taken.append(self._jobs.popleft())
            return taken

    def _work(self) -> None:
        while jobs := self._take():
            if self.stopped:
                self._refuse(jobs, self.stopped)
            elif jobs[0].call:
                self._score(jobs)
            else:
                self._run(jobs[0])
        try:
            if not self.stopped:
                self.learner.close()
        except (CooperError, OSError, RuntimeError) as error:
            logger.error("the last checkpoint cannot be written: %s", error)

    def _run(self, job: Job) -> None:
        """Learns or saves. A failure ends the run, since the model may have changed in part."""
        assert job.run
        try:
            job.answer.set_result(job.run())
        except RefusedError as error:
            job.answer.set_exception(error)
        except Exception as error:  # whatever fails in the core, each call gets an answer
            self.stopped = f"the run has stopped: {describe(error)}"
            logger.error(self.stopped, exc_info=error_to_log(error))
            self._refuse([job], self.stopped)

    def _score(self, jobs: Sequence[Job]) -> None:
        """Scores calls together. Where that fails nothing has changed, and each is tried alone."""
        calls = [job.call for job in jobs if job.call]
        try:
            answers = self.learner.scorer.score(calls)
        except Exception as error:  # whatever fails in the core, each call gets an answer
            told = describe(error)
            logger.error("%d calls could not be scored: %s", len(calls), told, exc_info=error_to_log(error))
            if len(jobs) == 1:
                self._refuse(jobs, f"the call could not be scored: {told}")
            else:
                for job in jobs:
                    self._score([job])
            return
        self.samples, self.rounds = self.samples + sum(len(call.samples) for call in calls), self.rounds + 1
        with self._changed:
            self._schedule()
        for job, answer in zip(jobs, answers, strict=True):
            if isinstance(answer, RefusedError):
                job.answer.set_exception(answer)
            else:
                job.answer.set_result(answer)

    def _refuse(self, jobs: Sequence[Job], reason: str) -> None:
        for job in jobs:
            job.answer.set_exception(RefusedError(503, reason))


def describe(error: Exception) -> str:
    """An error in one line; one that is not ours with its name and the way out."""
    if isinstance(error, CooperError):
        return str(error)
    line = " ".join(str(error).split())
    return f"{type(error).__name__}: {line}; start the server again with --resume"


def error_to_log(error: Exception) -> Exception | None:
    """The error for the log, with its traceback; None for one of ours, whose line says all."""
    return None if isinstance(error, CooperError) else error
