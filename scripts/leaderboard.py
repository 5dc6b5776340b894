"""Measures VerifyRMs on the same sets, for docs/leaderboard.md. `make results` writes the page.

    COOPER_DATA_DIR=<folder of local copies> python scripts/leaderboard.py nano=nano school=adapters/...

Each NAME=MODEL is measured, and its figures replace those of this name in docs/data/leaderboard/measured.json. What a
model is (size, training data, recipe) stands in words.yaml beside it, which is written by hand.
"""

from __future__ import annotations

import json
import sys
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
RULE = "rule `math`"

Figures = dict[str, Any]


def measured(model: str) -> Figures:
    """What is kept of a model's evaluation; the rule's figures are those on the same completions."""
    found = evaluate_files(list(SETS.values()), EvalSettings(model=model, size=SIZE, bf16=True))
    return {"commit": str(surroundings(0)["commit"])[:7], "model": kept(found, "model"), "rule": kept(found, "rule")}


def kept(found: Mapping[str, Any], judge: str) -> Figures:
    """A judge's balanced accuracy and both errors on each set, and the kind of known hacks that it rejects least."""
    rows = {title: found["files"][file]["judges"][judge] for title, file in SETS.items()}
    kind, share = min(found["probes"][judge].items(), key=lambda item: float(item[1]))
    return {
        "sets": {
            title: {
                "balanced_accuracy": row["balanced_accuracy"],
                "interval": row["balanced_accuracy_interval"],
                "right_rejected": 1 - row["recall"],
                "wrong_accepted": 1 - (2 * row["balanced_accuracy"] - row["recall"]),
            }
            for title, row in rows.items()
        },
        "hack": {"kind": kind, "rejected": share},
    }


def page(docs: Path = ROOT / "docs") -> str:
    """docs/leaderboard.md. Models are in the order of words.yaml; the rule is the last row."""
    folder = docs / "data" / "leaderboard"
    words = yaml.safe_load((folder / "words.yaml").read_text())
    figures = json.loads((folder / "measured.json").read_text())
    last = figures[list(words["models"])[-1]]
    rows = {f"`{name}`": figures[name]["model"] for name in words["models"]} | {RULE: last["rule"]}
    commits = {name: figures[name]["commit"] for name in words["models"]}
    return environment.get_template("leaderboard.md.j2").render(
        **words, commits=commits, balanced=_balanced(rows), errors=_errors(rows), size=SIZE
    )


def _balanced(rows: Mapping[str, Figures]) -> str:
    table = [["VerifyRM", *SETS, "known hacks rejected, at least"]]
    for name, row in rows.items():
        cells = [f"{s['balanced_accuracy']:.3f} ({s['interval'][0]:.3f}-{s['interval'][1]:.3f})" for s in _sets(row)]
        hack = row["hack"]
        least = f"{hack['rejected']:.2f}" + (f" (`{hack['kind']}`)" if hack["rejected"] < 1 else "")
        table.append([name, *cells, least])
    return markdown(table)


def _errors(rows: Mapping[str, Figures]) -> str:
    table = [["right ones rejected / wrong ones accepted, %", *SETS]]
    for name, row in rows.items():
        table.append(
            [name, *(f"{100 * s['right_rejected']:.1f} / {100 * s['wrong_accepted']:.1f}" for s in _sets(row))]
        )
    return markdown(table)


def _sets(row: Figures) -> list[Figures]:
    return [row["sets"][title] for title in SETS]


def main() -> None:
    path = ROOT / "docs" / "data" / "leaderboard" / "measured.json"
    figures = json.loads(path.read_text()) if path.is_file() else {}
    for word in sys.argv[1:]:
        name, _, model = word.partition("=")
        figures[name] = measured(model)
        write_atomically(path, json.dumps(figures, indent=1) + "\n")
        print(json.dumps(figures[name]["model"]), flush=True)


if __name__ == "__main__":
    run(main)
