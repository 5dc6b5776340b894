"""The settings of a run out of verl's configuration: `cooper.*` and what the method reads from verl's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cooper_rl.engines.verl.translate import ACTOR, OF_VERL, ROLLOUT
from cooper_rl.errors import BadInputError
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.recipe import checked_keys
from cooper_rl.settings.train import TrainSettings

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


def settings_of(configuration: Mapping[str, Any]) -> TrainSettings:
    """The settings of a run.

    Args:
        configuration: verl's, resolved, as plain dictionaries.

    Raises:
        BadInputError: `cooper` has an unknown key, a wrong value, or contradicts a setting of verl's.
    """
    for place, values in NEEDED.items():
        if at(configuration, place) not in values:
            raise BadInputError(f"{place} = {at(configuration, place)!r}: the trainer cooper needs {values[0]!r}")
    given = dict(configuration.get("cooper") or {})
    found = checked_keys(given, "train", "cooper")
    for name, place in PLACES.items():
        value = at(configuration, place)
        if name in given and name != "model_name_or_path" and given[name] != value:
            raise BadInputError(f"cooper.{name} = {given[name]!r} contradicts {place} = {value!r}; leave it out")
        if value is not None:
            found.setdefault(name, value)
    if resolve_model(found["model_name_or_path"], "policy") != at(configuration, PLACES["model_name_or_path"]):
        raise BadInputError("cooper.model_name_or_path contradicts actor_rollout_ref.model.path; leave it out")
    seed = at(configuration, "data.seed")
    if seed is not None:
        found["seed"] = seed
    settings = TrainSettings.from_recipe(found)
    if settings.trainer_kwargs:
        name = next(iter(settings.trainer_kwargs))
        raise BadInputError(f"cooper.{name}: not a setting of Cooper's own; give verl's setting instead")
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
