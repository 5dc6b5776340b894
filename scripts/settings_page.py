"""Writes docs/settings.md, the reference of the settings, from the typed settings; a test says when it is due.

python scripts/settings_page.py
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from cooper_rl.settings.recipe import CONFIGS, trl_fields
from cooper_rl.settings.schema import describe, groups_of

TARGET = Path(__file__).parents[1] / "docs" / "settings.md"
WIDTH = 150
HEAD = """# Settings

<!-- Written by scripts/settings_page.py from src/cooper_rl/settings. Change a sentence there. -->

A recipe holds settings as `key: value`. The command line takes them as `--key value` ([rules](recipes.md#settings)).
`cooper COMMAND --help` shows the same sentences.
"""
TRL_HEAD = """## `cooper train`: TRL's other settings

A training recipe may also have every other field of TRL's `GRPOConfig`, with TRL's default:

"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(f"\n{part}" for command in CONFIGS for part in command_parts(command))


def command_parts(command: str) -> Iterator[str]:
    """The settings of a command, under the headings of its help; for `train` also the names of TRL's other fields.

    A command that takes the settings of another one shows only those that it adds.
    """
    yield f"## `cooper {command}`\n"
    base = next((each for each, cls in CONFIGS.items() if each != command and issubclass(CONFIGS[command], cls)), None)
    known = names_of(base) if base else set()
    if base:
        yield f"It takes every setting of `cooper {base}`, and these:\n"
    for heading, keys in describe(CONFIGS[command]):
        entries = [entry(key[2:], text) for key, text in keys if key[2:] not in known]
        if entries:
            yield f"### {heading}\n\n" + "".join(entries)
    if command == "train":
        others = ", ".join(sorted(trl_fields().keys() - names_of(command)))
        yield f"{TRL_HEAD}```text\n{textwrap.fill(others, WIDTH)}\n```\n"


def names_of(command: str) -> set[str]:
    """This project's own settings of a command."""
    return {item.name for _, group in groups_of(CONFIGS[command]) for item in group}


def entry(name: str, text: str) -> str:
    """A setting as an item of a list: its name, what its value may be, its default and its sentence."""
    sentence, _, rest = text.removesuffix("]").partition(" [")
    kind, _, default = rest.partition("; default ")
    value = f"{kind}; default `{default}`" if default else kind
    words = f"- `{name}` ({value}). {sentence.replace('*', chr(92) + '*')}"
    return textwrap.fill(words, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
