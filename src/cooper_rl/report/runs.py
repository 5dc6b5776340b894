"""Reads the files of a run folder. A half-written last line is not an error."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.intervals import mean_interval, wilson
from cooper_rl.jsonl import whole_records
from cooper_rl.settings.recipe import read_recipe, without_tokens

OF_PROBLEMS = ("eval/true_accuracy", "eval/rule_accuracy")  # shares of the held-out problems
OF_TRIPLES = "eval/reward_model_accuracy"
NEAR = 2  # steps on each side whose values make the interval of a metric of each step
Point = tuple[int, float, float, float]  # step, value, lower and upper bound


@dataclass(frozen=True)
class Run:
    """The content of a run folder."""

    path: Path
    config: dict[str, Any]
    environment: dict[str, Any]
    metrics: list[dict[str, Any]]
    label: str = ""
    heldout: list[dict[str, Any]] = field(default_factory=list)  # the lines of heldout.jsonl, which older runs lack

    @property
    def arm(self) -> str:
        """The name under which runs are compared: its label, else the recipe's variant, else the arm."""
        return self.label or str(self.config.get("variant") or self.config.get("arm", "?"))

    @property
    def scored(self) -> bool:
        """Whether a reward model scored its rollouts."""
        return self.config.get("arm") != "rule"

    @property
    def seed(self) -> int:
        return int(self.config.get("seed", 0))

    @property
    def name(self) -> str:
        """The arm with the seed."""
        return f"{self.arm}, seed {self.seed}"

    @property
    def address(self) -> str:
        """The name in the address of its rollouts: letters, digits, dots and hyphens."""
        return re.sub(r"[^A-Za-z0-9.-]+", "-", f"{self.arm}-seed{self.seed}")

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / "finished.json").is_file()

    @property
    def problem_settings(self) -> dict[str, Any]:
        """Which problems of `dataset_name` it was trained on: what `load_problems` takes beside the name."""
        names = {name: f"dataset_{name}" for name in ("split", "size", "seed", "config")}
        names["reference_column"] = "reference_column"
        return {name: self.config[key] for name, key in names.items() if key in self.config}

    def series(self, key: str) -> list[tuple[int, float]]:
        """(step, value) of a metric, at the steps where it was measured."""
        return [(int(row["step"]), float(row[key])) for row in self.metrics if row.get(key) is not None]

    def values(self, key: str) -> list[float]:
        """The values of `series`."""
        return [value for _, value in self.series(key)]

    def list_solved(self) -> dict[int, tuple[str, str]]:
        """By step: which problems were asked, as a checksum, and 1 or 0 for each one that was solved or not."""
        rows = (row for row in self.heldout if "true" in row)
        return {int(row["step"]): (str(row["problems"]), str(row["true"])) for row in rows}

    @property
    def problems(self) -> int | None:
        """The number of held-out problems: of those that it has written down, else what the settings say.

        None where neither is known, or an accuracy is no share of so many.
        """
        size = next(
            (len(row["rule"]) for row in self.heldout if "rule" in row), self.config.get("heldout_dataset_size")
        )
        if not isinstance(size, int):
            return None
        hits = [value * size for key in OF_PROBLEMS for value in self.values(key)]
        return size if hits and all(abs(hit - round(hit)) < 1e-6 for hit in hits) else None

    def with_intervals(self, key: str) -> list[Point]:
        """The points of a metric with their 95 % intervals; where there is none, both bounds are the value.

        A held-out accuracy has Wilson's, over its problems or triples. What is measured in each step has Student's of
        the mean over the step and its neighbours, so that what a prompt's completions have in common is counted.
        """
        series, size = self.series(key), 0.0
        if key in OF_PROBLEMS:
            size = self.problems or 0.0
        elif key == OF_TRIPLES:
            counts = next((row["triples"] for row in self.heldout if "triples" in row), [0, 0])
            size = 4 / sum(1 / count for count in counts) if all(counts) else 0.0  # what a balanced accuracy is worth
        if key in (*OF_PROBLEMS, OF_TRIPLES):
            return [(s, value, *(wilson(value * size, size) if size else (value, value))) for s, value in series]
        found: list[Point] = []
        last = max(0, len(series) - 2 * NEAR - 1)  # where the last window of full width begins
        for place, (step, value) in enumerate(series):
            begin = min(max(0, place - NEAR), last)
            near = [other for _, other in series[begin : begin + 2 * NEAR + 1]]
            low, high = mean_interval(near) if len(near) > 2 * NEAR else (value, value)
            found.append((step, value, min(value, low), max(value, high)))
        return found

    @property
    def alarm_step(self) -> int | None:
        """The first step at which the hacking alarm fired."""
        return next((int(row["step"]) for row in self.metrics if row.get("hacking/alarm")), None)

    def steps_of(self, kind: str) -> list[Path]:
        """The step files of `rollouts`, `pairs` or `rolled_back`, in order."""
        return sorted((self.path / kind).glob("step_*.jsonl"))


def read_run(path: Path) -> Run:
    """A run from its folder.

    Raises:
        MissingFileError: there is no such folder.
        BadInputError: the folder holds no run.
    """
    if not path.is_dir():
        raise MissingFileError(f"{path}: no such run folder")
    if not (path / "metrics.jsonl").is_file():
        raise BadInputError(f"{path}: no run in it (metrics.jsonl is missing)")
    config = read_recipe(path / "config.yaml") if (path / "config.yaml").is_file() else {}
    environment_file = path / "environment.json"
    environment = json.loads(environment_file.read_text()) if environment_file.is_file() else {}
    # folders of older runs may hold tokens
    config, metrics = without_tokens(config), whole_records(path / "metrics.jsonl")
    heldout = path / "heldout.jsonl"
    return Run(path, config, environment, metrics, heldout=whole_records(heldout) if heldout.is_file() else [])


def label_apart(runs: Sequence[Run]) -> list[Run]:
    """The runs with labels, so that runs of one arm with other settings stay apart.

    Where arm and seed tell all runs apart, the labels stay empty. Otherwise the names of the folders, without their
    seeds, are added to the arms that are there twice.
    """
    count = Counter((run.arm, run.seed) for run in runs)
    twice = {arm for (arm, _), runs_of_it in count.items() if runs_of_it > 1}
    for names in (lambda p: "", lambda p: p.parent.name, _seedless, lambda p: f"{p.parent.name}/{_seedless(p)}", str):
        labelled = [
            replace(run, label=f"{run.arm} ({folder})")
            if run.arm in twice and (folder := names(run.path.resolve())) not in ("", run.arm)
            else run
            for run in runs
        ]
        if len({(run.arm, run.seed) for run in labelled}) == len(runs):
            return labelled
    return labelled


def _seedless(path: Path) -> str:
    """A run folder's name without the seed at its end."""
    return re.sub(r"-?seed\d+$", "", path.name)


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """The run folders among the given folders and directly below them.

    Raises:
        MissingFileError: a folder does not exist.
        BadInputError: a folder holds no run.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            raise MissingFileError(f"{path}: no such run folder")
        inside = (
            [path] if (path / "metrics.jsonl").is_file() else sorted(p.parent for p in path.glob("*/metrics.jsonl"))
        )
        if not inside:
            raise BadInputError(f"{path}: no run in it (metrics.jsonl is missing)")
        found += inside
    return list({path.resolve(): path for path in found}.values())
