"""The reward model's ranks as a worker group of verl's: verl gives placement, process group and calls."""

from __future__ import annotations

from typing import Any

import ray
import torch
import verl.utils.distributed as distributed
from verl.single_controller.base import Worker
from verl.single_controller.base.decorator import Dispatch, register
from verl.single_controller.ray import RayClassWithInitArgs, RayWorkerGroup
from verl.utils.device import get_device_name, get_torch_device

from cooper_rl.engines.verl.ranked_model import RemoteRewardModel, RewardModelRank
from cooper_rl.settings.train import TrainSettings


class RewardModelWorker(Worker):  # type: ignore[misc]
    """A process of verl's that holds one `RewardModelRank`."""

    def __init__(self, settings: TrainSettings) -> None:
        super().__init__()
        distributed.initialize_global_process_group_ray(timeout_second=None)
        self.own = RewardModelRank(settings, device())

    @register(dispatch_mode=Dispatch.ALL_TO_ALL)  # type: ignore[untyped-decorator] # each rank gets its own arguments
    def call_rank(self, name: str, *arguments: Any) -> Any:
        """What this rank's method of that name returns."""
        return getattr(self.own, name)(*arguments)


def device() -> torch.device:
    """The device that Ray has given this worker; it sees no other."""
    name = get_device_name()
    return torch.device(name) if name == "cpu" else torch.device(name, get_torch_device().current_device())


def start_reward_model(settings: TrainSettings, pool: Any, device_name: str) -> RemoteRewardModel:
    """Starts one worker on each device of the pool, beside the policy's where the pool is the policy's."""
    made = RayClassWithInitArgs(ray.remote(RewardModelWorker), settings)
    group = RayWorkerGroup(resource_pool=pool, ray_cls_with_init=made, device_name=device_name)

    def call(name: str, *shares: list[Any]) -> list[Any]:
        answers: list[Any] = group.call_rank([name] * group.world_size, *shares)
        return answers

    return RemoteRewardModel(call, group.world_size)
