"""The commands that judge completions: verify by rule, score by a reward model."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from cooper_rl.cli.options import Bf16, opened
from cooper_rl.errors import BadInputError
from cooper_rl.steps import KINDS


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
    from cooper_rl.console import progress_line
    from cooper_rl.verifiers import RuleVerifier
    from cooper_rl.verifiers.stream import finished, verify_stream

    if output and output.exists() and not resume:
        raise BadInputError(f"{output}: already exists; continue it with --resume or give another --output")
    before = finished(output) if output and output.exists() else Counter[str]()
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
    with (
        opened(file) as (lines, name),
        RuleVerifier(verifier, workers=workers, deadline_seconds=deadline_seconds) as rule,
        output.open("a", encoding="utf-8") if output else nullcontext(sys.stdout) as target,
        progress_line("verify", shown=output is not None) as progress,
    ):
        counts = before + verify_stream(
            lines, target.write, verifier=rule, explain=explain, source=name, done=before.total(), progress=progress
        )
    typer.echo(", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())) or "no record", err=True)


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
