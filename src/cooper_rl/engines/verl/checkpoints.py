"""Checkpoints of a run on verl: verl's folders `global_step_N`, with the method's part and the mark of completeness."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

from cooper_rl.checkpoints import checkpoints, complete_checkpoint, last_checkpoint
from cooper_rl.errors import BadInputError
from cooper_rl.method.monitor import STATE

PREFIX = "global_step_"
logger = logging.getLogger(__name__)


def choose(config: Any) -> None:
    """Makes verl resume from the newest complete checkpoint, where it would take the one that it last began to write.

    Args:
        config: verl's configuration, which is changed: `resume_mode` auto becomes resume_path or disable.

    Raises:
        BadInputError: `resume_from_path` names a checkpoint without the method's part.
    """
    trainer = config.trainer
    if trainer.resume_mode == "auto":
        found = last_checkpoint(Path(trainer.default_local_dir).absolute(), PREFIX)
        trainer.resume_mode = "resume_path" if found else "disable"
        trainer.resume_from_path = str(found) if found else None
    elif trainer.resume_mode == "resume_path" and not (Path(trainer.resume_from_path) / STATE).is_file():
        raise BadInputError(f"{trainer.resume_from_path}: no {STATE}; it is no checkpoint of the trainer cooper")


def complete(folder: Path, step: int, keep: int | None) -> None:
    """Marks a checkpoint as complete, and deletes all but the newest `keep` (None: deletes nothing)."""
    complete_checkpoint(folder, step)
    for old in checkpoints(folder.parent, PREFIX)[:-keep] if keep else []:
        shutil.rmtree(old, ignore_errors=True)
