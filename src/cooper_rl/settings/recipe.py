"""Recipes: YAML plus `--key value` overrides, checked before anything heavy is imported.

TRL takes ten seconds to import, so the names of its settings are read from its source with `ast`.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cooper_rl.errors import BadInputError, MissingFileError

PACKAGE = Path(__file__).parents[1]
EMBEDDED = {  # the models that the package ships, by their world's name
    name: {part: PACKAGE / "domains" / "nano" / "shipped" / folder / part for part in ("policy", "reward_model")}
    for name, folder in (("nano", "arithmetic"), ("nano-weekdays", "weekdays"))
}
ARMS = ("rule", "static", "cooper", "hybrid")
CONFIGS = {  # of the commands beside train: class, and the files of it and its bases
    "train-rm": ("RewardModelTrainConfig", "verifyrm/config.py"),
    "collect": ("CollectConfig", "labelling/config.py", "generation/backends.py"),
    "annotate": ("AnnotateConfig", "labelling/config.py", "generation/backends.py"),
    "eval": ("EvalConfig", "evaluation/config.py", "labelling/config.py", "generation/backends.py"),
}
SOURCES = ("assistant", "perturb", "mined", "shuffle")


@dataclass
class TrainRecipe:
    """What a training run needs beside the trainer's own settings."""

    model_name_or_path: str = "nano"  # the policy: folder or hub id; nano: the shipped one
    reward_model_name_or_path: str | None = None  # a VerifyRM; nano: the shipped one
    lora_rank: int = 0  # of the policy's adapters; 0: all weights are trained
    lora_alpha: int = 0  # 0: twice the rank
    reward_model_lora_rank: int = 0
    reward_model_lora_alpha: int = 0
    dataset_name: str = "nano"  # a named set, reasoning_gym:<task>, hub id or file (README)
    dataset_split: str = "train"
    dataset_size: int | None = None  # problems, drawn with `dataset_seed`; none: all
    dataset_seed: int = 0
    heldout_dataset_name: str | None = None  # true accuracy is measured on it
    heldout_dataset_split: str = "test"
    heldout_dataset_size: int = 256
    heldout_triples: str | None = None  # labelled JSONL; the reward model is measured on it
    heldout_triples_size: int = 1000
    rehearsal_triples: str | None = None  # labelled JSONL that stage 2 rehearses
    anchor_triples: str | None = None  # labelled JSONL that the guard watches; none: no guard
    anchor_triples_size: int = 1000
    assistant_base_url: str | None = None  # a server; None: the assistant runs in this process
    assistant_model: str | None = None  # the server's name for it, or a folder or hub id; None: the policy's base model
    assistant_concurrency: int = 64
    assistant_timeout_seconds: float = 60.0
    assistant_batch_seconds: float = 120.0
    system_prompt: str | None = None
    variant: str | None = None  # of a recipe with `variants`: settings by name, for `cooper compare`


def load_recipe(path: str | Path | None, overrides: Sequence[str] = (), *, command: str = "train") -> dict[str, Any]:
    """The recipe's keys with the overrides on top.

    `extends: other.yaml` begins with another recipe's keys. Of `variants: {name: {key: value}}` the one that
    `variant` names lies between the recipe and the command line.

    Raises:
        MissingFileError, BadInputError: no such file, bad YAML, an unknown key (with the nearest known one).
    """
    written = read_recipe(Path(path)) if path is not None else {}
    given = parse_overrides(overrides)
    variants, variant = written.pop("variants", {}), given.get("variant") or written.get("variant")
    if variant and variant not in variants:
        raise BadInputError(f"{path}: no variant {variant!r}; it has {', '.join(variants) or 'none'}")
    known = known_keys(command)
    recipe: dict[str, Any] = {}
    others = [(f"{path}: variant {name}", keys, name == variant) for name, keys in variants.items()]
    for source, keys, applies in [(str(path), written, True), *others, ("command line", given, True)]:
        for key in keys:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise BadInputError(f"{source}: unknown key {key!r}{hint}")
            if known[key] in ("float", "int") and not isinstance(plain_value(key, keys[key]), int | float):
                raise BadInputError(f"{source}: {key}: {keys[key]!r} is not a number")
        if applies:
            recipe |= keys
    return {key: plain_value(key, value) for key, value in recipe.items()}


def read_recipe(path: Path) -> dict[str, Any]:
    """A recipe file's keys on top of those that it extends.

    Raises:
        MissingFileError, BadInputError: no such file, bad YAML, not a mapping.
    """
    if not path.is_file():
        raise MissingFileError(f"{path}: no such recipe")
    try:
        keys = yaml.safe_load(path.read_text()) or {}
    except yaml.YAMLError as error:
        raise BadInputError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(keys, dict):
        raise BadInputError(f"{path}: a recipe is `key: value` lines")
    variants = keys.get("variants", {})
    if not isinstance(variants, dict) or not all(isinstance(value, dict) for value in variants.values()):
        raise BadInputError(f"{path}: variants: give `name: {{key: value}}`")
    base = keys.pop("extends", None)
    return {**read_recipe(path.parent / base), **keys} if base else keys


def variants_of(path: Path) -> dict[str, dict[str, Any]]:
    """The variants that a recipe names."""
    return dict(read_recipe(path).get("variants", {}))


def plain_value(key: str, value: Any) -> Any:
    """YAML 1.1 reads 1e-5 as text and `save_strategy: no` as false: a number and the word here."""
    if value is False and key.endswith("_strategy"):
        return "no"
    if isinstance(value, str) and value[:1] in "+-.0123456789" and value[:1]:
        try:
            return float(value)
        except ValueError:
            return value
    return value


def parse_overrides(arguments: Sequence[str]) -> dict[str, Any]:
    """`--key value`, `--key=value` and bare `--flag`; values are YAML."""
    overrides: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise BadInputError(f"command line: {word!r} is not --key value")
        key, equals, value = word[2:].partition("=")
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("--") else "true"
        try:
            overrides[key.replace("-", "_")] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise BadInputError(f"command line: --{key} {value}: not a YAML value") from error
    return overrides


def known_keys(command: str) -> dict[str, str]:
    """The keys that a recipe of this command may have, with their types as written in the source."""
    if command in CONFIGS:
        name, *paths = CONFIGS[command]
        return dict(_class_fields(name, [PACKAGE / path for path in paths]))
    return {field.name: str(field.type) for field in fields(TrainRecipe)} | _trainer_keys()


def described_keys(command: str) -> list[tuple[str, str]]:
    """This project's own keys of a command, each as `--key`, with default, type and comment as the source has them."""
    of_training = [("TrainRecipe", "settings/recipe.py"), ("CooperConfig", "engines/trl/config.py")]
    return [
        _described(lines[item.lineno - 2 : item.end_lineno], item)
        for name, *paths in ([CONFIGS[command]] if command in CONFIGS else of_training)
        for lines, item in _class_items(name, [PACKAGE / path for path in paths])
    ]


def _described(lines: Sequence[str], item: ast.AnnAssign) -> tuple[str, str]:
    """`lines`: the field's own and the one above it."""
    above = [lines[0].strip().removeprefix("# ")] if lines[0].strip().startswith("# ") else []
    comments = [line.partition("  # ")[2] for line in lines[1:] if "  # " in line] or above
    default = item.value
    if isinstance(default, ast.Call) and default.keywords:  # field(default_factory=...)
        default = default.keywords[0].value
        default = default.body if isinstance(default, ast.Lambda) else None
    written = ast.unparse(default) if default else "None"
    kind = ast.unparse(item.annotation).removesuffix(" | None")
    shown = f"{'none' if written in ('None', repr('')) else written} ({kind})"
    return f"--{ast.unparse(item.target)}", ". ".join([shown, *comments])


@cache
def _trainer_keys() -> dict[str, str]:
    def source(package: str, *parts: str) -> Path:
        spec = importlib.util.find_spec(package)
        assert spec and spec.submodule_search_locations
        return Path(spec.submodule_search_locations[0], *parts)

    files = (
        PACKAGE / "engines" / "trl" / "config.py",
        source("trl", "trainer", "grpo_config.py"),
        source("trl", "trainer", "base_config.py"),
        source("transformers", "training_args.py"),
    )
    return dict(reversed([*_class_fields("CooperConfig", files)]))  # a class has the say over its bases


def _class_fields(name: str, files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """(name, type) of the annotated fields of a dataclass, then of its bases, read from source."""
    for _, item in _class_items(name, files):
        yield ast.unparse(item.target), ast.unparse(item.annotation)


def _class_items(name: str, files: Sequence[Path]) -> Iterator[tuple[list[str], ast.AnnAssign]]:
    """The annotated fields of a dataclass, then of its bases, each with the lines of its file."""
    for path in files:
        text = path.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                lines = text.splitlines()
                yield from ((lines, item) for item in node.body if isinstance(item, ast.AnnAssign))
                for base in node.bases:
                    if isinstance(base, ast.Name) and base.id != name:
                        yield from _class_items(base.id, files)
                return


def as_list(value: list[str] | str | None) -> list[str]:
    """A list, as the command line may give it: one name, or several with commas."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else list(value or ())


def resolve_model(name: str, part: str) -> str:
    """A name of `EMBEDDED` is the model that the package ships; any other is itself. `part`: policy or reward_model."""
    return str(EMBEDDED[name][part]) if name in EMBEDDED else name


def local_file(name: str) -> Path | None:
    """The file of this name here or, if it is not here, in COOPER_DATA_DIR; None if it is in neither."""
    places = [Path(name)]
    if os.environ.get("COOPER_DATA_DIR"):
        places.append(Path(os.environ["COOPER_DATA_DIR"]) / name)
    return next((path for path in places if path.is_file()), None)


def looks_local(name: str) -> bool:
    """A path rather than a hub id."""
    return name.startswith(("/", ".", "~")) or name.count("/") != 1


def check_model_folder(name: str, key: str) -> None:
    """A local model must be there, with safetensors.

    Raises:
        MissingFileError, BadInputError: no such folder; pickled weights alone; no weights.
    """
    folder = Path(name)
    if not folder.exists():
        if looks_local(name):
            raise MissingFileError(f"{key}: {name}: no such model folder")
        return
    if name.endswith(".gguf"):
        return
    pickles = [*folder.glob("*.bin"), *folder.glob("*.pt"), *folder.glob("*.pth")]
    if not any(folder.glob("*.safetensors")):
        what = f"{pickles[0].name} is pickled and is not loaded" if pickles else "it has no *.safetensors"
        raise BadInputError(f"{key}: {name}: {what}; save the model with safe_serialization")


def check_train_recipe(recipe: Mapping[str, Any], *, resume: bool = False) -> None:
    """Everything that can be said without a model, each as one line.

    Raises:
        MissingFileError, BadInputError: what is wrong and the way out.
    """
    arm = recipe.get("arm", "cooper")
    if arm not in ARMS:
        raise BadInputError(f"arm {arm!r}: choose one of {', '.join(ARMS)}")
    check_groups(recipe)
    weights = recipe.get("negative_sources", {"assistant": 1})
    if not isinstance(weights, dict) or set(weights) - set(SOURCES) or not any(w > 0 for w in weights.values()):
        raise BadInputError(f"negative_sources {weights}: give positive weights to some of {', '.join(SOURCES)}")
    check_model_folder(resolve_model(str(recipe.get("model_name_or_path", "nano")), "policy"), "model_name_or_path")
    reward_model = recipe.get("reward_model_name_or_path")
    if arm != "rule":
        if not reward_model:
            raise BadInputError(f"arm {arm} needs a reward model: set reward_model_name_or_path")
        check_model_folder(resolve_model(str(reward_model), "reward_model"), "reward_model_name_or_path")
    assistant = recipe.get("assistant_model")
    if assistant and not recipe.get("assistant_base_url"):
        check_model_folder(resolve_model(str(assistant), "policy"), "assistant_model")
    for key in ("dataset_name", "heldout_dataset_name", "heldout_triples", "rehearsal_triples", "anchor_triples"):
        value = recipe.get(key)
        if value and str(value).endswith((".jsonl", ".json", ".parquet", ".gz")):
            path = local_file(str(value))
            if path is None:
                raise MissingFileError(f"{key}: {value}: no such file, here or in COOPER_DATA_DIR")
            if path.stat().st_size == 0:
                raise BadInputError(f"{key}: {value}: the file is empty")
    check_output_dir(recipe, resume=resume)


def check_groups(recipe: Mapping[str, Any]) -> None:
    """Group size and batch fit together."""
    group = recipe.get("num_generations", 16)
    if not isinstance(group, int) or group < 2:
        raise BadInputError(f"num_generations = {group}: a group needs at least 2 completions")
    steps = recipe.get("steps_per_generation") or recipe.get("gradient_accumulation_steps") or 1
    batch = recipe.get("generation_batch_size") or recipe.get("per_device_train_batch_size", 8) * steps
    if batch % group:
        raise BadInputError(
            f"the generation batch (per_device_train_batch_size x steps_per_generation = {batch}) is not a multiple "
            f"of num_generations = {group}"
        )


def check_output_dir(recipe: Mapping[str, Any], *, resume: bool) -> None:
    """A run is neither written over nor continued with another model."""
    if not recipe.get("output_dir"):
        raise BadInputError("output_dir is not set; give it in the recipe or as --output_dir")
    folder = Path(recipe["output_dir"])
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise BadInputError(f"{folder}: cannot be written to ({there}); choose another --output_dir")
    before = folder / "config.yaml"
    if not before.is_file():
        return
    if not resume:
        raise BadInputError(f"{folder}: already holds a run; continue it with --resume or choose another --output_dir")
    old = yaml.safe_load(before.read_text()) or {}
    for key in ("model_name_or_path", "reward_model_name_or_path", "arm", "seed", "num_generations"):
        if key in old and key in recipe and old[key] != recipe[key]:
            raise BadInputError(
                f"{folder}: its checkpoint is of {key} = {old[key]!r}, not {recipe[key]!r}; choose another --output_dir"
            )
