"""Going on with a run: from its last checkpoint that is whole, and no further than it was to go."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import TrainOutput

from cooper_rl.checkpoints import COMPLETE, checkpoints, last_checkpoint, step_of
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.fast.lean import LeanGRPOTrainer
from cooper_rl.verifyrm.rm_trainer import take_up


class ResumingTrainer(LeanGRPOTrainer):
    """GRPOTrainer that leaves damaged checkpoints out, ends where a finished run ended, and takes up a new schedule."""

    resume_by = "trainer.train(resume_from_checkpoint=True)"  # what messages advise

    def train(self, resume_from_checkpoint: str | Path | bool | None = None, **others: Any) -> TrainOutput:
        """As that of GRPOTrainer. True goes on from the last checkpoint that is whole; a finished run is left as it is.

        Raises:
            BadInputError: there is no such checkpoint.
            CooperError: a checkpoint could not be written.
        """
        checkpoint = resumable(self.args, resume_from_checkpoint)
        over = checkpoint is not None and is_finished(self.args, checkpoint)
        self.goes_on_from(checkpoint, over=over)
        if checkpoint is not None and over:
            self.state.global_step = self.state.max_steps = step_of(checkpoint)
            return TrainOutput(self.state.global_step, 0.0, {})
        with full_disk(self.args.output_dir, self.resume_by):
            return super().train(resume_from_checkpoint=str(checkpoint) if checkpoint else None, **others)

    def goes_on_from(self, checkpoint: Path | None, *, over: bool) -> None:
        """Called before training, with the checkpoint that it goes on from; `over` where nothing is left to train."""

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            take_up(self.lr_scheduler)


def resumable(args: Any, given: str | Path | bool | None) -> Path | None:
    """The checkpoint to go on from: with True the last one in output_dir that is whole; None for a new run.

    Raises:
        BadInputError: there is none.
    """
    if not isinstance(given, bool):
        return Path(given) if given else None
    checkpoint = last_checkpoint(args.output_dir) if given else None
    if given and checkpoint is None:
        raise BadInputError(f"{args.output_dir}: has no whole checkpoint; leave out resume_from_checkpoint")
    return checkpoint


def is_finished(args: Any, checkpoint: Path) -> bool:
    """Whether nothing is left to train after a checkpoint; transformers would take one step more.

    Raises:
        BadInputError: the run is to be shorter than it is.
    """
    step = step_of(checkpoint)
    if 0 < args.max_steps < step:
        raise BadInputError(
            f"{checkpoint.parent}: has a checkpoint of step {step}; set max_steps, now {args.max_steps}, to that or"
            " more"
        )
    if args.max_steps > 0:
        return step == int(args.max_steps)
    state = json.loads((checkpoint / TRAINER_STATE_NAME).read_text())
    epochs = math.ceil(args.num_train_epochs)
    return bool(state["global_step"] >= state["max_steps"] and state["num_train_epochs"] == epochs)


@contextmanager
def full_disk(folder: str | Path, resume_by: str) -> Iterator[None]:
    """Turns the errors of the writers of a checkpoint on a full disk into one line.

    Raises:
        CooperError: a file could not be written.
    """
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as error:
        written = isinstance(error, OSError | SafetensorError) or "inline_container" in str(error)  # torch.save's
        newest = next(reversed(checkpoints(folder)), None)
        if not written or newest is None or (newest / COMPLETE).is_file():
            raise
        raise CooperError(
            f"{newest}: cannot be written ({error}); free disk space, then resume from the checkpoint before it with"
            f" {resume_by}"
        ) from error
