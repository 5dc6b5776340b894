"""The problems that a training recipe names. They are the same for every engine."""

from __future__ import annotations

from cooper_rl.domains.problems import check_problems, load_problems
from cooper_rl.records import Problem
from cooper_rl.settings.train import TrainRecipe


def training_problems(named: TrainRecipe) -> list[Problem]:
    """The problems that the policy is trained on.

    Raises:
        MissingFileError, BadInputError, BackendError: as `load_problems`.
    """
    return load_problems(
        named.dataset_name,
        split=named.dataset_split,
        size=named.dataset_size,
        seed=named.dataset_seed,
        config=named.dataset_config,
        reference_column=named.reference_column,
    )


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
