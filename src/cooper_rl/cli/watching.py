"""The commands that show runs: report, monitor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or a folder of run folders.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "--out", help="HTML file to write; by default report.html in the first folder."),
    ] = None,
) -> None:
    """Write one self-contained HTML file about runs.

    Example: cooper report runs/quickstart
    """
    from cooper_rl.report.runs import find_runs
    from cooper_rl.report.write import write_report

    folders = find_runs(runs)
    typer.echo(write_report(folders, output or runs[0] / "report.html"))


def monitor(
    run: Annotated[Path, typer.Argument(help="The folder of a run, running or finished.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 8765,
) -> None:
    """Follow a run on a live page, which only this machine can open (loopback address).

    Example: cooper monitor runs/train
    """
    from cooper_rl.report.live import Monitor

    with Monitor(run, port) as server:
        typer.echo(f"{server.url} (stop with Ctrl-C)")
        server.serve_forever()
