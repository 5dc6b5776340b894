"""The rollouts and held-out completions of a run: counted by step, packed for the report's reader, found by their text.

In a report they are in the page as compressed blocks. The page's script unpacks those that are shown or searched: with
search, filters, two runs or two steps side by side, and an address for each rollout. The live page finds records in
the step files, without holding them all in memory.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from cooper_rl.jsonl import whole_records
from cooper_rl.records import Verdict
from cooper_rl.report.page import CELLS, cell_of, data, escape, pack, steps_of
from cooper_rl.report.runs import Run

PACKED_BYTES = 160_000_000  # of rollout files that a report holds; beyond that, steps at equal distances
BLOCK_CHARACTERS = 500_000  # of JSON; larger ones are unpacked too slowly, smaller ones are searched too slowly
BINS = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01))
SCRIPT = Path(__file__).with_name("reader.js").read_text()
MOST_SOURCES = 50  # that can be chosen from
Numbered = tuple[int, dict[str, Any]]  # a record's place in its file, from 1 on, and the record


@dataclass(frozen=True)
class Step:
    """The rollouts of one step.

    Args:
        cells: how many rollouts are in each cell of `page.CELLS`.
        judged: for each of `BINS` how many scored rollouts the rule could judge, and how many of these are CORRECT.
        sources: where its problems come from.
        rows: the rollouts as JSON, one list a rollout; empty where the report leaves them out.
    """

    step: int
    cells: Counter[str]
    judged: tuple[tuple[int, int], ...]
    sources: frozenset[str]
    rows: str

    @property
    def count(self) -> int:
        """The number of rollouts."""
        return self.cells.total()


class Shelf(NamedTuple):
    """What the reader offers as one: the rollouts of a run, or its completions of the held-out problems.

    Args:
        run: the run.
        kind: `rollouts` or `heldout`.
    """

    run: Run
    kind: str = "rollouts"

    @property
    def name(self) -> str:
        """What the menu calls it."""
        return f"{self.run.name}{', held-out problems' if self.kind == 'heldout' else ''}"

    @property
    def address(self) -> str:
        """The name in the address of its completions."""
        return f"{self.run.address}{'-heldout' if self.kind == 'heldout' else ''}"

    @property
    def files(self) -> list[Path]:
        """Its step files, in order."""
        return self.run.steps_of(self.kind)


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


def select_files(shelves: Sequence[Shelf], most: int | None = None) -> set[Path]:
    """The files that a report with these shelves holds: all, or steps at equal distances with each shelf's last.

    Args:
        most: the size of all together, in bytes; by default `PACKED_BYTES`.
    """
    files = [shelf.files for shelf in shelves]
    size = sum(path.stat().st_size for paths in files for path in paths)
    every = max(1, -(-size // (most or PACKED_BYTES)))
    return {path for paths in files for path in paths[::-1][::every]}


def read_steps(shelf: Shelf, kept: set[Path]) -> tuple[list[Step], list[Block]]:
    """All steps of a shelf without their rows, and the blocks with the rows of those whose file is in `kept`."""
    steps, blocks, waiting = [], [], []
    for path in shelf.files:
        step = read_step(path, rows=path in kept)
        steps.append(replace(step, rows=""))
        if step.rows:
            waiting.append(step)
        if sum(len(each.rows) for each in waiting) > BLOCK_CHARACTERS:
            blocks.append(pack_steps(waiting))
            waiting = []
    return steps, [*blocks, pack_steps(waiting)] if waiting else blocks


def pack_steps(steps: Sequence[Step]) -> Block:
    """Steps in one block."""
    text = pack(f"[{','.join(step.rows for step in steps)}]")
    return Block(tuple(step.step for step in steps), tuple(step.count for step in steps), text)


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
    sources = frozenset(map(source_of, records))
    return Step(int(path.stem.split("_")[1]), Counter(cells), counted, sources, text)


def row_of(record: Mapping[str, Any], cell: str) -> list[Any]:
    """A rollout as the page's reader takes it. A held-out completion has in its reward's place whether it is right."""
    texts = [str(record.get(name, "")) for name in ("question", "reference_answer", "completion", "verdict")]
    steps = [[end, round(value, 4)] for end, value in steps_of(record)]
    numbers = [number_of(record, name) for name in ("score", "solved" if "solved" in record else "reward")]
    return [*texts, cell, *numbers, source_of(record), *([steps] if steps else [])]


def source_of(record: Mapping[str, Any]) -> str:
    """Where a rollout's problem comes from: its `problem_id` without the numbers that end it; empty if unknown."""
    return re.sub(r"([-_/:#.]?\d+)+$", "", str(record.get("problem_id") or ""))


def number_of(record: Mapping[str, Any], name: str) -> float | None:
    """A number of a record, to four places; None where there is none."""
    value = record.get(name)
    return round(float(value), 4) if isinstance(value, int | float) else None


def reader(shelves: Sequence[Shelf], blocks: Sequence[Sequence[Block]], sources: Collection[str] = ()) -> Iterator[str]:
    """The section with the rollouts and held-out completions of all runs.

    Args:
        blocks: the blocks of each shelf.
        sources: where the problems come from.
    """
    if not any(blocks):
        return
    yield '<h2 id="rollouts">Rollouts</h2>'
    for shelf, held in zip(shelves, blocks, strict=True):
        count, all_steps = sum(len(each.steps) for each in held), len(shelf.files)
        if count < all_steps:
            told = f"{escape(shelf.name)}: this file has the rollouts of {count} of {all_steps} steps"
            yield f'<p class="muted">{told}; cooper monitor {escape(shelf.run.path)} shows all.</p>'
    yield from controls(shelves, sources)
    yield '<div class="columns"><section id="first"></section><section id="second" hidden></section></div>'
    index = [
        {
            "title": shelf.name,
            "name": shelf.address,
            "heldout": shelf.kind == "heldout",
            "blocks": [{"steps": b.steps, "counts": b.counts} for b in held],
        }
        for shelf, held in zip(shelves, blocks, strict=True)
    ]
    yield data("index", json.dumps({"runs": index}).replace("<", "\\u003c"))
    for place, held in enumerate(blocks):
        yield from (data(f"block-{place}-{len(held) - 1}", block.packed) for block in held[-1:])


def other_blocks(blocks: Sequence[Sequence[Block]]) -> Iterator[str]:
    """All blocks but each shelf's last one. They end the page, so that it can be read while it still loads."""
    for place, held in enumerate(blocks):
        yield from (data(f"block-{place}-{number}", block.packed) for number, block in enumerate(held[:-1]))


def controls(shelves: Sequence[Shelf], sources: Collection[str]) -> Iterator[str]:
    """The menus and the search field."""
    names = "".join(f'<option value="{place}">{escape(shelf.name)}</option>' for place, shelf in enumerate(shelves))
    yield '<div class="choice" id="choice">'
    yield f'<label>run <select id="run">{names}</select></label>'
    yield '<label>step <select id="step"></select></label>'
    yield f'<label>beside it <select id="beside"><option value="">none</option>{names}</select></label>'
    yield '<label>its step <select id="step2"></select></label>'
    yield from (f"<label>{name} {menu}</label>" for name, menu in filters(sources).items())
    yield '<label>search <input id="text" type="search" placeholder="question, answer or completion"></label>'
    yield '<button type="button" id="ends">first and last step</button></div>'
    yield '<p id="only" hidden><span></span><button type="button" id="all-problems">all problems</button></p>'


def filters(sources: Collection[str], chosen: Mapping[str, str] = {}) -> dict[str, str]:
    """The menus that choose rollouts, by their names.

    Args:
        sources: where the problems come from; there is no menu where all come from one.
        chosen: what is selected in `verdict`, `cell` and `source`.
    """
    verdicts = {"all": "all", **{verdict.name: verdict.name for verdict in Verdict}}
    cells = {"all": "all", **CELLS}
    known = {"all": "all", **{source: source or "unknown" for source in sorted(sources)[:MOST_SOURCES]}}
    menus = {"verdict": select("verdict", verdicts, chosen), "judged": select("cell", cells, chosen)}
    return menus | ({"source": select("source", known, chosen)} if len(known) > 2 else {})


def select(name: str, options: Mapping[str, str], chosen: Mapping[str, str]) -> str:
    """A menu of options, by their values."""
    items = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen.get(name) else ""}>{escape(title)}</option>'
        for value, title in options.items()
    )
    return f'<select id="{name}">{items}</select>'


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
