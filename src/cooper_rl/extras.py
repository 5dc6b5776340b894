"""Imports optional libraries where they are used. If one is missing, the error names the extra that installs it."""

from __future__ import annotations

import importlib
from typing import Any

from cooper_rl.errors import BadInputError


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
        raise BadInputError(f"{needed_by} needs {name}: pip install 'cooper-rl[{extra}]'") from error
