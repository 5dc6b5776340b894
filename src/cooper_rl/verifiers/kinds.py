"""The verifiers by name: each is a function `explain(reference, completion) -> Verification`, loaded in a worker."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.metadata import entry_points

from cooper_rl.errors import BadInputError
from cooper_rl.records import Verification

Explain = Callable[[str, str], Verification]

KINDS = {
    "math": "cooper_rl.verifiers.maths:explain",
    "math_verify": "cooper_rl.verifiers.maths:explain_plain",
}
ENTRY_POINT_GROUP = "cooper_rl.verifiers"


def import_path(kind: str) -> str:
    """`module:function` of a kind: a name above, an installed entry point's name, or the path itself.

    Raises:
        BadInputError: nothing is known by that name.
    """
    found = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    path = KINDS.get(kind) or found.get(kind) or (kind if ":" in kind else None)
    if path is None:
        names = ", ".join([*KINDS, *found])
        raise BadInputError(f"no verifier named {kind!r}: there are {names}, or give module:function")
    return path


def load(path: str) -> Explain:
    """The function behind an import path."""
    module, _, name = path.partition(":")
    function: Explain = getattr(importlib.import_module(module), name)
    return function
