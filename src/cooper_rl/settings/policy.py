"""The trainer's settings that have a default of Cooper's own, or that its checks and `cooper doctor` read.

Each is a field of TRL's GRPOConfig under the same name. TRL's other fields can be given too (`trl_fields.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.fields import setting
from cooper_rl.settings.typecheck import check_fields


@dataclass
class RunSettings:
    """The settings that the trainer and the method both read."""

    HEADING: ClassVar[str] = "Policy and trainer"

    output_dir: str = setting("", "Metrics, rollouts, pairs and checkpoints go into this folder, the run folder.")
    seed: int = setting(
        42, "Sampling, pairs and the order of problems are drawn with this seed.", least=0, most=2**32 - 1
    )
    num_generations: int = setting(
        16, "This many completions are sampled for each prompt; advantages are computed among them.", least=2
    )


@dataclass
class PolicySettings(RunSettings):
    """The policy's GRPO step. Where TRL's defaults differ from the paper, the defaults are the paper's."""

    HEADING: ClassVar[str] = "Policy and trainer"

    max_steps: int = setting(-1, "The policy takes this many optimiser steps; -1 lets num_train_epochs decide.")
    per_device_train_batch_size: int = setting(
        16, "This many completions go through the policy at a time on each device.", least=1
    )
    gradient_accumulation_steps: int = setting(
        1, "The gradient is summed over this many batches before the optimiser's step.", least=1
    )
    steps_per_generation: int | None = setting(
        None,
        "This many batches are generated at once; null takes gradient_accumulation_steps, so that each optimiser step "
        "gets new completions.",
        least=1,
    )
    generation_batch_size: int | None = setting(
        None,
        "This many completions are generated at once on all devices together; give either this or"
        " steps_per_generation.",
        least=1,
    )
    num_iterations: int = setting(1, "Each generated batch is trained on this many times.", least=1)
    max_completion_length: int = setting(512, "A completion has at most this many tokens.", least=1)
    learning_rate: float = setting(1e-6, "The policy's learning rate peaks at this value.", least=0)
    loss_type: Literal["grpo", "dapo", "dr_grpo", "bnpo", "cispo", "sapo", "luspo", "vespo"] = setting(
        "grpo", "The policy is trained with this one of TRL's losses."
    )
    beta: float = setting(
        0.001,
        "The KL divergence from the reference policy is weighted by this number; 0 needs no reference policy.",
        least=0,
    )
    use_bias_correction_kl: bool = setting(
        False, "True corrects the KL estimate by the importance ratio; false is the plain k3 estimate."
    )
    bf16: bool = setting(False, "True computes forward passes in bfloat16; weights stay float32.")
    gradient_checkpointing: bool | None = setting(
        None, "True recomputes activations in the backward pass, which saves memory but takes longer; null means false."
    )
    logging_steps: float = setting(1, "This many steps pass from one line of metrics to the next.", least=0)
    save_steps: float = setting(500, "This many steps pass from one checkpoint to the next.", least=0)
    save_total_limit: int | None = setting(
        2, "This many checkpoints are kept; 2 or more, since a kill may cut off the last one; null keeps all.", least=2
    )
    report_to: str | list[str] = setting(
        "none", "Metrics go to these trackers, named as in TRL, besides the run folder."
    )
    disable_tqdm: bool | None = setting(True, "True turns the trainer's progress bar off.")

    def check_policy(self) -> None:
        """Checks the types and ranges of these fields.

        Raises:
            BadInputError: a value of the wrong type or out of its range, or a run without steps.
        """
        check_fields(self, PolicySettings)
        if self.max_steps == 0:
            raise BadInputError("max_steps = 0: set the number of steps, or -1 for num_train_epochs")

    @property
    def generation_batches(self) -> int:
        """How many batches of `per_device_train_batch_size` each device generates at once."""
        return self.steps_per_generation or self.gradient_accumulation_steps

    def check_groups(self) -> None:
        """Refuses a group size that does not divide the generation batch.

        Raises:
            BadInputError: the generation batch is not a multiple of `num_generations`.
        """
        batch = self.generation_batch_size or self.per_device_train_batch_size * self.generation_batches
        if batch % self.num_generations:
            raise BadInputError(
                "the generation batch (per_device_train_batch_size x steps_per_generation ="
                f" {batch}) is not a multiple of num_generations = {self.num_generations}"
            )
