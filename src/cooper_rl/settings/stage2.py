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

    negative_sources: dict[str, float] = setting(
        {"mined": 1.0, "assistant": 1.0},
        "Sources of a prompt's wrong completions, with their weights in whole pairs: mined (rollouts that the rule "
        "finds wrong, the highest scores first), assistant (rewrites by a language model), perturb (the right one with "
        "another answer), shuffle (another problem's) or your own as module:Class.",
    )
    pairs_per_prompt: int = setting(2, "Number of pairs per prompt, made of its rollouts; the paper makes 1.", least=1)
    mined_max_right: float = setting(
        0.05,
        "Neither mine nor replay as wrong a rollout whose estimated probability of being right after all is above "
        "this; 1 teaches whatever the rule calls wrong.",
        least=0,
        most=1,
    )
    negative_tries: int = setting(3, "Ask a source up to N times for a completion that the rule finds wrong.", least=1)
    negative_fallback: str = setting(
        "none",
        "Source to ask when all negative_tries of a pair's own source have failed: perturb, shuffle or your own as "
        "module:Class; none makes no pair then.",
    )
    positive_label_noise: float = setting(
        0.0,
        "Probability of drawing a positive from the completions that are not CORRECT, to imitate a verifier that errs.",
        least=0,
        most=1,
    )
    positive_fallback: Literal["none", "worked_solution"] = setting(
        "none",
        "Positive of a prompt without a right rollout: worked_solution takes the data set's solution, none makes no "
        "pair.",
    )


@dataclass
class UpdateSettings:
    """The reward model's optimiser step; the defaults are the released settings."""

    HEADING: ClassVar[str] = "The reward model's step (stage 2)"

    reward_model_learning_rate: float = setting(1e-5, "Peak learning rate of the reward model.", least=0)
    reward_model_weight_decay: float = setting(0.01, "Weight decay of the reward model's AdamW.", least=0)
    reward_model_adam_beta1: float = setting(
        0.9, "AdamW beta 1 of the reward model: decay of the running mean of its gradients.", least=0, most=1
    )
    reward_model_adam_beta2: float = setting(
        0.999, "AdamW beta 2 of the reward model: decay of the running mean of its squared gradients.", least=0, most=1
    )
    reward_model_lr_scheduler_type: Literal["constant", "constant_with_warmup", "linear", "cosine"] = setting(
        "constant_with_warmup", "Learning-rate schedule of the reward model."
    )
    reward_model_warmup_steps: int = setting(
        0, "Warm up the reward model's learning rate from 0 over N of its steps.", least=0
    )
    reward_model_max_grad_norm: float = setting(1.0, "Clip the reward model's gradient to this norm.", least=0)
    reward_model_sharded: bool = setting(
        False, "Shard the reward model's weights and optimiser over the ranks (FSDP2)."
    )
    reward_model_pairs_per_pass: int = setting(
        0,
        "Number of pairs per pass through the reward model; fewer need less memory; 0 takes all pairs of a step.",
        least=0,
    )
    rehearsal_per_step: int = setting(
        0,
        "Also train the reward model, at each update, on N of the rehearsal_triples, so that the threshold between "
        "right and wrong does not drift. A step without a pair has no update.",
        least=0,
    )
    replay_per_step: int = setting(
        0,
        "Also train the reward model, at each update, on N of the run's rollouts with the rule's label, half of them "
        "right (an even number).",
        least=0,
    )
    prefix_weight: float = setting(
        0.0,
        "Weight of the loss of prefixes, added to the reward model's loss: prefixes of the pairs, up to where these "
        "part, and of rehearsed and replayed triples.",
        least=0,
    )
    label_pairs: bool = setting(
        False, "Add the binary cross-entropy of the pairs, right against wrong, to the contrastive loss."
    )


@dataclass
class GuardSettings:
    """The guard: an update after which the reward model judges worse is rolled back."""

    HEADING: ClassVar[str] = "Guard and alarm"

    guard_steps: int = setting(10, "Check all anchors and probes every N updates; 0 means no guard.", least=0)
    guard_sample: int = setting(
        64,
        "Number of anchors and probes to check on each device after each update; if these got worse, all are checked.",
        least=0,
    )
    guard_tolerance: float = setting(
        0.05,
        "Roll back updates if balanced accuracy on the anchors falls further than this below its best level.",
        least=0,
    )
    guard_probe_tolerance: float = setting(
        0.1, "Roll back updates if the pass rate on the probes falls further than this below its best level.", least=0
    )
    guard_probes: int = setting(10, "Number of the anchors' questions to probe, each with every known hack.", least=0)


@dataclass
class AlarmSettings:
    """The audit of fresh rollouts and the alarm on the signature of hacking."""

    HEADING: ClassVar[str] = "Guard and alarm"

    rule_misses_per_hit: float | None = setting(
        None,
        "Number of right completions that the rule is assumed to call INCORRECT for each one that it calls CORRECT; "
        "null takes the verifier's known rate.",
        least=0,
    )
    alarm_action: Literal["log", "stop", "hybrid"] = setting(
        "log",
        "What to do when the hacking alarm fires: log (write a warning), stop (end the run with a checkpoint) or "
        "hybrid (change the reward to hybrid).",
    )
    alarm_probability: float = setting(
        0.01,
        "Maximum probability that the alarm on acceptance under wrong references fires in a run in which this does not "
        "rise.",
        least=1e-9,
        most=0.5,
    )
    monitors: list[str] = setting(
        [], "Monitors of your own that watch each step, before the guard, each as module:Class."
    )
    max_skipped_steps: int = setting(
        10, "End the run after more than N steps in a row whose gradient is not finite.", least=0
    )


@dataclass
class MeasuringSettings:
    """When and how the held-out measurements are made."""

    HEADING: ClassVar[str] = "Measuring"

    heldout_steps: int = setting(
        10, "Measure policy and reward model on held-out data every N steps; 0 measures at the end only.", least=0
    )
    heldout_temperature: float = setting(0.7, "Sampling temperature of held-out completions.", least=0)
    heldout_top_p: float = setting(
        0.95,
        "Top-p of held-out completions: sample from the likeliest tokens whose probabilities add up to this number.",
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
