"""Recipes: YAML plus `--key value` overrides, checked against the settings before anything heavy is imported."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.settings.commands import known_keys
from cooper_rl.settings.reward import ARMS, resolve_arm
from cooper_rl.settings.typecheck import check_range, checked

Layer = tuple[str, dict[str, Any]]  # (where it is written, its keys)


def load_recipe(path: str | Path | None, overrides: Sequence[str] = (), *, command: str = "train") -> dict[str, Any]:
    """The recipe's keys with the overrides on top, each of its setting's type.

    `extends: other.yaml` begins with another recipe's keys. Of `variants: {name: {key: value}}` the one that
    `variant` names lies between the recipe and the command line.

    Raises:
        MissingFileError, BadInputError: no such file, bad YAML, an unknown key (with the nearest known one), a value
            of the wrong type.
    """
    layers = read_layers(Path(path)) if path is not None else []
    given = parse_overrides(overrides)
    written: dict[str, Any] = {}
    variants: dict[str, dict[str, Any]] = {}
    recipe: dict[str, Any] = {}
    for source, keys in layers:
        variants = keys.pop("variants", variants)
        written |= keys
        recipe = overlaid(recipe, checked_keys(keys, command, source))
    variant = given.get("variant") or written.get("variant")
    if variant and variant not in variants:
        raise BadInputError(f"{path}: no variant {variant!r}; it has {', '.join(variants) or 'none'}")
    for name, keys in variants.items():  # those that do not apply are checked too
        fitting = checked_keys(keys, command, f"{path}: variant {name}")
        if name == variant:
            recipe = overlaid(recipe, fitting)
    return overlaid(recipe, checked_keys(given, command, "command line"))


def checked_keys(keys: Mapping[str, Any], command: str, source: str) -> dict[str, Any]:
    """The keys of one layer, each value of its setting's type.

    Raises:
        BadInputError: an unknown key, a value of the wrong type or out of its range, or an arm that contradicts the
            reward beside it.
    """
    known, found = known_keys(command), {}
    for key, value in keys.items():
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise BadInputError(f"{source}: unknown key {key!r}{hint}")
        kind, metadata = known[key]
        found[key] = checked(key, value, kind, source)
        check_range(key, found[key], metadata, source)
    if command == "train":
        resolve_arm(found.get("arm"), found.get("reward"), found.get("cotrain"), source)
    return found


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of one layer on top of another's.

    An arm replaces the reward and cotrain below it. Above an arm, reward or cotrain replace their half of its pair.
    """
    kept = dict(below)
    if above.get("arm") is not None:
        kept.pop("reward", None)
        kept.pop("cotrain", None)
    elif kept.get("arm") is not None and ("reward" in above or "cotrain" in above):
        kept["reward"], kept["cotrain"] = ARMS[kept.pop("arm")]
    return {**kept, **above}


def read_layers(path: Path) -> list[Layer]:
    """A recipe file's keys after those of the recipes that it extends, the first of them first.

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
    return [*(read_layers(path.parent / base) if base else []), (str(path), keys)]


def read_recipe(path: Path) -> dict[str, Any]:
    """A recipe file's keys on top of those that it extends, as they are written.

    Raises:
        MissingFileError, BadInputError: no such file, bad YAML, not a mapping.
    """
    return {key: value for _, keys in read_layers(path) for key, value in keys.items()}


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
            raise BadInputError(f"command line: {word!r} is not --key value")
        key, equals, value = word[2:].partition("=")
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("--") else "true"
        try:
            overrides[key.replace("-", "_")] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise BadInputError(f"command line: --{key} {value}: not a YAML value") from error
    return overrides
