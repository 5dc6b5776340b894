"""What several commands share: options, the help of a recipe's settings, and input files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer
from typer.core import TyperCommand

from cooper_rl.errors import MissingFileError
from cooper_rl.jsonl import open_lines

WITH_OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}
Config = Annotated[Path | None, typer.Option("--config", help="Recipe (YAML). Any setting can follow as --key value.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an output that was interrupted.")]
Bf16 = Annotated[bool, typer.Option("--bf16", help="Forward passes of the model in bfloat16; weights stay float32.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


class RecipeCommand(TyperCommand):
    """A command whose help ends with the settings that its recipe may have."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from cooper_rl.settings.commands import takes_training_recipe
        from cooper_rl.settings.help import described_keys

        formatter.write("\nSettings, in the recipe or as --key value:\n")
        for heading, keys in described_keys(str(self.name)):
            with formatter.section(heading):
                formatter.write_dl(keys)
        if takes_training_recipe(str(self.name)):
            formatter.write("\nand every field of TRL's GRPOConfig.\n")


@contextmanager
def opened(file: Path | None) -> Iterator[tuple[IO[str], str]]:
    """The lines of a file, or of stdin without one or with `-`, with the name that error messages use."""
    if file is None or file == Path("-"):
        yield sys.stdin, "<stdin>"
        return
    if not file.is_file():
        raise MissingFileError(f"{file}: no such file")
    with open_lines(file) as lines:
        yield lines, str(file)
