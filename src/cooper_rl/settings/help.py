"""The help text of settings: under headings, each setting with its sentence, its type and its default."""

from __future__ import annotations

from dataclasses import Field
from typing import Any

import yaml

from cooper_rl.settings.commands import CONFIGS
from cooper_rl.settings.fields import default_of, groups_of, types_of
from cooper_rl.settings.typecheck import described, fits


def described_keys(command: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, [(`--key`, text)]) of this project's own settings of a command."""
    kinds = types_of(CONFIGS[command])
    sections: dict[str, list[tuple[str, str]]] = {}
    for heading, group in groups_of(CONFIGS[command]):
        keys = [(f"--{item.name}", _text(item, kinds[item.name])) for item in group]
        sections[heading] = [*sections.pop(heading, []), *keys]  # comes where the last group does
    return list(sections.items())


def _text(item: Field[Any], kind: Any) -> str:
    default = default_of(item)
    shown = ""
    if fits(default, kind) and default not in ("", []):  # else the user must give it, or another setting decides
        shown = f"; default {_as_yaml(default)}"
    return f"{item.metadata['help']} [{described(kind)}{shown}]"


def _as_yaml(value: Any) -> str:
    """A value as it is written in a recipe."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")
