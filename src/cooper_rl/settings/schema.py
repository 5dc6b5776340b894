"""How settings are declared, checked and described.

A setting is a field of a dataclass. The docstring below it is its help. Values come from YAML, the command line or
Python. They are checked against the field's type before anything heavy is imported, and the few values that YAML 1.1
reads as another type are repaired.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import os
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import yaml

from cooper_rl.errors import BadInputError

Value = TypeVar("Value")
NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text", type(None): "null"}


class WrongTypeError(Exception):
    """A value is not of the wanted type."""


def setting(default: Value, *, least: float | None = None, most: float | None = None) -> Value:
    """A dataclass field that has a range, or a list or dict as its default, which is copied for each object.

    Args:
        least, most: the smallest and the largest number allowed; the largest only beside the smallest.
    """
    metadata = {"least": least, "most": most}
    if isinstance(default, list | dict):
        return field(default_factory=functools.partial(copy.deepcopy, default), metadata=metadata)
    return field(default=default, metadata=metadata)


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


def check_fields(settings: Any, cls: type[Any], source: str = "") -> None:
    """Checks type and range of the fields of `settings` that `cls` declares, and stores the converted values.

    Raises:
        BadInputError: a value of another type, or outside its range.
    """
    wanted = types_of(cls)
    for item in fields(cls):
        value = check_value(item.name, getattr(settings, item.name), wanted[item.name], item.metadata, source)
        setattr(settings, item.name, value)


def check_value(key: str, value: Any, wanted: Any, limits: Mapping[str, Any], source: str = "") -> Any:
    """The value of a setting, converted to its type as `fit` does.

    Args:
        limits: the field's metadata, with its range.
        source: the file or command line that gives the value; error messages begin with it.

    Raises:
        BadInputError: it is of another type, or outside the range; the message names source, key and value.
    """
    where = f"{source}: " if source else ""
    try:
        value = fit(value, wanted)
    except WrongTypeError:
        raise BadInputError(f"{where}{key}: {value!r} is not {describe_type(wanted)}") from None
    least, most = limits.get("least"), limits.get("most")
    if not isinstance(value, Real) or isinstance(value, bool):
        return value
    if (least is not None and not value >= least) or (most is not None and not value <= most):
        bound = f"at least {least:g}" if most is None else f"from {least:g} to {most:g}"
        raise BadInputError(f"{where}{key} = {value}: must be {bound}")
    return value


def check_given(settings: Any, command: str, *names: str) -> None:
    """Refuses an empty value of a setting that a command needs.

    Raises:
        BadInputError: the value is empty.
    """
    for name in names:
        if not getattr(settings, name):
            raise BadInputError(f"{command}: {name} is not set; give it in the recipe or as --{name}")


def fit(value: Any, wanted: Any) -> Any:
    """The value, converted to the wanted type where YAML or the command line writes that type in another way.

    - `1e-5`, which YAML 1.1 reads as text, becomes a number where no text is wanted.
    - `no`, which YAML 1.1 reads as false, becomes a word where a choice of words is wanted.
    - Text with commas becomes a list where a list of texts is wanted, and null becomes an empty list.
    - A path becomes text.

    Raises:
        WrongTypeError: the value is of another type.
    """
    origin, inner = get_origin(wanted), get_args(wanted)
    kind = origin or wanted
    if kind is Any:
        return value
    if kind in (Union, types.UnionType):
        return _fit_one(value, inner)
    if kind is Literal:
        value = "no" if value is False and "no" in inner else value
        if any(value == choice and type(value) is type(choice) for choice in inner):
            return value
    elif kind is list and inner == (str,) and (value is None or isinstance(value, str)):
        return [part.strip() for part in (value or "").split(",") if part.strip()]
    elif kind is list and isinstance(value, list | tuple):
        return [fit(item, inner[0]) for item in value] if inner else value
    elif kind is dict and isinstance(value, Mapping):
        return {fit(k, inner[0]): fit(v, inner[1]) for k, v in value.items()} if inner else value
    elif kind not in (list, dict):
        return _fit_scalar(value, kind)
    raise WrongTypeError


def _fit_one(value: Any, wanted: tuple[Any, ...]) -> Any:
    for kind in sorted(wanted, key=lambda kind: type(value) is not kind):  # the value's own type first
        try:
            return fit(value, kind)
        except WrongTypeError:
            continue
    raise WrongTypeError


def _fit_scalar(value: Any, wanted: Any) -> Any:
    if wanted is str and isinstance(value, os.PathLike):
        return os.fspath(value)
    if wanted is float and isinstance(value, str):
        try:
            return float(value)
        except ValueError as error:
            raise WrongTypeError from error
    number = {int: Integral, float: Real}.get(wanted, wanted)
    if not isinstance(value, number) or (isinstance(value, bool) and wanted is not bool):
        raise WrongTypeError
    return value


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value is of a type."""
    try:
        fit(value, wanted)
    except WrongTypeError:
        return False
    return True


def describe_type(wanted: Any) -> str:
    """A type in words, for help and error messages."""
    origin, inner = get_origin(wanted), get_args(wanted)
    kind = origin or wanted
    if kind is Any:
        return "anything"
    if kind in (Union, types.UnionType):
        return " or ".join(describe_type(part) for part in inner)
    if kind is Literal:
        names = ["null" if choice is None else str(choice) for choice in inner]
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
    if kind is list:
        return f"a list of {describe_type(inner[0])}" if inner else "a list"
    if kind is dict:
        return f"{{name: {describe_type(inner[1])}}}" if inner and inner[1] is not Any else "{name: value}"
    return NAMES.get(wanted, getattr(wanted, "__name__", str(wanted)))


def describe(cls: type[Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, [(`--key`, text)]) of a settings class: each setting with its sentence, its type and its default."""
    kinds, sentences = types_of(cls), sentences_of(cls)
    sections: dict[str, list[tuple[str, str]]] = {}
    for heading, group in groups_of(cls):
        keys = [
            (f"--{item.name}", f"{sentences[item.name]} [{_describe_value(item, kinds[item.name])}]") for item in group
        ]
        sections[heading] = [*sections.pop(heading, []), *keys]  # comes where the last group does
    return list(sections.items())


def _describe_value(item: Field[Any], kind: Any) -> str:
    default = default_of(item)
    if not fits(default, kind) or default in ("", []):  # the user must give it, or another setting decides
        return describe_type(kind)
    text = yaml.safe_dump(default, default_flow_style=True, width=10_000, sort_keys=False)  # as a recipe has it
    return f"{describe_type(kind)}; default {text.removesuffix(chr(10)).removesuffix(chr(10) + '...')}"


def sentences_of(cls: type[Any]) -> dict[str, str]:
    """The help of each setting of a class: the docstring below it, read from the source, since Python keeps none."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if is_dataclass(base):
            found |= _sentences_in(base.__module__).get(base.__name__, {})
    return found


@functools.cache
def _sentences_in(module: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for group in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(group, ast.ClassDef):
            own = found[group.name] = {}
            for pair in pairwise(group.body):
                match pair:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                        own[name] = " ".join(text.split())
    return found
