"""`cooper verify` where the verifier is installed alone (packaging/verifier): without what the other commands need."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the distribution cooper-rl-verifier."""
    try:
        import typer

        from cooper_rl.cli.running import run
        from cooper_rl.cli.verifying import verify
    except ModuleNotFoundError as error:
        sys.stderr.write(f"cooper: error: the command needs {error.name}: pip install 'cooper-rl-verifier[cli]'\n")
        sys.exit(2)
    app = typer.Typer(
        help="Judge completions against reference answers by rule.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(lambda: None)  # so that `verify` is named, as in the whole command line
    app.command("verify")(verify)
    sys.exit(run(app))
