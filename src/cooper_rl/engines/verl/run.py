"""`cooper train --engine verl`: a recipe as verl's configuration, and its problems as verl's data."""

from __future__ import annotations

import difflib
import logging
import os
from collections.abc import Mapping
from typing import Any

from cooper_rl.engines.verl.limits import check_supported, missing_here
from cooper_rl.engines.verl.translate import cooper_settings, prompts_per_step, verl_settings
from cooper_rl.engines.verl.verl_data import write_data
from cooper_rl.errors import BadInputError, CooperError, how_to_install
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.train import TrainSettings

logger = logging.getLogger(__name__)


def run_training(recipe: Mapping[str, Any], *, resume: bool = False) -> None:
    """Trains as the recipe says, on the Ray cluster that RAY_ADDRESS names or on one that it starts here.

    Raises:
        BadInputError: verl is not installed, or the recipe asks for something that this engine does not support.
        CooperError: the run failed or was stopped; what its processes logged says more.
    """
    settings = TrainSettings.from_recipe(recipe)
    check_supported(settings)
    prompts_per_step(settings)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    for lack in missing_here(settings):
        raise BadInputError(f"--engine verl: {lack}")
    check_plugin()
    config = configuration(settings, recipe, resume=resume)
    start(config, settings)


def check_plugin() -> None:
    """Refuses to start without the plugin, which would end in verl's message that there is no trainer `cooper`.

    Raises:
        BadInputError: verl has not loaded the plugin.
    """
    from importlib.metadata import entry_points

    if not any(point.name == "cooper" for point in entry_points(group="verl.plugins")):
        raise BadInputError(
            f"verl does not know cooper-rl's plugin, which is installed with it: {how_to_install('verl')}"
        )
    if os.environ.get("VERL_USE_EXTERNAL_PLUGINS", "auto").strip().lower() not in ("auto", "cooper"):
        raise BadInputError("VERL_USE_EXTERNAL_PLUGINS leaves out cooper-rl's plugin: unset it, or set it to cooper")


def configuration(settings: TrainSettings, recipe: Mapping[str, Any], *, resume: bool = False) -> Any:
    """verl's configuration of a recipe. The problems are written into the run folder.

    Raises:
        BadInputError: there are fewer problems than a step takes, or what `compose_config` raises.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(resolve_model(settings.model_name_or_path, "policy"))
    files = write_data(settings, tokenizer)
    if files.problems < prompts_per_step(settings):
        raise BadInputError(
            f"{settings.dataset_name}: {files.problems} problems, and a step takes {prompts_per_step(settings)}; raise"
            " dataset_size, or lower the batch"
        )
    return compose_config(verl_settings(settings, files, resume=resume), settings, recipe)


def compose_config(chosen: Mapping[str, Any], settings: TrainSettings, recipe: Mapping[str, Any]) -> Any:
    """verl's defaults with the chosen settings, by verl's own configuration loader.

    Raises:
        BadInputError: verl has no setting of that name, it is a group of settings, or a text has a `${` in it.
    """
    from hydra import compose, initialize_config_module
    from omegaconf import OmegaConf

    for key, value in recipe.items():
        if isinstance(value, str) and "${" in value:
            raise BadInputError(f"{key}: verl's configuration would look up what follows '${{'; write it without")
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer")
    OmegaConf.set_struct(config, False)
    known = dotted_names(OmegaConf.to_container(config, resolve=False))
    for place, value in chosen.items():
        added = place.startswith("+")
        if not added and place not in known:
            near = difflib.get_close_matches(place, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BadInputError(f"verl: no setting {place!r}{hint} (write +{place} to add one that verl's files lack)")
        if isinstance(value, Mapping) and any(name.startswith(f"{place}.") for name in known):
            raise BadInputError(f"verl: {place} is a group of settings; name each, as in {place}.{next(iter(value))}")
        OmegaConf.update(config, place.removeprefix("+"), value, merge=False, force_add=True)
    config.cooper = cooper_settings(settings, recipe)
    config.cooper_recipe = dict(recipe)
    OmegaConf.set_struct(config, True)
    return config


def dotted_names(config: Mapping[str, Any], above: str = "") -> set[str]:
    """The dotted names of all settings and groups of settings."""
    found = set()
    for key, value in config.items():
        found.add(f"{above}{key}")
        if isinstance(value, Mapping):
            found |= dotted_names(value, f"{above}{key}.")
    return found


def start(config: Any, settings: TrainSettings) -> None:
    """Starts verl's own main function, and says in one line how it ended.

    Raises:
        BadInputError, CooperError: what the trainer raised, or that a process of the run died.
    """
    import ray
    from ray.exceptions import RayTaskError
    from verl.trainer.main_ppo import main

    try:
        main(config)
    except RayTaskError as error:
        cause = error.cause
        while isinstance(cause, RayTaskError):  # an error of a worker, which the trainer's process passed on
            cause = cause.cause
        if isinstance(cause, CooperError):
            raise cause from error
        raise CooperError(explain_end(settings, cause)) from error
    except Exception as error:  # a boundary: where Ray cannot start, it raises a bare Exception
        logger.error("verl ended with an error", exc_info=error)
        raise CooperError(explain_end(settings, error)) from error
    finally:
        ray.shutdown()


def explain_end(settings: TrainSettings, cause: BaseException) -> str:
    """One line about a run that did not come to its end."""
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    what = f"{type(cause).__name__}: {lines[0] if lines else ''}"
    return f"{settings.output_dir}: the run on verl ended early ({what}); --resume continues from the last checkpoint"
