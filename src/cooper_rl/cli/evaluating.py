"""The commands that measure a model: eval a policy, eval-rm a reward model."""

from __future__ import annotations

from typing import Annotated

import typer

from cooper_rl.cli.options import Bf16, Config, Json, Resume
from cooper_rl.jsonl import finite


def evaluate(context: typer.Context, config: Config = None, resume: Resume = False, json_: Json = False) -> None:
    """Evaluate a model on benchmarks: avg@k, pass@k, majority@k with intervals; samples are kept.

    Example: cooper eval --model HuggingFaceTB/SmolLM2-135M-Instruct --benchmarks gsm8k,svamp --size 200
    --output runs/eval
    """
    import json

    from cooper_rl.console import print_rows, progress_line
    from cooper_rl.evaluation.benchmarks import evaluate_model, table
    from cooper_rl.settings.evaluation import EvalConfig
    from cooper_rl.settings.recipe import load_recipe

    settings = EvalConfig(**load_recipe(config, context.args, command="eval"))
    with progress_line("eval") as progress:
        found = evaluate_model(settings, resume=resume, progress=progress)
    if json_:
        for row in found["benchmarks"].values():
            del row["by_problem"]
        typer.echo(json.dumps(finite(found)))
    else:
        print_rows(table(found))


def eval_rm(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Labelled triples: a JSONL, JSON, CSV (.gz too) or parquet file, a hub id, verifybench, "
            "verifybench_hard, hardverify_math or processbench."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help="A VerifyRM: folder, hub id, or a shipped one: nano, nano-weekdays, smollm2-135m, smollm2-135m-beyond."
        ),
    ] = None,
    verifier: Annotated[str, typer.Option(help="The rule to compare with; none leaves it out.")] = "math",
    judge: Annotated[str | None, typer.Option(help="A language model to compare with, named as in collect.")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Draw this many records of each file.")] = None,
    heldout: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Take only the questions that train-rm holds out with this heldout_fraction."),
    ] = None,
    aliases: Annotated[
        bool, typer.Option(help="Score under the alias that a completion fits best, not the reference answer alone.")
    ] = True,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed with which --size records are drawn and --heldout splits.")
    ] = 0,
    probes: Annotated[bool, typer.Option(help="Also measure on probes of known hacks.")] = True,
    probe_problems: Annotated[int, typer.Option(min=1, help="Make the probes of this many problems.")] = 100,
    bf16: Bf16 = False,
    json_: Json = False,
) -> None:
    """Measure a VerifyRM on labelled triples and on probes, and compare it with the rule and with always saying wrong.

    Example: cooper eval-rm --model nano labelled.jsonl
    """
    import json

    from cooper_rl.evaluation.eval_rm import EvalSettings, as_lines, evaluate_files
    from cooper_rl.evaluation.published import check_labelled
    from cooper_rl.settings.files import check_model_folder, resolve_model

    if model:
        check_model_folder(resolve_model(model, "reward_model"), "--model")
    for file in files:
        check_labelled(file)
    rule = None if verifier == "none" else verifier
    settings = EvalSettings(model, rule, judge, size, heldout, aliases, probes, bf16, probe_problems, seed=seed)
    found = evaluate_files(files, settings)
    typer.echo(json.dumps(finite(found)) if json_ else "\n".join(as_lines(found)))
