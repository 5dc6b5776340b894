"""Runs a command line: errors become one line on stderr and an exit code.

Also the entry point of the verifier that is installed alone (packaging/verifier), which has only `cooper verify`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cooper_rl.errors import BadInputError, CooperError

if TYPE_CHECKING:
    import typer  # which the verifier alone may lack


def command_line(about: str) -> typer.Typer:
    """An application without commands yet, as all of Cooper's are set up.

    Args:
        about: what `--help` says first.
    """
    import typer

    return typer.Typer(
        help=about, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
    )


def run(app: typer.Typer) -> int:
    """The exit code: 0, 2 for bad input, 1 for another failure, 130 where it was interrupted."""
    try:
        app()
    except SystemExit as end:
        return int(end.code or 0)
    except BrokenPipeError:
        return 0
    except (CooperError, OSError) as error:  # OSError: a full disk, a folder that cannot be written to
        code = 2 if isinstance(error, BadInputError) else 1
        sys.stderr.write(f"cooper: {'error' if code == 2 else 'failed'}: {error}\n")
        return code
    except KeyboardInterrupt:
        resumed = "train, compare, collect, annotate, verify and eval"
        sys.stderr.write(f"cooper: interrupted; {resumed} continue with --resume\n")
        return 130
    return 0


def verify_alone() -> None:
    """Entry point of the distribution cooper-rl-verifier, which lacks what the other commands need."""
    try:
        from cooper_rl.cli.verifying import verify

        app = command_line("Judge completions against reference answers by rule.")
    except ModuleNotFoundError as error:
        sys.stderr.write(f"cooper: error: the command needs {error.name}: pip install 'cooper-rl-verifier[cli]'\n")
        sys.exit(2)
    app.callback()(lambda: None)  # so that `verify` is named, as in the whole command line
    app.command("verify")(verify)
    sys.exit(run(app))
