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
from rich.table import Column, Table
from rich.text import Text

WIDE = 80  # characters from which on a terminal shows bars


class Rate(ProgressColumn):
    """A progress column with the items per second."""

    def render(self, task: Task) -> Text:
        """`12.3/s`; empty as long as the speed is not known."""
        return Text(f"{task.speed:,.1f}/s" if task.speed else "")


def print_rows(rows: Sequence[Sequence[str]], console: Console | None = None) -> None:
    """Prints a table. Its first row is the header.

    Without a terminal the table is up to 200 characters wide. Where it does not fit, it is turned on its side: the
    header becomes the first column. Where that does not fit either, it becomes several, one below the other.

    Args:
        console: where it is printed; stdout by default.
    """
    console = console or Console(width=None if sys.stdout.isatty() else 200)
    parts = [table_of(rows)]
    if width_of(parts[0], console) > console.width:
        header, *lines = rows
        parts, taken = [], list[Sequence[str]]()
        for line in lines:
            if taken and width_of(table_of(list(zip(header, *taken, line, strict=True))), console) > console.width:
                parts.append(table_of(list(zip(header, *taken, strict=True))))
                taken = []
            taken.append(line)
        parts.append(table_of(list(zip(header, *taken, strict=True))))
    for part in parts:
        console.print(part)


def width_of(table: Table, console: Console) -> int:
    """The characters that a table needs so that no cell is broken."""
    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum


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
    with Progress(*columns_for(console := Console(stderr=True)), console=console) as progress:
        yield partial(progress.update, progress.add_task(title, total=None))


def columns_for(console: Console) -> list[ProgressColumn]:
    """The columns of a progress bar; a narrow terminal has no bar, so that numbers stay whole."""
    whole = partial(Column, no_wrap=True)
    counts = [MofNCompleteColumn(table_column=whole()), Rate(table_column=whole())]
    title, left = TextColumn("{task.description}", table_column=Column()), TimeRemainingColumn(table_column=whole())
    if console.width < WIDE:
        return [title, *counts, left]
    return [title, BarColumn(), *counts, TimeElapsedColumn(table_column=whole()), left]
