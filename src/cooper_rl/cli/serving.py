"""The command that serves a reward model to other trainers: serve."""

from __future__ import annotations

from typing import Annotated

import typer

from cooper_rl.cli.options import Config


def serve(
    context: typer.Context,
    config: Config = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in output_dir where it was.")] = False,
) -> None:
    """Serve a reward model that learns from what it scores, for any trainer; loopback only, unless a token is set.

    Example: cooper serve --config recipes/quickstart.yaml --output_dir runs/serve --port 8700
    """
    from cooper_rl.extras import optional
    from cooper_rl.method.build import check_parts
    from cooper_rl.settings.checks import check_train_settings
    from cooper_rl.settings.recipe import load_recipe
    from cooper_rl.settings.serve import ServeSettings, check_server_settings

    recipe = load_recipe(config, context.args, command="serve")
    settings = ServeSettings.from_recipe(recipe)
    check_parts(settings, settings.reward_model_type)
    check_train_settings(settings, resume=resume)
    check_server_settings(settings)
    for module in ("fastapi", "uvicorn"):
        optional(module, extra="serve", needed_by="cooper serve")
    from cooper_rl.serve.http import run_server

    run_server(recipe, resume=resume, ready=lambda url: typer.echo(f"{url} (stop with Ctrl-C)"))
