"""What environment.json says of a run on verl."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from cooper_rl.engines.loading import environment

PACKAGES = ("verl", "ray", "vllm", "TransferQueue", "tensordict")


def environment_of(seed: int, config: Any) -> dict[str, Any]:
    """As of the other engines, with verl's versions, and the devices that it was given."""
    found = environment(seed)
    for name in PACKAGES:
        try:
            found["versions"][name] = version(name)
        except PackageNotFoundError:
            continue
    trainer = config.trainer
    return {**found, "engine": "verl", "nodes": int(trainer.nnodes), "devices_per_node": int(trainer.n_gpus_per_node)}
