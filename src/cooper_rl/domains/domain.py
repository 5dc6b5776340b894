"""What a domain is: problems by split and seed, who knows the truth, and which verifier and prompt fit."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod

from cooper_rl.errors import BadInputError
from cooper_rl.records import Problem


class Domain(ABC):
    """Problems of one kind, and what is known of them.

    A subclass sets `name` and writes `problems`; the rest has defaults. It is made without arguments.
    `cooper_rl.domains.contract.check_domain` tests that it keeps what is promised here.

    Attributes:
        name: what recipes and messages call it.
        splits: the names of its splits. No question is in two of them. Empty: it has no parts, or only the hub knows
            them, so that any name is taken.
        verifier: the rule verifier that reads its answers, by the name that `cooper verify` knows it by.
        system_prompt: what a model is told before each question where the user says nothing else; None: nothing.
    """

    name: str
    splits: tuple[str, ...] = ()
    verifier: str = "math"
    system_prompt: str | None = None

    @abstractmethod
    def problems(self, split: str, size: int | None, seed: int) -> list[Problem]:
        """`size` distinct problems of a split, in an order that depends on the seed alone.

        Args:
            size: None: all of them, or as many as the domain thinks fit where they are generated without end.

        Raises:
            BadInputError: there is no such split, or the problems cannot be read.
        """

    def is_true(self, problem: Problem, completion: str) -> bool | None:
        """Whether the completion is right, by more than the rule verifier; None where that is not known.

        It measures and never trains, so that it tells whether a policy has learned or has fooled its reward.
        """
        return None

    @property
    def has_truth(self) -> bool:
        """Whether this domain knows more than the rule verifier: it has an `is_true` of its own."""
        return type(self).is_true is not Domain.is_true

    def check(self, split: str) -> None:
        """What can be said of a split before anything slow starts; nothing is generated or downloaded.

        Raises:
            BadInputError: there is no such split.
        """
        self.check_split(split)

    def check_split(self, split: str) -> None:
        """Refuses a split that there is not.

        Raises:
            BadInputError: `splits` does not have it.
        """
        if self.splits and split not in self.splits:
            raise BadInputError(f"{self.name} has no split {split!r}, only {', '.join(self.splits)}")


class StoredDomain(Domain):
    """A domain whose problems are written down somewhere: a whole split is read, and `size` of it are drawn."""

    @abstractmethod
    def read(self, split: str) -> list[Problem]:
        """All problems of a split, in their order.

        Raises:
            BadInputError: a problem has no question or no answer, or the split is not there.
        """

    def problems(self, split: str, size: int | None, seed: int) -> list[Problem]:
        """All problems of a split, or `size` of them at random."""
        self.check_split(split)
        problems = self.read(split)
        if size is None or size >= len(problems):
            return problems
        return random.Random(seed).sample(problems, size)
