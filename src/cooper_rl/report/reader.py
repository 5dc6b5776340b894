"""The reader of rollouts in a report: search, filters, two runs side by side, and an address for each rollout.

The rollouts are in the page as compressed blocks, and its one script unpacks those that are shown or searched. The
page's policy names the hash of that script, so that the browser runs no other.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from cooper_rl.report.blocks import Block
from cooper_rl.report.page import CELLS, escape
from cooper_rl.report.runs import Run

SCRIPT = Path(__file__).with_name("reader.js").read_text()
SCRIPT_POLICY = f"'sha256-{base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()}'"


def reader(runs: Sequence[Run], blocks: Sequence[Sequence[Block]]) -> Iterator[str]:
    """The section with the rollouts of all runs.

    Args:
        blocks: the blocks of each run.
    """
    if not any(blocks):
        return
    yield '<h2 id="rollouts">Rollouts</h2>'
    for run, held in zip(runs, blocks, strict=True):
        count, all_steps = sum(len(each.steps) for each in held), len(run.steps_of("rollouts"))
        if count < all_steps:
            told = f"{escape(run.name)}: this file has the rollouts of {count} of {all_steps} steps"
            yield f'<p class="muted">{told}; cooper monitor {escape(run.path)} shows all.</p>'
    yield from controls(runs)
    yield '<div class="columns"><section id="first"></section><section id="second" hidden></section></div>'
    yield "<noscript><p>They need the page's script; the same text is in each run's rollouts/.</p></noscript>"
    index = [
        {"title": run.name, "name": run.address, "blocks": [{"steps": b.steps, "counts": b.counts} for b in held]}
        for run, held in zip(runs, blocks, strict=True)
    ]
    yield data("index", json.dumps({"runs": index}).replace("<", "\\u003c"))
    for place, held in enumerate(blocks):
        yield from (data(f"block-{place}-{len(held) - 1}", block.packed) for block in held[-1:])
    yield f"<script>{SCRIPT}</script>"


def other_blocks(blocks: Sequence[Sequence[Block]]) -> Iterator[str]:
    """All blocks but each run's last one. They end the page, so that it can be read while it still loads."""
    for place, held in enumerate(blocks):
        yield from (data(f"block-{place}-{number}", block.packed) for number, block in enumerate(held[:-1]))


def controls(runs: Sequence[Run]) -> Iterator[str]:
    """The menus and the search field."""
    names = "".join(f'<option value="{place}">{escape(run.name)}</option>' for place, run in enumerate(runs))
    cells = "".join(f'<option value="{cell}">{escape(title)}</option>' for cell, title in CELLS.items())
    yield '<div class="choice" id="choice">'
    yield f'<label>run <select id="run">{names}</select></label>'
    if len(runs) > 1:
        yield f'<label>beside it <select id="beside"><option value="">none</option>{names}</select></label>'
    yield '<label>step <select id="step"></select></label>'
    yield f'<label>judged <select id="cell"><option value="all">all</option>{cells}</select></label>'
    yield '<label>search <input id="text" type="search" placeholder="question, answer or completion"></label></div>'


def data(name: str, text: str) -> str:
    """Data in the page that the browser does not run."""
    return f'<script type="text/plain" id="{name}">{text}</script>'
