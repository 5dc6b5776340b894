"""Estimates the memory that a run on verl needs on each device, where policy and rollout server take turns.

The policy is sharded over all devices by FSDP2. verl keeps the reference policy in main memory. The rollout server
sleeps while the models are trained, and the shards stay on the device while it generates. Not counted: what CUDA needs
in each of the three processes on a device, and the layers that FSDP2 gathers for a pass.
"""

from __future__ import annotations

from collections.abc import Mapping

from cooper_rl.doctor.memory import (
    FLOAT,
    GIB,
    IN_MAIN_MEMORY,
    PASSING,
    cotraining_bytes,
    policy_bytes,
    prompt_tokens,
    shape_of,
)
from cooper_rl.engines.verl.limits import value_of
from cooper_rl.engines.verl.translate import ROLLOUT, devices
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.train import TrainSettings

SHARDED = ("weights", "gradients and optimiser", "copy")
SERVER = "rollout server, awake"
POOL = "reward.reward_model"  # where `enable_resource_pool` gives the reward model devices of its own
APART = "(on its own devices)"
UTILISATION = 0.5  # verl's default of gpu_memory_utilization


def estimate_on_verl(settings: TrainSettings, device_gib: float) -> dict[str, float]:
    """GiB by part, for one device.

    Args:
        device_gib: the device's memory. The rollout server takes a share of it.
    """
    policy = shape_of(resolve_model(settings.model_name_or_path, "policy"))
    tokens = prompt_tokens(settings) + settings.max_completion_length
    count, parts = devices(settings), policy_bytes(settings, policy, tokens)
    del parts["key-value cache"]  # the rollout server's
    found = {name: size / count if _is_state(name) else size for name, size in parts.items()}
    found[f"reference policy {IN_MAIN_MEMORY}"] = found.pop("reference policy") / count
    name = settings.reward_model_name_or_path
    if settings.reward_model_type == "verifyrm" and settings.needs_reward_model and name:
        shape = shape_of(resolve_model(name, "reward_model"))
        own = {"reward model weights": float(FLOAT * shape.parameters)}
        own |= cotraining_bytes(settings, shape, tokens) if settings.cotrain else {}
        apart, ranks = bool(settings.verl.get(f"{POOL}.enable_resource_pool")), count
        if apart:
            ranks = int(settings.verl.get(f"{POOL}.n_gpus_per_node", 8)) * int(settings.verl.get(f"{POOL}.nnodes", 1))
        ranks = ranks if settings.reward_model_sharded else 1
        own = {name: size / ranks if _is_state(name) else size for name, size in own.items()}
        found |= {f"{name} {APART}" if apart else name: size for name, size in own.items()}
    found = {name: size / GIB for name, size in found.items()}
    share = settings.verl.get(f"{ROLLOUT}.gpu_memory_utilization", value_of(settings, "vllm_gpu_memory_utilization"))
    return {**found, SERVER: float(share or UTILISATION) * device_gib}


def peaks(parts: Mapping[str, float]) -> dict[str, float]:
    """GiB on a device while it generates and while the models are trained, and on the reward model's own devices."""
    on_device = {name: size for name, size in parts.items() if IN_MAIN_MEMORY not in name and APART not in name}
    states = sum(size for name, size in on_device.items() if _is_state(name))
    passing = max(size for name, size in on_device.items() if name in PASSING)
    apart = [size for name, size in parts.items() if APART in name and IN_MAIN_MEMORY not in name]
    own = {"on the reward model's own devices": sum(apart)} if apart else {}
    return {"while generating": states + on_device[SERVER], "while training": states + passing, **own}


def _is_state(name: str) -> bool:
    return any(part in name for part in SHARDED)
