"""The device that this process computes on."""

from __future__ import annotations

import os

import torch


def own_device() -> torch.device:
    """This process's accelerator, by its local rank if a launcher started several processes; the CPU without one."""
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if accelerator is None:
        return torch.device("cpu")
    return torch.device(accelerator.type, int(os.environ.get("LOCAL_RANK", 0)) % torch.accelerator.device_count())
