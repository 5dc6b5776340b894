"""The command that scores completions by a reward model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cooper_rl.cli.options import Bf16
from cooper_rl.errors import BadInputError
from cooper_rl.jsonl import opened
from cooper_rl.steps import KINDS


def score(
    model: Annotated[
        str,
        typer.Option(
            help="A VerifyRM: folder, hub id, or a shipped one: nano, nano-weekdays, smollm2-135m, smollm2-135m-beyond."
        ),
    ],
    file: Annotated[
        Path | None, typer.Argument(help="JSONL {question, reference, completion}; stdin by default.")
    ] = None,
    spans: Annotated[
        str | None,
        typer.Option(help="Also add the value after each step: step_ends and step_values; steps are line or sentence."),
    ] = None,
    bf16: Bf16 = False,
) -> None:
    """Score completions with a VerifyRM: the same records with a score from 0 to 1.

    Example: cooper score --model nano triples.jsonl
    """
    from cooper_rl.settings.files import check_model_folder, resolve_model

    path = resolve_model(model, "reward_model")
    check_model_folder(path, "--model")
    if spans not in (None, *KINDS):
        raise BadInputError(f"--spans: give {' or '.join(KINDS)}, not {spans!r}")
    with opened(file) as (lines, name):
        from cooper_rl.verifyrm import VerifyRM
        from cooper_rl.verifyrm.triples import score_stream

        score_stream(lines, sys.stdout.write, VerifyRM.from_pretrained(path, bf16=bf16), spans=spans, source=name)
