"""The commands that show runs: report, monitor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or a folder of run folders.")],
    output: Annotated[Path | None, typer.Option("--output", "--out", help="The HTML file.")] = None,
) -> None:
    """One self-contained HTML file about runs.

    Example: cooper report runs/quickstart
    """
    from cooper_rl.report.runs import find_runs
    from cooper_rl.report.write import write_report

    folders = find_runs(runs)
    typer.echo(write_report(folders, output or runs[0] / "report.html"))


def monitor(
    run: Annotated[Path, typer.Argument(help="A run folder, of a running job or a finished one.")],
    port: Annotated[int, typer.Option(help="0: any free one.")] = 8765,
) -> None:
    """Follow a run on a live page, on this machine's loopback address alone.

    Example: cooper monitor runs/train
    """
    from cooper_rl.report.live import Monitor

    with Monitor(run, port) as server:
        typer.echo(f"{server.url} (end with Ctrl-C)")
        server.serve_forever()
