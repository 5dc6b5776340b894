"""Writes the pages of the results from docs/data: docs/results.md, experiments/NAME.md, figures and leaderboard.md.

python scripts/rebuild_results.py                          from docs/data as it is (make results)
python scripts/rebuild_results.py long=runs/long           the runs of a folder first, in the place of those kept
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
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import leaderboard
import yaml
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


def taken_in(name: str, places: str) -> str:
    """The new NAME.json: the records of the folders and kept runs that are named, and no others."""
    words = DOCS / "data" / f"{name}.yaml"
    if not words.is_file():
        raise BadInputError(f"{name}: docs/data has no {words.name} with the words of its page")
    if "metrics" in yaml.safe_load(words.read_text()):
        raise BadInputError(f"{name}: its records are made by the script that docs/experiments/{name}.md names")
    entries: dict[tuple[str, int, str], Data] = {}
    origins: dict[tuple[str, int, str], str] = {}
    for place in places.split(","):
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
    return f"[\n{lines}\n]\n"


def main() -> None:
    new = {f"{(parts := word.partition('='))[0]}.json": taken_in(parts[0], parts[2]) for word in sys.argv[1:]}
    with TemporaryDirectory() as folder:  # all pages are made before one is written
        tried = Path(folder)
        shutil.copytree(DOCS / "data", tried / "data")
        for name, text in new.items():
            (tried / "data" / name).write_text(text)
        pages = {DOCS / path.relative_to(tried): text for path, text in written(tried).items()}
    for path, text in ({DOCS / "data" / name: text for name, text in new.items()} | pages).items():
        write_atomically(path, text)


if __name__ == "__main__":
    run(main)
