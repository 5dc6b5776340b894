"""What the plain engine does not have, and refuses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.errors import BadInputError
from cooper_rl.settings.train import TrainSettings

# Settings for which this engine supports one value only.
ONLY: Mapping[str, Any] = {
    **{"loss_type": "grpo", "scale_rewards": "group", "num_iterations": 1, "gradient_accumulation_steps": 1},
    **{"steps_per_generation": 1, "use_vllm": False, "bf16": False, "fp16": False, "reward_model_sharded": False},
    "use_bias_correction_kl": False,
}
# Fields of TRL's that this engine reads.
READ: tuple[str, ...] = (
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "weight_decay",
    "max_grad_norm",
    "epsilon",
    "epsilon_high",
)
READ += ("lr_scheduler_type", "lr_scheduler_kwargs", "warmup_steps", "temperature", "top_p", "top_k")


def check_supported(named: TrainSettings, config: CooperConfig, *, resume: bool) -> None:
    """Refuses what this engine does not have.

    Raises:
        BadInputError: with the setting and the way out.
    """
    for what, wanted in {
        "--resume": resume,
        "lora_rank": named.lora_rank,
        "generation_batch_size": named.generation_batch_size,
        "torchrun": os.environ.get("WORLD_SIZE", "1") != "1",
    }.items():
        if wanted:
            raise BadInputError(f"{what}: the plain engine does not support it; use --engine trl")
    for name in named.trainer_kwargs:
        if name not in READ and name not in ONLY:
            raise BadInputError(f"{name}: the plain engine does not read it; leave it out, or use --engine trl")
    for name, value in ONLY.items():
        if getattr(config, name) != value:
            given = f"{name} = {getattr(config, name)!r}"
            raise BadInputError(f"{given}: the plain engine supports {value!r} only; set that, or use --engine trl")
    if config.max_steps < 1:
        raise BadInputError(f"max_steps = {config.max_steps}: the plain engine needs the number of steps, at least 1")
