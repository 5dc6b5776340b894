"""The rollouts of a run: counted by step, packed for the report's reader, and found by their text.

In a report they are in the page as compressed blocks. The page's one script unpacks those that are shown or searched:
with search, filters, two runs side by side, and an address for each rollout. The page's policy names the hash of that
script, so that the browser runs no other. The live page finds records in the step files, without holding them all in
memory.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from cooper_rl.jsonl import whole_records
from cooper_rl.report.page import CELLS, cell_of, escape, steps_of
from cooper_rl.report.runs import Run

PACKED_BYTES = 160_000_000  # of rollout files that a report holds; beyond that, steps at equal distances
BLOCK_CHARACTERS = 500_000  # of JSON; larger ones are unpacked too slowly, smaller ones are searched too slowly
BINS = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01))
SCRIPT = Path(__file__).with_name("reader.js").read_text()
SCRIPT_POLICY = f"'sha256-{base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()}'"
Numbered = tuple[int, dict[str, Any]]  # a record's place in its file, from 1 on, and the record


@dataclass(frozen=True)
class Step:
    """The rollouts of one step.

    Args:
        cells: how many rollouts are in each cell of `page.CELLS`.
        judged: for each of `BINS` how many scored rollouts the rule could judge, and how many of these are CORRECT.
        rows: the rollouts as JSON, one list a rollout; empty where the report leaves them out.
    """

    step: int
    cells: Counter[str]
    judged: tuple[tuple[int, int], ...]
    rows: str

    @property
    def count(self) -> int:
        """The number of rollouts."""
        return self.cells.total()


class Block(NamedTuple):
    """Neighbouring steps that are packed together.

    Args:
        steps: their numbers.
        counts: how many rollouts each has.
        packed: base64 of compressed JSON: for each step its list of rollouts.
    """

    steps: tuple[int, ...]
    counts: tuple[int, ...]
    packed: str


def kept_files(runs: Sequence[Run], most: int | None = None) -> set[Path]:
    """The rollout files that a report of these runs holds: all, or steps at equal distances with each run's last.

    Args:
        most: the size of all together, in bytes; by default `PACKED_BYTES`.
    """
    files = {run.path: run.steps_of("rollouts") for run in runs}
    size = sum(path.stat().st_size for paths in files.values() for path in paths)
    every = max(1, -(-size // (most or PACKED_BYTES)))
    return {path for paths in files.values() for path in paths[::-1][::every]}


def read_steps(run: Run, kept: set[Path]) -> tuple[list[Step], list[Block]]:
    """All steps of a run without their rows, and the blocks with the rows of those whose file is in `kept`."""
    steps, blocks, waiting = [], [], []
    for path in run.steps_of("rollouts"):
        step = read_step(path, rows=path in kept)
        steps.append(replace(step, rows=""))
        if step.rows:
            waiting.append(step)
        if sum(len(each.rows) for each in waiting) > BLOCK_CHARACTERS:
            blocks.append(pack(waiting))
            waiting = []
    return steps, [*blocks, pack(waiting)] if waiting else blocks


def pack(steps: Sequence[Step]) -> Block:
    """Steps in one block."""
    text = f"[{','.join(step.rows for step in steps)}]".encode("utf-8", "replace")
    data = base64.b64encode(gzip.compress(text, 6, mtime=0)).decode()
    return Block(tuple(step.step for step in steps), tuple(step.count for step in steps), data)


def read_step(path: Path, *, rows: bool) -> Step:
    """One file of `rollouts/`, with its rows or without."""
    records = whole_records(path)
    cells = [cell_of(record) for record in records]
    judged = [[0, 0] for _ in BINS]
    for record, cell in zip(records, cells, strict=True):
        score = number_of(record, "score")
        if score is not None and cell != "unclear":
            place = next((place for place, (_, high) in enumerate(BINS) if score < high), len(BINS) - 1)
            judged[place][0] += 1
            judged[place][1] += record["verdict"] == "CORRECT"
    lists = [row_of(record, cell) for record, cell in zip(records, cells, strict=True)] if rows else []
    text = json.dumps(lists, ensure_ascii=False, separators=(",", ":")) if rows else ""
    counted = tuple((many, right) for many, right in judged)
    return Step(int(path.stem.split("_")[1]), Counter(cells), counted, text)


def row_of(record: Mapping[str, Any], cell: str) -> list[Any]:
    """A rollout as the page's reader takes it."""
    texts = [str(record.get(name, "")) for name in ("question", "reference_answer", "completion", "verdict")]
    steps = [[end, round(value, 4)] for end, value in steps_of(record)]
    return [*texts, cell, number_of(record, "score"), number_of(record, "reward"), *([steps] if steps else [])]


def number_of(record: Mapping[str, Any], name: str) -> float | None:
    """A number of a record, to four places; None where there is none."""
    value = record.get(name)
    return round(float(value), 4) if isinstance(value, int | float) else None


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


def find(
    files: Sequence[Path], text: str, keep: Callable[[dict[str, Any]], bool] | None, offset: int, count: int
) -> tuple[int, list[Numbered]]:
    """How many records are found, and `count` of them from `offset` on.

    Args:
        files: JSON lines; a half-written last line is left out.
        text: is looked for in each record's texts, in upper or lower case; empty finds all.
        keep: which records are looked at; None takes all.
    """
    wanted, total, shown = text.lower(), 0, []
    raw = json.dumps(wanted, ensure_ascii=False)[1:-1]
    for path in files:
        for number, line in candidates(path, raw):
            on_page = offset <= total < offset + count
            if not (wanted or keep or on_page):
                total += 1
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if (keep and not keep(record)) or not has_text(record, wanted):
                continue
            if on_page:
                shown.append((number, record))
            total += 1
    return total, shown


def candidates(path: Path, raw: str) -> Iterator[tuple[int, str]]:
    """The whole lines of a file, numbered from 1 on, that have `raw` anywhere in them, in upper or lower case."""
    content = path.read_text(encoding="utf-8", errors="replace")
    if raw and raw not in content.lower():
        return
    for number, line in enumerate(content.split("\n")[:-1], 1):
        if line and raw in line.lower():
            yield number, line


def has_text(record: dict[str, Any], wanted: str) -> bool:
    """Whether one of the record's texts has this in it, which is in lower case."""
    return not wanted or any(wanted in value.lower() for value in record.values() if isinstance(value, str))
