"""Translates a recipe into verl's settings, and verl's configuration back into a run's. Nothing here imports verl.

Where both have a setting, the recipe's meaning is kept: it counts a batch in completions, where verl counts prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cooper_rl.distributed import precision
from cooper_rl.engines.verl.limits import check_method, devices, value_of
from cooper_rl.engines.verl.verl_data import DataFiles
from cooper_rl.errors import BadInputError
from cooper_rl.settings.files import ADAPTED, EMBEDDED, resolve_model
from cooper_rl.settings.recipe import check_keys
from cooper_rl.settings.train import DataSettings, PolicySettings, TrainSettings

AGGREGATIONS = {"grpo": "seq-mean-token-mean", "dapo": "token-mean"}  # of the tokens' losses, by TRL's loss_type
# Settings that the trainer reads from verl's own, so that each stands in one place.
OF_VERL = ("output_dir", "seed", "num_generations", "max_steps", "max_completion_length", "per_device_train_batch_size")
NEVER = 10**9  # steps until something that is to happen at the end only
NO_CLIPPING = 1e9  # verl multiplies gradients by norm / length; TRL's 0 means no clipping
PATHS = {  # settings that may name a file or folder here, and which part of a model they name
    "model_name_or_path": "policy",
    "reward_model_name_or_path": "reward_model",
    "rehearsal_triples": "",
    "anchor_triples": "",
    "heldout_triples": "",
    "dataset_name": "",
    "heldout_dataset_name": "",
}
ACTOR, ROLLOUT, REF = (f"actor_rollout_ref.{part}" for part in ("actor", "rollout", "ref"))
# Where verl has a setting of the method's; `cooper.NAME` may be left out, and must not contradict it.
PLACES = {
    "output_dir": "trainer.default_local_dir",
    "num_generations": f"{ROLLOUT}.n",
    "max_completion_length": "data.max_response_length",
    "per_device_train_batch_size": f"{ACTOR}.ppo_micro_batch_size_per_gpu",
    "model_name_or_path": "actor_rollout_ref.model.path",
}
# Settings of verl that the trainer cannot work with, each with the values that it can.
NEEDED: Mapping[str, tuple[Any, ...]] = {
    "reward.reward_model.enable": (False,),  # verl's own reward models are servers that get no new weights
    "algorithm.filter_groups.enable": (False, None),  # it needs the rewards before the batch is whole
    f"{ACTOR}.checkpoint.async_save": (False, None),
    "trainer.v1.sampler.custom_sampler.path": (None,),
}
# Settings that verl reads from places of its own. Under `cooper` they would do nothing.
NOT_HERE = {item.name for kind in (DataSettings, PolicySettings) for item in fields(kind)}
NOT_HERE -= {"rehearsal_triples", "save_total_limit", "seed", *PLACES}
NOT_HERE |= {"lora_rank", "lora_alpha", "heldout_temperature", "heldout_top_p", "verl"}


def prompts_per_step(settings: TrainSettings) -> int:
    """The prompts of a step: the completions of all devices, divided by the size of a group.

    Raises:
        BadInputError: the batch is not a whole number of groups, or does not go evenly into the devices.
    """
    ranks = devices(settings)
    completions = settings.per_device_train_batch_size * settings.generation_batches * ranks
    if completions % settings.num_generations:
        raise BadInputError(
            f"{completions} completions a step (per_device_train_batch_size x gradient_accumulation_steps x {ranks}"
            f" devices) are not a multiple of num_generations = {settings.num_generations}; change one of them"
        )
    return completions // settings.num_generations


def verl_settings(settings: TrainSettings, files: DataFiles, *, resume: bool = False) -> dict[str, Any]:
    """verl's settings by their dotted names, for `verl.trainer.main_ppo`; those of `settings.verl` come last."""
    found = {
        "trainer.v1.trainer_mode": "cooper",
        **_data(settings, files),
        **_algorithm(settings),
        **_optimiser(settings),
        **_engine(settings),
        **_rollouts(settings),
        **_trainer(settings, resume),
    }
    if files.heldout is None:
        found |= {"trainer.test_freq": -1, "trainer.val_before_train": False, "data.val_max_samples": 1}
    return found | settings.verl


def _data(settings: TrainSettings, files: DataFiles) -> dict[str, Any]:
    return {
        "data.train_files": str(files.train),
        "data.val_files": str(files.heldout or files.train),  # verl needs some, even if it never validates
        "data.train_batch_size": prompts_per_step(settings),
        "data.max_prompt_length": files.longest_prompt_tokens,
        "data.max_response_length": settings.max_completion_length,
        "data.seed": settings.seed,
    }


def _algorithm(settings: TrainSettings) -> dict[str, Any]:
    low = _value_or(settings, "epsilon", 0.2)
    return {
        "algorithm.adv_estimator": "grpo",
        "algorithm.norm_adv_by_std_in_grpo": _value_or(settings, "scale_rewards", "group") in ("group", True),
        f"{ACTOR}.loss_agg_mode": AGGREGATIONS[settings.loss_type],
        f"{ACTOR}.use_kl_loss": settings.beta > 0,
        f"{ACTOR}.kl_loss_coef": settings.beta,
        f"{ACTOR}.kl_loss_type": "low_var_kl",  # k3, as in TRL
        f"{ACTOR}.clip_ratio": low,
        f"{ACTOR}.clip_ratio_low": low,
        f"{ACTOR}.clip_ratio_high": _value_or(settings, "epsilon_high", low),
    }


def _optimiser(settings: TrainSettings) -> dict[str, Any]:
    schedule, warmup = value_of(settings, "lr_scheduler_type"), _value_or(settings, "warmup_steps", 0)
    if schedule == "constant":
        warmup = 0  # transformers' constant schedule has none
    norm = _value_or(settings, "max_grad_norm", 1.0) or NO_CLIPPING
    return {
        f"{ACTOR}.optim.lr": settings.learning_rate,
        f"{ACTOR}.optim.lr_scheduler_type": "cosine" if schedule == "cosine" else "constant",
        f"{ACTOR}.optim.lr_warmup_steps": int(warmup) if warmup >= 1 else -1,
        f"{ACTOR}.optim.lr_warmup_steps_ratio": warmup if warmup < 1 else 0.0,
        f"{ACTOR}.optim.weight_decay": _value_or(settings, "weight_decay", 0.0),
        f"{ACTOR}.optim.betas": [_value_or(settings, "adam_beta1", 0.9), _value_or(settings, "adam_beta2", 0.999)],
        f"{ACTOR}.optim.override_optimizer_config": {"eps": _value_or(settings, "adam_epsilon", 1e-8)},
        f"{ACTOR}.optim.clip_grad": norm,
        f"{ACTOR}.grad_clip": norm,
    }


def _engine(settings: TrainSettings) -> dict[str, Any]:
    """The policy sharded by FSDP2 with float32 weights; forward passes may be in bfloat16."""
    kind = "bf16" if computes_in_bfloat16(settings) else "fp32"
    types = {"param_dtype": kind, "reduce_dtype": "fp32", "buffer_dtype": "fp32"}
    return {
        **_attention(settings),
        "actor_rollout_ref.model.path": policy_path(settings.model_name_or_path),
        "actor_rollout_ref.model.enable_gradient_checkpointing": bool(settings.gradient_checkpointing),
        f"{ACTOR}.strategy": "fsdp2",
        f"{ACTOR}.fsdp_config.strategy": "fsdp2",
        f"{ACTOR}.fsdp_config.seed": settings.seed,
        f"+{ACTOR}.fsdp_config.mixed_precision": types,
        f"{REF}.fsdp_config.strategy": "fsdp2",
        f"+{REF}.fsdp_config.mixed_precision": types,
        f"{ACTOR}.data_loader_seed": settings.seed,
        f"{ACTOR}.ppo_mini_batch_size": prompts_per_step(settings),  # one optimiser step on each batch
        f"{ACTOR}.ppo_micro_batch_size_per_gpu": settings.per_device_train_batch_size,
        f"{REF}.log_prob_micro_batch_size_per_gpu": settings.per_device_train_batch_size,
        f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": settings.per_device_train_batch_size,
        f"{ACTOR}.checkpoint.save_contents": ["model", "optimizer", "extra", "hf_model"],
    }


def _attention(settings: TrainSettings) -> dict[str, Any]:
    """verl takes FlashAttention on packed sequences. Where it cannot, PyTorch's attention on padded ones is set.

    `use_dynamic_bsz` is not set then: it fills a pass by tokens without padding, so that a long sequence among short
    ones makes a pass several times as large as its limit.
    """
    if packs(settings):
        return {}
    return {
        "+actor_rollout_ref.model.override_config.attn_implementation": "sdpa",
        "actor_rollout_ref.model.use_remove_padding": False,
    }


def computes_in_bfloat16(settings: TrainSettings) -> bool:
    """`bf16` as it is given, else whether the GPU of this process, which starts verl, has bfloat16."""
    return precision(settings.bf16)[0]


def packs(settings: TrainSettings) -> bool:
    """Whether FlashAttention is installed and gets what it takes, which float32 is not."""
    return computes_in_bfloat16(settings) and find_spec("flash_attn") is not None


def _rollouts(settings: TrainSettings) -> dict[str, Any]:
    found = {
        f"{ROLLOUT}.name": "vllm",
        f"{ROLLOUT}.n": settings.num_generations,
        f"{ROLLOUT}.temperature": _value_or(settings, "temperature", 1.0),
        f"{ROLLOUT}.top_p": _value_or(settings, "top_p", 1.0),
        f"{ROLLOUT}.top_k": _value_or(settings, "top_k", 0) or -1,  # -1 is verl's word for no limit
        f"{ROLLOUT}.dtype": "bfloat16" if computes_in_bfloat16(settings) else "float32",
        f"{ROLLOUT}.seed": settings.seed,
        f"{ROLLOUT}.tensor_model_parallel_size": _value_or(settings, "vllm_tensor_parallel_size", 1),
        f"{ROLLOUT}.val_kwargs.temperature": settings.heldout_temperature,
        f"{ROLLOUT}.val_kwargs.top_p": settings.heldout_top_p,
        f"{ROLLOUT}.val_kwargs.do_sample": settings.heldout_temperature > 0,
    }
    for name, of_verl in {
        "vllm_gpu_memory_utilization": "gpu_memory_utilization",
        "vllm_max_model_length": "max_model_len",
    }.items():
        if value_of(settings, name) is not None:
            found[f"{ROLLOUT}.{of_verl}"] = value_of(settings, name)
    return found


def _trainer(settings: TrainSettings, resume: bool) -> dict[str, Any]:
    trackers = [settings.report_to] if isinstance(settings.report_to, str) else settings.report_to
    saves = value_of(settings, "save_strategy") != "no"
    steps = settings.max_steps > 0
    return {
        "trainer.default_local_dir": str(Path(settings.output_dir).absolute()),
        "trainer.project_name": "cooper",
        "trainer.experiment_name": value_of(settings, "run_name") or Path(settings.output_dir).name,
        "trainer.logger": ["console", *(name for name in trackers if name != "none")],
        "trainer.total_training_steps": settings.max_steps if steps else None,
        "trainer.total_epochs": settings.max_steps if steps else int(_value_or(settings, "num_train_epochs", 3)),
        "trainer.save_freq": int(settings.save_steps) if saves else -1,
        "trainer.test_freq": settings.heldout_steps or NEVER,
        "trainer.val_before_train": True,
        "trainer.resume_mode": "auto" if resume else "disable",
    }


def cooper_settings(settings: TrainSettings, recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe's keys that verl has nothing for; they go into verl's configuration under `cooper`."""
    own = {item.name for item in fields(TrainSettings)} - {"trainer_kwargs", "verl", *OF_VERL}
    return {key: _from_anywhere(key, value) for key, value in recipe.items() if key in own}


def policy_path(name: str) -> str:
    """The policy as verl's processes find it: a folder by its absolute path, whatever folder they run in."""
    return str(_from_anywhere("model_name_or_path", resolve_model(name, "policy")))


def _from_anywhere(key: str, value: Any) -> Any:
    """A setting's value; the name of a file or folder that exists here becomes absolute."""
    if key not in PATHS or not isinstance(value, str) or value in EMBEDDED or value in ADAPTED:
        return value
    path = Path(resolve_model(value, PATHS[key]) if PATHS[key] else value)
    there = path.exists() if PATHS[key] else path.is_file()
    return str(path.absolute()) if there else value


def _value_or(settings: TrainSettings, name: str, default: Any) -> Any:
    """A field of TRL's that the recipe gives, or TRL's default."""
    found = value_of(settings, name)
    return default if found is None else found


def settings_of(configuration: Mapping[str, Any]) -> TrainSettings:
    """The settings of a run.

    Args:
        configuration: verl's, resolved, as plain dictionaries.

    Raises:
        BadInputError: `cooper` has an unknown key, a wrong value, a setting that verl has elsewhere or that this engine
            lacks, or contradicts a setting of verl's.
    """
    for place, values in NEEDED.items():
        if at(configuration, place) not in values:
            raise BadInputError(f"{place} = {at(configuration, place)!r}: the trainer cooper needs {values[0]!r}")
    given = dict(configuration.get("cooper") or {})
    found = check_keys(given, "train", "cooper")
    by_recipe = bool(configuration.get("cooper_recipe"))
    misplaced = sorted(set() if by_recipe else NOT_HERE & set(given))
    if misplaced:
        raise BadInputError(f"cooper.{misplaced[0]}: verl has a setting of its own for it; give that one instead")
    for name, place in PLACES.items():
        value = at(configuration, place)
        if name in given and name != "model_name_or_path" and given[name] != value:
            raise BadInputError(f"cooper.{name} = {given[name]!r} contradicts {place} = {value!r}; leave it out")
        if value is not None:
            found.setdefault(name, value)
    if policy_path(found["model_name_or_path"]) != policy_path(at(configuration, PLACES["model_name_or_path"])):
        raise BadInputError("cooper.model_name_or_path contradicts actor_rollout_ref.model.path; leave it out")
    seed = at(configuration, "data.seed")
    if seed is not None:
        if "seed" in given and given["seed"] != seed and not by_recipe:
            raise BadInputError(f"cooper.seed = {given['seed']!r} contradicts data.seed = {seed!r}; leave it out")
        found["seed"] = seed
    settings = TrainSettings.from_recipe(found)
    if settings.trainer_kwargs:
        name = next(iter(settings.trainer_kwargs))
        raise BadInputError(f"cooper.{name}: not a setting of Cooper's own; give verl's setting instead")
    check_method(settings)
    return settings


def at(configuration: Mapping[str, Any], place: str) -> Any:
    """The value at a dotted name; None where there is none."""
    found: Any = configuration
    for part in place.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def run_settings(configuration: Mapping[str, Any], settings: TrainSettings) -> dict[str, Any]:
    """The content of config.yaml: the recipe where there was one, else `cooper.*` with what verl's settings say."""
    own = dict(configuration.get("cooper_recipe") or configuration.get("cooper") or {})
    of_verl = {name: getattr(settings, name) for name in OF_VERL}
    names = ("arm", "reward", "cotrain", "model_name_or_path")
    return {**own, **of_verl, **{name: getattr(settings, name) for name in names}}
