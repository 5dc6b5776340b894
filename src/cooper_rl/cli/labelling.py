"""The commands that make a reward model: collect, annotate, train-rm."""

from __future__ import annotations

import typer

from cooper_rl.cli.options import Config, Json, Resume


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


def annotate(context: typer.Context, config: Config = None, resume: Resume = False, json_: Json = False) -> None:
    """Label completions by rule and by a judge, and keep those on which the two agree.

    Example: cooper annotate --input_files runs/completions.jsonl --judge Qwen3-4B@http://127.0.0.1:8000/v1
    --output runs/triples.jsonl
    """
    import json

    from cooper_rl.console import progress_line
    from cooper_rl.labelling.annotate import annotate as run_annotate
    from cooper_rl.labelling.candidate import as_lines
    from cooper_rl.settings.labelling import AnnotateConfig
    from cooper_rl.settings.recipe import load_recipe

    settings = AnnotateConfig(**load_recipe(config, context.args, command="annotate"))
    with progress_line("annotate") as progress:
        found = run_annotate(settings, resume=resume, progress=progress)
    typer.echo(json.dumps(found) if json_ else "\n".join(as_lines(found)))


def train_rm(context: typer.Context, config: Config = None, resume: Resume = False, json_: Json = False) -> None:
    """Train a VerifyRM on labelled triples; writes the checkpoint and its model card.

    Example: cooper train-rm --config recipes/nano-reward-model.yaml --num_train_epochs 1 --output_dir models/rm
    """
    import json

    from cooper_rl.settings.files import check_model_folder, resolve_model
    from cooper_rl.settings.recipe import load_recipe
    from cooper_rl.settings.reward_model import RewardModelTrainConfig
    from cooper_rl.tables import check_table

    settings = RewardModelTrainConfig(**load_recipe(config, context.args, command="train-rm"))
    check_model_folder(resolve_model(settings.model_name_or_path, "policy"), "model_name_or_path")
    for path in [*settings.train_files, *settings.eval_files]:
        check_table(path, "labelled triples")
    from cooper_rl.console import progress_line
    from cooper_rl.verifyrm.train import train_reward_model

    with progress_line("train-rm") as progress:
        metrics = train_reward_model(settings, resume=resume, progress=progress)
    if json_:
        typer.echo(json.dumps(metrics))
    else:
        for name, value in metrics.items():
            typer.echo(f"{name:<20} {value:.4f}" if isinstance(value, float) else f"{name:<20} {value}")
