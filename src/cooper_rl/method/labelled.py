"""The labelled triples that stage 2 learns besides the pairs: rehearsed, replayed, or accepted under a wrong reference.

Replay: a step's pairs hold few right completions, each is seen in one step only, and the score's threshold moves with
that draw. So every rollout that the rule is sure of is kept, and some of them are drawn for each update, half of them
right. (Ours, not the paper's.)
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cooper_rl.jsonl import line_of, whole_records, write_atomically
from cooper_rl.method.counterfactual import Counterfactual
from cooper_rl.method.protocols import Alone, Ranks
from cooper_rl.records import Batch, LabelledCompletion, Rollout, Verdict

if TYPE_CHECKING:
    from cooper_rl.settings.method import MethodSettings

CAPACITY = 4096  # rollouts kept of each label; where there are more, a uniform sample of them is kept
FILE = "replay.jsonl"


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
        ranks: Ranks | None = None,
        counterfactual: Counterfactual | None = None,
    ) -> None:
        self.settings, self.rehearsal, self.counterfactual = settings, rehearsal, counterfactual
        self.ranks = ranks or Alone()
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
        own = drawn[self.ranks.rank :: self.ranks.size]
        return own + (self.counterfactual.draw_labelled(batch) if self.counterfactual else [])

    def save(self, folder: Path) -> None:
        """Writes the replayed rollouts; one rank does."""
        if self.replay:
            self.replay.save(folder)

    def load(self, folder: Path) -> None:
        """Restores what `save` wrote."""
        if self.replay:
            self.replay.load(folder)


class Replay:
    """Right and wrong rollouts of a run. Every rank holds the same ones.

    Args:
        label_noise: this share of the right ones is replaced by another completion of the step
            (`positive_label_noise`).
    """

    def __init__(self, label_noise: float) -> None:
        self.label_noise = label_noise
        self.kept: dict[bool, list[LabelledCompletion]] = {True: [], False: []}
        self.seen = {True: 0, False: 0}

    def add(self, rollouts: Sequence[Rollout], rng: random.Random) -> None:
        """Keeps a step's rollouts that the rule is sure of."""
        for triple in label(rollouts, self.label_noise, rng):
            kept = self.kept[triple.correct]
            self.seen[triple.correct] += 1
            if len(kept) < CAPACITY:
                kept.append(triple)
            elif (place := rng.randrange(self.seen[triple.correct])) < CAPACITY:  # reservoir sampling
                kept[place] = triple

    def draw(self, count: int, rng: random.Random) -> list[LabelledCompletion]:
        """`count` rollouts, half of them right and half wrong; fewer where not so many are kept."""
        halves = (rng.sample(kept, min(count // 2, len(kept))) for kept in self.kept.values())
        return [triple for half in halves for triple in half]

    def save(self, folder: Path) -> None:
        """Writes the rollouts into a checkpoint folder."""
        first = json.dumps({"seen": [self.seen[True], self.seen[False]]}) + "\n"
        lines = (line_of(fields_of(triple)) for kept in self.kept.values() for triple in kept)
        write_atomically(folder / FILE, first + "".join(lines))

    def load(self, folder: Path) -> None:
        """Reads the rollouts from a checkpoint folder. The checkpoint of a run without replay leaves it empty."""
        if not (folder / FILE).is_file():
            return
        first, *records = whole_records(folder / FILE)
        self.seen = dict(zip((True, False), first["seen"], strict=True))
        self.kept = {True: [], False: []}
        for record in records:
            triple = LabelledCompletion(**record)
            self.kept[triple.correct].append(triple)


def fields_of(triple: LabelledCompletion) -> dict[str, Any]:
    """A triple's fields without those of steps, which rollouts do not have."""
    return {name: value for name, value in asdict(triple).items() if name not in ("ends", "first_error", "aliases")}


def label(rollouts: Sequence[Rollout], noise: float, rng: random.Random) -> Iterator[LabelledCompletion]:
    """The rollouts that may be taught as right or wrong, each with the rule's label."""
    others = [rollout for rollout in rollouts if rollout.verdict is not Verdict.CORRECT]
    for rollout in rollouts:
        right = rollout.verdict is Verdict.CORRECT
        if right and others and rng.random() < noise:
            rollout = rng.choice(others)
        if right or rollout.teachable_as_wrong:
            yield LabelledCompletion(
                rollout.question,
                rollout.reference_answer,
                rollout.completion,
                right,
                problem_id=rollout.sample.problem_id,
            )
