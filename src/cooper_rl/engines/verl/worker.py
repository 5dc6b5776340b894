"""The reward model's ranks as a worker group of verl's: verl gives placement, process group and calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
import torch
import verl.utils.distributed as distributed
from verl.single_controller.base import Worker
from verl.single_controller.base.decorator import Dispatch, register
from verl.single_controller.ray import RayClassWithInitArgs, RayWorkerGroup
from verl.utils.device import get_device_name, get_torch_device

from cooper_rl.engines.verl.rank import RewardModelRank
from cooper_rl.engines.verl.remote import RemoteRewardModel
from cooper_rl.records import ContrastivePair, LabelledCompletion, Scorable
from cooper_rl.settings.train import TrainSettings

each_its_own = register(dispatch_mode=Dispatch.ALL_TO_ALL)  # a list with one element a rank: each gets its own


class RewardModelWorker(Worker):  # type: ignore[misc]
    """A process of verl's that holds one `RewardModelRank`."""

    def __init__(self, settings: TrainSettings) -> None:
        super().__init__()
        distributed.initialize_global_process_group_ray(timeout_second=None)
        self.own = RewardModelRank(settings, device())

    @each_its_own  # type: ignore[untyped-decorator]
    def score(self, share: Sequence[Scorable]) -> list[float]:
        """`RewardModelRank.score`."""
        return self.own.score(share)

    @each_its_own  # type: ignore[untyped-decorator]
    def start_scores(self, share: Sequence[Scorable]) -> list[float]:
        """`RewardModelRank.start_scores`."""
        return self.own.start_scores(share)

    @each_its_own  # type: ignore[untyped-decorator]
    def update(
        self, pairs: Sequence[ContrastivePair], labelled: Sequence[LabelledCompletion]
    ) -> tuple[dict[str, float], int]:
        """`RewardModelRank.update`."""
        return self.own.update(pairs, labelled)

    @each_its_own  # type: ignore[untyped-decorator]
    def snapshot(self, number: int) -> None:
        """`RewardModelRank.snapshot`."""
        self.own.snapshot(number)

    @each_its_own  # type: ignore[untyped-decorator]
    def restore(self, number: int) -> None:
        """`RewardModelRank.restore`."""
        self.own.restore(number)

    @each_its_own  # type: ignore[untyped-decorator]
    def forget(self, number: int) -> None:
        """`RewardModelRank.forget`."""
        self.own.forget(number)

    @each_its_own  # type: ignore[untyped-decorator]
    def save(self, folder: Path) -> None:
        """`RewardModelRank.save`."""
        self.own.save(folder)

    @each_its_own  # type: ignore[untyped-decorator]
    def load(self, folder: Path) -> int:
        """`RewardModelRank.load`."""
        return self.own.load(folder)


def device() -> torch.device:
    """The device that Ray has given this worker; it sees no other."""
    name = get_device_name()
    return torch.device(name) if name == "cpu" else torch.device(name, get_torch_device().current_device())


def start_reward_model(settings: TrainSettings, pool: Any, device_name: str) -> RemoteRewardModel:
    """Starts one worker on each device of the pool, beside the policy's where the pool is the policy's."""
    made = RayClassWithInitArgs(ray.remote(RewardModelWorker), settings)
    group = RayWorkerGroup(resource_pool=pool, ray_cls_with_init=made, device_name=device_name)

    def call(name: str, *shares: list[Any]) -> list[Any]:
        answers: list[Any] = getattr(group, name)(*shares)
        return answers

    return RemoteRewardModel(call, group.world_size)
