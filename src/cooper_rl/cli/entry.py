"""The `cooper` command and the table of its commands.

Each command imports what it needs only when it runs, so that `--help` answers quickly.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cooper_rl.cli import evaluating, labelling, scoring, serving, training, verifying, watching
from cooper_rl.cli.options import WITH_OVERRIDES, RecipeCommand
from cooper_rl.cli.running import command_line, run
from cooper_rl.distributed import RankExit

app = command_line("Train a reasoning policy and its reference-based reward model together.")
app.command("train", cls=RecipeCommand, context_settings=WITH_OVERRIDES)(training.train)
app.command("compare", context_settings=WITH_OVERRIDES)(training.compare)
app.command("verify")(verifying.verify)
app.command("score")(scoring.score)
app.command("collect", cls=RecipeCommand, context_settings=WITH_OVERRIDES)(labelling.collect)
app.command("annotate", cls=RecipeCommand, context_settings=WITH_OVERRIDES)(labelling.annotate)
app.command("train-rm", cls=RecipeCommand, context_settings=WITH_OVERRIDES)(labelling.train_rm)
app.command("eval-rm")(evaluating.eval_rm)
app.command("eval", cls=RecipeCommand, context_settings=WITH_OVERRIDES)(evaluating.evaluate)
app.command("report")(watching.report)
app.command("monitor")(watching.monitor)
app.command("serve", cls=RecipeCommand, context_settings=WITH_OVERRIDES)(serving.serve)
app.command("doctor", context_settings=WITH_OVERRIDES)(training.doctor)


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Train a reasoning policy and its reference-based reward model together."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"cooper {installed('cooper-rl')}")
        raise typer.Exit()


def main() -> None:
    """Entry point: errors become one line on stderr and an exit code (2 bad input, 1 failed)."""
    ending = RankExit()
    code = run(app)
    ending.leave(code)
    sys.exit(code)
