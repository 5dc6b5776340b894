"""Runs a command line: errors become one line on stderr and an exit code.

Also the entry point of the verifier that is installed alone (packaging/verifier), which has only `cooper verify`.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cooper_rl.errors import BadInputError, CooperError, how_to_install

if TYPE_CHECKING:
    import typer  # which the verifier alone may lack


RESUMED = ("train", "serve", "collect", "annotate", "train-rm", "verify", "eval")  # they have the option --resume


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
        code = int(end.code or 0)
        return report_interruption(sys.argv[1:], code) if code - 128 in (signal.SIGINT, signal.SIGTERM) else code
    except BrokenPipeError:
        return 0
    except (CooperError, OSError) as error:  # OSError: a full disk, a folder that cannot be written to
        code = 2 if isinstance(error, BadInputError) else 1
        sys.stderr.write(f"cooper: {'error' if code == 2 else 'failed'}: {error}\n")
        return code
    except KeyboardInterrupt:
        return report_interruption(sys.argv[1:], 128 + signal.SIGINT)
    return 0


def report_interruption(words: Sequence[str], code: int) -> int:
    """Says in one line how to go on after Ctrl-C or SIGTERM, and returns the exit code. On many ranks one says it.

    Args:
        words: the command line's, without the program.
    """
    command = words[0] if words else ""
    again = [*words, "--resume"] if command in RESUMED and "--resume" not in words else words
    goes_on = command in RESUMED or command == "compare"  # which continues by itself
    if command == "verify" and not any(word.startswith("--out") for word in words):
        goes_on = False  # nothing was kept
    advice = f"; to go on: {shlex.join(['cooper', *again])}" if goes_on else ""
    if os.environ.get("RANK", "0") == "0":
        sys.stderr.write(f"cooper: interrupted{advice}\n")
    return code


def verify_alone() -> None:
    """Entry point of the distribution cooper-rl-verifier, which lacks what the other commands need."""
    try:
        from cooper_rl.cli.verifying import verify

        app = command_line("Judge completions against reference answers by rule.")
    except ModuleNotFoundError as error:
        install = how_to_install("cli", "./packaging/verifier")
        sys.stderr.write(f"cooper: error: the command needs {error.name}: {install}\n")
        sys.exit(2)
    app.callback()(lambda: None)  # so that `verify` is named, as in the whole command line
    app.command("verify")(verify)
    sys.exit(run(app))
