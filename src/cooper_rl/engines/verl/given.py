"""The settings of a run out of verl's configuration: `cooper.*` and what the method reads from verl's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from cooper_rl.engines.verl.limits import check_method
from cooper_rl.engines.verl.translate import ACTOR, OF_VERL, ROLLOUT, policy_path
from cooper_rl.errors import BadInputError
from cooper_rl.settings.recipe import checked_keys
from cooper_rl.settings.train import DataSettings, PolicySettings, TrainSettings

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
    found = checked_keys(given, "train", "cooper")
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
