"""Problems as verl's data, and verl's rows as samples of the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cooper_rl.columns import GROUND_TRUTH, question_of, reference_of, worked_solution_of
from cooper_rl.domains import heldout_problems, training_problems, warn_of_shared
from cooper_rl.generation import conversation
from cooper_rl.records import Problem, Sample
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
    from cooper_rl.generation.in_process import rendered

    texts = rendered(tokenizer, [row["prompt"] for row in rows])
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
