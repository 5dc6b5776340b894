"""A line of metrics.jsonl out of verl's metrics: the names of the other engines, and verl's own beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

NAMES = {  # ours: verl's
    "loss": "actor/loss",
    "kl": "actor/kl_loss",
    "entropy": "actor/entropy",
    "grad_norm": "actor/grad_norm",
    "learning_rate": "actor/lr",
    "completions/mean_length": "response_length/mean",
    "completions/max_length": "response_length/max",
}
POLICY = ("old_log_prob", "ref", "adv", "update_actor")  # verl's times that make up the policy's step


def row_of(metrics: Mapping[str, Any], times: Mapping[str, float]) -> dict[str, float]:
    """The metrics of a step as numbers.

    Args:
        metrics: verl's own.
        times: verl's `timing_raw`, in seconds.
    """
    own = {name: float(value) for name, value in metrics.items() if _is_number(value)}
    found = {name: own[of_verl] for name, of_verl in NAMES.items() if of_verl in own}
    found["time/generate_seconds"] = times.get("gen", 0.0)
    found["time/policy_seconds"] = sum(times.get(name, 0.0) for name in POLICY)
    return {**own, **found}


def dropped(metrics: Mapping[str, Any]) -> bool:
    """Whether verl has dropped the policy's gradient because it was not finite."""
    return not math.isfinite(float(metrics.get("actor/grad_norm", 0.0)))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str)
