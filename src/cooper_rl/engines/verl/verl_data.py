"""Problems as verl's data, and verl's rows as samples of the method.

The samples come in an order that depends on them alone. verl's own order is that in which the answers arrived.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

from cooper_rl.columns import GROUND_TRUTH, question_of, reference_of, worked_solution_of
from cooper_rl.domains import heldout_problems, training_problems, warn_of_shared
from cooper_rl.generation import conversation
from cooper_rl.method.monitor import mean_reward
from cooper_rl.records import Batch, Problem, Sample
from cooper_rl.settings.train import TrainSettings

FOLDER = "problems"  # in the run folder
TOKENS_TOGETHER = 64  # the longest prompt is rounded up to a multiple of this


@dataclass(frozen=True)
class DataFiles:
    """A run's problems as files that verl reads."""

    train: Path
    heldout: Path | None  # None where the recipe names no held-out problems
    longest_prompt_tokens: int
    problems: int  # to train on


def write_data(settings: TrainSettings, tokenizer: Any) -> DataFiles:
    """Writes the recipe's problems into the run folder, and counts the tokens of the longest prompt."""
    folder = Path(settings.output_dir).absolute() / FOLDER
    problems, heldout = training_problems(settings), heldout_problems(settings)
    rows = {"train": rows_of(problems, settings.dataset_name, settings.system_prompt)}
    if settings.heldout_dataset_name:
        warn_of_shared(problems, heldout)
        rows["heldout"] = rows_of(heldout, settings.heldout_dataset_name, settings.system_prompt)
    files = {part: write_rows(folder / f"{part}.parquet", some) for part, some in rows.items()}
    longest = max(longest_prompt(some, tokenizer) for some in rows.values())
    longest = -(-longest // TOKENS_TOGETHER) * TOKENS_TOGETHER
    return DataFiles(files["train"], files.get("heldout"), longest, len(problems))


def rows_of(problems: Sequence[Problem], source: str, system_prompt: str | None = None) -> list[dict[str, Any]]:
    """Problems in the columns that verl reads; `extra_info` holds what only the method needs."""
    return [
        {
            "data_source": source,
            "prompt": conversation(problem.question, system_prompt),
            "reward_model": {"style": "rule", "ground_truth": problem.reference_answer},
            "extra_info": {
                "index": index,
                "question": problem.question,
                "problem_id": problem.problem_id,
                "worked_solution": str(problem.metadata.get("worked_solution", "")),
                **({"aliases": list(problem.aliases)} if problem.aliases else {}),
            },
        }
        for index, problem in enumerate(problems)
    ]


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Writes a parquet file."""
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


def longest_prompt(rows: Sequence[Mapping[str, Any]], tokenizer: Any) -> int:
    """Tokens of the longest prompt, as the tokenizer's chat template writes it."""
    from cooper_rl.generation.in_process import render_chat

    texts = render_chat(tokenizer, [row["prompt"] for row in rows])
    return max(map(len, tokenizer(texts, add_special_tokens=False)["input_ids"]))


def sample_of(row: Mapping[str, Any], completion: str) -> Sample:
    """A completion of one of verl's rows, whether this project wrote the row or a user did.

    Args:
        row: with `reward_model` (its `ground_truth` is the reference answer, or a list of answers that are all right),
            `raw_prompt` and `extra_info`. Where `extra_info` has no `question`, it is what the user says in the prompt.

    Raises:
        BadInputError: the row has no reference answer or no question.
    """
    extra = row.get("extra_info") or {}
    place = f"data row {extra.get('index', '?')}"
    reference, aliases = reference_of(row, place, GROUND_TRUTH)
    question = question_of({"question": extra.get("question"), "prompt": row.get("raw_prompt")}, place)
    identifier, worked = str(extra.get("problem_id") or ""), worked_solution_of(row, GROUND_TRUTH)
    return Sample(question, reference, completion, identifier, worked, aliases=aliases)


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


def stable_order(rows: Rows) -> list[int]:
    """The numbers of the rows, those of a prompt one after another. verl draws the prompts' names anew in each run."""
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
