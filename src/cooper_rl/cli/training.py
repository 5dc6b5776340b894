"""The commands around a training run: train, compare, serve, report, monitor, doctor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cooper_rl.cli.options import Config, Json
from cooper_rl.errors import BadInputError

ENGINES = {  # each has a `run_training`
    "trl": "cooper_rl.engines.trl.cooper_trainer",
    "plain": "cooper_rl.engines.plain",
    "verl": "cooper_rl.engines.verl.run",
}
Engine = Annotated[
    str, typer.Option(help="What trains the policy: trl, plain (a short loop in torch only) or verl (many devices).")
]
Arms = Annotated[
    str | None,
    typer.Option(
        help="Comma-separated: rule, static, cooper, hybrid, or variants of the recipe.  [default: the"
        " recipe's variants, else rule,static,cooper]"
    ),
]
OutputDir = Annotated[Path, typer.Option("--output_dir", "--output-dir", help="Folder for all runs.")]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Runs at a time; by default one on each GPU, or what the cores allow.")
]
DryStep = Annotated[
    bool | None,
    typer.Option(
        "--dry_step/--no-dry_step",
        help="Take two steps with the longest completions, at most 10 minutes, to measure memory.  [default: where"
        " the models are on this machine and the count fits]",
    ),
]
Continue = Annotated[bool, typer.Option("--resume", help="Continue from the last complete checkpoint.")]


def train(context: typer.Context, config: Config = None, resume: Continue = False, engine: Engine = "trl") -> None:
    """Train a policy, and its reward model along with it; writes a run folder.

    Example: cooper train --config recipes/quickstart.yaml --arm cooper --max_steps 12 --output_dir runs/try
    """
    from importlib import import_module

    from cooper_rl.settings.recipe import load_recipe

    check_engine(engine)
    recipe = load_recipe(config, context.args)
    check_before_training(recipe, resume=resume, engine=engine)
    import_module(ENGINES[engine]).run_training(recipe, resume=resume)


def compare(
    context: typer.Context,
    config: Config = None,
    arms: Arms = None,
    seeds: Annotated[str, typer.Option(help="Comma-separated seeds.")] = "0",
    output_dir: OutputDir = Path("runs/compare"),
    jobs: Jobs = None,
    engine: Engine = "trl",
    json_: Json = False,
) -> None:
    """Compare the arms, or a recipe's variants, on the same problems; writes run folders, summary.json, report.html.

    Example: cooper compare --config recipes/quickstart.yaml --arms rule,static,cooper --seeds 0,1,2 --output_dir runs/c
    """
    from cooper_rl.cli.compare import TRAIN_COMMAND, run_folder
    from cooper_rl.cli.compare import compare as run_compare
    from cooper_rl.settings.checks import check_same_recipe
    from cooper_rl.settings.method import ARMS
    from cooper_rl.settings.recipe import load_recipe, parse_overrides, variants_of

    check_engine(engine)
    if config is None:
        raise BadInputError("--config is missing: name a recipe")
    overrides, numbers = parse_overrides(context.args), _whole_numbers(seeds)
    _check_overrides(overrides)
    variants = variants_of(config)
    chosen = list(variants) or ["rule", "static", "cooper"]
    if arms is not None:
        chosen = _choose(arms, dict.fromkeys([*variants, *ARMS]), config)
    recipes = {
        name: load_recipe(config, [*context.args, "--variant" if name in variants else "--arm", name])
        for name in chosen
    }
    for name, recipe in recipes.items():
        check_before_training({**recipe, "output_dir": "unused-by-this-check"})
        for seed in numbers:
            check_same_recipe({**recipe, "seed": seed, "output_dir": str(run_folder(output_dir, name, seed))})
    run_compare(
        config,
        overrides,
        arms=chosen,
        seeds=numbers,
        output_dir=output_dir,
        variants=[name for name in chosen if name in variants],
        max_steps={name: recipe.get("max_steps", 0) for name, recipe in recipes.items()},
        jobs=jobs or (1 if engine == "verl" else None),  # a run on verl takes all devices
        as_json=json_,
        train_command=(*TRAIN_COMMAND, "--engine", engine),
        all_devices=engine == "verl",
    )


def serve(context: typer.Context, config: Config = None, resume: Continue = False) -> None:
    """Serve a reward model that learns from what it scores, for any trainer; loopback only, unless a token is set.

    Example: cooper serve --config recipes/quickstart.yaml --output_dir runs/serve --port 8700
    """
    from cooper_rl.method.build import check_parts
    from cooper_rl.parts import optional
    from cooper_rl.settings.asking import ServeSettings, check_server_settings
    from cooper_rl.settings.checks import check_train_settings
    from cooper_rl.settings.recipe import load_recipe

    recipe = load_recipe(config, context.args, command="serve")
    settings = ServeSettings.from_recipe(recipe)
    check_parts(settings, settings.reward_model_type)
    check_train_settings(settings, resume=resume)
    check_server_settings(settings)
    for module in ("fastapi", "uvicorn"):
        optional(module, extra="serve", needed_by="cooper serve")
    from cooper_rl.serve.http import run_server

    run_server(recipe, resume=resume, ready=lambda url: typer.echo(f"{url} (stop with Ctrl-C)"))


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or a folder of run folders.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "--out", help="HTML file to write; by default report.html in the first folder."),
    ] = None,
) -> None:
    """Write one self-contained HTML file about runs.

    Example: cooper report runs/quickstart
    """
    from cooper_rl.report.runs import find_runs
    from cooper_rl.report.write import write_report

    folders = find_runs(runs)
    typer.echo(write_report(folders, output or runs[0] / "report.html"))


def monitor(
    run: Annotated[Path, typer.Argument(help="Folder of a run, running or finished.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 8765,
) -> None:
    """Follow a run on a live page, which only this machine can open (loopback address).

    Example: cooper monitor runs/train
    """
    from cooper_rl.report.live import Monitor

    with Monitor(run, port) as server:
        typer.echo(f"{server.url} (stop with Ctrl-C)")
        server.serve_forever()


def doctor(
    context: typer.Context,
    config: Config = None,
    json_: Json = False,
    engine: Engine = "trl",
    dry_step: DryStep = None,
) -> None:
    """Show what this machine has (versions, devices, data), what will not work, and why.

    With --config it shows the memory that a run of the recipe needs on each device instead, and whether it fits. It is
    counted by part, and measured by two steps.

    Example: cooper doctor --config recipes/quickstart.yaml
    """
    from cooper_rl.doctor import print_findings
    from cooper_rl.settings.recipe import load_recipe

    check_engine(engine)
    recipe = load_recipe(config, context.args) if config else None
    raise typer.Exit(print_findings(recipe, as_json=json_, engine=engine, dry_step=dry_step))


def check_engine(name: str) -> None:
    """Refuses an engine that does not exist.

    Raises:
        BadInputError: the engine is unknown.
    """
    if name not in ENGINES:
        raise BadInputError(f"--engine {name}: no such engine; choose trl, plain or verl")


def check_before_training(recipe: dict[str, Any], *, resume: bool = False, engine: str = "trl") -> None:
    """Checks the recipe without loading a model, before the imports that take ten seconds."""
    from cooper_rl.domains import check_named_problems
    from cooper_rl.method.build import check_parts
    from cooper_rl.settings.checks import check_train_settings
    from cooper_rl.settings.train import TrainSettings

    settings = TrainSettings.from_recipe(recipe)
    check_parts(settings, settings.reward_model_type)
    check_train_settings(settings, resume=resume, engine=engine)
    check_named_problems(settings)


def _check_overrides(overrides: Mapping[str, Any]) -> None:
    """Refuses settings that each run of a comparison has its own value of."""
    for key in ("arm", "reward", "cotrain", "variant", "seed"):
        if key in overrides:
            instead = "--seeds" if key == "seed" else "--arms"
            raise BadInputError(
                f"--{key}: each run of a comparison has its own; give {instead}, or set it in the recipe"
            )


def _whole_numbers(seeds: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(seed) for seed in seeds.split(",")))
    except ValueError as error:
        raise BadInputError(f"--seeds {seeds}: give whole numbers separated by commas") from error


def _choose(arms: str, known: Mapping[str, Any], recipe: Path) -> list[str]:
    chosen = list(dict.fromkeys(name.strip() for name in arms.split(",") if name.strip()))
    if not chosen:
        raise BadInputError("--arms: give at least one arm")
    for name in chosen:
        if name not in known:
            raise BadInputError(
                f"--arms: {name!r} is not an arm or a variant of {recipe}; choose from {', '.join(known)}"
            )
    return chosen
