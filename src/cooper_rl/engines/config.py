"""The settings of a run on TRL or in plain torch: GRPOConfig with Cooper's own fields, and what Cooper asks of both.

The checks take any GRPOConfig: a `CooperReward` may work in a trainer that has one of TRL's own. Last is what its
trackers get of the rollouts.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import get_scheduler
from transformers.integrations import get_available_reporting_integrations, get_reporting_integration_callbacks
from trl import GRPOConfig

from cooper_rl.distributed import precision
from cooper_rl.errors import BadInputError
from cooper_rl.jsonl import finite
from cooper_rl.records import Batch
from cooper_rl.settings.train import TrainerSettings

logger = logging.getLogger(__name__)
TRACKED = ("question", "reference_answer", "completion", "verdict", "reason", "score", "reward")  # of a rollout


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
        args: Any = self
        self.bf16, self.tf32 = precision(args.bf16, args.tf32, fp16=args.fp16, use_cpu=args.use_cpu)
        GRPOConfig.__post_init__(self)
        if self.scale_rewards not in ("group", "batch", "none"):  # TRL itself checks this only in its first step
            raise BadInputError(f"scale_rewards = {self.scale_rewards!r}: must be group, batch or none")
        if self.temperature <= 0:
            raise BadInputError(f"temperature = {self.temperature}: completions are sampled; set it above 0")
        check_cycle(self)
        check_reporters(self.report_to)
        check_schedule(self)


def uses_per_batch(args: Any) -> int:
    """How often a part of a generation batch goes through the policy, a multiple of the accumulated ones."""
    return (args.steps_per_generation or 1) * int(args.num_iterations)


def steps_per_batch(args: Any) -> int:
    """How many optimiser steps the policy takes on one generation batch; 1 where that is no whole number."""
    uses, accumulated = uses_per_batch(args), int(args.gradient_accumulation_steps)
    return 1 if uses % accumulated else uses // accumulated


def count_batches(args: Any, steps: int) -> int:
    """The number of generation batches in this many optimiser steps. The reward model has one update on each."""
    return max(1, -(-steps * int(args.gradient_accumulation_steps) // uses_per_batch(args)))


def check_once(args: Any) -> None:
    """Refuses arguments that generate several batches for one optimiser step; warns of checkpoints within a cycle.

    Raises:
        BadInputError: with the way out.
    """
    uses, cycle = uses_per_batch(args), steps_per_batch(args)
    if uses < args.gradient_accumulation_steps:
        raise BadInputError(
            f"steps_per_generation x num_iterations = {uses} is below gradient_accumulation_steps ="
            f" {args.gradient_accumulation_steps}: stage 2 learns from one generated batch a step; change one"
        )
    if args.save_strategy == "steps" and args.save_steps % cycle:
        logger.warning(
            "save_steps = %g is no multiple of %d, the steps on one generated batch: a run that is resumed from such a"
            " checkpoint generates a new one",
            args.save_steps,
            cycle,
        )


def check_cycle(args: Any) -> None:
    """Refuses arguments that would save or end between two steps on the same generation batch.

    Raises:
        BadInputError: with the way out.
    """
    uses = uses_per_batch(args)
    if uses % args.gradient_accumulation_steps:
        raise BadInputError(
            f"steps_per_generation x num_iterations = {uses} is not a multiple of gradient_accumulation_steps ="
            f" {args.gradient_accumulation_steps}: stage 2 needs whole steps on each generated batch; change one"
        )
    cycle = steps_per_batch(args)
    if args.save_strategy == "steps" and cycle > 1 and args.save_steps % cycle:
        raise BadInputError(f"save_steps must be a multiple of {cycle}, the steps of one generation cycle")
    if args.max_steps > 0 and args.max_steps % cycle:
        raise BadInputError(f"max_steps must be a multiple of {cycle}, the steps of one generation cycle")


def check_schedule(args: Any) -> None:
    """Refuses a learning rate schedule that cannot be made; transformers would notice only after loading the models.

    Raises:
        BadInputError: the arguments do not fit the schedule.
    """
    try:
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
        get_scheduler(args.lr_scheduler_type, optimizer, 0, 1, args.lr_scheduler_kwargs)
    except (TypeError, ValueError) as error:
        raise BadInputError(
            f"lr_scheduler_kwargs {args.lr_scheduler_kwargs} do not fit lr_scheduler_type"
            f" {args.lr_scheduler_type.value}: {error}"
        ) from error


def check_reporters(names: Any) -> None:
    """Refuses a tracker that is not installed; transformers would notice only after loading the models.

    Raises:
        BadInputError: with the package.
    """
    wanted = [names] if isinstance(names, str) else list(names or ())
    if {"none", "all"} & set(wanted):
        return
    for name in sorted(set(wanted) - set(get_available_reporting_integrations())):
        try:
            get_reporting_integration_callbacks([name])
        except ValueError as error:
            raise BadInputError(f"report_to = {name}: {str(error).splitlines()[0]}") from error
        raise BadInputError(f"report_to = {name}: the tracker is not installed; pip install {name}, or set none")


def send_rollouts(names: Sequence[str], batch: Batch, count: int) -> None:
    """Sends some rollouts of a batch, evenly spread over it, to the trackers that take texts: trackio and wandb.

    Texts are sent as data. trackio gets traces, since it shows the texts of a table as Markdown with HTML.

    Args:
        names: `report_to`. A tracker gets nothing where the trainer has not begun a run of it.
        count: how many.
    """
    total = len(batch.rollouts)
    chosen = [batch.rollouts[place * total // count] for place in range(count)] if count < total else batch.rollouts
    rows = [{name: finite(rollout.to_record()[name]) for name in TRACKED} for rollout in chosen]
    step = {"train/global_step": batch.step}  # as the trainer's own lines have it
    if "trackio" in names and rows:
        import trackio

        traces = []
        for row in rows:
            said = {"user": row["question"], "assistant": row["completion"]}
            messages = [{"role": role, "content": text} for role, text in said.items()]
            judged = {name: row[name] for name in TRACKED if name not in ("question", "completion")}
            traces.append(trackio.Trace(messages=messages, metadata={"step": batch.step, **judged}))
        trackio.log({"rollouts": traces, **step})
    if "wandb" in names and rows:
        import wandb

        if wandb.run is not None:
            data = [[batch.step, *row.values()] for row in rows]
            wandb.log({"rollouts": wandb.Table(columns=["step", *TRACKED], data=data), **step})
