"""Replay: stage 2 learns again from rollouts of this step and of earlier ones. (Ours, not the paper's.)

A step's pairs hold few right completions, each is seen in one step only, and the score's threshold moves with that
draw. Replay keeps every rollout that the rule is sure of, and draws some of them for each update, half of them right.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cooper_rl.jsonl import line_of, whole_records, write_atomically
from cooper_rl.records import LabelledCompletion, Rollout, Verdict

CAPACITY = 4096  # rollouts kept of each label; where there are more, a uniform sample of them is kept
FILE = "replay.jsonl"


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
        for triple in labelled(rollouts, self.label_noise, rng):
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


def labelled(rollouts: Sequence[Rollout], noise: float, rng: random.Random) -> Iterator[LabelledCompletion]:
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
