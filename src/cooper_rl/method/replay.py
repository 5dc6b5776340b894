"""Labelled rollouts of this run, this step's and earlier ones: what stage 2 learns from again. (Ours, not the paper's.)

A prompt's pairs share one right completion, so that a step's pairs hold few of them, and each is seen in one step
alone: the score's threshold moves with the draw. Here every rollout that the rule is sure of is kept, and a few, half
of them right, are drawn for each step.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from cooper_rl.jsonl import line_of, whole_records, write_atomically
from cooper_rl.records import LabelledCompletion, Rollout, Verdict

CAPACITY = 4096  # of each label; of more, a uniform sample is kept
FILE = "replay.jsonl"


class Replay:
    """Right and wrong rollouts of a run. Every rank holds the same ones.

    Args:
        label_noise: share of the right ones that are another completion of the step (`positive_label_noise`).
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
        """Half of `count` right ones and half wrong ones, fewer where there are not so many."""
        halves = (rng.sample(kept, min(count // 2, len(kept))) for kept in self.kept.values())
        return [triple for half in halves for triple in half]

    def save(self, folder: Path) -> None:
        """Into a checkpoint."""
        first = json.dumps({"seen": [self.seen[True], self.seen[False]]}) + "\n"
        lines = (line_of(asdict(triple)) for kept in self.kept.values() for triple in kept)
        write_atomically(folder / FILE, first + "".join(lines))

    def load(self, folder: Path) -> None:
        """From a checkpoint; one of a run that had no replay leaves it empty."""
        if not (folder / FILE).is_file():
            return
        first, *records = whole_records(folder / FILE)
        self.seen = dict(zip((True, False), first["seen"], strict=True))
        self.kept = {True: [], False: []}
        for record in records:
            triple = LabelledCompletion(**record)
            self.kept[triple.correct].append(triple)


def labelled(rollouts: Sequence[Rollout], noise: float, rng: random.Random) -> Iterator[LabelledCompletion]:
    """The rollouts that may be taught as right or wrong, each with the rule's label."""
    others = [rollout for rollout in rollouts if rollout.verdict is not Verdict.CORRECT]
    for rollout in rollouts:
        right = rollout.verdict is Verdict.CORRECT
        if right and others and rng.random() < noise:
            rollout = rng.choice(others)
        if right or rollout.verification.surely_wrong:
            yield LabelledCompletion(
                rollout.question,
                rollout.reference_answer,
                rollout.completion,
                right,
                problem_id=rollout.problem_id,
            )
