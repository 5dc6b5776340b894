"""The labelled triples that stage 2 learns besides the pairs: rehearsed and replayed ones. (Ours, not the paper's.)"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cooper_rl.method.replay import Replay
from cooper_rl.method.world import Alone, World
from cooper_rl.records import Batch, LabelledCompletion

if TYPE_CHECKING:
    from cooper_rl.settings.method import MethodSettings


class Labelled:
    """Draws the labelled triples of each step. The draws depend on seed and step alone.

    Args:
        rehearsal: triples of the reward model's own training, for `rehearsal_per_step`.
    """

    def __init__(
        self, settings: MethodSettings, rehearsal: Sequence[LabelledCompletion] = (), world: World | None = None
    ) -> None:
        self.settings = settings
        self.rehearsal = rehearsal
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
        return drawn[self.world.rank :: self.world.size]

    def save(self, folder: Path) -> None:
        """Writes the replayed rollouts; one rank does."""
        if self.replay:
            self.replay.save(folder)

    def load(self, folder: Path) -> None:
        """Restores what `save` wrote."""
        if self.replay:
            self.replay.load(folder)
