"""Finds domains by name, and loads their problems: of a data set, or of all that a training recipe names."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TypeVar

from cooper_rl.domains.domain import Domain, StoredDomain, Truth
from cooper_rl.domains.generated import PREFIX, ReasoningGymTask
from cooper_rl.domains.own_data import FileSet, HubSet
from cooper_rl.errors import BadInputError
from cooper_rl.parts import find
from cooper_rl.records import Problem
from cooper_rl.settings.files import SUFFIXES
from cooper_rl.settings.train import TrainRecipe
from cooper_rl.tables import is_hub_id

logger = logging.getLogger(__name__)

Problems = TypeVar("Problems", bound=Sequence[Problem])
GROUP = "cooper_rl.domains"
KNOWN = {  # import paths, so that a domain is imported only when it is named
    "nano": "cooper_rl.domains.nano.arithmetic:Arithmetic",
    "nano-kinship": "cooper_rl.domains.nano.kinship:Kinship",
    "nano-steps": "cooper_rl.domains.nano.arithmetic:Steps",
    "nano-weekdays": "cooper_rl.domains.nano.weekdays:Weekdays",
    "schoolbook": "cooper_rl.domains.schoolbook:Schoolbook",
    "gsm8k": "cooper_rl.domains.public:Gsm8k",
    "math": "cooper_rl.domains.public:Math",
    "math500": "cooper_rl.domains.public:Math500",
    "svamp": "cooper_rl.domains.public:Svamp",
    "olympiadbench": "cooper_rl.domains.public:OlympiadBench",
    "odyssey": "cooper_rl.domains.public:Odyssey",
    "dapo-math-17k": "cooper_rl.domains.public:DapoMath",
    "aqua": "cooper_rl.domains.public:Aqua",
}
OTHERS = f", or name a {PREFIX}<task>, a hub id (owner/name) or a .jsonl/.json/.csv/.parquet file"


def find_domain(name: str, config: str | None = None, reference_column: str | None = None) -> Domain:
    """The domain of this name.

    Args:
        name: a name in `KNOWN`, `reasoning_gym:<task>`, a hub id `owner/name`, or a local .jsonl, .json, .csv or
            .parquet file. A user's own domain is named by its entry point of the group `cooper_rl.domains`, or as
            `module:Class`.
        config: the configuration (subset) of a hub data set; None takes its default.
        reference_column: the column of the reference answers in a file or a hub data set; None takes the usual names.

    Raises:
        BadInputError: there is no domain of that name, the object named is no `Domain`, or it has no configurations or
            columns where one is given.
    """
    if is_hub_id(name):
        return HubSet(name, config, reference_column)
    if config:
        raise BadInputError(f"{name}: no hub id (owner/name), so it has no configuration {config!r}; leave that out")
    if name.endswith(SUFFIXES):
        return FileSet(name, reference_column)
    if reference_column:
        raise BadInputError(f"{name}: no file or hub id, so it has no column {reference_column!r}; leave that out")
    if name.startswith(PREFIX):
        return ReasoningGymTask(name.removeprefix(PREFIX))
    found = find(GROUP, name, KNOWN, kind="data set", others=OTHERS)
    domain = found() if isinstance(found, type) and issubclass(found, Domain) else found
    if not isinstance(domain, Domain):
        raise BadInputError(f"data set {name!r}: {found!r} is no subclass of cooper_rl.domains.Domain")
    return domain


def load_problems(
    name: str,
    *,
    split: str = "train",
    size: int | None = None,
    seed: int = 0,
    config: str | None = None,
    reference_column: str | None = None,
) -> list[Problem]:
    """Problems of a data set, by a name that `find_domain` knows.

    Args:
        split: `train`, `test` or another split of the domain. The `test` split of a nano world is its `heldout`.
        size: number of problems, drawn with the seed. None takes all, or 1,000 of a domain that generates them.
        config, reference_column: as of `find_domain`.

    Raises:
        MissingFileError: a file does not exist.
        BadInputError: the name or split is unknown, a record is bad, or there is no problem.
        BackendError: the hub could not be read.
    """
    return _some(find_domain(name, config, reference_column).problems(split, size, seed), name, split)


def _some(problems: Problems, name: str, split: str) -> Problems:
    if not problems:
        raise BadInputError(f"{name}: split {split!r} has no problem with an answer")
    return problems


def warn_of_shared(training: Sequence[Problem], heldout: Sequence[Problem]) -> None:
    """Warns where held-out questions are training questions too, as where one file is named for both."""
    asked = {problem.question for problem in heldout}
    trained_on = {problem.question for problem in training if problem.question in asked} if asked else set()
    shared = sum(problem.question in trained_on for problem in heldout)
    if shared:
        logger.warning(
            "%d of %d held-out questions are training questions too; name other problems as heldout_dataset_name",
            shared,
            len(heldout),
        )


def check_problems(name: str, split: str, config: str | None = None, reference_column: str | None = None) -> None:
    """Checks a data set's name and split before anything slow starts. Local files are read; the hub is not asked.

    Raises:
        BadInputError, MissingFileError: as `load_problems`.
    """
    find_domain(name, config, reference_column).check(split)


def truth_of(name: str) -> Truth | None:
    """The domain's `is_true`, which knows more than the rule verifier; None if the domain has none of its own."""
    domain = find_domain(name) if name else None
    return domain.is_true if domain is not None and domain.has_truth else None


def training_problems(named: TrainRecipe) -> Sequence[Problem]:
    """The problems that the policy is trained on; those of a large table stay on the disk.

    Raises:
        MissingFileError, BadInputError, BackendError: as `load_problems`.
    """
    domain = find_domain(named.dataset_name, named.dataset_config, named.reference_column)
    drawn = domain.draw if isinstance(domain, StoredDomain) else domain.problems
    return _some(drawn(named.dataset_split, named.dataset_size, named.dataset_seed), domain.name, named.dataset_split)


def heldout_problems(named: TrainRecipe) -> list[Problem]:
    """The problems that true accuracy is measured on; empty where the recipe names none.

    Raises:
        MissingFileError, BadInputError, BackendError: as `load_problems`.
    """
    if not named.heldout_dataset_name:
        return []
    return load_problems(
        named.heldout_dataset_name,
        split=named.heldout_dataset_split,
        size=named.heldout_dataset_size,
        seed=named.dataset_seed,
        config=named.heldout_dataset_config,
        reference_column=named.heldout_reference_column,
    )


def check_named_problems(named: TrainRecipe) -> None:
    """Checks both data sets before anything slow starts, as `check_problems`.

    Raises:
        MissingFileError, BadInputError: as `check_problems`.
    """
    check_problems(named.dataset_name, named.dataset_split, named.dataset_config, named.reference_column)
    if named.heldout_dataset_name:
        columns = named.heldout_dataset_config, named.heldout_reference_column
        check_problems(named.heldout_dataset_name, named.heldout_dataset_split, *columns)
