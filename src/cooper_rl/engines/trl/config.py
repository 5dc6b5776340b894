"""Settings of a run on TRL: GRPOConfig with Cooper's own fields and defaults."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from trl import GRPOConfig

from cooper_rl.engines.trl.arguments import check_cycle, check_reporters, check_schedule
from cooper_rl.errors import BadInputError
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
        check_schedule(self)
