"""The command that judges completions by rule."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from cooper_rl.errors import BadInputError
from cooper_rl.jsonl import open_input


def verify(
    file: Annotated[Path | None, typer.Argument(help="JSONL {reference, completion}; stdin by default.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Add the reason and both parsed answers.")] = False,
    output: Annotated[Path | None, typer.Option(help="File to write; stdout by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue where --output ends.")] = False,
    verifier: Annotated[
        str,
        typer.Option(
            help="math, text, auto, math_verify, exact, choice, gsm8k_strict, gsm8k_flexible,"
            " reasoning_gym:TASK or module:function."
        ),
    ] = "math",
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    deadline_seconds: Annotated[
        float,
        typer.Option(
            "--deadline-seconds",
            "--deadline_seconds",
            min=0.001,
            help="Seconds after which a record's verdict is TIMEOUT.",
        ),
    ] = 5.0,
) -> None:
    """Judge completions against reference answers by rule: the same records with a verdict.

    Example: echo '{"reference": "1/2", "completion": "It is \\\\boxed{0.5}"}' | cooper verify
    """
    from cooper_rl.cli.console import progress_line
    from cooper_rl.verifiers import RuleVerifier
    from cooper_rl.verifiers.stream import count_finished, verify_stream

    before = count_finished(output) if output and continues(output, resume) else Counter[str]()
    with (
        open_input(file) as (lines, name),
        RuleVerifier(verifier, workers=workers, deadline_seconds=deadline_seconds) as rule,
        output.open("a", encoding="utf-8") if output else nullcontext(sys.stdout) as target,
        progress_line("verify", shown=output is not None) as progress,
    ):
        counts = before + verify_stream(
            lines, target.write, verifier=rule, explain=explain, source=name, done=before.total(), progress=progress
        )
    typer.echo(", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())) or "no record", err=True)


def continues(output: Path, resume: bool) -> bool:
    """Whether the output file is there and is to be continued. Else its folder is made.

    Raises:
        BadInputError: it is there and nobody asked to continue it, or it cannot be a file.
    """
    if output.is_dir():
        raise BadInputError(f"{output}: a folder; give a file as --output")
    if output.exists():
        if not resume:
            raise BadInputError(f"{output}: already exists; continue it with --resume or give another --output")
        return True
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise BadInputError(f"{output}: {error.filename} is not a folder; give another --output") from error
    return False
