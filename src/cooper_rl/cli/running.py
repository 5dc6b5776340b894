"""Runs a command line. Errors become one line on stderr and an exit code."""

from __future__ import annotations

import typer

from cooper_rl.errors import BadInputError, CooperError


def command_line(about: str) -> typer.Typer:
    """An application without commands yet, as all of Cooper's are set up.

    Args:
        about: what `--help` says first.
    """
    return typer.Typer(
        help=about,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
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
        typer.echo(f"cooper: {'error' if code == 2 else 'failed'}: {error}", err=True)
        return code
    except KeyboardInterrupt:
        told = "cooper: interrupted; train, compare, collect, annotate, verify and eval go on with --resume"
        typer.echo(told, err=True)
        return 130
    return 0
