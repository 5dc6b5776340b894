"""A run's folder: how a run begins it, and goes on in it from the last checkpoint that is whole."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import torch
from transformers.trainer import TRAINER_STATE_NAME
from trl import GRPOConfig
from trl.trainer.utils import RepeatSampler

from cooper_rl import distributed
from cooper_rl.checkpoints import damage_of, last_checkpoint, step_of
from cooper_rl.engines.config import CooperConfig, count_batches
from cooper_rl.engines.loading import environment, resolve_recipe
from cooper_rl.errors import BadInputError
from cooper_rl.method.journal import METRICS
from cooper_rl.method.loop import Cooper
from cooper_rl.method.monitor import STATE
from cooper_rl.settings.checks import check_same, settings_of_run
from cooper_rl.settings.method import CooperSettings
from cooper_rl.settings.recipe import known_keys
from cooper_rl.settings.reward_model import UpdateSettings
from cooper_rl.settings.train import TrainSettings
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.updater import RewardModelUpdater

COMPARED = (
    *("arm", "reward", "cotrain", "seed", "num_generations", "verifier", "reward_threshold"),
    *(item.name for item in fields(UpdateSettings) if item.name.startswith("reward_model_")),  # a checkpoint has them
)


def begin_run(
    callback: Any, core: Cooper, state: Any, dataloader: Any, measure: Callable[[], dict[str, float]]
) -> None:
    """Begins a new run, or resumes one from its checkpoint.

    Args:
        callback: the CooperCallback.
        measure: makes the measurements of step 0.

    Raises:
        BadInputError: the folder holds another run, or the checkpoint is not one of this run's.
    """
    args, checkpoint = callback.args, None
    if state.global_step:
        checkpoint = check_checkpoint(args, state, callback.checkpoint)
        check_same_run(core, args)
    else:
        if callback.recipe is None:  # with a recipe, `--resume` begins anew where there is no checkpoint yet
            check_new_folder(core, callback.resume_by)
        check_untrained(callback.reward.given)
    if isinstance(core.reward_model, RewardModelUpdater):
        core.reward_model.create_scheduler(count_batches(args, state.max_steps))
    begin_folder(callback, core, state)
    if checkpoint is not None:
        restore_order(dataloader, int(state.epoch or 0))
        core.load(checkpoint)
        return
    measured = {**measure(), **callback.baseline}
    if measured:
        core.journal.log(0, measured)
    core.begin()


def check_untrained(reward_model: Any) -> None:
    """Refuses to begin a run with a reward model that another run has trained.

    Raises:
        BadInputError: it has learned already.
    """
    updates = reward_model.updates if isinstance(reward_model, VerifyRM) else 0
    if updates:
        raise BadInputError(
            f"the reward model had {updates} updates in another run: load it anew, or save it and give its folder"
        )


def check_new_folder(core: Cooper, resume_by: str) -> None:
    """Refuses to begin a new run in a folder that holds one.

    Raises:
        BadInputError: with the way on.
    """
    folder = core.journal.folder
    if core.ranks.add_up([float((folder / METRICS).is_file())])[0]:
        raise BadInputError(
            f"{folder}: already holds a run; continue it with {resume_by}, or choose another output_dir"
        )


def begin_folder(callback: Any, core: Cooper, state: Any) -> None:
    """Writes a run's settings and environment, and deletes what it wrote after the step that it goes on from."""
    args, recipe, steps = callback.args, callback.recipe, callback.args.max_steps
    if recipe is None:
        model = {"model_name_or_path": callback.model.config._name_or_path}
        recipe, steps = {**model, **select_settings(args, core.settings)}, state.max_steps
    core.journal.begin(resolve_recipe(recipe, core.settings, steps), environment(args.seed), state.global_step or -1)


def select_settings(args: GRPOConfig, settings: CooperSettings) -> dict[str, Any]:
    """The settings that a recipe may have and that differ from a recipe's defaults, as a recipe writes them.

    Args:
        args: the trainer's.
        settings: the method's.
    """
    known = set(known_keys("train")) - {"generation_batch_size"}  # steps_per_generation, now resolved, says it too
    own = {item.name for item in fields(CooperSettings)}
    usual = {item.name: item.default for item in fields(CooperConfig) if item.name in known}
    found = {name: getattr(settings if name in own else args, name) for name in usual}
    differing = {name: value for name, value in found.items() if value not in (usual[name], None, [], {})}
    written = {name: value.value if isinstance(value, Enum) else value for name, value in differing.items()}
    return {name: value for name, value in written.items() if isinstance(value, str | int | float | list | dict)}


def check_checkpoint(args: Any, state: Any, given: Path | None) -> Path:
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
    if damage := distributed.of_first(lambda: damage_of(folder)):
        raise BadInputError(f"{folder}: cannot be resumed from, {damage}; resume from the checkpoint before it")
    return folder


def check_same_run(core: Cooper, args: Any) -> None:
    """Refuses to resume with settings that would make this a different run.

    Raises:
        BadInputError: the arm, seed or verifier differs, or the batch size, which would repeat or skip problems.
    """
    folder, method = core.journal.folder, core.settings
    old = settings_of_run(folder, TrainSettings)
    if old is None:
        return
    check_same(folder, old, method, COMPARED, "output_dir")
    machine = folder / "environment.json"
    processes = json.loads(machine.read_text()).get("processes") if machine.is_file() else None
    before = old.per_device_train_batch_size * old.generation_batches * (processes or core.ranks.size)
    before = old.generation_batch_size or before
    if before != args.generation_batch_size:
        raise BadInputError(
            f"{folder}: was made with generation batches of {before} completions, not {args.generation_batch_size}: the"
            " order of problems would not go on; keep per_device_train_batch_size x steps_per_generation x processes"
        )


def restore_order(dataloader: Any, epoch: int) -> None:
    """Gives TRL's sampler the order of this epoch. In a resumed run it would start over with the first one's."""
    sampler = dataloader
    while sampler is not None and not isinstance(sampler, RepeatSampler):
        inner = getattr(sampler, "batch_sampler", None)
        sampler = getattr(sampler, "sampler", None) if inner is None else inner
    if sampler is not None and sampler.shuffle:
        sampler.generator.manual_seed(sampler.seed)
        for _ in range(epoch):  # the orders of the epochs before
            torch.randperm(sampler.num_samples, generator=sampler.generator)


def find_checkpoint(args: Any, given: str | Path | bool | None) -> Path | None:
    """The checkpoint to go on from: with True the last one in output_dir that is whole; None for a new run.

    Raises:
        BadInputError: there is none.
    """
    if not isinstance(given, bool):
        return Path(given) if given else None
    checkpoint = distributed.of_first(lambda: last_checkpoint(args.output_dir)) if given else None
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
