"""`load_problems`: a data set's name in, `Problem` records out."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

from cooper_rl.domains.files import read_problem_file
from cooper_rl.domains.public import PUBLIC, load_public, local_copy
from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.records import Problem
from cooper_rl.settings.files import local_file

logger = logging.getLogger(__name__)
SUFFIXES = (".jsonl", ".json", ".parquet")
NANO = ("nano", "nano-kinship", "nano-weekdays")


def load_problems(name: str, *, split: str = "train", size: int | None = None, seed: int = 0) -> list[Problem]:
    """Problems of a data set: a name of `PUBLIC` or `NANO`, `reasoning_gym:<task>`, a local file, or a hub id.

    Args:
        split: `train` or `test`; for the nano worlds `train` or `heldout`.
        size: how many, drawn with the seed; all by default (generated sets: 1,000).

    Raises:
        BadInputError, MissingFileError: an unknown name, a missing file, a bad record, or no problem at all.
    """
    if name in NANO:
        from cooper_rl.domains.nano.worlds import WORLDS  # the generators take seconds to import

        return WORLDS[name].problems("heldout" if split == "test" else split, size or 1000, seed)
    if name.startswith("reasoning_gym:"):
        from cooper_rl.domains import reasoning_gym_tasks

        return reasoning_gym_tasks.load(name.removeprefix("reasoning_gym:"), size or 1000, seed)
    if name.endswith(SUFFIXES):
        path = local_file(name)
        if path is None:
            raise MissingFileError(f"{name}: no such file, here or in COOPER_DATA_DIR")
        problems = read_problem_file(path)
    elif name in PUBLIC or name.count("/") == 1:
        problems = load_public(name, split)
    else:
        names = ", ".join([*NANO, *PUBLIC, "reasoning_gym:<task>"])
        raise BadInputError(f"no data set {name!r}: give one of {names}, a hub id or a .jsonl/.json/.parquet file")
    if not problems:
        raise BadInputError(f"{name}: no problem with an answer in it")
    if size is not None and size < len(problems):
        problems = random.Random(seed).sample(problems, size)
    return problems


def check_problems(name: str, split: str) -> None:
    """What can be said before anything heavy starts: local files are read; generators and the hub are not asked.

    Raises:
        BadInputError, MissingFileError: as `load_problems`.
    """
    generated = name in NANO or name.startswith("reasoning_gym:")
    on_hub = name.count("/") == 1 and not name.endswith(SUFFIXES)
    if name in PUBLIC and split in PUBLIC[name].local:
        on_hub = local_copy(PUBLIC[name].local[split]) is None
    if not generated and not on_hub:
        load_problems(name, split=split)


def truth_of(name: str) -> Callable[[Problem, str], bool] | None:
    """Who judges a completion of this data set beyond the rule verifier: a nano world's generators, or nobody."""
    if name not in NANO:
        return None
    from cooper_rl.domains.nano.worlds import WORLDS

    return WORLDS[name].is_true
