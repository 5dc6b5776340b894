"""What the callback does with the policy: it measures it, and drops a gradient that is not finite."""

from __future__ import annotations

import resource
from typing import Any

import torch
from accelerate import Accelerator
from trl.models import unwrap_model_for_generation


def measure(reward: Any, model: Any, tokenizer: Any, accelerator: Accelerator | None) -> dict[str, float]:
    """The metrics of the held-out measurements; empty where the CooperReward has none. Every rank calls it."""
    if reward.heldout is None:
        return {}
    accelerator = accelerator or Accelerator()  # which has the state of the trainer's
    with (
        unwrap_model_for_generation(model, accelerator) as policy,  # gathers a sharded policy
        accelerator.autocast(),
    ):
        found: dict[str, float] = reward.heldout.measure(policy, tokenizer, reward.core.reward_model, reward.verifier)
    return found


def drop_gradient(model: Any, core: Any, device: torch.device) -> bool:
    """Drops a gradient that is not finite on any rank, so that the optimiser leaves the weights alone."""
    parameters = [p for p in model.parameters() if p.grad is not None]  # empty under DeepSpeed
    corrupted = torch.zeros((), device=device)
    for parameter in parameters:
        grad = parameter.grad.to_local() if hasattr(parameter.grad, "to_local") else parameter.grad
        corrupted += (~torch.isfinite(grad).all()).to(device)
    dropped = bool(core.world.add_up([corrupted.item()])[0] > 0)
    if dropped:
        for parameter in parameters:
            parameter.grad = None
    return dropped


def half_types(model: Any) -> list[str]:
    """The types of 16 bits among the trained weights, by their names."""
    types = {p.dtype for p in model.parameters() if p.requires_grad} & {torch.bfloat16, torch.float16}
    return sorted(str(dtype).removeprefix("torch.") for dtype in types)


def peak_gigabytes(device: torch.device) -> float:
    """The peak memory so far: of the accelerator, or of this process on a CPU."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device)) / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
