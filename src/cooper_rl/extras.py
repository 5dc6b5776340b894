"""Libraries that only some users need: imported where they are used, named with the extra that brings them."""

from __future__ import annotations

import importlib
from typing import Any

from cooper_rl.errors import BadInputError


def optional(module: str, *, extra: str, needed_by: str) -> Any:
    """The module of an optional dependency.

    Args:
        extra: the extra of this distribution that installs it.
        needed_by: what cannot be done without it, as the beginning of a sentence.

    Raises:
        BadInputError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != name:
            raise  # it is there, and lacks something of its own
        raise BadInputError(f"{needed_by} needs {name}: pip install 'cooper-rl[{extra}]'") from error
