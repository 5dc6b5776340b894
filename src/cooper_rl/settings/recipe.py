"""Recipes: YAML plus `--key value` overrides, checked against the settings before anything heavy is imported.

`CONFIGS` says which settings each command's recipe may have.
"""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from cooper_rl.errors import BadInputError, MissingFileError, suggest
from cooper_rl.settings.asking import AnnotateConfig, CollectConfig, EvalConfig, ServeSettings
from cooper_rl.settings.method import overlay, resolve_arm
from cooper_rl.settings.reward_model import RewardModelTrainConfig
from cooper_rl.settings.schema import check_value, groups_of, types_of
from cooper_rl.settings.train import TrainSettings

CONFIGS: dict[str, type[Any]] = {
    "train": TrainSettings,
    "serve": ServeSettings,
    "train-rm": RewardModelTrainConfig,
    "collect": CollectConfig,
    "annotate": AnnotateConfig,
    "eval": EvalConfig,
}
OPTIONS = ("config", "resume", "engine")  # of the commands, beside the settings
COMMAND_LINE = "command line"
Layer = tuple[str, dict[str, Any]]  # (where it is written, its keys)


def load_recipe(path: str | Path | None, overrides: Sequence[str] = (), *, command: str = "train") -> dict[str, Any]:
    """The recipe's keys with the overrides on top. Each value has its setting's type.

    `extends: other.yaml` starts from another recipe's keys. `variants: {name: {key: value}}` holds alternatives; the
    keys of the one that `variant` names override the recipe, and the command line overrides them.

    Raises:
        MissingFileError: there is no such file.
        BadInputError: bad YAML, a value of the wrong type, or an unknown key; the message suggests the nearest known
            key.
    """
    layers = read_layers(Path(path)) if path is not None else []
    given = parse_overrides(overrides)
    written: dict[str, Any] = {}
    variants: dict[str, dict[str, Any]] = {}
    recipe: dict[str, Any] = {}
    for source, keys in layers:
        variants = keys.pop("variants", variants)
        written |= keys
        recipe = overlay(recipe, check_keys(keys, command, source))
    variant = given.get("variant") or written.get("variant")
    if variant and variant not in variants:
        raise BadInputError(f"{path}: no variant {variant!r}; it has {', '.join(variants) or 'none'}")
    for name, keys in variants.items():  # variants that are not chosen are checked too
        fitting = check_keys(keys, command, f"{path}: variant {name}")
        if name == variant:
            recipe = overlay(recipe, fitting)
    return overlay(recipe, check_keys(given, command, COMMAND_LINE))


def check_keys(keys: Mapping[str, Any], command: str, source: str) -> dict[str, Any]:
    """The keys of one layer. Each value is converted to its setting's type.

    Raises:
        BadInputError: an unknown key, a value of the wrong type or out of its range, or an arm that contradicts the
            reward given with it.
    """
    known, found = known_keys(command), {}
    for key, value in keys.items():
        if key not in known:
            others = OPTIONS if source == COMMAND_LINE else ()
            raise BadInputError(f"{source}: unknown key {key!r}{suggest(str(key), (*others, *known))}")
        kind, metadata = known[key]
        found[key] = check_value(key, value, kind, metadata, source)
    if takes_training_recipe(command):
        resolve_arm(found.get("arm"), found.get("reward"), found.get("cotrain"), source)
    return found


def takes_training_recipe(command: str) -> bool:
    """Whether the command's recipe is a training recipe, in which TRL's fields may stand too."""
    return issubclass(CONFIGS[command], TrainSettings)


def known_keys(command: str) -> dict[str, tuple[Any, Mapping[str, Any]]]:
    """The keys that a recipe of this command may have, each with its type and its field's metadata.

    Of a training recipe these are also the fields of TRL's GRPOConfig, in TRL's types, without metadata.
    """
    cls = CONFIGS[command]
    kinds = types_of(cls)
    keys: dict[str, tuple[Any, Mapping[str, Any]]] = {}
    if takes_training_recipe(command):
        keys = {name: (kind, {}) for name, kind in trl_fields().items()}
    return keys | {item.name: (kinds[item.name], item.metadata) for _, group in groups_of(cls) for item in group}


@functools.cache
def trl_fields() -> dict[str, Any]:
    """The fields of TRL's GRPOConfig and their types, as `scripts/trl_fields.py` wrote them, without importing TRL."""
    written = json.loads(Path(__file__).with_name("trl_fields.json").read_text(encoding="utf-8"))
    return typing.get_type_hints(SimpleNamespace(__annotations__=written), vars(typing))


def read_layers(path: Path, above: tuple[Path, ...] = ()) -> list[Layer]:
    """The layers of a recipe file: those of the recipe that it extends come first, its own keys last.

    Args:
        above: the recipes that extend this one.

    Raises:
        MissingFileError, BadInputError: no such file, bad YAML, not a mapping, or it extends itself.
    """
    if not path.is_file():
        raise MissingFileError(f"{path}: no such recipe")
    if path.resolve() in above:
        raise BadInputError(f"{path}: extends: the recipe extends itself")
    try:
        text = path.read_text(encoding="utf-8")
        check_unique(yaml.compose(text, yaml.SafeLoader))
        keys = yaml.safe_load(text) or {}
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path}: not a text in UTF-8") from error
    except yaml.YAMLError as error:
        raise BadInputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(keys, dict):
        raise BadInputError(f"{path}: not a recipe; give each setting as `key: value`")
    variants = keys.get("variants", {})
    if not isinstance(variants, dict) or not all(isinstance(value, dict) for value in variants.values()):
        raise BadInputError(f"{path}: variants: give `name: {{key: value}}`")
    base = keys.pop("extends", None)
    if base is not None and not isinstance(base, str):
        raise BadInputError(f"{path}: extends: give the path of one recipe")
    below = read_layers(path.parent / base, (*above, path.resolve())) if base else []
    return [*below, (str(path), keys)]


def check_unique(node: yaml.Node | None) -> None:
    """Refuses a key that a mapping of a YAML text has twice: the last one would silently win.

    Raises:
        yaml.YAMLError: with the key and its line.
    """
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if key.value in seen and key.value != "<<":
                raise yaml.MarkedYAMLError(problem=f"{key.value} is given twice", problem_mark=key.start_mark)
            seen.add(str(key.value))
            check_unique(value)


def read_recipe(path: Path) -> dict[str, Any]:
    """A recipe file's keys, as they are written, on top of those of the recipes that it extends.

    Raises:
        MissingFileError, BadInputError: no such file, bad YAML, not a mapping.
    """
    return {key: value for _, keys in read_layers(path) for key, value in keys.items()}


def without_tokens(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that may be written into a run folder or a report: all but those that hold an access token."""
    return {key: value for key, value in settings.items() if not key.endswith("_token")}


def variants_of(path: Path) -> dict[str, dict[str, Any]]:
    """The variants that a recipe names."""
    return dict(read_recipe(path).get("variants", {}))


def parse_overrides(arguments: Sequence[str]) -> dict[str, Any]:
    """`--key value`, `--key=value` and bare `--flag`; values are YAML."""
    overrides: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise BadInputError(f"command line: {word!r} is not an option; give settings as --key value")
        key, equals, value = word[2:].partition("=")
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("--") else "true"
        try:
            overrides[key.replace("-", "_")] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise BadInputError(f"command line: --{key} {value}: not a YAML value") from error
    return overrides
