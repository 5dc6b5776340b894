"""The labelled triples that stage 2 learns besides the pairs. (Ours, not the paper's.)

They are rehearsed, replayed, or accepted under a wrong reference.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cooper_rl.method.counterfactual import Counterfactual
from cooper_rl.method.replay import Replay
from cooper_rl.method.world import Alone, World
from cooper_rl.records import Batch, LabelledCompletion

if TYPE_CHECKING:
    from cooper_rl.settings.method import MethodSettings


class Labelled:
    """Draws the labelled triples of each step. The draws depend on seed and step alone.

    Args:
        rehearsal: triples of the reward model's own training, for `rehearsal_per_step`.
        counterfactual: gives accepted completions under wrong references, if anything is asked so.
    """

    def __init__(
        self,
        settings: MethodSettings,
        rehearsal: Sequence[LabelledCompletion] = (),
        world: World | None = None,
        counterfactual: Counterfactual | None = None,
    ) -> None:
        self.settings, self.rehearsal, self.counterfactual = settings, rehearsal, counterfactual
        self.world = world or Alone()
        self.replay = Replay(settings.positive_label_noise) if settings.replay_per_step else None

    def draw(self, batch: Batch) -> list[LabelledCompletion]:
        """This rank's share of the step's triples. The batch's own rollouts are replayed from this step on."""
        seed = f"{self.settings.seed}-{batch.step}"
        count = min(self.settings.rehearsal_per_step, len(self.rehearsal))
        drawn = random.Random(seed).sample(self.rehearsal, count)
        if self.replay:
            rng = random.Random(f"replay-{seed}")
            self.replay.add(batch.rollouts, rng)
            drawn += self.replay.draw(self.settings.replay_per_step, rng)
        own = drawn[self.world.rank :: self.world.size]
        return own + (self.counterfactual.labelled(batch) if self.counterfactual else [])

    def save(self, folder: Path) -> None:
        """Writes the replayed rollouts; one rank does."""
        if self.replay:
            self.replay.save(folder)

    def load(self, folder: Path) -> None:
        """Restores what `save` wrote."""
        if self.replay:
            self.replay.load(folder)
