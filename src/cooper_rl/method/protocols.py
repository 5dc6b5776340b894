"""What the method needs from outside: a reward model that it can train, and the ranks of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from cooper_rl.records import ContrastivePair, LabelledCompletion, Sample, Scorable, Triple

REWARD_MODEL_GROUP = "cooper_rl.reward_models"
REWARD_MODELS = {"verifyrm": "cooper_rl.verifyrm.model:VerifyRM"}
Item = TypeVar("Item")


class RewardModel(Protocol):
    """A reference-based reward model that can be trained, such as `verifyrm.updater.RewardModelUpdater`.

    A user's own is passed to the trainer, or named in the setting `reward_model_type`. The name is `module:Class` or an
    entry point of the group `cooper_rl.reward_models`, and `Class.from_pretrained(path)` then makes the model.

    With several ranks, every rank makes the same calls in the same order, with its own share of the records.
    """

    @property
    def version(self) -> int:
        """How many updates it has had."""

    def score(self, triples: Sequence[Scorable]) -> list[float]:
        """Probability, from 0 to 1, that each completion is right."""

    def update(self, pairs: Sequence[ContrastivePair], labelled: Sequence[LabelledCompletion]) -> dict[str, float]:
        """Takes one optimiser step. Returns `reward_model/*` metrics; empty where no rank has a pair."""

    def start_scores(self, triples: Sequence[Scorable]) -> list[float]:
        """Scores by the model as it was when it was made, whatever it has learned or loaded since.

        May be left out. `method/doubt.py` then takes the present scores, which hold back less well.
        """

    def snapshot(self) -> Any:
        """What `restore` needs: the weights and the optimiser's state."""

    def restore(self, snapshot: Any) -> None:
        """Weights and optimiser as they were when the snapshot was made."""

    def save(self, folder: Path) -> None:
        """Writes all that `load` needs."""

    def load(self, folder: Path) -> None:
        """Restores what `save` wrote."""


class ValuesSteps(RewardModel, Protocol):
    """A reward model that also values the steps of completions, as the setting `credit` may ask for."""

    def step_values(self, triples: Sequence[Scorable], ends: Sequence[Sequence[int]]) -> list[list[float]]:
        """Value after each step: the probability, from 0 to 1, that the whole will be right. The last one is the score.

        Args:
            ends: offsets of characters just after each step of a completion; the last is the completion's length.
        """


def best_scores(model: RewardModel | None, samples: Sequence[Sample]) -> list[float]:
    """The score of each sample, under the one of its references that it fits best; nan without a reward model."""
    if model is None:
        return [float("nan")] * len(samples)
    counts = [len(sample.references) for sample in samples]
    if sum(counts) == len(samples):
        return list(model.score(samples))
    scores = iter(model.score([Triple(s.question, each, s.completion) for s in samples for each in s.references]))
    return [max(next(scores) for _ in range(count)) for count in counts]


class Ranks(Protocol):
    """The processes that train together, one or several. Every rank makes the same calls in the same order."""

    rank: int
    size: int

    def gather(self, items: Sequence[Item]) -> list[Item]:
        """The items of all ranks, in the order of the ranks."""

    def add_up(self, numbers: Sequence[float]) -> list[float]:
        """Each number summed over the ranks."""


class Alone:
    """A single process."""

    rank = 0
    size = 1

    def gather(self, items: Sequence[Item]) -> list[Item]:
        """The items themselves."""
        return list(items)

    def add_up(self, numbers: Sequence[float]) -> list[float]:
        """The numbers themselves."""
        return list(numbers)
