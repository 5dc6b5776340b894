"""The `cooper` command, also as `python -m cooper_rl.cli`, and the table of its commands.

Each command imports what it needs only when it runs, so that `--help` answers quickly.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from cooper_rl.cli import models, training, verifying
from cooper_rl.cli.options import WITH_OVERRIDES, RecipeCommand
from cooper_rl.cli.running import command_line, run
from cooper_rl.distributed import RankExit

app = command_line("Train a reasoning policy and its reference-based reward model together.")
with_recipe: dict[str, Any] = {"cls": RecipeCommand, "context_settings": WITH_OVERRIDES}
app.command("train", **with_recipe)(training.train)
app.command("compare", context_settings=WITH_OVERRIDES)(training.compare)
app.command("verify")(verifying.verify)
app.command("score")(models.score)
app.command("collect", **with_recipe)(models.collect)
app.command("annotate", **with_recipe)(models.annotate)
app.command("train-rm", **with_recipe)(models.train_rm)
app.command("eval-rm")(models.eval_rm)
app.command("eval", **with_recipe)(models.evaluate)
app.command("report")(training.report)
app.command("monitor")(training.monitor)
app.command("serve", **with_recipe)(training.serve)
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


if __name__ == "__main__":
    main()
