"""One thread that does what clients ask for, in the order in which they ask.

It learns from a batch before it scores any call that came after the batch was complete. So a trainer that sends one
batch at a time gets the rewards that it would get in one process, whether or not it waits for the learning.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from cooper_rl.errors import CooperError
from cooper_rl.serve.learner import Learner
from cooper_rl.serve.wire import RefusedError, ScoreBody

logger = logging.getLogger(__name__)
ROUND = 1024  # samples that are scored at once, from calls that wait at the same time


@dataclass(frozen=True)
class Job:
    """Something to do, and where its answer goes. A call to score is not run but scored with others."""

    run: Callable[[], Any] | None
    call: ScoreBody | None = None
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
        return len(self._jobs)

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
            if self.stopped or self._closing:
                raise RefusedError(503, self.stopped or "the server is stopping; send the call again when it is back")
            if len(self._jobs) >= self.limit:
                raise RefusedError(429, f"{self.limit} calls wait already; send the call again a little later")
            self._jobs.append(job)
            self._changed.notify()
        return job.answer

    def _schedule(self) -> None:
        """Puts the batches that are due behind what waits already."""
        for batch in self.learner.due():
            self._jobs.append(Job(lambda batch=batch: self.learner.learn(batch)))  # type: ignore[misc]

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
            logger.error(self.stopped, exc_info=None if isinstance(error, CooperError) else error)
            self._refuse([job], self.stopped)

    def _score(self, jobs: Sequence[Job]) -> None:
        """Scores calls together. Where that fails nothing has changed, and each is tried alone."""
        calls = [job.call for job in jobs if job.call]
        try:
            answers = self.learner.scorer.score(calls)
        except Exception as error:  # whatever fails in the core, each call gets an answer
            logger.error("%d calls could not be scored", len(calls), exc_info=error)
            if len(jobs) == 1:
                self._refuse(jobs, f"the call could not be scored: {describe(error)}")
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
