"""The `cooper` command: thin, and quick to answer, since it imports what a command needs only when it runs."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Annotated, Any

import typer
from typer.core import TyperCommand

from cooper_rl.errors import BadInputError, CooperError, MissingFileError
from cooper_rl.ranks import leave

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

app = typer.Typer(
    help="Train a reasoning policy and its reference-based reward model together.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
WITH_OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}
Config = Annotated[Path | None, typer.Option("--config", help="Recipe (YAML). Any key can follow as --key value.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with an output that is there.")]
Bf16 = Annotated[bool, typer.Option("--bf16", help="Forward passes of the model in bfloat16; weights stay float32.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


class RecipeCommand(TyperCommand):
    """A command whose help ends with the keys that its recipe may have."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from cooper_rl.settings.help import described_keys

        formatter.write("\nSettings, in the recipe or as --key value:\n")
        for heading, keys in described_keys(str(self.name)):
            with formatter.section(heading):
                formatter.write_dl(keys)
        if self.name == "train":
            formatter.write("\nand every field of TRL's GRPOConfig.\n")


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Train a reasoning policy and its reference-based reward model together."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"cooper {installed('cooper-rl')}")
        raise typer.Exit()


@app.command(cls=RecipeCommand, context_settings=WITH_OVERRIDES)
def train(
    context: typer.Context,
    config: Config = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last complete checkpoint.")] = False,
) -> None:
    """One run into a run folder.

    Example: cooper train --config recipes/quickstart.yaml --arm cooper --max_steps 12 --output_dir runs/try
    """
    from cooper_rl.settings.recipe import load_recipe

    recipe = load_recipe(config, context.args)
    check_before_training(recipe, resume=resume)
    from cooper_rl.engines.trl.run import run_training

    run_training(recipe, resume=resume)


@app.command(context_settings=WITH_OVERRIDES)
def compare(
    context: typer.Context,
    config: Config = None,
    arms: Annotated[str, typer.Option(help="Comma-separated: rule, static, cooper, hybrid.")] = "rule,static,cooper",
    seeds: Annotated[str, typer.Option(help="Comma-separated seeds.")] = "0",
    output_dir: Annotated[Path, typer.Option("--output_dir", help="Folder of the run folders.")] = Path("runs/compare"),
    jobs: Annotated[int | None, typer.Option(help="Runs at once; by default as many as fit the cores.")] = None,
    json_: Json = False,
) -> None:
    """The arms, or a recipe's variants, on the same problems: run folders, a table, summary.json and report.html.

    Example: cooper compare --config recipes/quickstart.yaml --arms rule,static,cooper --seeds 0,1,2 --output_dir runs/c
    """
    from cooper_rl.compare import compare as run_compare
    from cooper_rl.settings.recipe import load_recipe, parse_overrides, variants_of

    chosen_arms = [arm.strip() for arm in arms.split(",") if arm.strip()]
    try:
        chosen_seeds = [int(seed) for seed in seeds.split(",")]
    except ValueError as error:
        raise BadInputError(f"--seeds {seeds}: give whole numbers separated by commas") from error
    if not chosen_arms:
        raise BadInputError("--arms: give at least one arm")
    if config is None:
        raise BadInputError("--config is missing: name a recipe")
    variants = list(variants_of(config))
    for name in variants or chosen_arms:
        chosen = [f"--{'variant' if variants else 'arm'}", name]
        recipe = {**load_recipe(config, [*context.args, *chosen]), "output_dir": "unused-by-this-check"}
        check_before_training(recipe)
    run_compare(
        config,
        parse_overrides(context.args),
        arms=chosen_arms,
        seeds=chosen_seeds,
        output_dir=output_dir,
        variants=variants,
        jobs=jobs,
        as_json=json_,
    )


@app.command()
def verify(
    file: Annotated[Path | None, typer.Argument(help="JSONL {reference, completion}; stdin by default.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Add the reason and both parsed answers.")] = False,
    output: Annotated[Path | None, typer.Option(help="Where to write; stdout by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where --output ends.")] = False,
    verifier: Annotated[
        str,
        typer.Option(
            help="math, math_verify, exact, choice, gsm8k_strict, gsm8k_flexible, reasoning_gym:TASK, module:function."
        ),
    ] = "math",
    workers: Annotated[int, typer.Option(help="Worker processes.")] = 2,
    deadline_seconds: Annotated[float, typer.Option(help="Hard limit for one record.")] = 5.0,
) -> None:
    """Judge completions against reference answers by rule: the same records with a verdict.

    Example: echo '{"reference": "1/2", "completion": "It is \\\\boxed{0.5}"}' | cooper verify
    """
    from cooper_rl.console import progress_line
    from cooper_rl.verifiers import RuleVerifier
    from cooper_rl.verifiers.stream import finished, verify_stream

    if output and output.exists() and not resume:
        raise BadInputError(f"{output}: it is there already; --resume goes on with it")
    before = finished(output) if output and output.exists() else Counter[str]()
    with (
        opened(file) as (lines, name),
        RuleVerifier(verifier, workers=workers, deadline_seconds=deadline_seconds) as rule,
        output.open("a", encoding="utf-8") if output else nullcontext(sys.stdout) as target,
        progress_line("verify", shown=output is not None) as progress,
    ):
        counts = before + verify_stream(
            lines, target.write, verifier=rule, explain=explain, source=name, done=before.total(), progress=progress
        )
    typer.echo(", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())) or "no record", err=True)


@app.command()
def score(
    model: Annotated[str, typer.Option(help="A VerifyRM: folder, hub id or nano.")],
    file: Annotated[Path | None, typer.Argument(help="JSONL {question, reference, completion}; stdin.")] = None,
    bf16: Bf16 = False,
) -> None:
    """Score completions with a VerifyRM: the same records with a score from 0 to 1.

    Example: cooper score --model nano triples.jsonl
    """
    from cooper_rl.settings.files import check_model_folder, resolve_model

    path = resolve_model(model, "reward_model")
    check_model_folder(path, "--model")
    with opened(file) as (lines, name):
        from cooper_rl.verifyrm import VerifyRM
        from cooper_rl.verifyrm.triples import score_stream

        score_stream(lines, sys.stdout.write, VerifyRM.from_pretrained(path, bf16=bf16), source=name)


@app.command(cls=RecipeCommand, context_settings=WITH_OVERRIDES)
def collect(context: typer.Context, config: Config = None, resume: Resume = False, json_: Json = False) -> None:
    """Collect completions of problems from one or more models, to be labelled by `cooper annotate`.

    Example: cooper collect --models HuggingFaceTB/SmolLM2-135M-Instruct --dataset_names gsm8k --dataset_size 100
    --output runs/completions.jsonl
    """
    import json

    from cooper_rl.console import progress_line
    from cooper_rl.labelling.collect import collect as run_collect
    from cooper_rl.settings.labelling import CollectConfig
    from cooper_rl.settings.recipe import load_recipe

    settings = CollectConfig(**load_recipe(config, context.args, command="collect"))
    with progress_line("collect") as progress:
        counts = run_collect(settings, resume=resume, progress=progress)
    if json_:
        typer.echo(json.dumps(counts))
        return
    for model, count in counts.items():
        typer.echo(f"{model}: {', '.join(f'{name} {value}' for name, value in count.items())}")


@app.command(cls=RecipeCommand, context_settings=WITH_OVERRIDES)
def annotate(context: typer.Context, config: Config = None, resume: Resume = False, json_: Json = False) -> None:
    """Label completions by rule and by a judge, and keep those on which the two agree.

    Example: cooper annotate --input_files runs/completions.jsonl --judge Qwen3-4B@http://127.0.0.1:8000/v1
    --output runs/triples.jsonl
    """
    import json

    from cooper_rl.console import progress_line
    from cooper_rl.labelling.annotate import annotate as run_annotate
    from cooper_rl.labelling.statistics import as_lines
    from cooper_rl.settings.labelling import AnnotateConfig
    from cooper_rl.settings.recipe import load_recipe

    settings = AnnotateConfig(**load_recipe(config, context.args, command="annotate"))
    with progress_line("annotate") as progress:
        found = run_annotate(settings, resume=resume, progress=progress)
    typer.echo(json.dumps(found) if json_ else "\n".join(as_lines(found)))


@app.command("train-rm", cls=RecipeCommand, context_settings=WITH_OVERRIDES)
def train_rm(context: typer.Context, config: Config = None, resume: Resume = False, json_: Json = False) -> None:
    """Train a VerifyRM on labelled triples; writes the checkpoint and its model card.

    Example: cooper train-rm --config recipes/nano-reward-model.yaml --num_train_epochs 1 --output_dir models/rm
    """
    import json

    from cooper_rl.settings.files import check_model_folder, local_file, resolve_model
    from cooper_rl.settings.recipe import load_recipe
    from cooper_rl.settings.reward_model import RewardModelTrainConfig

    settings = RewardModelTrainConfig(**load_recipe(config, context.args, command="train-rm"))
    check_model_folder(resolve_model(settings.model_name_or_path, "policy"), "model_name_or_path")
    for path in [*settings.train_files, *settings.eval_files]:
        if not local_file(path):
            raise MissingFileError(f"{path}: no such file of labelled triples, here or in COOPER_DATA_DIR")
    from cooper_rl.console import progress_line
    from cooper_rl.verifyrm.train import train_reward_model

    with progress_line("train-rm") as progress:
        figures = train_reward_model(settings, resume=resume, progress=progress)
    if json_:
        typer.echo(json.dumps(figures))
    else:
        for name, value in figures.items():
            typer.echo(f"{name:<20} {value:.4f}" if isinstance(value, float) else f"{name:<20} {value}")


@app.command("eval-rm")
def eval_rm(
    files: Annotated[
        list[str],
        typer.Argument(help="JSONL of labelled triples (.gz too), verifybench, verifybench_hard or hardverify_math."),
    ],
    model: Annotated[str | None, typer.Option(help="A VerifyRM: folder, hub id or nano.")] = None,
    verifier: Annotated[str, typer.Option(help="The rule to compare with.")] = "math",
    judge: Annotated[str | None, typer.Option(help="An LLM to compare with, as in collect.")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Records of each file, drawn at random.")] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    probes: Annotated[bool, typer.Option(help="Also the probes of known hacks.")] = True,
    bf16: Bf16 = False,
    json_: Json = False,
) -> None:
    """Measure a VerifyRM on labelled triples and on probes, beside the rule and the always-wrong guess.

    Example: cooper eval-rm --model nano labelled.jsonl
    """
    import json

    from cooper_rl.evaluation.published import check_labelled
    from cooper_rl.evaluation.reward_model import EvalSettings, as_lines, evaluate_files
    from cooper_rl.settings.files import check_model_folder, resolve_model

    if model:
        check_model_folder(resolve_model(model, "reward_model"), "--model")
    for file in files:
        check_labelled(file)
    settings = EvalSettings(model=model, verifier=verifier, judge=judge, size=size, seed=seed, probes=probes, bf16=bf16)
    found = evaluate_files(files, settings)
    typer.echo(json.dumps(found) if json_ else "\n".join(as_lines(found)))


@app.command("eval", cls=RecipeCommand, context_settings=WITH_OVERRIDES)
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
        typer.echo(json.dumps(found))
    else:
        print_rows(table(found))


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or a folder of run folders.")],
    output: Annotated[Path | None, typer.Option("--output", "--out", help="The HTML file.")] = None,
) -> None:
    """One self-contained HTML file about runs.

    Example: cooper report runs/quickstart
    """
    from cooper_rl.report.runs import find_runs
    from cooper_rl.report.write import write_report

    folders = find_runs(runs)
    typer.echo(write_report(folders, output or runs[0] / "report.html"))


@app.command()
def monitor(
    run: Annotated[Path, typer.Argument(help="A run folder, of a running job or a finished one.")],
    port: Annotated[int, typer.Option(help="0: any free one.")] = 8765,
) -> None:
    """Follow a run on a live page, on this machine's loopback address alone.

    Example: cooper monitor runs/train
    """
    from cooper_rl.report.live import Monitor

    with Monitor(run, port) as server:
        typer.echo(f"{server.url} (end with Ctrl-C)")
        server.serve_forever()


@app.command(context_settings=WITH_OVERRIDES)
def doctor(context: typer.Context, config: Config = None, json_: Json = False) -> None:
    """What this machine has: versions, devices, data, and what will not work and why. With --config: the memory that a
    run of the recipe needs on each device, by part, and whether it fits.

    Example: cooper doctor --config recipes/quickstart.yaml
    """
    from cooper_rl.doctor import print_findings
    from cooper_rl.settings.recipe import load_recipe
    from cooper_rl.settings.train import TrainSettings

    settings = TrainSettings.from_recipe(load_recipe(config, context.args)) if config else None
    raise typer.Exit(print_findings(settings, as_json=json_))


def check_before_training(recipe: dict[str, Any], *, resume: bool = False) -> None:
    """All that can be found wrong without a model, before the imports that take ten seconds."""
    from cooper_rl.domains import check_problems
    from cooper_rl.settings.checks import check_train_settings
    from cooper_rl.settings.train import TrainSettings

    settings = TrainSettings.from_recipe(recipe)
    check_train_settings(settings, resume=resume)
    check_problems(settings.dataset_name, settings.dataset_split)
    if settings.heldout_dataset_name:
        check_problems(settings.heldout_dataset_name, settings.heldout_dataset_split)


@contextmanager
def opened(file: Path | None) -> Iterator[tuple[IO[str], str]]:
    """A file's lines or stdin's, with the name to complain by."""
    if file is None:
        yield sys.stdin, "<stdin>"
        return
    if not file.is_file():
        raise MissingFileError(f"{file}: no such file")
    with file.open() as lines:
        yield lines, str(file)


def main() -> None:
    """Entry point: errors become one line on stderr and an exit code (2 bad input, 1 failed)."""
    try:
        app()
    except SystemExit as end:
        code = int(end.code or 0)
    except BrokenPipeError:
        code = 0
    except (CooperError, OSError) as error:  # OSError: a full disk, a folder that cannot be written to
        code = 2 if isinstance(error, BadInputError) else 1
        typer.echo(f"cooper: {'error' if code == 2 else 'failed'}: {error}", err=True)
    except KeyboardInterrupt:
        code = 130
    leave(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
