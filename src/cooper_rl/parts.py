"""Finds a part that a setting names: one of ours, one that an installed distribution offers, or a user's own.

Every kind of part (domain, verifier, negative source, ...) is looked up here, so that all of them are named in the same
three ways. A part is imported only when it is named, and this module imports no torch. `optional` imports a library
that an extra installs.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from cooper_rl.errors import BadInputError, how_to_install

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def find(group: str, name: str, known: Mapping[str, str], *, kind: str | None = None, others: str = "") -> Any:
    """The class, function or object that `name` stands for.

    A name is looked up in this order: in `known`, as an import path `module:Name`, and among the entry points of
    `group`. An installed distribution can therefore add names, but cannot change the meaning of one of ours.

    Args:
        group: the entry-point group of this kind of part, such as `cooper_rl.domains`.
        known: our own parts of this kind: each name with its import path `module:Name`.
        kind: the part's name in error messages; by default the group's last word, such as `domain`.
        others: the end of the error message about an unknown name, which says what else may be given.

    Raises:
        BadInputError: there is no such name, several distributions offer it, or it cannot be imported.
    """
    kind = kind or group.rpartition(".")[2].replace("_", " ").removesuffix("s")
    if name in known:
        return load(kind, name, known[name])
    if ":" in name:
        return load(kind, name, name)
    offered = [point for point in _entry_points(group) if point.name == name]
    if len(offered) > 1:
        paths = ", ".join(point.value for point in offered)
        raise BadInputError(f"{kind} {name!r}: several distributions offer it ({paths}); give one of these paths")
    if not offered:
        raise BadInputError(_unknown(kind, name, names(group, known)) + others)
    return load(kind, name, offered[0].value)


def names(group: str, known: Mapping[str, str]) -> list[str]:
    """The names that `find` knows: our own in their order, then those of installed distributions."""
    return list(dict.fromkeys([*known, *sorted(point.name for point in _entry_points(group))]))


def check_contract(kind: str, name: str, found: Any, contract: type) -> None:
    """Refuses a class that is not derived from its kind's base class. A function that makes the part may do anything.

    Raises:
        BadInputError: with the class to derive it from.
    """
    if isinstance(found, type) and not issubclass(found, contract):
        base = f"{contract.__module__}.{contract.__name__}"
        raise BadInputError(f"{kind} {name!r}: {found.__name__} is no {contract.__name__}; derive it from {base}")


def load(kind: str, name: str, path: str) -> Any:
    """The object of an import path `module:Name` or `module:Outer.Name`. `kind` and `name` are for error messages.

    Raises:
        BadInputError: the path has another form, its module cannot be imported, or the module lacks the attribute.
    """
    module_name, _, attribute = path.partition(":")
    what = f"{kind} {name!r}" if name == path else f"{kind} {name!r} ({path})"
    if not all(part.isidentifier() for part in [*module_name.split("."), *attribute.split(".")]):
        raise BadInputError(f"{what}: not an import path; write it as module:Name, for example my_package.parts:MyPart")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # the module is a user's code, which may fail in any way
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise BadInputError(
            f"{what}: {module_name} cannot be imported ({reason}); install it, or put its folder on PYTHONPATH"
        ) from error
    try:
        return attrgetter(attribute)(module)
    except AttributeError as error:
        defined = [n for n, value in vars(module).items() if getattr(value, "__module__", None) == module_name]
        near = _nearest(attribute, defined) or f"it defines {', '.join(defined) or 'no class or function'}"
        raise BadInputError(f"{what}: {module_name} has no {attribute}; {near}") from error


def optional(module: str, *, extra: str, needed_by: str) -> Any:
    """The module of an optional dependency.

    Args:
        extra: the extra of this distribution that installs it.
        needed_by: what needs the module; the error message begins with it.

    Raises:
        BadInputError: the module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != name:
            raise  # the module is installed, but lacks one of its own dependencies
        raise BadInputError(f"{needed_by} needs {name}: {how_to_install(extra)}") from error


def _entry_points(group: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # slow, since it reads all installed distributions

    return list(entry_points(group=group))


def _unknown(kind: str, name: str, known: list[str]) -> str:
    near = _nearest(name, known)
    listed = f"known are {', '.join(known)}" if known else "none is known by name"
    return f"no {kind} {name!r}: {f'{near}; ' if near else ''}{listed}; give your own as module:Name"


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else ""
