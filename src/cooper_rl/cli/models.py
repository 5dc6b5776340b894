"""The commands around a reward model and its measurements: collect, annotate, train-rm, eval-rm, eval, score."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cooper_rl.cli.options import Bf16, Config, Json, Resume
from cooper_rl.errors import BadInputError
from cooper_rl.jsonl import finite, open_input
from cooper_rl.steps import KINDS

SHIPPED = "A VerifyRM: a folder, a hub id or a shipped one (nano, nano-weekdays, smollm2-135m, smollm2-135m-beyond)."


def collect(context: typer.Context, config: Config = None, resume: Resume = False, json_: Json = False) -> None:
    """Collect completions of problems from one or more models, to be labelled by `cooper annotate`.

    Example: cooper collect --models HuggingFaceTB/SmolLM2-135M-Instruct --dataset_names gsm8k --dataset_size 100
    --output runs/completions.jsonl
    """
    from cooper_rl.cli.console import progress_line
    from cooper_rl.labelling.collect import collect as run_collect
    from cooper_rl.settings.asking import CollectConfig

    settings = CollectConfig(**_load(context, config))
    with progress_line("collect") as progress:
        counts = run_collect(settings, resume=resume, progress=progress)
    lines = [
        f"{model}: {', '.join(f'{name} {value}' for name, value in count.items())}" for model, count in counts.items()
    ]
    _print(counts, lines, json_)


def annotate(context: typer.Context, config: Config = None, resume: Resume = False, json_: Json = False) -> None:
    """Label completions by rule and by a judge, and keep those on which the two agree.

    Example: cooper annotate --input_files runs/completions.jsonl --judge Qwen3-4B@http://127.0.0.1:8000/v1
    --output runs/triples.jsonl
    """
    from cooper_rl.cli.console import progress_line
    from cooper_rl.labelling.annotate import annotate as run_annotate
    from cooper_rl.labelling.candidate import as_lines
    from cooper_rl.settings.asking import AnnotateConfig

    settings = AnnotateConfig(**_load(context, config))
    with progress_line("annotate") as progress:
        found = run_annotate(settings, resume=resume, progress=progress)
    _print(found, as_lines(found), json_)


def train_rm(context: typer.Context, config: Config = None, resume: Resume = False, json_: Json = False) -> None:
    """Train a VerifyRM on labelled triples; writes the checkpoint and its model card.

    Example: cooper train-rm --config recipes/nano-reward-model.yaml --num_train_epochs 1 --output_dir models/rm
    """
    from cooper_rl.settings.files import check_model_folder, resolve_model
    from cooper_rl.settings.reward_model import RewardModelTrainConfig
    from cooper_rl.tables import check_table

    settings = RewardModelTrainConfig(**_load(context, config))
    check_model_folder(resolve_model(settings.model_name_or_path, "policy"), "model_name_or_path")
    for path in [*settings.train_files, *settings.eval_files]:
        check_table(path, "labelled triples")
    from cooper_rl.cli.console import progress_line
    from cooper_rl.verifyrm.train_rm import train_reward_model

    with progress_line("train-rm") as progress:
        metrics = train_reward_model(settings, resume=resume, progress=progress)
    lines = [
        f"{key:<20} {value:.4f}" if isinstance(value, float) else f"{key:<20} {value}" for key, value in metrics.items()
    ]
    _print(metrics, lines, json_)


def eval_rm(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Labelled triples: JSONL, JSON, CSV (also .gz) or parquet files, hub ids, verifybench, "
            "verifybench_hard, hardverify_math or processbench."
        ),
    ],
    model: Annotated[str | None, typer.Option(help=SHIPPED)] = None,
    verifier: Annotated[str, typer.Option(help="Rule to compare with; none leaves it out.")] = "math",
    judge: Annotated[str | None, typer.Option(help="Language model to compare with, named as in collect.")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Number of records to draw from each file.")] = None,
    heldout: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Take only the questions that train-rm holds out with this heldout_fraction."),
    ] = None,
    aliases: Annotated[
        bool, typer.Option(help="Score under the alias that a completion fits best, not the reference answer alone.")
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="Seed for --size and --heldout.")] = 0,
    probes: Annotated[bool, typer.Option(help="Also measure on probes of known hacks.")] = True,
    probe_problems: Annotated[int, typer.Option(min=1, help="Number of problems to make probes of.")] = 100,
    bf16: Bf16 = None,
    json_: Json = False,
) -> None:
    """Measure a VerifyRM on labelled triples and on probes, and compare it with the rule and with always saying wrong.

    Example: cooper eval-rm --model nano labelled.jsonl
    """
    from cooper_rl.evaluation.eval_rm import EvalSettings, as_lines, check_labelled, evaluate_files
    from cooper_rl.settings.files import check_model_folder, resolve_model

    if model:
        check_model_folder(resolve_model(model, "reward_model"), "--model")
    for file in files:
        check_labelled(file)
    rule = None if verifier == "none" else verifier
    settings = EvalSettings(model, rule, judge, size, heldout, aliases, probes, bf16, probe_problems, seed=seed)
    found = evaluate_files(files, settings)
    _print(found, as_lines(found), json_)


def evaluate(context: typer.Context, config: Config = None, resume: Resume = False, json_: Json = False) -> None:
    """Evaluate a model on benchmarks: avg@k, pass@k, majority@k with intervals; samples are kept.

    Example: cooper eval --model HuggingFaceTB/SmolLM2-135M-Instruct --benchmarks gsm8k,svamp --size 200
    --output runs/eval
    """
    from cooper_rl.cli.console import print_rows, progress_line
    from cooper_rl.evaluation.benchmarks import evaluate_model, table
    from cooper_rl.settings.asking import EvalConfig

    settings = EvalConfig(**_load(context, config))
    with progress_line("eval") as progress:
        found = evaluate_model(settings, resume=resume, progress=progress)
    if json_:
        for row in found["benchmarks"].values():
            del row["by_problem"]
        typer.echo(json.dumps(finite(found)))
    else:
        print_rows(table(found))


def score(
    model: Annotated[str, typer.Option(help=SHIPPED)],
    file: Annotated[
        Path | None, typer.Argument(help="JSONL {question, reference, completion}; stdin by default.")
    ] = None,
    spans: Annotated[
        str | None,
        typer.Option(help="Also add the value after each step: step_ends and step_values; steps are line or sentence."),
    ] = None,
    bf16: Bf16 = None,
) -> None:
    """Score completions with a VerifyRM: the same records with a score from 0 to 1.

    Example: cooper score --model nano triples.jsonl
    """
    from cooper_rl.settings.files import check_model_folder, resolve_model

    path = resolve_model(model, "reward_model")
    check_model_folder(path, "--model")
    if spans not in (None, *KINDS):
        raise BadInputError(f"--spans: give {' or '.join(KINDS)}, not {spans!r}")
    with open_input(file) as (lines, name):
        from cooper_rl.distributed import start_precision
        from cooper_rl.verifyrm import VerifyRM
        from cooper_rl.verifyrm.triples import score_stream

        reward_model = VerifyRM.from_pretrained(path, bf16=start_precision(bf16))
        score_stream(lines, sys.stdout.write, reward_model, spans=spans, source=name)


def _load(context: typer.Context, config: Path | None) -> dict[str, Any]:
    from cooper_rl.settings.recipe import load_recipe

    return load_recipe(config, context.args, command=str(context.info_name))


def _print(found: Any, lines: list[str], as_json: bool) -> None:
    typer.echo(json.dumps(finite(found)) if as_json else "\n".join(lines))
