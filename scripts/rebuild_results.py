"""Writes the pages of the results from docs/data: docs/results.md, experiments/NAME.md, figures and leaderboard.md.

python scripts/rebuild_results.py                          from docs/data as it is (make results)
python scripts/rebuild_results.py long=runs/long           takes in the runs of a folder first, then the same
python scripts/rebuild_results.py mined=new:runs/a,old:runs/b     with names of their own for two folders' runs
python scripts/rebuild_results.py long=runs/long,short:default/cooper    beside the kept runs of an arm of another
python scripts/rebuild_results.py smollm2=smollm2,runs/smollm2/arms      beside its own kept runs, of which a run that
                                                           stands in both places is replaced

An experiment is two files in docs/data: NAME.json has a record for each run, NAME.yaml has its words. The words take
their numbers from the runs, by the public methods of `Experiment`: `{{ mean("cooper", "true accuracy end") }}`.
Without NAME.json there is no page, and docs/results.md leaves its claim out. The templates are in scripts/pages. A test
checks that the pages are what this script writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import leaderboard
from results_data import Data, finished
from results_experiment import Experiment, environment, markdown, run

from cooper_rl.errors import BadInputError
from cooper_rl.jsonl import write_atomically
from cooper_rl.report.summary import table

DOCS = Path(__file__).parents[1] / "docs"


def data_of(name: str) -> list[Data]:
    """The kept records of an experiment."""
    entries: list[Data] = json.loads((DOCS / "data" / f"{name}.json").read_text())
    return entries


def entries_of(place: str) -> list[Data]:
    """Of the finished runs in a folder, or of the kept runs of EXPERIMENT or EXPERIMENT/ARM."""
    name, _, arm = place.partition("/")
    if (DOCS / "data" / f"{name}.json").is_file():
        return [entry for entry in data_of(name) if not arm or entry["arm"] == arm]
    return finished(Path(place))


def means(entries: Sequence[Data]) -> str:
    """The table of `cooper compare`, as it stands in the README."""
    arms = {arm: [e for e in entries if e["arm"] == arm] for arm in dict.fromkeys(e["arm"] for e in entries)}
    return markdown(table({"arms": arms}))


def written(docs: Path = DOCS) -> dict[Path, str]:
    """Every file that the data make, and what belongs into it."""
    names = [path.stem for path in sorted((docs / "data").glob("*.yaml")) if path.with_suffix(".json").is_file()]
    experiments = {name: Experiment(name, docs) for name in names}
    files: dict[Path, str] = {}
    for name, experiment in experiments.items():
        files[docs / "experiments" / f"{name}.md"] = experiment.page()
        for title, drawing in experiment.drawings():
            files[docs / "figures" / f"{name}-{title.replace(' ', '-')}.svg"] = drawing
    results = environment.get_template("results.md.j2").render(experiments=experiments)
    return files | {docs / "results.md": results, docs / "leaderboard.md": leaderboard.page()}


def main() -> None:
    for word in sys.argv[1:]:
        name, _, folders = word.partition("=")
        entries: dict[tuple[str, int, str], Data] = {}
        origins: dict[tuple[str, int, str], str] = {}
        for place in folders.split(","):
            label, _, folder = place.rpartition(":")
            found = entries_of(folder)
            if not found:
                raise BadInputError(f"{folder}: no finished run; {name}.json stays as it is")
            for entry in (entry | ({"arm": label} if label else {}) for entry in found):
                key = entry["arm"], entry["seed"], entry["name"]
                if origins.setdefault(key, folder) != folder and Path(folder).is_dir() and Path(origins[key]).is_dir():
                    raise BadInputError(
                        f"{folder}: {entry['name']} is in {origins[key]} too; give it a label, as LABEL:FOLDER"
                    )
                entries[key], origins[key] = entry, folder
        kept = sorted(entries.values(), key=lambda entry: (entry["arm"], entry["seed"]))
        lines = ",\n".join(map(json.dumps, kept))
        write_atomically(DOCS / "data" / f"{name}.json", f"[\n{lines}\n]\n")
    for path, text in written().items():
        write_atomically(path, text)


if __name__ == "__main__":
    run(main)
