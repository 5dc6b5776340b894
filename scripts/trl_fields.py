"""Writes src/cooper_rl/settings/trl_fields.json: the fields of the installed TRL's GRPOConfig and their types.

Run it after TRL or transformers has been raised; a test says when it is due.

python scripts/trl_fields.py
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

TARGET = Path(__file__).parents[1] / "src" / "cooper_rl" / "settings" / "trl_fields.json"
WIDER: dict[str, Any] = {"scale_rewards": str | bool}  # what TRL takes beyond the type that it writes down


def fields_of_trl() -> dict[str, Any]:
    """The fields of GRPOConfig, with types that a recipe's value can be checked against."""
    from trl import GRPOConfig

    hints = typing.get_type_hints(GRPOConfig)
    names = [field.name for field in dataclasses.fields(GRPOConfig) if field.init]
    return {name: WIDER.get(name) or plain(hints[name]) for name in names}


def plain(kind: Any) -> Any:
    """A type without enumerations, which are choices here, and without classes that no recipe can name."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Literal[tuple(member.value for member in kind)]
    if get_origin(kind) in (Union, types.UnionType):
        parts = get_args(kind)
        if any(isinstance(part, type) and issubclass(part, Enum) for part in parts):
            parts = tuple(part for part in parts if part is not str)  # the text is the name of a member
        return Union[tuple(plain(part) for part in parts)]  # noqa: UP007
    if get_origin(kind) is list:
        return list[plain(get_args(kind)[0])]  # type: ignore[misc]
    if isinstance(kind, type) and get_origin(kind) is None and kind.__module__ != "builtins":
        return Any
    return kind


def source_of(kind: Any) -> str:
    """A type as Python writes it."""
    if kind is type(None):
        return "None"
    if kind is Any:
        return "Any"
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " | ".join(source_of(part) for part in inner)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    if inner:
        return f"{origin.__name__}[{', '.join(source_of(part) for part in inner)}]"
    return str(kind.__name__)


def text_of(fields: dict[str, Any]) -> str:
    """The whole file."""
    return json.dumps({name: source_of(kind) for name, kind in sorted(fields.items())}, indent=2) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text_of(fields_of_trl()))
