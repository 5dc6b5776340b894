"""What several commands share: options, and the help of a recipe's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

WITH_OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}
Config = Annotated[
    Path | None, typer.Option("--config", help="Recipe (YAML). Add or override settings as --key value.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an output that was interrupted.")]
Bf16 = Annotated[
    bool | None,
    typer.Option(help="Compute forward passes in bfloat16; weights stay float32. By default where the GPU has it."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


class RecipeCommand(TyperCommand):
    """A command whose help ends with the settings that its recipe may have."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from cooper_rl.settings.recipe import CONFIGS, takes_training_recipe
        from cooper_rl.settings.schema import describe

        formatter.write("\nSettings, in the recipe or as --key value:\n")
        for heading, keys in describe(CONFIGS[str(self.name)]):
            with formatter.section(heading):
                formatter.write_dl(keys)
        if takes_training_recipe(str(self.name)):
            formatter.write("\nand every field of TRL's GRPOConfig.\n")
