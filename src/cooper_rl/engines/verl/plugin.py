"""The entry point `cooper` of the group `verl.plugins`: what `import verl` imports at its end, in every process.

It makes `trainer.v1.trainer_mode=cooper` known. verl swallows the errors of its plugins, so they are shown here.
"""

from __future__ import annotations

import importlib.abc
import logging
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

TRAINERS = "verl.trainer.ppo.v1"  # the package that knows verl's trainers, and is imported where one is chosen
TRAINER = "cooper_rl.engines.verl.ppo_trainer"
logger = logging.getLogger(__name__)


class RegisterAfter(importlib.abc.MetaPathFinder):
    """Imports this project's trainer right after verl's, so that no other process pays for importing them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """verl's own spec of `TRAINERS`, with a second step after its execution; None for any other module."""
        spec = PathFinder.find_spec(fullname, path) if fullname == TRAINERS else None
        if spec is None or spec.loader is None:
            return None
        sys.meta_path.remove(self)
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            register()

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def register() -> None:
    """Imports the trainer, whose decorator registers it with verl. After an error verl's own trainers still work."""
    try:
        importlib.import_module(TRAINER)
    except Exception as error:
        told = "cooper-rl: trainer.v1.trainer_mode=cooper is not there, since its trainer cannot be loaded: %s: %s"
        logger.error(told, type(error).__name__, error)


def hide_trl() -> None:
    """Lets verl not see TRL: it imports a class wherever TRL is installed, and TRL 1.16 has that class no longer."""
    import verl.utils.import_utils as import_utils

    import_utils.is_trl_available = lambda: False


def load() -> None:
    """Prepares this process.

    Raises:
        Exception: whatever goes wrong; it is logged first, since verl only notes it at the debug level.
    """
    try:
        hide_trl()
        if TRAINERS in sys.modules:
            register()
        else:
            sys.meta_path.insert(0, RegisterAfter())
    except Exception as error:
        logger.error("cooper-rl: its plugin for verl cannot be loaded: %s: %s", type(error).__name__, error)
        raise


def is_plugin_loaded() -> bool:
    """Whether `import verl` has loaded this plugin in this process."""
    import verl.utils.import_utils as import_utils

    found: Any = import_utils.is_trl_available
    return bool(found.__module__ == __name__)


load()
