"""Settings of a run on TRL: GRPOConfig with Cooper's own fields and defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import torch
from transformers import get_scheduler
from trl import GRPOConfig

from cooper_rl.engines.trl.arguments import check_cycle, check_reporters
from cooper_rl.errors import BadInputError
from cooper_rl.settings.commands import known_keys
from cooper_rl.settings.method import CooperSettings
from cooper_rl.settings.train import TrainerSettings


@dataclass
class CooperConfig(TrainerSettings, GRPOConfig):  # type: ignore[misc]
    """`GRPOConfig` with the method's settings, and Cooper's defaults where they differ from TRL's.

    Raises:
        BadInputError: a setting of the wrong type, out of its range, or in contradiction with another.
    """

    def __post_init__(self) -> None:
        self.resolve()
        self.check_policy()
        self.output_dir = self.output_dir or "trainer_output"  # TRL's own default
        if not torch.accelerator.is_available():
            self.use_cpu = True  # otherwise torchrun on CPUs gives each process a process group of its own
        GRPOConfig.__post_init__(self)
        if self.scale_rewards not in ("group", "batch", "none"):  # TRL itself checks this only in its first step
            raise BadInputError(f"scale_rewards = {self.scale_rewards!r}: must be group, batch or none")
        if self.temperature <= 0:
            raise BadInputError(f"temperature = {self.temperature}: completions are sampled; set it above 0")
        check_cycle(self)
        check_reporters(self.report_to)
        try:  # transformers itself checks this only after the models are loaded
            optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
            get_scheduler(self.lr_scheduler_type, optimizer, 0, 1, self.lr_scheduler_kwargs)
        except (TypeError, ValueError) as error:
            raise BadInputError(
                f"lr_scheduler_kwargs {self.lr_scheduler_kwargs} do not fit lr_scheduler_type"
                f" {self.lr_scheduler_type.value}: {error}"
            ) from error


def chosen_settings(args: GRPOConfig, settings: CooperSettings) -> dict[str, Any]:
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
