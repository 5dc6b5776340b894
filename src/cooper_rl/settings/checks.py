"""Checks of a training run's settings that are made before anything heavy is imported."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from cooper_rl.errors import BadInputError
from cooper_rl.settings.files import check_file, check_model_folder, check_policy_folder, resolve_model
from cooper_rl.settings.reward import resolve_arm
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
)


def check_train_settings(settings: TrainSettings, *, resume: bool = False) -> None:
    """Checks everything that can be checked without loading a model.

    Raises:
        MissingFileError, BadInputError: the first fault found; the message has one line, with the way out.
    """
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
        if name and name.endswith((".jsonl", ".json", ".parquet", ".gz")):
            check_file(name, key)
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
    before = folder / "config.yaml"
    if not before.is_file():
        return
    if not resume:
        raise BadInputError(f"{folder}: already holds a run; continue it with --resume or choose another --output_dir")
    old = yaml.safe_load(before.read_text()) or {}
    old["arm"], old["reward"], old["cotrain"] = resolve_arm(old.get("arm"), old.get("reward"), old.get("cotrain"))
    for key in OF_A_CHECKPOINT:
        if key in old and old[key] != getattr(settings, key):
            raise BadInputError(
                f"{folder}: its checkpoint was made with {key} = {old[key]!r}, not {getattr(settings, key)!r};"
                " choose another --output_dir"
            )
