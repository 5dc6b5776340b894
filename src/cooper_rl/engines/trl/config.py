"""Settings of a run on TRL: GRPOConfig with Cooper's own fields and defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import torch
from transformers import get_scheduler
from trl import GRPOConfig

from cooper_rl.errors import BadInputError
from cooper_rl.settings.commands import known_keys
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
        uses = self._uses_of_a_batch
        if uses % self.gradient_accumulation_steps:
            raise BadInputError(
                f"steps_per_generation x num_iterations = {uses} is not a multiple of gradient_accumulation_steps ="
                f" {self.gradient_accumulation_steps}: stage 2 needs whole steps on each generated batch; change one"
            )
        if self.temperature <= 0:
            raise BadInputError(f"temperature = {self.temperature}: completions are sampled; set it above 0")
        cycle = self.steps_of_a_batch
        if self.save_strategy not in ("steps", "no"):
            raise BadInputError(
                f"save_strategy = {self.save_strategy.value}: the guard checks before a checkpoint; set steps or no"
            )
        if self.save_strategy == "steps" and cycle > 1 and self.save_steps % cycle:
            raise BadInputError(f"save_steps must be a multiple of {cycle}, the steps of one generation cycle")
        if self.max_steps > 0 and self.max_steps % cycle:
            raise BadInputError(f"max_steps must be a multiple of {cycle}, the steps of one generation cycle")
        try:  # transformers itself checks this only after the models are loaded
            optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
            get_scheduler(self.lr_scheduler_type, optimizer, 0, 1, self.lr_scheduler_kwargs)
        except (TypeError, ValueError) as error:
            raise BadInputError(
                f"lr_scheduler_kwargs {self.lr_scheduler_kwargs} do not fit lr_scheduler_type"
                f" {self.lr_scheduler_type.value}: {error}"
            ) from error

    def chosen(self) -> dict[str, Any]:
        """The settings that a recipe may have and that differ from their defaults, as a recipe writes them."""
        known = set(known_keys("train")) - {"generation_batch_size"}  # steps_per_generation, now resolved, says it too
        found = {item.name: (getattr(self, item.name), item.default) for item in fields(self) if item.name in known}
        differing = {name: value for name, (value, usual) in found.items() if value not in (usual, None, [], {})}
        written = {name: value.value if isinstance(value, Enum) else value for name, value in differing.items()}
        return {name: value for name, value in written.items() if isinstance(value, str | int | float | list | dict)}

    @property
    def steps_of_a_batch(self) -> int:
        """How many optimiser steps the policy takes on one generation batch. The reward model takes one."""
        return self._uses_of_a_batch // int(self.gradient_accumulation_steps)

    @property
    def _uses_of_a_batch(self) -> int:
        """How often a part of a generation batch goes through the policy, a multiple of the accumulated ones."""
        return (self.steps_per_generation or 1) * self.num_iterations
