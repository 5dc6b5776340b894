"""Measures VerifyRMs on the same sets, for docs/leaderboard.md. `make results` writes the page.

    COOPER_DATA_DIR=<folder of local copies> python scripts/leaderboard.py nano=nano school=adapters/...
    ... python scripts/leaderboard.py --size 40 smollm2-instruct=judge:openai:NAME@http://127.0.0.1:8000/v1

Each NAME=MODEL is measured, and its figures replace those of this name in docs/data/leaderboard/measured.json. What a
model is (size, training data, recipe) stands in words.yaml beside it, which is written by hand. `judge:` before MODEL
says that it is a language model that is asked for a verdict, named as in `cooper collect`, and no VerifyRM.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from results_experiment import environment, markdown, run

from cooper_rl.engines.loading import environment as surroundings
from cooper_rl.evaluation.eval_rm import EvalSettings, evaluate_files
from cooper_rl.jsonl import write_atomically

ROOT = Path(__file__).parents[1]
SETS = {  # a column's title: the file in COOPER_DATA_DIR
    "HardVerify": "verifier/hardverify_math_dev.jsonl",
    "VerifyBench-Hard": "verifier/verifybench_hard_316_dev.jsonl",
    "GSM8K, Llama-3.2-3B": "labelled/star_gsm8k.jsonl.gz",
    "GSM8K, GPT-3": "labelled/openai_gsm8k_examples.jsonl.gz",
}
SIZE = 300  # records of each set, drawn with seed 0
PROBLEMS = 100  # that known hacks are made of
JUDGE = "judge:"
RULE = "rule `math`"

Figures = dict[str, Any]


def measured(model: str, size: int = SIZE, problems: int = PROBLEMS, *, bf16: bool = False) -> Figures:
    """What is kept of a model's evaluation; the rule's figures are those on the same completions."""
    kind, name = ("judge", model.removeprefix(JUDGE)) if model.startswith(JUDGE) else ("model", model)
    settings = EvalSettings(**{kind: name}, size=size, probe_problems=problems, bf16=bf16)
    found = evaluate_files(list(SETS.values()), settings)
    commit = str(surroundings(0)["commit"])[:7]
    return {"commit": commit, "size": size, "model": kept(found, kind), "rule": kept(found, "rule")}


def kept(found: Mapping[str, Any], judge: str) -> Figures:
    """A judge's balanced accuracy and errors on each set, and the shares of known hacks that it rejects, by kind.

    `twice` beside a figure is the same when the judge is asked under a wrong reference too.
    """
    sets = {}
    for title, file in SETS.items():
        row, other = (found["files"][file][part][judge] for part in ("judges", "wrong_reference"))
        sets[title] = {
            "balanced_accuracy": row["balanced_accuracy"],
            "interval": row["balanced_accuracy_interval"],
            "right_rejected": 1 - row["recall"],
            "wrong_accepted": 1 - (2 * row["balanced_accuracy"] - row["recall"]),
            "right_rejected_twice": 1 - other["recall_asked_twice"],
            "wrong_accepted_twice": 1 - (2 * other["asked_twice"] - other["recall_asked_twice"]),
        }
    once, twice = found["probes"][judge], found["probes_asked_twice"][judge]
    return {"sets": sets, "hacks": {kind: [share, twice[kind]] for kind, share in once.items()}}


def page(docs: Path = ROOT / "docs") -> str:
    """docs/leaderboard.md. Models are in the order of words.yaml; the rule is the last row."""
    folder = docs / "data" / "leaderboard"
    words = yaml.safe_load((folder / "words.yaml").read_text())
    figures = json.loads((folder / "measured.json").read_text())
    last = figures[list(words["models"])[-1]]
    rows = {f"`{name}`": figures[name]["model"] for name in words["models"]} | {RULE: last["rule"]}
    commits = {name: figures[name]["commit"] for name in words["models"]}
    return environment.get_template("leaderboard.md.j2").render(
        **words,
        commits=commits,
        balanced=_balanced(rows),
        errors=_errors(rows),
        hacks=_hacks(rows),
        kinds=len(rows[RULE]["hacks"]),
        size=SIZE,
    )


def _balanced(rows: Mapping[str, Figures]) -> str:
    table = [["VerifyRM", *SETS, "known hacks rejected, at least"]]
    for name, row in rows.items():
        cells = [f"{s['balanced_accuracy']:.3f}{_interval(*s['interval'])}" for s in _sets(row)]
        kind, rejected = least_rejected(row)
        table.append([name, *cells, f"{rejected:.2f}" + (f" (`{kind}`)" if rejected < 1 else "")])
    return markdown(table)


def _interval(low: float, high: float) -> str:
    """In brackets; nothing where there is none, since all right ones, or all wrong ones, are judged alike."""
    return "" if math.isnan(low) else f" ({low:.3f}-{high:.3f})"


def least_rejected(row: Figures) -> tuple[str, float]:
    """The kind of known hacks that is rejected least, with its share. Older figures have this kind alone."""
    if "hack" in row:
        return row["hack"]["kind"], row["hack"]["rejected"]
    return min(((kind, once) for kind, (once, _) in row["hacks"].items()), key=lambda each: each[1])


def _errors(rows: Mapping[str, Figures]) -> str:
    table = [["right ones rejected / wrong ones accepted, %", *SETS]]
    for name, row in rows.items():
        twice = name != RULE and "hacks" in row
        for title, end in ((name, ""), (f"{name}, asked twice", "_twice"))[: 1 + twice]:
            cells = [
                f"{100 * s['right_rejected' + end]:.1f} / {100 * s['wrong_accepted' + end]:.1f}" for s in _sets(row)
            ]
            table.append([title, *cells])
    return markdown(table)


def _hacks(rows: Mapping[str, Figures]) -> str:
    """A line for each kind of known hack that some judge accepts, with the shares that are accepted, once and twice."""
    known = {name: row["hacks"] for name, row in rows.items() if "hacks" in row}
    table = [["accepted, asked once / twice, %", *known]]
    for kind in known[RULE]:
        pairs = [hacks[kind] for hacks in known.values()]
        if any(once < 1 for once, _ in pairs):
            cells = [f"{100 * (1 - once):.0f} / {100 * (1 - twice):.0f}" if once < 1 else "0" for once, twice in pairs]
            table.append([f"`{kind}`", *cells])
    return markdown(table)


def _sets(row: Figures) -> list[Figures]:
    return [row["sets"][title] for title in SETS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="NAME=MODEL")
    parser.add_argument("--size", type=int, default=SIZE, help="records of each set")
    parser.add_argument("--problems", type=int, default=PROBLEMS, help="problems that known hacks are made of")
    parser.add_argument("--bf16", action="store_true", help="faster where the processor has it")
    arguments = parser.parse_args()
    path = ROOT / "docs" / "data" / "leaderboard" / "measured.json"
    for word in arguments.models:
        name, _, model = word.partition("=")
        found = measured(model, arguments.size, arguments.problems, bf16=arguments.bf16)
        figures = json.loads(path.read_text()) if path.is_file() else {}
        write_atomically(path, json.dumps(figures | {name: found}, indent=1) + "\n")
        print(json.dumps(found["model"]), flush=True)


if __name__ == "__main__":
    run(main)
