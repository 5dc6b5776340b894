"""Checks that a value has a setting's type, and repairs the two values that YAML 1.1 reads as another type."""

from __future__ import annotations

import os
import types
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin

from cooper_rl.errors import BadInputError
from cooper_rl.settings.fields import as_list, types_of

NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text", type(None): "null"}


class WrongTypeError(Exception):
    """A value is not of the wanted type."""


def fitted(value: Any, wanted: Any) -> Any:
    """The value, converted to the wanted type where YAML or the command line writes that type in another way.

    - `1e-5`, which YAML 1.1 reads as text, becomes a number where no text is wanted.
    - `no`, which YAML 1.1 reads as false, becomes a word where a choice of words is wanted.
    - Text with commas becomes a list where a list of texts is wanted, and null becomes an empty list.
    - A path becomes text.

    Raises:
        WrongTypeError: the value is of another type.
    """
    if wanted is Any:
        return value
    origin = get_origin(wanted)
    if origin in (Union, types.UnionType):
        return _fitted_to_one(value, get_args(wanted))
    if origin is Literal:
        return _choice(value, get_args(wanted))
    if (origin or wanted) is list:
        return _list(value, get_args(wanted))
    if (origin or wanted) is dict:
        return _dict(value, get_args(wanted))
    return _scalar(value, wanted)


def _fitted_to_one(value: Any, wanted: tuple[Any, ...]) -> Any:
    exact = [kind for kind in wanted if isinstance(kind, type) and type(value) is kind]
    for kind in (*exact, *wanted):
        try:
            return fitted(value, kind)
        except WrongTypeError:
            continue
    raise WrongTypeError


def _choice(value: Any, choices: tuple[Any, ...]) -> Any:
    if value is False and "no" in choices:
        return "no"
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise WrongTypeError
    return value


def _list(value: Any, inner: tuple[Any, ...]) -> Any:
    if (value is None or isinstance(value, str)) and inner == (str,):
        return as_list(value)
    if not isinstance(value, list | tuple):
        raise WrongTypeError
    return [fitted(item, inner[0]) for item in value] if inner else value


def _dict(value: Any, inner: tuple[Any, ...]) -> Any:
    if not isinstance(value, Mapping):
        raise WrongTypeError
    return {fitted(k, inner[0]): fitted(v, inner[1]) for k, v in value.items()} if inner else value


def _scalar(value: Any, wanted: Any) -> Any:
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


def described(wanted: Any) -> str:
    """A type in words, for error messages."""
    origin, inner = get_origin(wanted), get_args(wanted)
    if wanted is Any:
        return "anything"
    if origin in (Union, types.UnionType):
        return " or ".join(described(kind) for kind in inner)
    if origin is Literal:
        names = ["null" if choice is None else str(choice) for choice in inner]
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
    if (origin or wanted) is list:
        return f"a list of {described(inner[0])}" if inner else "a list"
    if (origin or wanted) is dict:
        return f"{{name: {described(inner[1])}}}" if inner and inner[1] is not Any else "{name: value}"
    return NAMES.get(wanted, getattr(wanted, "__name__", str(wanted)))


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value is of a type."""
    try:
        fitted(value, wanted)
    except WrongTypeError:
        return False
    return True


def checked(key: str, value: Any, wanted: Any, source: str = "") -> Any:
    """The value of a setting, converted to its type as `fitted` does.

    Raises:
        BadInputError: it is of another type; the message names source, key, value and the wanted type.
    """
    try:
        return fitted(value, wanted)
    except WrongTypeError:
        where = f"{source}: " if source else ""
        raise BadInputError(f"{where}{key}: {value!r} is not {described(wanted)}") from None


def check_fields(settings: Any, cls: type[Any], source: str = "") -> None:
    """Checks type and range of the fields of `settings` that `cls` declares, and stores the converted values.

    Raises:
        BadInputError: a value of another type, or outside its range.
    """
    wanted = types_of(cls)
    for item in fields(cls):
        value = checked(item.name, getattr(settings, item.name), wanted[item.name], source)
        check_range(item.name, value, item.metadata, source)
        setattr(settings, item.name, value)


def check_range(key: str, value: Any, limits: Mapping[str, Any], source: str = "") -> None:
    """Refuses a number outside the range in a field's metadata.

    Raises:
        BadInputError: the number is outside the range.
    """
    least, most = limits.get("least"), limits.get("most")
    if not isinstance(value, Real) or isinstance(value, bool):
        return
    if (least is not None and not value >= least) or (most is not None and not value <= most):
        where = f"{source}: " if source else ""
        if least is not None and most is not None:
            raise BadInputError(f"{where}{key} = {value}: must be from {least:g} to {most:g}")
        bound = f"at least {least:g}" if least is not None else f"at most {most:g}"
        raise BadInputError(f"{where}{key} = {value}: must be {bound}")


def check_given(settings: Any, command: str, *names: str) -> None:
    """Refuses an empty value of a setting that a command needs.

    Raises:
        BadInputError: the value is empty.
    """
    for name in names:
        if not getattr(settings, name):
            raise BadInputError(f"{command}: {name} is not set; give it in the recipe or as --{name}")
