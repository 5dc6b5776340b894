"""Finds a part that a setting names: one of ours, one that an installed distribution offers, or a user's own.

Every kind of part (domain, verifier, negative source, ...) is looked up here, so that all of them are named in the same
three ways. Nothing is imported before it is asked for by name, and this module imports no torch.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from cooper_rl.errors import BadInputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def find(group: str, name: str, known: Mapping[str, str], *, kind: str | None = None, others: str = "") -> Any:
    """The class, function or object that `name` stands for.

    A name is looked for in this order: among `known`, as `module:Name`, among the entry points of `group`. An installed
    distribution can therefore add names but never change what one of ours means.

    Args:
        group: the kind of part, as its entry-point group: `cooper_rl.domains`, `cooper_rl.negative_sources`, ...
        known: our own parts of this kind; the name of each with its import path `module:Name`.
        kind: what a message calls the part; by default the group's last word: `domain`, `negative source`.
        others: ends the message about an unknown name: what else may be given, where the caller knows more forms.

    Raises:
        BadInputError: no such name; two distributions offer it; or its module cannot be imported or lacks it.
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
    """The names that `find` knows: ours in their order, then those of the installed distributions."""
    return list(dict.fromkeys([*known, *sorted(point.name for point in _entry_points(group))]))


def load(kind: str, name: str, path: str) -> Any:
    """What the import path `module:Name`, or `module:Outer.Name`, leads to; `kind` and `name` are for messages.

    Raises:
        BadInputError: the path has another form, its module cannot be imported, or the attribute is not there.
    """
    module_name, _, attribute = path.partition(":")
    what = f"{kind} {name!r}" if name == path else f"{kind} {name!r} ({path})"
    if not all(part.isidentifier() for part in [*module_name.split("."), *attribute.split(".")]):
        raise BadInputError(f"{what}: not an import path; write it as module:Name, for example my_package.parts:MyPart")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # the module is somebody else's code, and may fail in any way
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


def _entry_points(group: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # reads all that is installed: only where no name of ours is meant

    return list(entry_points(group=group))


def _unknown(kind: str, name: str, known: list[str]) -> str:
    near = _nearest(name, known)
    listed = f"known are {', '.join(known)}" if known else "none is known by name"
    return f"no {kind} {name!r}: {f'{near}; ' if near else ''}{listed}; give your own as module:Name"


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else ""
