"""A batch of verl's as the method's samples, in an order that depends on the samples alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from cooper_rl.engines.verl.data import sample_of
from cooper_rl.method.monitor import mean_reward
from cooper_rl.records import Batch, Sample


@dataclass(frozen=True)
class Rows:
    """The rows of a batch: each has a completion of the prompt that `uids` names."""

    uids: Sequence[str]
    indices: Sequence[tuple[int, int, str]]  # of the prompts in verl's data, as `place_of` orders them
    responses: Sequence[list[int]]  # token ids
    samples: Sequence[Sample]

    @classmethod
    def of(cls, data: Any, tokenizer: Any) -> Rows:
        """From a TensorDict with the fields uid, responses, reward_model, extra_info and raw_prompt."""
        responses = [ids.tolist() for ids in data["responses"].unbind()]
        texts = tokenizer.batch_decode(responses, skip_special_tokens=True)
        extra = list(data["extra_info"])
        columns = zip(list(data["reward_model"]), extra, list(data["raw_prompt"]), texts, strict=True)
        samples = [sample_of({"reward_model": r, "extra_info": e, "raw_prompt": p}, text) for r, e, p, text in columns]
        return cls([str(u) for u in data["uid"]], [place_of((e or {}).get("index")) for e in extra], responses, samples)

    def select(self, order: Sequence[int]) -> Rows:
        """The rows with these numbers, in this order."""
        return Rows(
            [self.uids[i] for i in order],
            [self.indices[i] for i in order],
            [self.responses[i] for i in order],
            [self.samples[i] for i in order],
        )


def place_of(index: Any) -> tuple[int, int, str]:
    """A key that sorts a prompt by its `extra_info.index`: numbers first, then whatever else the user's rows have."""
    return (0, int(index), "") if isinstance(index, Integral) else (1, 0, str(index))


def in_order(rows: Rows) -> list[int]:
    """The numbers of the rows, those of a prompt one after another.

    verl's own order is that in which the answers arrived, and its names are drawn anew in each run.
    """
    first = {
        uid: (rows.indices[members[0]], min(rows.responses[i] for i in members))
        for uid, members in _groups(rows).items()
    }
    return sorted(range(len(rows.uids)), key=lambda i: (first[rows.uids[i]], rows.uids[i], rows.responses[i]))


def _groups(rows: Rows) -> dict[str, list[int]]:
    members: dict[str, list[int]] = {}
    for i, uid in enumerate(rows.uids):
        members.setdefault(uid, []).append(i)
    return members


def whole_groups(rows: Rows, size: int) -> list[int]:
    """The numbers of the rows whose prompt has all its completions. A failed request leaves a prompt with fewer."""
    counts = Counter(rows.uids)
    return [i for i, uid in enumerate(rows.uids) if counts[uid] == size]


def rewards_of(batch: Batch, whole: Sequence[int], count: int) -> list[float]:
    """The reward of each of `count` rows. `whole` has the numbers of the rows that are in `batch`.

    verl has no value for "no reward". A row that could not be judged gets the mean of its group, so that its advantage
    is 0. So is that of the rows in no whole group, which get 0.
    """
    found = [0.0] * count
    means = {group: mean_reward(rollouts) for group, rollouts in batch.groups().items()}
    for row, rollout in zip(whole, batch.rollouts, strict=True):
        found[row] = means[rollout.group] if rollout.reward is None else rollout.reward
    return found
