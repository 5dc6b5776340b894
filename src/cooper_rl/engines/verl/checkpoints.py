"""Checkpoints of a run on verl: verl's folders `global_step_N`, with the method's part and the mark of completeness."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

from cooper_rl.checkpoints import COMPLETE, checkpoints, complete_checkpoint, last_checkpoint
from cooper_rl.errors import BadInputError
from cooper_rl.method.monitor import STATE

PREFIX = "global_step_"
logger = logging.getLogger(__name__)


def choose(config: Any) -> None:
    """Makes verl resume from the newest complete checkpoint, where it would take the one that it last began to write.

    Args:
        config: verl's configuration, which is changed: `resume_mode` auto becomes resume_path or disable.

    Raises:
        BadInputError: `resume_from_path` names a checkpoint without the method's part, or the run would begin anew in
            a folder that holds another run's checkpoints.
    """
    trainer = config.trainer
    folder = Path(trainer.default_local_dir).absolute()
    there = checkpoints(folder, PREFIX)
    if trainer.resume_mode == "disable" and there:
        raise BadInputError(f"{there[-1]}: an older run's checkpoint; choose another folder, or resume that run")
    if trainer.resume_mode == "auto":
        found = last_checkpoint(folder, PREFIX)
        others = [path for path in there if (path / "data.pt").is_file() and not (path / STATE).is_file()]
        if not found and others:
            raise BadInputError(f"{others[-1]}: no {STATE}; it is another trainer's checkpoint, choose another folder")
        trainer.resume_mode = "resume_path" if found else "disable"
        trainer.resume_from_path = str(found) if found else None
    elif trainer.resume_mode == "resume_path" and not (Path(trainer.resume_from_path) / STATE).is_file():
        raise BadInputError(f"{trainer.resume_from_path}: no {STATE}; it is no checkpoint of the trainer cooper")


def complete(folder: Path, step: int, keep: int | None) -> None:
    """Marks a checkpoint as complete. Of it and the run's older ones the newest `keep` stay (None: all of them)."""
    complete_checkpoint(folder, step)
    found = [path for path in checkpoints(folder.parent, PREFIX) if (path / COMPLETE).is_file()]
    older = found[: found.index(folder)]
    for old in older[: len(older) + 1 - keep] if keep else []:
        shutil.rmtree(old, ignore_errors=True)
