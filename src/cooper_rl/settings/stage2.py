"""The settings of stage 2: the pairs, the reward model's step, the guard, the alarm and the measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.schema import setting


@dataclass
class PairSettings:
    """The contrastive pairs: a right completion and a wrong one of the same problem."""

    HEADING: ClassVar[str] = "Pairs (stage 2)"

    negative_sources: dict[str, float] = setting({"mined": 1.0, "assistant": 1.0})
    """Sources of a prompt's wrong completions, with their weights in whole pairs: mined, assistant, perturb, shuffle or
    your own as module:Class. mined takes rollouts that the rule finds wrong, the highest scores first. assistant takes
    rewrites by a language model. perturb changes the right one's answer. shuffle takes another problem's."""
    pairs_per_prompt: int = setting(2, least=1)
    """Number of pairs per prompt, made of its rollouts; the paper makes 1."""
    mined_max_right: float = setting(0.05, least=0, most=1)
    """Do not mine, or replay as wrong, a rollout whose estimated probability of being right after all is above this; 1
    teaches whatever the rule calls wrong."""
    negative_tries: int = setting(3, least=1)
    """Ask a source up to N times for a completion that the rule finds wrong."""
    negative_fallback: str = "none"
    """Source to ask when all negative_tries of a pair's own source have failed: perturb, shuffle or your own as
    module:Class; none makes no pair then."""
    positive_label_noise: float = setting(0.0, least=0, most=1)
    """Probability of drawing a positive from the completions that are not CORRECT, to imitate a verifier that errs."""
    positive_fallback: Literal["none", "worked_solution"] = "none"
    """Positive of a prompt without a right rollout: worked_solution takes the data set's solution, none makes no
    pair."""


@dataclass
class UpdateSettings:
    """The reward model's optimiser step; the defaults are the released settings."""

    HEADING: ClassVar[str] = "The reward model's step (stage 2)"

    reward_model_learning_rate: float = setting(1e-5, least=0)
    """Peak learning rate of the reward model."""
    reward_model_weight_decay: float = setting(0.01, least=0)
    """Weight decay of the reward model's AdamW."""
    reward_model_adam_beta1: float = setting(0.9, least=0, most=1)
    """Beta 1 of the reward model's AdamW: decay of the running mean of its gradients."""
    reward_model_adam_beta2: float = setting(0.999, least=0, most=1)
    """Beta 2 of the reward model's AdamW: decay of the running mean of its squared gradients."""
    reward_model_lr_scheduler_type: Literal["constant", "constant_with_warmup", "linear", "cosine"] = (
        "constant_with_warmup"
    )
    """Learning-rate schedule of the reward model."""
    reward_model_warmup_steps: int = setting(0, least=0)
    """Warm up the reward model's learning rate from 0 over N of its steps."""
    reward_model_max_grad_norm: float = setting(1.0, least=0)
    """Clip the reward model's gradient to this norm."""
    reward_model_sharded: bool = False
    """Shard the reward model's weights and optimiser over the ranks (FSDP2)."""
    reward_model_pairs_per_pass: int = setting(0, least=0)
    """Number of pairs per pass through the reward model; fewer need less memory; 0 takes all pairs of a step."""
    rehearsal_per_step: int = setting(0, least=0)
    """Also train the reward model, at each update, on N of the rehearsal_triples, so that the threshold between right
    and wrong does not drift. A step without a pair has no update."""
    replay_per_step: int = setting(0, least=0)
    """Also train the reward model, at each update, on N of the run's rollouts with the rule's label, half of them right
    (an even number)."""
    prefix_weight: float = setting(0.0, least=0)
    """Weight of the loss of prefixes, added to the reward model's loss: prefixes of the pairs, up to where these part,
    and of rehearsed and replayed triples."""
    label_pairs: bool = False
    """Add the binary cross-entropy of the pairs, right against wrong, to the contrastive loss."""


@dataclass
class GuardSettings:
    """The guard, which rolls back an update that makes the reward model worse, and the alarm on signs of hacking."""

    HEADING: ClassVar[str] = "Guard and alarm"

    guard_steps: int = setting(10, least=0)
    """Check all anchors and probes every N updates; 0 means no guard."""
    guard_sample: int = setting(64, least=0)
    """Number of anchors and probes to check on each device after each update; if these got worse, all are checked."""
    guard_tolerance: float = setting(0.05, least=0)
    """Roll back updates if balanced accuracy on the anchors falls further than this below its best level."""
    guard_probe_tolerance: float = setting(0.1, least=0)
    """Roll back updates if the pass rate on the probes falls further than this below its best level."""
    guard_probes: int = setting(10, least=0)
    """Number of the anchors' questions to probe, each with every known hack."""
    rule_misses_per_hit: float | None = setting(None, least=0)
    """Number of right completions that the rule is assumed to call INCORRECT for each one that it calls CORRECT; null
    takes the verifier's known rate."""
    alarm_action: Literal["log", "stop", "hybrid"] = "log"
    """What to do when the hacking alarm fires: log (write a warning), stop (end the run with a checkpoint) or hybrid
    (change the reward to hybrid)."""
    alarm_probability: float = setting(0.01, least=1e-9, most=0.5)
    """Maximum probability of a false alarm on acceptance under wrong references, in a run in which it does not rise."""
    monitors: list[str] = setting([])
    """Monitors of your own that watch each step, before the guard, each as module:Class."""
    max_skipped_steps: int = setting(10, least=0)
    """End the run after more than N steps in a row whose gradient is not finite."""


@dataclass
class MeasuringSettings:
    """When and how the held-out measurements are made."""

    HEADING: ClassVar[str] = "Measuring"

    heldout_steps: int = setting(10, least=0)
    """Measure policy and reward model on held-out data every N steps; 0 measures at the end only."""
    heldout_temperature: float = setting(0.7, least=0)
    """Sampling temperature of held-out completions."""
    heldout_top_p: float = setting(0.95, least=0, most=1)
    """Top-p of held-out completions: sample from the likeliest tokens whose probabilities add up to this number."""


def check_negative_sources(weights: Mapping[str, float]) -> None:
    """Checks that no negative source has a negative weight, and at least one a positive weight.

    Raises:
        BadInputError: a weight is negative or not finite, or none is positive.
    """
    if not all(weight >= 0 and math.isfinite(weight) for weight in weights.values()):
        raise BadInputError(f"negative_sources: {dict(weights)}: a weight must be 0 or more")
    if not any(weight > 0 for weight in weights.values()):
        raise BadInputError(f"negative_sources: {dict(weights)}: give at least one source a positive weight")
