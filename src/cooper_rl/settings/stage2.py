"""Stage 2: the pairs that the reward model learns from, its step, and what watches over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.fields import setting

SOURCES = ("assistant", "perturb", "mined", "shuffle")


@dataclass
class PairSettings:
    """The contrastive pairs: a right completion and a wrong one of the same problem."""

    HEADING: ClassVar[str] = "Pairs (stage 2)"

    negative_sources: dict[str, float] = setting(
        {"mined": 1.0, "assistant": 1.0},
        "Where the wrong completions come from, with weights: mined (rollouts that the rule calls wrong, the ones with "
        "the highest scores first), assistant (rewrites by a language model), perturb (a changed answer), shuffle (a "
        "completion of another problem).",
    )
    pairs_per_prompt: int = setting(2, "How many pairs are made of each prompt's rollouts; the paper makes 1.", least=1)
    negative_tries: int = setting(
        3, "How often a source is asked for a negative that the rule calls wrong, before the pair is given up.", least=1
    )
    negative_fallback: Literal["none", "perturb", "shuffle"] = setting(
        "none", "The source that is asked where all tries of a pair's own source have failed; none gives the pair up."
    )
    positive_label_noise: float = setting(
        0.0,
        "The share of positives drawn from completions that are not CORRECT, to imitate a verifier that errs.",
        least=0,
        most=1,
    )
    positive_fallback: Literal["none", "worked_solution"] = setting(
        "none", "What the positive is where no rollout is right: the data set's worked_solution, or none and no pair."
    )


@dataclass
class UpdateSettings:
    """The reward model's optimiser step; the defaults are the released settings."""

    HEADING: ClassVar[str] = "The reward model's step (stage 2)"

    reward_model_learning_rate: float = setting(1e-5, "The peak learning rate of the reward model.", least=0)
    reward_model_weight_decay: float = setting(0.01, "How strongly AdamW decays the reward model's weights.", least=0)
    reward_model_adam_beta1: float = setting(
        0.9, "How much of its mean of past gradients the reward model's AdamW keeps at each step.", least=0, most=1
    )
    reward_model_adam_beta2: float = setting(
        0.999,
        "How much of its mean of past squared gradients the reward model's AdamW keeps at each step.",
        least=0,
        most=1,
    )
    reward_model_lr_scheduler_type: Literal["constant", "constant_with_warmup", "linear", "cosine"] = setting(
        "constant_with_warmup", "The schedule of the reward model's learning rate."
    )
    reward_model_warmup_steps: int = setting(
        0, "Over how many of its steps the reward model's learning rate rises from 0.", least=0
    )
    reward_model_max_grad_norm: float = setting(
        1.0, "The norm to which the reward model's gradient is clipped.", least=0
    )
    reward_model_sharded: bool = setting(
        False, "Whether FSDP2 shards the reward model's weights and optimiser over the ranks."
    )
    reward_model_pairs_per_pass: int = setting(
        0, "How many pairs go through the reward model at a time; fewer need less memory, 0 takes all.", least=0
    )
    rehearsal_per_step: int = setting(
        0, "How many of the rehearsal_triples are in each step, so that the score's threshold does not drift.", least=0
    )
    replay_per_step: int = setting(
        0,
        "How many of the run's own rollouts, with the rule's label and half of them right, are in each step.",
        least=0,
    )
    label_pairs: bool = setting(
        False, "Whether the cross-entropy of the pairs' own labels is added to the contrastive loss."
    )


@dataclass
class GuardSettings:
    """The guard: an update after which the reward model judges worse is rolled back."""

    HEADING: ClassVar[str] = "Guard and alarm"

    guard_steps: int = setting(
        10, "The guard checks all anchors and probes after every so many updates; 0 means no guard.", least=0
    )
    guard_sample: int = setting(
        64, "How many anchors and probes are checked after each update; where they fall, all are checked.", least=0
    )
    guard_tolerance: float = setting(
        0.05,
        "How far balanced accuracy on the anchors may be below its best level before updates are rolled back.",
        least=0,
    )
    guard_probe_tolerance: float = setting(
        0.1, "How far the pass rate on the probes may be below its best level before updates are rolled back.", least=0
    )
    guard_probes: int = setting(
        10, "How many of the anchors' questions are probed, each with every known hack.", least=0
    )


@dataclass
class AlarmSettings:
    """The audit of fresh rollouts and the alarm on the signature of hacking."""

    HEADING: ClassVar[str] = "Guard and alarm"

    rule_misses_per_hit: float = setting(
        0.0,
        "How many right completions the rule calls INCORRECT for each that it calls CORRECT; the reward model's "
        "false-positive rate is corrected by it.",
        least=0,
    )
    alarm_action: Literal["log", "stop", "hybrid"] = setting(
        "log",
        "What the hacking alarm does when it fires: log warns, stop ends the run with a checkpoint, hybrid makes the "
        "reward hybrid from then on.",
    )
    max_skipped_steps: int = setting(
        10, "How many steps in a row may be skipped for a gradient that is not finite before the run ends.", least=0
    )


@dataclass
class MeasuringSettings:
    """When and how the held-out measurements are made."""

    HEADING: ClassVar[str] = "Measuring"

    heldout_steps: int = setting(
        10,
        "Held-out problems and triples are measured every so many steps and at the end; 0: at the end alone.",
        least=0,
    )
    heldout_temperature: float = setting(0.7, "The temperature of the held-out completions.", least=0)
    heldout_top_p: float = setting(0.95, "The top-p of the held-out completions.", least=0, most=1)


def check_negative_sources(weights: Mapping[str, float]) -> None:
    """Refuses an unknown source of negatives, and weights none of which is positive.

    Raises:
        BadInputError: with the sources that there are.
    """
    if set(weights) - set(SOURCES) or not any(weight > 0 for weight in weights.values()):
        raise BadInputError(f"negative_sources: {dict(weights)}: give positive weights to some of {', '.join(SOURCES)}")
