"""Settings of a run: TRL's GRPOConfig with Cooper's own, and the published defaults where TRL's differ."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from transformers import get_scheduler
from trl import GRPOConfig

from cooper_rl.errors import BadInputError
from cooper_rl.settings.recipe import ARMS, SOURCES

ALARM_ACTIONS = ("log", "stop", "hybrid")
RM_SCHEDULES = ("constant", "constant_with_warmup", "linear", "cosine")


@dataclass
class CooperConfig(GRPOConfig):  # type: ignore[misc]
    """`GRPOConfig` plus the reward's arm, stage 2, and the held-out measurements."""

    # The paper's settings, where GRPOConfig's defaults are others.
    loss_type: str = "grpo"
    beta: float = 0.001
    use_bias_correction_kl: bool = False  # the plain k3 estimator
    learning_rate: float = 1e-6
    num_generations: int = 16
    bf16: bool = False
    gradient_checkpointing: bool | None = None  # none: off, without transformers' warning about the name
    logging_steps: float = 1
    save_total_limit: int | None = 2
    report_to: str | list[str] = "none"
    disable_tqdm: bool | None = True

    # Stage 1: the reward.
    arm: str = "cooper"
    reward: str = "score"
    cotrain: bool = True
    monitors: list[str] = field(default_factory=list)
    reward_threshold: float | None = None  # 0.5 makes the reward discrete
    verifier: str = "math"
    verifier_workers: int = 2
    verifier_deadline_seconds: float = 5.0

    # Stage 2: the pairs.
    negative_sources: dict[str, float] = field(default_factory=lambda: {"mined": 1.0, "assistant": 1.0})
    pairs_per_prompt: int = 2  # the paper: the assistant's alone, and one
    negative_tries: int = 3
    negative_fallback: str = "none"  # or perturb or shuffle, where the tries of a pair's own source have failed
    positive_label_noise: float = 0.0  # share of positives drawn from completions that are not CORRECT
    positive_fallback: str = "none"  # or worked_solution, where no rollout is right

    # Stage 2: the reward model's step (released settings).
    reward_model_learning_rate: float = 1e-5
    reward_model_weight_decay: float = 0.01
    reward_model_adam_beta1: float = 0.9
    reward_model_adam_beta2: float = 0.999
    reward_model_lr_scheduler_type: str = "constant_with_warmup"
    reward_model_warmup_steps: int = 0
    reward_model_max_grad_norm: float = 1.0
    reward_model_sharded: bool = False  # its weights and optimiser shared out over the ranks by FSDP2
    reward_model_pairs_per_pass: int = 0  # through the reward model at a time, to save memory; 0: all of a step
    rehearsal_per_step: int = 0  # labelled triples in each step, so that the score's threshold does not drift
    replay_per_step: int = 0  # this run's own rollouts with the rule's label in each step, half of them right
    label_pairs: bool = False  # cross-entropy on the pairs' own labels beside the contrastive loss

    # Stage 2: the guard, where there are anchors to measure on.
    guard_steps: int = 10  # the whole anchor set and all probes every so many updates; 0: no guard
    guard_sample: int = 64  # of them at each update; a fall there calls for the whole set
    guard_tolerance: float = 0.05  # how far below the best level of balanced accuracy so far is no fall
    guard_probe_tolerance: float = 0.1  # and below the best level of the pass rate
    guard_probes: int = 10  # questions that are probed, each with every known hack

    # The audit of fresh rollouts, and the alarm on the signature of hacking.
    rule_misses_per_hit: float = 0.0  # right completions called INCORRECT by the rule, for each called CORRECT
    alarm_action: str = "log"  # or stop (with a checkpoint), or hybrid (the reward from then on)

    max_skipped_steps: int = 10  # in a row, whose gradient is not finite

    # Held-out measurements, which no arm is trained on.
    heldout_steps: int = 10  # measure every so many steps, and at the end; 0: only at the end
    heldout_temperature: float = 0.7
    heldout_top_p: float = 0.95

    def __post_init__(self) -> None:
        self.check()
        pairs = {"rule": ("rule", False), "static": ("score", False), "cooper": ("score", True)}
        self.reward, self.cotrain = pairs.get(self.arm, ("hybrid", False))
        if not torch.accelerator.is_available():
            self.use_cpu = True  # else torchrun on CPUs gives each process a world of its own
        super().__post_init__()
        cycle = self.steps_of_a_batch
        if self.save_strategy == "steps" and cycle > 1 and self.save_steps % cycle:
            raise BadInputError(f"save_steps must be a multiple of {cycle}, the steps of one generation cycle")
        try:  # transformers itself looks only after the models are loaded
            optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
            get_scheduler(self.lr_scheduler_type, optimizer, 0, 1, self.lr_scheduler_kwargs)
        except (TypeError, ValueError) as error:
            raise BadInputError(
                f"lr_scheduler_kwargs {self.lr_scheduler_kwargs} do not fit lr_scheduler_type"
                f" {self.lr_scheduler_type.value}: {error}"
            ) from error

    @property
    def steps_of_a_batch(self) -> int:
        """The policy's optimiser steps on one generation batch; the reward model takes one."""
        steps: int = (self.steps_per_generation or 1) * self.num_iterations
        return max(1, steps // max(1, int(self.gradient_accumulation_steps)))

    @property
    def needs_reward_model(self) -> bool:
        return self.arm != "rule"

    @property
    def asks_assistant(self) -> bool:
        """Whether stage 2 wants wrong rewrites from a language model."""
        return self.arm == "cooper" and self.negative_sources.get("assistant", 0) > 0

    def check(self) -> None:
        """What can be said of Cooper's own settings.

        Raises:
            BadInputError: a setting that has no meaning.
        """
        if self.arm not in ARMS:
            raise BadInputError(f"arm {self.arm!r}: choose one of {', '.join(ARMS)}")
        if self.num_generations < 2:
            raise BadInputError(f"num_generations = {self.num_generations}: a group needs at least 2 completions")
        unknown = set(self.negative_sources) - set(SOURCES)
        if unknown or not any(weight > 0 for weight in self.negative_sources.values()):
            raise BadInputError(
                f"negative_sources {dict(self.negative_sources)}: give positive weights to some of {', '.join(SOURCES)}"
            )
        if self.positive_fallback not in ("none", "worked_solution"):
            raise BadInputError(f"positive_fallback {self.positive_fallback!r}: none or worked_solution")
        if self.reward_model_lr_scheduler_type not in RM_SCHEDULES:
            raise BadInputError(
                f"reward_model_lr_scheduler_type {self.reward_model_lr_scheduler_type!r}: choose one of"
                f" {', '.join(RM_SCHEDULES)}"
            )
        if self.negative_fallback not in ("none", "perturb", "shuffle"):
            raise BadInputError(f"negative_fallback {self.negative_fallback!r}: choose one of none, perturb, shuffle")
        if self.alarm_action not in ALARM_ACTIONS:
            raise BadInputError(f"alarm_action {self.alarm_action!r}: choose one of {', '.join(ALARM_ACTIONS)}")
        if not 0 <= self.positive_label_noise <= 1:
            raise BadInputError(f"positive_label_noise {self.positive_label_noise} is not in [0, 1]")
        for name in (
            "reward_model_pairs_per_pass",
            "rehearsal_per_step",
            "replay_per_step",
            "heldout_steps",
            "guard_steps",
            "guard_sample",
            "guard_tolerance",
            "guard_probe_tolerance",
            "rule_misses_per_hit",
            "max_skipped_steps",
        ):
            if getattr(self, name) < 0:
                raise BadInputError(f"{name} = {getattr(self, name)}: 0 or more")
        if self.pairs_per_prompt < 1:
            raise BadInputError(f"pairs_per_prompt = {self.pairs_per_prompt}: at least 1")
        if self.save_total_limit is not None and self.save_total_limit < 2:
            raise BadInputError("save_total_limit must be at least 2: the last checkpoint may be cut off by a kill")
