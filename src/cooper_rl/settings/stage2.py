"""The settings of stage 2: the pairs, the reward model's step, the guard, the alarm and the measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.fields import setting


@dataclass
class PairSettings:
    """The contrastive pairs: a right completion and a wrong one of the same problem."""

    HEADING: ClassVar[str] = "Pairs (stage 2)"

    negative_sources: dict[str, float] = setting(
        {"mined": 1.0, "assistant": 1.0},
        "A prompt's wrong completions come from these sources, by weight in whole pairs: mined, assistant, perturb,"
        " shuffle or your own as module:Class. mined takes rollouts that the rule finds wrong, the highest scores "
        "first. assistant takes rewrites by a language model. perturb changes the right one's answer. shuffle takes"
        " another problem's.",
    )
    pairs_per_prompt: int = setting(
        2, "This many pairs are made of each prompt's rollouts; the paper makes 1.", least=1
    )
    mined_max_right: float = setting(
        0.05,
        "A rollout is neither mined nor replayed as wrong where the estimated probability that it is right after all "
        "is above this; 1 teaches whatever the rule calls wrong.",
        least=0,
        most=1,
    )
    negative_tries: int = setting(
        3,
        "A source is asked up to this many times for a completion that the rule finds wrong.",
        least=1,
    )
    negative_fallback: str = setting(
        "none",
        "This source is asked where all negative_tries of a pair's own source have failed: perturb, shuffle or your "
        "own as module:Class; none makes no pair then.",
    )
    positive_label_noise: float = setting(
        0.0,
        "With this probability a positive is drawn from the completions that are not CORRECT, to imitate a "
        "verifier that errs.",
        least=0,
        most=1,
    )
    positive_fallback: Literal["none", "worked_solution"] = setting(
        "none",
        "Where no rollout of a prompt is right, worked_solution takes the data set's solution as the positive, and"
        " none makes no pair.",
    )


@dataclass
class UpdateSettings:
    """The reward model's optimiser step; the defaults are the released settings."""

    HEADING: ClassVar[str] = "The reward model's step (stage 2)"

    reward_model_learning_rate: float = setting(1e-5, "The reward model's learning rate peaks at this value.", least=0)
    reward_model_weight_decay: float = setting(
        0.01, "The weight decay of the reward model's AdamW has this coefficient.", least=0
    )
    reward_model_adam_beta1: float = setting(
        0.9,
        "The running mean of the gradients in the reward model's AdamW decays by this factor at each step (beta 1).",
        least=0,
        most=1,
    )
    reward_model_adam_beta2: float = setting(
        0.999,
        "The running mean of the squared gradients in the reward model's AdamW decays by this factor at each step"
        " (beta 2).",
        least=0,
        most=1,
    )
    reward_model_lr_scheduler_type: Literal["constant", "constant_with_warmup", "linear", "cosine"] = setting(
        "constant_with_warmup", "The reward model's learning rate follows this schedule."
    )
    reward_model_warmup_steps: int = setting(
        0, "The reward model's learning rate rises from 0 over this many of its steps.", least=0
    )
    reward_model_max_grad_norm: float = setting(1.0, "The reward model's gradient is clipped to this norm.", least=0)
    reward_model_sharded: bool = setting(
        False, "True shards the reward model's weights and optimiser over the ranks, by FSDP2."
    )
    reward_model_pairs_per_pass: int = setting(
        0,
        "This many pairs go through the reward model at a time; fewer need less memory; 0 takes all pairs of a step.",
        least=0,
    )
    rehearsal_per_step: int = setting(
        0,
        "Each update also trains the reward model on this many of the rehearsal_triples, so that the threshold between"
        " right and wrong does not drift. A step without a pair has no update.",
        least=0,
    )
    replay_per_step: int = setting(
        0,
        "Each update also trains the reward model on this many of the run's rollouts with the rule's label, half of"
        " them right (an even number).",
        least=0,
    )
    prefix_weight: float = setting(
        0.0,
        "The loss of prefixes is added to the reward model's with this weight: those of the pairs, up to where these "
        "part, and those of rehearsed and replayed triples.",
        least=0,
    )
    label_pairs: bool = setting(
        False, "True adds the binary cross-entropy of the pairs, right against wrong, to the contrastive loss."
    )


@dataclass
class GuardSettings:
    """The guard: an update after which the reward model judges worse is rolled back."""

    HEADING: ClassVar[str] = "Guard and alarm"

    guard_steps: int = setting(
        10, "The guard checks all anchors and probes whenever this many updates were made; 0 means no guard.", least=0
    )
    guard_sample: int = setting(
        64,
        "The guard checks this many anchors and probes on each device after each update, and all of them where these "
        "got worse.",
        least=0,
    )
    guard_tolerance: float = setting(
        0.05,
        "Updates are rolled back where balanced accuracy on the anchors falls further than this below its best level.",
        least=0,
    )
    guard_probe_tolerance: float = setting(
        0.1,
        "Updates are rolled back where the pass rate on the probes falls further than this below its best level.",
        least=0,
    )
    guard_probes: int = setting(
        10, "The guard probes this many of the anchors' questions, each with every known hack.", least=0
    )


@dataclass
class AlarmSettings:
    """The audit of fresh rollouts and the alarm on the signature of hacking."""

    HEADING: ClassVar[str] = "Guard and alarm"

    rule_misses_per_hit: float | None = setting(
        None,
        "The rule is taken to call this many right completions INCORRECT for each one that it calls CORRECT; null "
        "takes the verifier's known rate.",
        least=0,
    )
    alarm_action: Literal["log", "stop", "hybrid"] = setting(
        "log",
        "When the hacking alarm fires, log writes a warning, stop ends the run with a checkpoint, and hybrid changes "
        "the reward to hybrid.",
    )
    alarm_probability: float = setting(
        0.01,
        "In a run in which acceptance under wrong references does not rise, the alarm on it fires with at most this "
        "probability.",
        least=1e-9,
        most=0.5,
    )
    monitors: list[str] = setting(
        [], "These monitors of your own watch each step, before the guard; each is named as module:Class."
    )
    max_skipped_steps: int = setting(
        10, "The run ends after more than this many steps in a row whose gradient is not finite.", least=0
    )


@dataclass
class MeasuringSettings:
    """When and how the held-out measurements are made."""

    HEADING: ClassVar[str] = "Measuring"

    heldout_steps: int = setting(
        10,
        "This many steps pass from one held-out measurement of policy and reward model to the next; 0 measures at the"
        " end only.",
        least=0,
    )
    heldout_temperature: float = setting(0.7, "Held-out completions are sampled at this temperature.", least=0)
    heldout_top_p: float = setting(
        0.95,
        "Held-out completions are sampled from the likeliest tokens whose probabilities add up to this number (top-p).",
        least=0,
        most=1,
    )


def check_negative_sources(weights: Mapping[str, float]) -> None:
    """Checks that no negative source has a negative weight, and at least one a positive weight.

    Raises:
        BadInputError: a weight is negative or not finite, or none is positive.
    """
    if not all(weight >= 0 and math.isfinite(weight) for weight in weights.values()):
        raise BadInputError(f"negative_sources: {dict(weights)}: a weight must be 0 or more")
    if not any(weight > 0 for weight in weights.values()):
        raise BadInputError(f"negative_sources: {dict(weights)}: give at least one source a positive weight")
