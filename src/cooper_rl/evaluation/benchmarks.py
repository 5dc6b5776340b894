"""`cooper eval`: samples a model on benchmarks, and computes avg@k, pass@k and majority@k by rule, with intervals."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from cooper_rl.domains import find_domain
from cooper_rl.errors import BackendError, BadInputError, MissingFileError
from cooper_rl.evaluation.metrics import interval, majority, paired_test, pass_at_k
from cooper_rl.generation import Generation, Generator, load_generator
from cooper_rl.generation.generator import REFUSED
from cooper_rl.jsonl import line_of, records, write_atomically
from cooper_rl.labelling.collect import Task, collect, record, tasks_of
from cooper_rl.records import Problem, Verdict
from cooper_rl.settings.asking import AskingConfig, CollectConfig, EvalConfig
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifiers.simple import entry_as_reference

logger = logging.getLogger(__name__)

RESULTS = "results.json"


def evaluate_model(
    config: EvalConfig, *, resume: bool = False, progress: Callable[..., object] | None = None
) -> dict[str, Any]:
    """Draws the samples that are not there yet, judges them and writes `results.json`. Returns its content.

    Raises:
        BadInputError: the folder holds an evaluation and `resume` is false, or an evaluation with other settings.
        BackendError: the model's server does not answer, or requests failed. The samples so far are kept.
    """
    folder = Path(config.output)
    holds = any(path.stat().st_size for path in folder.rglob("*") if path.is_file())  # not after a mistyped name
    if holds and not resume:
        raise BadInputError(f"{folder}: already exists; continue it with --resume, or give another --output")
    others = read_results(Path(config.against)) if config.against else None
    if others:
        theirs = others["protocol"]
        differ = [name for name, own in protocol(config).items() if theirs.get(name, own) != own]
        if differ:
            logger.warning("%s: was evaluated with another %s", config.against, ", ".join(differ))
    load = cache(partial(load_generator, settings=config))  # loads the model once for all benchmarks
    found: dict[str, Any] = {"model": config.model.partition("@")[0], "protocol": protocol(config), "benchmarks": {}}
    for benchmark in config.benchmarks:
        with RuleVerifier(verifier_of(config, benchmark), workers=config.verifier_workers) as verifier:
            scored = score_samples(config, benchmark, folder, "samples", load, verifier, resume, progress)
            row = metrics_of(scored, config)
            if config.greedy:
                greedy = score_samples(config, benchmark, folder, "greedy", load, verifier, resume, progress)
                row["greedy"] = metrics_of(greedy, config)["avg"]
        if others:
            row["against"] = against(row, others, benchmark, config)
        found["benchmarks"][benchmark] = row
    write_atomically(folder / RESULTS, json.dumps(found, indent=1) + "\n")
    return found


def protocol(config: EvalConfig) -> dict[str, Any]:
    """The settings that two evaluations must share to be compared."""
    names = ("split", "size", "dataset_seed", "num_samples", "temperature", "top_p", "max_new_tokens", "system_prompt")
    of_data = ("dataset_config", "reference_column")
    return {name: getattr(config, name) for name in (*names, *of_data, "verifier", "seed")}


def score_samples(
    config: EvalConfig,
    benchmark: str,
    folder: Path,
    kind: str,
    load: Callable[[str], Generator],
    verifier: RuleVerifier,
    resume: bool,
    progress: Callable[..., object] | None,
) -> list[dict[str, Any]]:
    """The completions of one benchmark with verdict and parsed answer, also written to `<benchmark>.scored.jsonl`."""
    name = benchmark.replace("/", "_").replace(":", "_")
    path = folder / kind / f"{name}.jsonl"
    greedy = kind == "greedy"
    asking = {field.name: getattr(config, field.name) for field in fields(AskingConfig)}
    settings = CollectConfig(
        models=[config.model],
        dataset_names=[benchmark],
        dataset_config=config.dataset_config,
        reference_column=config.reference_column,
        output=str(path),
        dataset_split=config.split,
        dataset_size=config.size,
        dataset_seed=config.dataset_seed,
        num_generations=1 if greedy else config.num_samples,
        temperature=0.0 if greedy else config.temperature,
        top_p=1.0 if greedy else config.top_p,
        max_new_tokens=config.max_new_tokens,
        system_prompt=config.system_prompt,
        seed=config.seed,
        **asking,
    )
    tasks = tasks_of(settings)
    counts = collect(settings, tasks=tasks, load=load, resume=resume, progress=progress)
    failed = sum(count["failed"] - count["refused"] for count in counts.values())
    if failed:
        raise BackendError(f"{path}: {failed} completions are missing: their requests failed; ask again with --resume")
    wanted = {task.key: task for task in tasks}  # the file may hold more samples, of an earlier evaluation
    with path.open(encoding="utf-8") as lines:
        by_key = {tuple(line["key"]): line for _, line in records(lines, str(path)) if tuple(line["key"]) in wanted}
    refused = wanted.keys() - by_key.keys()
    if refused:
        logger.warning("%s: %d completions were refused by the server, and count as wrong", benchmark, len(refused))
    by_key |= {key: record(settings, wanted[key], Generation("", REFUSED)) for key in refused}
    samples = [by_key[key] for key in sorted(by_key)]
    add_verdicts(samples, tasks, verifier)
    write_atomically(path.with_suffix(".scored.jsonl"), "".join(map(line_of, samples)))
    return samples


def add_verdicts(samples: Sequence[dict[str, Any]], tasks: Sequence[Task], verifier: RuleVerifier) -> None:
    """Adds to each sample its verdict, the parsed answer, and the answer that it votes for, in one writing."""
    references = {task.key: references_of(task.problem, verifier.kind) for task in tasks}
    columns = [references[tuple(s["key"])] for s in samples], [s["completion"] for s in samples]
    found = verifier.explain_many(*columns)
    for sample, verification in zip(samples, found, strict=True):
        sample["verdict"], sample["parsed_answer"] = verification.verdict.value, verification.parsed_answer
        right, stated = verification.verdict is Verdict.CORRECT, verification.parsed_answer is not None
        sample["vote"] = sample["reference"] if right else verification.answer if stated else None
    unjudged = sum(sample["verdict"] in (Verdict.ERROR, Verdict.TIMEOUT) for sample in samples)
    if unjudged:
        logger.warning(
            "%d of %d samples could not be judged by %s, and count as wrong", unjudged, len(samples), verifier.kind
        )


def references_of(problem: Problem, kind: str) -> tuple[str, ...]:
    """The references for a verifier: of a reasoning-gym task the whole entry, since its scorer may need it."""
    entry = problem.metadata.get("entry")
    return (entry_as_reference(entry),) if entry and kind == problem.source else problem.references


def metrics_of(scored: Sequence[dict[str, Any]], config: EvalConfig) -> dict[str, Any]:
    """avg@k, pass@k and majority@k over problems, with 95 % bootstrap intervals."""
    problems: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for sample in scored:
        problems[sample["key"][1]].append(sample)
    right_P_N = np.array([[s["verdict"] == Verdict.CORRECT for s in group] for group in problems.values()])
    answers = ([s["vote"] for s in group] for group in problems.values())
    voted_P = np.array([majority(*each) for each in zip(answers, right_P_N, strict=True)])
    count = right_P_N.shape[1]
    by_name = {"avg": right_P_N.mean(axis=1)}
    by_name |= {f"pass@{k}": pass_at_k(right_P_N, k) for k in powers_of_two(count)[1:]}
    if count > 2:
        by_name[f"majority@{count}"] = voted_P
    row: dict[str, Any] = {"problems": len(problems), "samples": count}
    for name, values_P in by_name.items():
        low, high = interval(values_P, samples=config.bootstrap_samples, seed=config.seed)
        row[name] = {"mean": float(values_P.mean()), "low": low, "high": high}
    row["unparseable"] = float(np.mean([s["verdict"] == Verdict.UNPARSEABLE for s in scored]))
    row["not_judged"] = float(np.mean([s["verdict"] in (Verdict.ERROR, Verdict.TIMEOUT) for s in scored]))
    row["cut_off"] = float(np.mean([s["finish_reason"] == "length" for s in scored]))
    row["refused"] = float(np.mean([s["finish_reason"] == REFUSED for s in scored]))
    row["by_problem"] = dict(zip(problems, right_P_N.mean(axis=1).tolist(), strict=True))
    return row


def powers_of_two(most: int) -> list[int]:
    """1, 2, 4, ... up to `most`."""
    return [1 << i for i in range(most.bit_length()) if 1 << i <= most]


def against(row: dict[str, Any], others: dict[str, Any], benchmark: str, config: EvalConfig) -> dict[str, Any] | None:
    """The paired test against another model's avg on the same problems. None if it was not run on this benchmark.

    Raises:
        BadInputError: the two were not evaluated on the same problems.
    """
    theirs = others["benchmarks"].get(benchmark)
    if theirs is None:
        return None
    if theirs["by_problem"].keys() != row["by_problem"].keys():
        raise BadInputError(f"{config.against}: {benchmark} was evaluated on other problems; use its size and seed")
    pairs = np.array([(value, theirs["by_problem"][key]) for key, value in row["by_problem"].items()])
    test = paired_test(pairs[:, 0], pairs[:, 1], samples=config.bootstrap_samples, seed=config.seed)
    return {"model": others["model"], **test}


def read_results(folder: Path) -> dict[str, Any]:
    """The results that an evaluation wrote into a folder.

    Raises:
        MissingFileError: the folder has no results.
        BadInputError: the file is damaged.
    """
    path = folder / RESULTS
    if not path.is_file():
        raise MissingFileError(f"{folder}: not the output of an evaluation ({RESULTS} is missing)")
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        found["benchmarks"], found["protocol"], found["model"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"{path}: not the results of an evaluation ({type(error).__name__}: {error})") from error
    return found


def table(found: dict[str, Any]) -> list[list[str]]:
    """The header and the rows of the printed table. Values are in percent, with intervals in brackets."""
    names = ["avg", *dict.fromkeys(n for row in found["benchmarks"].values() for n in row if "@" in n)]
    greedy = any("greedy" in row for row in found["benchmarks"].values())
    header = ["benchmark", "problems", *(f"avg@{found['protocol']['num_samples']}" if n == "avg" else n for n in names)]
    rows = [[*header, *(["greedy"] if greedy else []), "unparseable", "cut off", "against"]]
    for benchmark, row in found["benchmarks"].items():
        cells = [percent(row[name]) if name in row else "-" for name in names]
        cells += [percent(row["greedy"]) if "greedy" in row else "-"] if greedy else []
        test = row.get("against")
        other = "-"
        if test:
            low, high = (f"{100 * test[name]:+.1f}" for name in ("low", "high"))
            p_value = f"p = {test['p_value']:.3f}" if test["p_value"] >= 0.001 else "p < 0.001"
            other = f"{100 * test['difference']:+.1f} [{low}, {high}] {p_value}"
        shares = [f"{100 * row[name]:.1f}" for name in ("unparseable", "cut_off")]
        rows.append([benchmark, str(row["problems"]), *cells, *shares, other])
    return rows


def percent(metric: dict[str, float]) -> str:
    """A metric in percent with its interval: `41.2 [38.0, 44.3]`."""
    return f"{100 * metric['mean']:.1f} [{100 * metric['low']:.1f}, {100 * metric['high']:.1f}]"


def verifier_of(config: EvalConfig, benchmark: str) -> str:
    """The verifier of this benchmark: the one in the settings, or the one that fits the data set.

    Raises:
        BadInputError: there is no such data set.
    """
    return config.verifier or find_domain(benchmark).verifier
