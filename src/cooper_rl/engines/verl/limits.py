"""What the verl engine does not have, and refuses before anything heavy is imported."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from cooper_rl.errors import BadInputError, how_to_install
from cooper_rl.settings.train import TrainSettings

# Settings for which this engine supports these values only.
ONLY: Mapping[str, tuple[Any, ...]] = {
    "lora_rank": (0,),
    "credit": ("outcome",),
    "num_iterations": (1,),
    "generation_batch_size": (None,),
    "use_bias_correction_kl": (False,),
    "fp16": (False, None),
    "logging_steps": (1,),
    "loss_type": ("grpo", "dapo"),
    "scale_rewards": ("group", True, "none", False),
    "lr_scheduler_type": ("constant", "constant_with_warmup", "cosine"),
    "optim": ("adamw_torch_fused", "adamw_torch"),
    "save_strategy": ("steps", "no"),
    "use_vllm": (True,),
    "vllm_mode": ("colocate",),
}
TRACKERS = ("none", "clearml", "file", "mlflow", "swanlab", "tensorboard", "trackio", "vemlp_wandb", "wandb")
# Fields of TRL's that `translate` reads.
READ: tuple[str, ...] = (
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "epsilon",
    "epsilon_high",
    "lr_scheduler_kwargs",
    "max_grad_norm",
)
READ += ("num_train_epochs", "run_name", "temperature", "top_k", "top_p", "vllm_gpu_memory_utilization")
READ += ("vllm_max_model_length", "vllm_tensor_parallel_size", "warmup_steps", "weight_decay")
DEVICES, NODES = "trainer.n_gpus_per_node", "trainer.nnodes"
WAY_OUT = "leave it out, give verl's own setting in `verl`, or use --engine trl"


def value_of(settings: TrainSettings, name: str) -> Any:
    """A setting of the recipe, whether it is this project's or TRL's; None where a field of TRL's is not given."""
    return getattr(settings, name) if hasattr(settings, name) else settings.trainer_kwargs.get(name)


def check_supported(settings: TrainSettings) -> None:
    """Refuses what this engine does not have.

    Raises:
        BadInputError: with the setting and the way out.
    """
    for name in settings.trainer_kwargs:
        if name not in ONLY and name not in READ:
            raise BadInputError(f"{name}: the verl engine does not translate it; {WAY_OUT}")
    for name, values in ONLY.items():
        given = value_of(settings, name)
        if given not in (None, *values):
            choices = ", ".join(repr(value) for value in values if value is not None)
            raise BadInputError(f"{name} = {given!r}: the verl engine supports {choices} only; {WAY_OUT}")
    trackers = [settings.report_to] if isinstance(settings.report_to, str) else settings.report_to
    for name in trackers:
        if name not in TRACKERS:
            raise BadInputError(f"report_to = {name!r}: verl has none of that name; it has {', '.join(TRACKERS)}")
    _check_schedule(settings)
    check_method(settings)


def missing_here(settings: TrainSettings | None = None) -> Iterator[str]:
    """What a run of this recipe lacks on this machine, each in one line; without a recipe, what any run does.

    Ray would wait for ever for a device that is not there. Where RAY_ADDRESS names a cluster, its nodes have the
    devices and the packages, so nothing is known of them here.
    """
    if find_spec("verl") is None:
        yield f"verl is not installed: {how_to_install('verl')}"
    chosen = settings.verl if settings else {}
    if os.environ.get("RAY_ADDRESS") or any(key.endswith("ray_init.address") for key in chosen):
        return
    server = chosen.get("actor_rollout_ref.rollout.name", "vllm")
    if server in ("vllm", "sglang") and find_spec(server) is None:
        yield f"{server}, which serves the rollouts, is not installed: docs/verl.md names the version to install"
    if chosen.get("trainer.device", "cuda") == "cuda":
        import torch

        there, wanted = torch.cuda.device_count(), devices(settings) if settings else 1
        if there < wanted:
            yield (
                f"{there} GPUs here, and the run takes {wanted}: name a Ray cluster that has them in RAY_ADDRESS, set"
                f" {DEVICES} and {NODES} in `verl`, or use --engine trl"
            )


def devices(settings: TrainSettings) -> int:
    """How many devices the run has on all nodes together; verl's default is one node with 8."""
    return int(settings.verl.get(DEVICES, 8)) * int(settings.verl.get(NODES, 1))


def _check_schedule(settings: TrainSettings) -> None:
    if value_of(settings, "lr_scheduler_type") is None:
        raise BadInputError(
            "lr_scheduler_type is not set, and its default, linear, is none of verl's schedules; set it to constant,"
            " constant_with_warmup or cosine"
        )
    if value_of(settings, "lr_scheduler_kwargs"):
        raise BadInputError("lr_scheduler_kwargs: verl's schedules have none; set it to null")
    epochs = value_of(settings, "num_train_epochs")
    if settings.max_steps < 1 and (epochs or 3.0) % 1:
        raise BadInputError(f"num_train_epochs = {epochs}: verl counts whole epochs; set max_steps, or a whole number")
    if settings.save_steps % 1:
        raise BadInputError(f"save_steps = {settings.save_steps}: verl saves after whole steps; set a whole number")
    if settings.generation_batches != settings.gradient_accumulation_steps:
        raise BadInputError(
            f"steps_per_generation = {settings.steps_per_generation}: the verl engine takes one optimiser step on each"
            f" generated batch; set it to gradient_accumulation_steps = {settings.gradient_accumulation_steps}, or null"
        )


def check_method(settings: TrainSettings) -> None:
    """Refuses parts of the method that this engine does not have.

    Raises:
        BadInputError: with the setting and the way out.
    """
    if settings.credit not in ONLY["credit"]:
        raise BadInputError(f"credit = {settings.credit!r}: the verl engine supports 'outcome' only; leave it out")
    if settings.reward_model_alone_steps:
        raise BadInputError(
            "reward_model_alone_steps: on verl the policy cannot wait; set it to 0, or use --engine trl"
        )
    if settings.asks_assistant and not settings.assistant_base_url:
        raise BadInputError(
            "assistant_base_url is not set: on verl the assistant runs on a server of its own; name it, or give the"
            " source assistant the weight 0 in negative_sources"
        )
    if settings.reward_model_sharded and settings.reward_model_lora_rank:
        raise BadInputError(
            "reward_model_sharded: low-rank adapters cannot be sharded; set it to false, or reward_model_lora_rank to 0"
        )
    if settings.model_name_or_path.endswith(".gguf"):
        raise BadInputError(
            f"model_name_or_path: {settings.model_name_or_path}: verl reads no GGUF; give a folder with safetensors"
        )
