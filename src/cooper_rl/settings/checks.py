"""Checks of a training run's settings that are made before anything heavy is imported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cooper_rl.errors import BadInputError
from cooper_rl.settings.files import SUFFIXES, check_file, check_model_folder, check_policy_folder, resolve_model
from cooper_rl.settings.recipe import read_recipe
from cooper_rl.settings.train import TrainSettings

DATA_FILES = ("dataset_name", "heldout_dataset_name", "heldout_triples", "rehearsal_triples", "anchor_triples")
OF_A_CHECKPOINT = (
    "model_name_or_path",
    "reward_model_name_or_path",
    "arm",
    "reward",
    "cotrain",
    "seed",
    "num_generations",
    "dataset_name",
    "dataset_config",
    "dataset_split",
    "dataset_size",
    "dataset_seed",
    "reference_column",
    "system_prompt",
    "verifier",
    "lora_rank",
)
MAY_DIFFER = {  # between a recipe and a run of it
    *("output_dir", "variant", "max_steps", "save_steps", "save_total_limit", "logging_steps", "heldout_steps"),
    "rollouts_steps",
    *("verifier_workers", "verifier_deadline_seconds", "verifier_batch_seconds"),
    *("alarm_action", "report_to", "tracked_rollouts", "disable_tqdm"),
    *("assistant_base_url", "assistant_concurrency", "assistant_timeout_seconds", "assistant_batch_seconds"),
    "trainer_kwargs",  # fields of TRL's: those that both name are compared
}
FREE_OF_TRL = ("num_train_epochs", "run_name", "tf32", "save_strategy")


def check_train_settings(settings: TrainSettings, *, resume: bool = False, engine: str = "trl") -> None:
    """Checks everything that can be checked without loading a model.

    Raises:
        MissingFileError, BadInputError: the first fault found; the message has one line, with the way out.
    """
    if engine != "verl":  # it counts a batch over all devices, and checks that itself
        settings.check_groups()
    check_policy_folder(resolve_model(settings.model_name_or_path, "policy"), "model_name_or_path")
    if settings.needs_reward_model:
        name = settings.reward_model_name_or_path
        if not name:
            raise BadInputError(f"arm {settings.arm} needs a reward model: set reward_model_name_or_path")
        if settings.reward_model_type == "verifyrm":
            check_model_folder(resolve_model(name, "reward_model"), "reward_model_name_or_path")
    if settings.assistant_model and not settings.assistant_base_url:
        check_policy_folder(resolve_model(settings.assistant_model, "policy"), "assistant_model")
    for key in DATA_FILES:
        name = getattr(settings, key)
        if name and name.endswith(SUFFIXES):
            check_file(name, key)
    if settings.counterfactual_answers:
        check_file(settings.counterfactual_answers, "counterfactual_answers")
    check_output_dir(settings, resume=resume)


def check_output_dir(settings: TrainSettings, *, resume: bool) -> None:
    """Refuses a folder whose run would be written over, or continued with another model, another arm or other draws.

    Raises:
        BadInputError: no folder is named; it cannot be written to; it holds a run and `resume` is false; or its run
            was made with other settings.
    """
    if not settings.output_dir:
        raise BadInputError("output_dir is not set; give it in the recipe or as --output_dir")
    folder = Path(settings.output_dir)
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise BadInputError(f"{folder}: cannot be written to ({there}); choose another --output_dir")
    old = settings_of_run(folder, type(settings))
    if old is None:
        return
    if not resume:
        raise BadInputError(f"{folder}: already holds a run; continue it with --resume or choose another --output_dir")
    check_same(folder, old, settings, OF_A_CHECKPOINT)


def check_same_recipe(recipe: Mapping[str, Any]) -> None:
    """Refuses a folder, the recipe's `output_dir`, whose run was made with another recipe.

    Raises:
        BadInputError: a setting differs that is not in `MAY_DIFFER`.
    """
    settings = TrainSettings.from_recipe(recipe)
    folder = Path(settings.output_dir)
    begun = (folder / "finished.json").is_file() or any(folder.glob("checkpoint-*"))
    old = settings_of_run(folder, TrainSettings) if begun else None
    if old is not None:
        keys = [item.name for item in fields(TrainSettings) if item.name not in MAY_DIFFER]
        unused = () if settings.needs_reward_model else ("reward_model_",)
        check_same(folder, old, settings, [key for key in keys if not key.startswith(unused)])
        both = [key for key in settings.trainer_kwargs if key in old.trainer_kwargs and key not in FREE_OF_TRL]
        check_same(folder, SimpleNamespace(**old.trainer_kwargs), SimpleNamespace(**settings.trainer_kwargs), both)


def settings_of_run(folder: Path, kind: type[TrainSettings]) -> TrainSettings | None:
    """The settings in a run folder's config.yaml; None where there is none.

    Raises:
        BadInputError: the file is not valid YAML, or not a mapping.
    """
    path = folder / "config.yaml"
    if not path.is_file():
        return None
    return kind.from_recipe(dict(read_recipe(path)))


def check_same(folder: Path, old: Any, new: Any, keys: Iterable[str], option: str = "--output_dir") -> None:
    """Refuses settings that differ from those of the run in a folder.

    Raises:
        BadInputError: with the first of `keys` that differs.
    """
    for key in keys:
        before, now = getattr(old, key), getattr(new, key)
        paths = isinstance(before, str) and isinstance(now, str) and os.path.abspath(before) == os.path.abspath(now)
        if before != now and not paths:
            raise BadInputError(f"{folder}: was made with {key} = {before!r}, not {now!r}; choose another {option}")
