"""A run's folder: how a run begins it, and goes on in it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers.trainer import TRAINER_STATE_NAME
from trl.trainer.utils import RepeatSampler

from cooper_rl.checkpoints import COMPLETE, checkpoints, last_checkpoint
from cooper_rl.engines.parts import environment, resolved
from cooper_rl.engines.trl.config import chosen_settings
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.method.journal import METRICS
from cooper_rl.method.loop import Cooper
from cooper_rl.method.monitor import STATE
from cooper_rl.settings.checks import check_same, settings_of_run
from cooper_rl.settings.train import TrainSettings

COMPARED = ("arm", "reward", "cotrain", "seed", "num_generations", "verifier")


def check_new_folder(core: Cooper, resume_by: str) -> None:
    """Refuses to begin a new run in a folder that holds one.

    Raises:
        BadInputError: with the way on.
    """
    folder = core.journal.folder
    if core.world.add_up([float((folder / METRICS).is_file())])[0]:
        raise BadInputError(
            f"{folder}: already holds a run; continue it with {resume_by}, or choose another output_dir"
        )


def begin_folder(core: Cooper, args: Any, state: Any, model_name: str) -> None:
    """Begins the folder of a run from Python; `cooper train` has begun it with its recipe."""
    written = {"model_name_or_path": model_name, **chosen_settings(args, core.settings)}
    settings = {**resolved(written, core.settings), "max_steps": state.max_steps}
    core.journal.begin(settings, environment(args.seed), state.global_step or -1)


def checkpoint_of(args: Any, state: Any, given: Path | None) -> Path:
    """The folder that holds the method's part of the checkpoint that a run goes on from.

    Raises:
        BadInputError: there is none.
    """
    folder = given or Path(args.output_dir) / f"checkpoint-{state.global_step}"
    if not (folder / STATE).is_file():
        raise BadInputError(
            f"{folder}: has no part of Cooper's, since a kill cut it off or it is another run's; resume from the"
            " checkpoint before it, or call cooper.load(folder) first where it is elsewhere"
        )
    return folder


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


def step_of(checkpoint: Path) -> int:
    """The step after which a checkpoint was written."""
    return int(checkpoint.name.rpartition("-")[2])


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


def check_unfinished(args: Any, state: Any) -> None:
    """Refuses to resume a finished run, of which transformers would take one step more.

    Raises:
        BadInputError: with the way on.
    """
    if state.global_step and state.global_step >= state.max_steps:
        raise BadInputError(
            f"{args.output_dir}: finished at step {state.global_step}, nothing is left to train; raise max_steps, or"
            " leave out resume_from_checkpoint"
        )


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


def check_same_run(core: Cooper, args: Any) -> None:
    """Refuses to go on with settings by which this would not be the run that began in the folder.

    Raises:
        BadInputError: another arm, seed or verifier, or a batch of another size, by which problems would be drawn
            twice or left out.
    """
    folder, method = core.journal.folder, core.settings
    old = settings_of_run(folder, TrainSettings)
    if old is None:
        return
    check_same(folder, old, method, COMPARED)
    machine = folder / "environment.json"
    processes = json.loads(machine.read_text()).get("processes") if machine.is_file() else None
    before = old.per_device_train_batch_size * old.generation_batches * (processes or core.world.size)
    before = old.generation_batch_size or before
    if before != args.generation_batch_size:
        raise BadInputError(
            f"{folder}: was made with generation batches of {before} completions, not {args.generation_batch_size}: the"
            " order of problems would not go on; keep per_device_train_batch_size x steps_per_generation x processes"
        )


def restore_order(dataloader: Any, epoch: int) -> None:
    """Gives TRL's sampler the order of this epoch. In a resumed run it would begin with that of the first again."""
    sampler = dataloader
    while sampler is not None and not isinstance(sampler, RepeatSampler):
        sampler = getattr(sampler, "batch_sampler", None) or getattr(sampler, "sampler", None)
    if sampler is not None and sampler.shuffle:
        sampler.generator.manual_seed(sampler.seed)
        for _ in range(epoch):  # the orders of the epochs before
            torch.randperm(sampler.num_samples, generator=sampler.generator)
