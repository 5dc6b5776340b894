"""How a setting is declared: a dataclass field with its default, its help text and its range."""

from __future__ import annotations

import copy
import functools
import typing
from collections.abc import Iterator
from dataclasses import MISSING, Field, field, fields
from typing import Any, TypeVar

Value = TypeVar("Value")


def setting(default: Value, help_text: str, *, least: float | None = None, most: float | None = None) -> Value:
    """A dataclass field: `name: type = setting(default, "A sentence.")`.

    Args:
        default: the value where none is given; a list or dict is copied for each object.
        help_text: the full sentence that `--help` shows.
        least, most: the smallest and the largest number allowed.
    """
    metadata = {"help": help_text, "least": least, "most": most}
    if isinstance(default, list | dict):
        made: Value = field(default_factory=functools.partial(copy.deepcopy, default), metadata=metadata)
        return made
    plain: Value = field(default=default, metadata=metadata)
    return plain


def default_of(item: Field[Any]) -> Any:
    """The default of a field."""
    return item.default_factory() if item.default_factory is not MISSING else item.default


def types_of(cls: type[Any]) -> dict[str, Any]:
    """The types of a settings class, by the names of its fields."""
    hints = typing.get_type_hints(cls)
    return {item.name: hints[item.name] for item in fields(cls)}


def groups_of(cls: type[Any]) -> Iterator[tuple[str, list[Field[Any]]]]:
    """(heading, fields) of each group of a settings class: its base classes in their order, then the class itself.

    A group is a class with a `HEADING` of its own. A field that a later group declares again stays in the first one.
    """
    found = {item.name: item for item in fields(cls)}
    for group in (*_bases(cls), cls):
        if "HEADING" in vars(group):
            names = [name for name in vars(group).get("__annotations__", {}) if name in found]
            yield str(group.HEADING), [found.pop(name) for name in names]


def _bases(cls: type[Any]) -> Iterator[type[Any]]:
    for base in cls.__bases__:
        yield from _bases(base)
        yield base


def as_list(value: list[str] | str | None) -> list[str]:
    """A value from the command line as a list: one name, or several with commas between them."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else list(value or ())
