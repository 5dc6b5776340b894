"""Reads the files of a run folder. A half-written last line is not an error."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.jsonl import whole_records
from cooper_rl.settings.recipe import read_recipe, without_tokens


@dataclass(frozen=True)
class Run:
    """The content of a run folder."""

    path: Path
    config: dict[str, Any]
    environment: dict[str, Any]
    metrics: list[dict[str, Any]]
    label: str = ""

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
    return Run(path, without_tokens(config), environment, whole_records(path / "metrics.jsonl"))


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
