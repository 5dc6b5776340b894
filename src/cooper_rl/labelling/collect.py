"""`cooper collect`: problems x models -> completions. Each is written at once, so that none is asked for twice."""

from __future__ import annotations

import hashlib
import logging
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cooper_rl.domains import Truth, find_domain, load_problems, truth_of
from cooper_rl.errors import BackendError, BadInputError
from cooper_rl.generation import Generation, Generator, Messages, Sampling, conversation, load_generator
from cooper_rl.jsonl import line_of, read_written
from cooper_rl.records import Problem
from cooper_rl.settings.asking import CollectConfig
from cooper_rl.settings.files import resolve_model

logger = logging.getLogger(__name__)

Key = tuple[str, str, int]  # model, problem, number of the sample
# These names are not models. worked_solutions gives the data set's solutions. written_answers gives bare reference
# answers, in another writing or made wrong.
WORKED, WRITTEN = "worked_solutions", "written_answers"


@dataclass(frozen=True, slots=True)
class Task:
    """One completion that is wanted."""

    model: str
    problem: Problem
    sample: int
    run_seed: int
    system_prompt: str | None = None
    truth: Truth | None = None  # labels the completion, if labels are asked for

    @property
    def key(self) -> Key:
        """Identifies the task: the model without its server, the question with its reference answer, the sample."""
        text = f"{self.problem.question}\n{self.problem.reference_answer}"
        return self.model.partition("@")[0], hashlib.sha256(text.encode()).hexdigest()[:16], self.sample

    @property
    def seed(self) -> int:
        """The task's own seed, which is the same after a restart."""
        return int.from_bytes(hashlib.sha256(repr((self.key, self.run_seed)).encode()).digest()[:4], "big") >> 1

    @property
    def meant_right(self) -> bool:
        """Whether a written answer is to be right: samples 0, 2, ... are, samples 1, 3, ... are made wrong."""
        return self.sample % 2 == 0


def collect(
    config: CollectConfig,
    *,
    tasks: Sequence[Task] | None = None,
    load: Callable[[str], Generator] | None = None,
    resume: bool = False,
    progress: Callable[..., object] | None = None,
) -> dict[str, dict[str, int]]:
    """Asks every model for the completions that the output does not have yet. Returns the counts of each model.

    `before` were there already, `collected` were added, `failed` are missing; of these a server `refused` the prompts.

    Args:
        tasks: the result of `tasks_of(config)`, if it is known already.
        load: returns the back end for a model's name. By default the model is loaded when it is first needed.

    Raises:
        BadInputError: the output exists and `resume` is false, or it was collected with other settings.
        BackendError: `stop_after_failures` requests in a row failed. Earlier completions are in the output.
    """
    output = Path(config.output)
    if output.exists() and output.stat().st_size and not resume:
        raise BadInputError(f"{output}: already exists; continue it with --resume, or give another --output")
    tasks = tasks_of(config) if tasks is None else tasks
    done = keys_before(output, config, tasks) if output.exists() else set()
    waiting = [task for task in tasks if task.key not in done]
    counts = {model: Counter(before=0, collected=0, failed=0, refused=0) for model in config.models}
    for task in tasks:
        counts[task.model]["before"] += task.key in done
    load = load or partial(load_generator, settings=config)
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("a", encoding="utf-8") as file:
        for model in config.models:
            own, reason = [task for task in waiting if task.model == model], ""
            for task, generation in generate(config, model, own, load):
                counts[model]["failed" if generation.text is None else "collected"] += 1
                if generation.text is None:
                    counts[model]["refused"] += generation.refused
                    reason = f"{task.problem.problem_id}: {generation.finish_reason}"
                else:
                    file.write(line_of(record(config, task, generation)))
                    file.flush()
                if progress:
                    written = sum(c["before"] + c["collected"] for c in counts.values())
                    progress(completed=written, total=len(tasks), description=model)
            if reason:
                missing = counts[model]["failed"]
                logger.warning("%s: missing completions: %d, the last one of %s", model, missing, reason)
    return {model: dict(count) for model, count in counts.items()}


def tasks_of(config: CollectConfig) -> list[Task]:
    """Every completion to ask for, in order. A problem that two data sets share is asked for once.

    The system prompt is that of the settings, or, if there is none, that of the problem's domain.
    """
    asked: list[tuple[Problem, str | None, Truth | None]] = []
    for name in config.dataset_names:
        truth = truth_of(name) if config.label_by_scorer else None
        prompt = find_domain(name).system_prompt if config.system_prompt is None else config.system_prompt
        problems = load_problems(
            name,
            split=config.dataset_split,
            size=config.dataset_size,
            seed=config.dataset_seed,
            config=config.dataset_config,
            reference_column=config.reference_column,
        )
        asked += [(problem, prompt, truth) for problem in problems]
    tasks = [
        Task(model, problem, sample, config.seed, prompt, truth)
        for model in config.models
        for problem, prompt, truth in asked
        for sample in range(config.num_generations)
    ]
    return list({task.key: task for task in tasks}.values())


def generate(
    config: CollectConfig, model: str, tasks: list[Task], load: Callable[[str], Generator]
) -> Iterable[tuple[Task, Generation]]:
    """(task, generation) pairs, as the model finishes them."""
    if not tasks:
        return
    if model == WORKED:
        for task in tasks:
            solution = task.problem.metadata.get("worked_solution")
            yield task, Generation(solution, "stop") if solution else Generation(None, "it has no worked solution")
        return
    if model == WRITTEN:
        yield from ((task, write_answer(task)) for task in tasks)
        return
    prompts = [conversation(task.problem.question, task.system_prompt) for task in tasks]
    for index, generation in ask(
        load(resolve_model(model, "policy")),
        prompts,
        sampling(config),
        [task.seed for task in tasks],
        stop_after=config.stop_after_failures,
    ):
        yield tasks[index], generation


def write_answer(task: Task) -> Generation:
    """A completion that is only the reference answer, in another writing or made wrong.

    Whole numbers are left out, since models' completions have enough of them.
    """
    from cooper_rl.synthesis.rewrite import change, rewrite, state  # imports sympy

    rng = random.Random(task.seed)
    answer = task.problem.reference_answer
    if re.fullmatch(r"\s*-?(\d+|\d{1,3}(,\d{3})+)\s*", answer):
        text = None
    else:
        text = rewrite(answer, rng, task.problem.question) if task.meant_right else change(answer, rng)
    return Generation(None, "no other writing is known") if text is None else Generation(state(text, rng), "stop")


def ask(
    generator: Generator, prompts: Sequence[Messages], settings: Sampling, seeds: Sequence[int], *, stop_after: int
) -> Iterable[tuple[int, Generation]]:
    """A generator's stream that raises an error after too many failures in a row.

    Raises:
        BackendError: `stop_after` failures in a row, or all of fewer prompts failed and none of them was refused.
    """
    failed_in_a_row, refused = 0, False
    for index, generation in generator.stream(prompts, settings, seeds):
        failed_in_a_row = failed_in_a_row + 1 if generation.text is None else 0
        refused |= generation.refused
        yield index, generation
        if failed_in_a_row >= (stop_after if refused else min(stop_after, len(prompts))):
            raise BackendError(
                f"{failed_in_a_row} requests in a row failed, the last with: {generation.finish_reason}; "
                "earlier answers are kept: check the server, then run the same command with --resume"
            )


def sampling(config: CollectConfig) -> Sampling:
    """The sampling settings of a request."""
    return Sampling(config.max_new_tokens, config.temperature, config.top_p)


def record(config: CollectConfig, task: Task, generation: Generation) -> dict[str, Any]:
    """A line of the output."""
    model, digest, sample = task.key
    if model == WRITTEN:
        label: bool | None = task.meant_right
    elif model == WORKED:
        label = True if task.truth else None  # right by construction, also where no closing sentence states the answer
    else:
        label = task.truth(task.problem, str(generation.text)) if task.truth else None
    return {
        "question": task.problem.question,
        "reference": task.problem.reference_answer,
        **({"aliases": list(task.problem.aliases)} if task.problem.aliases else {}),
        "completion": generation.text,
        **({} if label is None else {"correct": label}),
        "source": task.problem.source,
        "problem_id": task.problem.problem_id,
        "model": model,
        "finish_reason": generation.finish_reason,
        "sampling": {**asdict(sampling(config)), "system_prompt": task.system_prompt, "seed": task.seed},
        "key": [model, digest, sample],
    }


def keys_before(output: Path, config: CollectConfig, tasks: Sequence[Task]) -> set[Key]:
    """The keys of the tasks whose completions are in the output.

    Raises:
        BadInputError: the output holds other records, or was collected with other settings.
    """
    keys: set[Key] = set()
    seeds = {task.key: task.seed for task in tasks}
    wanted = [
        {**asdict(sampling(config)), "system_prompt": prompt}
        for prompt in dict.fromkeys(task.system_prompt for task in tasks)
    ]
    for place, found in read_written(output):
        try:
            model, digest, sample = found["key"]
            settings = {name: found["sampling"][name] for name in wanted[0]}
        except (KeyError, TypeError, ValueError) as error:
            raise BadInputError(f"{place}: not a collected completion; give another --output") from error
        if settings not in wanted:
            raise BadInputError(f"{place}: collected with {settings}, not {wanted[0]}; give another --output")
        key = (model, digest, sample)
        if found["sampling"].get("seed", seeds.get(key)) != seeds.get(key, found["sampling"].get("seed")):
            raise BadInputError(f"{place}: collected with another seed; give another --output")
        keys.add(key)
    return keys
