"""Rows of a data set as a TRL trainer has them: checked before training, and read as samples in each call."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from datasets import Dataset
from transformers import PreTrainedTokenizerBase

from cooper_rl.columns import assistant_text, question_text, reference_of, user_text, worked_solution_of
from cooper_rl.domains.own_data import MappedProblems
from cooper_rl.errors import BadInputError
from cooper_rl.generation import conversation
from cooper_rl.generation.in_process import render_chat
from cooper_rl.method.protocols import Ranks
from cooper_rl.records import Problem, Sample

ROWS_AT_ONCE = 1000


def read_samples(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    columns: Mapping[str, Any],
    reference_column: str | None = None,
) -> list[Sample]:
    """The samples of a call, from the columns that the trainer hands over.

    Args:
        columns: by their names; what is no list with a value for each completion is left out.

    Raises:
        BadInputError: a row has no question or no reference answer.
    """
    lists = {name: values for name, values in columns.items() if isinstance(values, list | tuple)}
    lists = {name: values for name, values in lists.items() if len(values) == len(prompts)}
    found = []
    for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        record = {name: values[row] for name, values in lists.items()}
        place = f"row {row} of a batch"
        reference, aliases = reference_of(record, place, reference_column)
        question, text = read_question(record, prompt, place), assistant_text(completion)
        name, worked = str(record.get("problem_id") or ""), worked_solution_of(record, reference_column)
        found.append(Sample(question, reference, text, name, worked, aliases=aliases))
    return found


def read_question(record: Mapping[str, Any], prompt: Any, place: str) -> str:
    """The column `question` where it has one, else what the user says in the prompt.

    Raises:
        BadInputError: the column cannot be read, or the prompt is empty or no text.
    """
    own = question_text(record.get("question"), place, "question")
    if own.strip():
        return own
    if prompt is None or (isinstance(prompt, str) and not prompt.strip()) or not len(prompt):
        raise BadInputError(f"{place}: column 'prompt' is empty; leave the row out or fill it in")
    try:
        return user_text(prompt)
    except BadInputError as error:
        raise BadInputError(f"{place}: column 'prompt': {error}") from error


def find_group_size(prompts: Sequence[Any], ranks: Ranks) -> int:
    """How many completions a prompt has, where no trainer tells: equal prompts that follow one another are a group."""
    runs = [len(list(run)) for _, run in groupby(ranks.gather([repr(prompt) for prompt in prompts]))]
    return math.gcd(*runs) or 1


def check_rows(dataset: Any, what: str = "the training data set", reference_column: str | None = None) -> None:
    """Checks the rows of a data set before training; of a stream only the first.

    Raises:
        BadInputError: it is empty, or a row has no prompt or no reference answer; the message names row and column.
    """
    if dataset is None or count_rows(dataset) == 0:
        raise BadInputError(f"{what} is empty")
    stream = count_rows(dataset) is None
    for row, record in enumerate(_records(dataset)):
        place = f"{what}: row {row}"
        if "prompt" in record:
            read_question(record, record["prompt"], place)
        elif "environment" not in record:  # which gives the prompt itself
            raise BadInputError(f"{place}: no column 'prompt'; it has {', '.join(sorted(map(str, record)))}")
        reference_of(record, place, reference_column)
        if stream:
            return


def count_rows(dataset: Any) -> int | None:
    """How many rows a data set has; None of a stream."""
    try:
        return len(dataset)
    except TypeError:
        return None


def _records(dataset: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(dataset, Dataset):
        length = count_rows(dataset)
        yield from dataset if length is None else (dataset[row] for row in range(length))
        return
    for batch in dataset.iter(ROWS_AT_ONCE):
        names = list(batch)
        for values in zip(*batch.values(), strict=True):
            yield dict(zip(names, values, strict=True))


def check_data(dataset: Any, args: Any, reference_column: str | None = None, evaluation: Any = None) -> None:
    """Refuses a data set that a run could not be trained on, and one that it could not be evaluated on.

    Raises:
        BadInputError: a row cannot be read, or there are too few rows.
    """
    check_rows(dataset, reference_column=reference_column)
    check_size(dataset, args)
    for each in evaluation.values() if isinstance(evaluation, Mapping) else [evaluation]:
        if each is not None:
            check_rows(each, "the evaluation data set", reference_column)


def to_dataset(rows: Any) -> Any:
    """A list of rows as a data set; anything else as it is."""
    return Dataset.from_list(rows) if isinstance(rows, list) and rows else rows


def check_size(dataset: Any, args: Any) -> None:
    """Refuses a data set that is smaller than a batch: TRL would train on nothing.

    Raises:
        BadInputError: with both numbers.
    """
    needed = args.generation_batch_size // args.num_generations
    length = count_rows(dataset)
    if length is not None and length < needed:
        raise BadInputError(
            f"the training data set has {length} rows, and a generation batch needs {needed}"
            f" (generation_batch_size {args.generation_batch_size} / num_generations {args.num_generations}); give more"
            " rows or a smaller batch"
        )


def check_first(reward: Any, state: Any, args: Any, dataloader: Any) -> None:
    """Refuses what cannot be trained, before the first step.

    Args:
        reward: the CooperReward.
        dataloader: None where the data set was looked through already.

    Raises:
        BadInputError: a setting needs more than a reward function, the data set cannot be trained on, or the run is
            finished. transformers would train a finished run for one step more.
    """
    if reward.settings.credit != "outcome" and reward.credit is None:
        raise BadInputError(
            f"credit = {reward.settings.credit}: a reward function has one reward for a completion; use CooperTrainer"
        )
    if dataloader is not None:
        check_data(dataloader.dataset, args, reward.reference_column)
    if state.global_step and state.global_step >= state.max_steps:
        raise BadInputError(
            f"{args.output_dir}: finished at step {state.global_step}, nothing is left to train; raise max_steps, or"
            " leave out resume_from_checkpoint"
        )


def check_template(tokenizer: Any, dataloader: Any, args: Any) -> None:
    """Writes the first prompt out, so that a chat template that is missing or refuses it is known before training.

    Raises:
        BadInputError: with the way out.
    """
    first: Mapping[str, Any] = {} if dataloader is None else next(iter(dataloader.dataset), {})
    prompt = first.get("prompt")
    if isinstance(tokenizer, PreTrainedTokenizerBase) and isinstance(prompt, list):
        messages = list(prompt)
        while len(messages) > 1 and messages[-1].get("role") == "assistant":
            messages.pop()
        render_chat(tokenizer, [messages], getattr(args, "chat_template_kwargs", None))


def training_rows(problems: Sequence[Problem], system_prompt: str | None = None) -> Dataset:
    """Problems as the trainer's data set; those on the disk stay there."""
    if isinstance(problems, MappedProblems):
        return problems.data.map(_with_prompts, batched=True, fn_kwargs={"system_prompt": system_prompt})
    aliased = any(problem.aliases for problem in problems)
    return Dataset.from_list(
        [
            {
                "prompt": conversation(problem.question, system_prompt),
                "question": problem.question,
                "reference_answer": problem.reference_answer,
                "problem_id": problem.problem_id,
                "worked_solution": str(problem.metadata.get("worked_solution", "")),
                **({"aliases": list(problem.aliases)} if aliased else {}),
            }
            for problem in problems
        ]
    )


def _with_prompts(batch: Mapping[str, Any], system_prompt: str | None) -> dict[str, Any]:
    return {"prompt": [conversation(question, system_prompt) for question in batch["question"]]}
