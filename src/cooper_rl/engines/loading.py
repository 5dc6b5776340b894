"""Loads the parts of a run that its recipe names: models, data and measurements. They are the same for every engine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import PreTrainedModel

from cooper_rl import distributed
from cooper_rl.domains import heldout_problems, training_problems, truth_of, warn_of_shared
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.generation import Generator, OpenAIServer
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.method.protocols import REWARD_MODEL_GROUP, REWARD_MODELS, RewardModel
from cooper_rl.parts import find
from cooper_rl.records import LabelledCompletion, Problem
from cooper_rl.settings.files import EMBEDDED, resolve_model
from cooper_rl.settings.method import CooperSettings, MethodSettings
from cooper_rl.settings.recipe import without_tokens
from cooper_rl.settings.train import TrainerSettings, TrainRecipe, TrainSettings
from cooper_rl.verifyrm import VerifyRM, sharding
from cooper_rl.verifyrm.triples import read_triples
from cooper_rl.verifyrm.updater import RewardModelUpdater

if TYPE_CHECKING:
    from cooper_rl.engines.config import CooperConfig

Triples = Sequence[LabelledCompletion] | str | Path
PRECISION = ("tf32", "fp16", "use_cpu")  # fields of TRL's that a computation in bfloat16 depends on
PACKAGES = ("torch", "transformers", "trl", "accelerate", "datasets", "math-verify", "reasoning-gym", "cooper-rl")


@dataclass(frozen=True)
class Parts:
    """What an engine gets besides its settings."""

    policy: str  # folder or hub id
    problems: Sequence[Problem]
    reward_model: VerifyRM | RewardModel | None
    rehearsal: Sequence[LabelledCompletion]
    anchors: Sequence[LabelledCompletion]
    assistant: Generator | None  # None: the policy's base model rewrites, or nobody does
    heldout: HeldOut | None


def settings_of(recipe: Mapping[str, Any]) -> tuple[TrainSettings, CooperConfig]:
    """A recipe's models and data, and its settings of trainer and method.

    Raises:
        BadInputError: a setting is unknown or has a value that is not allowed.
    """
    from cooper_rl.engines.config import CooperConfig  # takes seconds, and neither the server nor verl needs it

    settings = TrainSettings.from_recipe(recipe)
    try:
        return settings, CooperConfig(**settings.trainer_settings())
    except BadInputError:
        raise
    except (ValueError, TypeError) as error:
        raise BadInputError(f"settings: {' '.join(str(error).split())}") from error


def load_parts(named: TrainSettings, config: TrainerSettings) -> Parts:
    """Loads the parts that a run needs, and no others."""
    problems = training_problems(named)
    reward_model = load_reward_model(named, config) if config.needs_reward_model else None
    rehearsal, anchors = load_labelled(named, config)
    policy = resolve_model(named.model_name_or_path, "policy")
    assistant, heldout = load_assistant(named, config), load_heldout(named, config)
    warn_of_shared(problems, heldout.problems if heldout else ())
    return Parts(policy, problems, reward_model, rehearsal, anchors, assistant, heldout)


def load_labelled(
    named: TrainRecipe, config: TrainerSettings
) -> tuple[list[LabelledCompletion], list[LabelledCompletion]]:
    """The rehearsal triples and the anchors of a run that trains its reward model."""
    rehearsal: list[LabelledCompletion] = []
    anchors: list[LabelledCompletion] = []
    if named.rehearsal_triples and config.cotrain:
        rehearsal = read_triples(resolve_triples(named.rehearsal_triples, "train"))
    if named.anchor_triples and config.cotrain:
        anchors = read_triples(resolve_triples(named.anchor_triples, "anchors"))[: named.anchor_triples_size]
    return rehearsal, anchors


def load_reward_model(named: TrainSettings, config: TrainerSettings) -> VerifyRM | RewardModel:
    """The reward model of the type that the recipe names, with adapters if the recipe sets their rank."""
    assert named.reward_model_name_or_path
    path = resolve_model(named.reward_model_name_or_path, "reward_model")
    kind: Any = find(REWARD_MODEL_GROUP, named.reward_model_type, REWARD_MODELS)
    reward_model: VerifyRM | RewardModel = kind.from_pretrained(path)
    if named.reward_model_lora_rank and config.cotrain:
        if not isinstance(reward_model, VerifyRM):
            raise BadInputError(f"reward_model_lora_rank: {named.reward_model_type} has no adapters; leave it out")
        reward_model.add_adapters(named.reward_model_lora_rank, named.reward_model_lora_alpha)
    if isinstance(reward_model, VerifyRM):
        given = {name: named.trainer_kwargs[name] for name in PRECISION if name in named.trainer_kwargs}
        reward_model.autocast = torch.bfloat16 if distributed.start_precision(config.bf16, **given) else None
    return reward_model


def take_reward_model(given: Any, settings: CooperSettings, bf16: bool | None = None) -> VerifyRM | RewardModel | None:
    """The reward model that a user gives: by name, folder or hub id, or as an object. None where none is needed.

    Args:
        bf16: True computes forward passes in bfloat16; None leaves a VerifyRM as it was loaded.

    Raises:
        BadInputError: the settings need one and there is none, or it cannot be trained as they say.
    """
    if not settings.needs_reward_model:
        return None
    if given is None:
        raise BadInputError(
            f"arm {settings.arm or settings.reward} needs a reward model: set reward_model_name_or_path"
        )
    if isinstance(given, str | Path):
        given = VerifyRM.from_pretrained(given)
    elif isinstance(given, PreTrainedModel):
        given = VerifyRM.from_model(given)
    if settings.reward_model_sharded and getattr(given, "adapters", None) is not None:
        raise BadInputError(
            "reward_model_sharded: low-rank adapters cannot be sharded; set reward_model_sharded to false, or"
            " reward_model_lora_rank to 0"
        )
    if bf16 is not None and isinstance(given, VerifyRM):
        given.autocast = torch.bfloat16 if bf16 else None
    return given  # type: ignore[no-any-return]


def take_triples(given: Triples, part: str) -> Sequence[LabelledCompletion]:
    """Labelled triples, or those of the file that is named."""
    return read_triples(resolve_triples(str(given), part)) if isinstance(given, str | Path) else given


def place_model(
    reward_model: VerifyRM | RewardModel,
    settings: CooperSettings,
    device: torch.device | str | None = None,
    *,
    updates: int = 1,
) -> RewardModel:
    """The reward model as the method trains it: a VerifyRM with its optimiser, sharded if the settings say so.

    Args:
        device: a VerifyRM is moved to it; None leaves it where it is.
        updates: length of the learning rate's schedule, in batches of the run.
    """
    if not isinstance(reward_model, VerifyRM):
        return reward_model
    if device is not None:
        reward_model.model.to(device)
    if settings.reward_model_sharded and distributed.size() > 1:
        sharding.shard(reward_model.model)
    return RewardModelUpdater(reward_model, settings, max(1, updates))


def load_assistant(named: TrainRecipe, config: TrainerSettings) -> Generator | None:
    """The assistant: a server, or a model in this process. None where the policy's base model rewrites, or nobody."""
    if not config.asks_assistant:
        return None
    if named.assistant_base_url:
        return OpenAIServer(
            named.assistant_base_url,
            named.assistant_model or "default",
            concurrency=named.assistant_concurrency,
            timeout_seconds=named.assistant_timeout_seconds,
            batch_seconds=named.assistant_batch_seconds,
        )
    if named.assistant_model:
        return TransformersGenerator.from_pretrained(resolve_model(named.assistant_model, "policy"))
    return None


def load_heldout(named: TrainRecipe, config: TrainerSettings) -> HeldOut | None:
    """The problems and triples that the recipe names for measuring; None where it names none."""
    if not named.heldout_dataset_name and not named.heldout_triples:
        return None
    problems = heldout_problems(named)
    truth = truth_of(named.heldout_dataset_name or "")
    return HeldOut(config, problems, truth, load_heldout_triples(named, config), named.system_prompt)


def load_heldout_triples(named: TrainRecipe, config: TrainerSettings) -> list[LabelledCompletion]:
    """The triples that the reward model is measured on; none where the recipe names none."""
    if not named.heldout_triples or not config.needs_reward_model:
        return []
    path = resolve_triples(named.heldout_triples, "heldout")
    return read_triples(path)[: named.heldout_triples_size]


def resolve_triples(name: str, part: str) -> str:
    """The path of triples that the package ships (a name in `EMBEDDED`); any other name is returned as it is.

    Args:
        part: `heldout`, `anchors` or `train`.
    """
    return str(EMBEDDED[name]["reward_model"] / f"{part}.jsonl.gz") if name in EMBEDDED else name


def resolve_recipe(recipe: Mapping[str, Any], method: MethodSettings, max_steps: int) -> dict[str, Any]:
    """The content of config.yaml: the recipe without tokens, with the defaults filled in that decide about the run."""
    chosen = {name: getattr(method, name) for name in ("seed", "arm", "reward", "cotrain")}
    return {**without_tokens(recipe), **chosen, "max_steps": max_steps}


def version_of(name: str) -> str | None:
    """The installed version of a distribution; None where it is not installed, as an optional one may be."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def environment(seed: int) -> dict[str, Any]:
    """The content of environment.json: versions, commit, hardware and seed."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "versions": {name: version_of(name) for name in PACKAGES},
        "python": platform.python_version(),
        "commit": commit or None,
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "processes": distributed.size(),
        "devices": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        "seed": seed,
    }
