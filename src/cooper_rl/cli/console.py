"""Tables on stdout, and progress on stderr if it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text


class Rate(ProgressColumn):
    """A progress column with the items per second."""

    def render(self, task: Task) -> Text:
        """`12.3/s`; empty as long as the speed is not known."""
        return Text(f"{task.speed:,.1f}/s" if task.speed else "")


def print_rows(rows: Sequence[Sequence[str]], console: Console | None = None) -> None:
    """Prints a table. Its first row is the header.

    Without a terminal the table is up to 200 characters wide. Where it does not fit, it is turned on its side: the
    header becomes the first column.

    Args:
        console: where it is printed; stdout by default.
    """
    console = console or Console(width=None if sys.stdout.isatty() else 200)
    turned = list(zip(*rows, strict=True))
    shown, other = table_of(rows), table_of(turned)
    widths = [
        Measurement.get(console, console.options.update(max_width=10_000), each).maximum for each in (shown, other)
    ]
    console.print(other if widths[0] > console.width and widths[1] < widths[0] else shown)


def table_of(rows: Sequence[Sequence[str]]) -> Table:
    """Header and rows as a table."""
    table = Table(*rows[0])
    for row in rows[1:]:
        table.add_row(*row)
    return table


@contextmanager
def progress_line(title: str, *, shown: bool = True) -> Iterator[Callable[..., None] | None]:
    """A progress bar on stderr, with its speed and the time left.

    Yields the function that updates it (arguments `completed`, `total`, `description`). Yields None if stderr is no
    terminal or `shown` is false.
    """
    if not shown or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        yield partial(progress.update, progress.add_task(title, total=None))
