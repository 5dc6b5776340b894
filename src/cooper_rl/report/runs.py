"""Reads the files of a run folder. A half-written last line is not an error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.jsonl import whole_records


@dataclass(frozen=True)
class Run:
    """The content of a run folder."""

    path: Path
    config: dict[str, Any]
    environment: dict[str, Any]
    metrics: list[dict[str, Any]]

    @property
    def arm(self) -> str:
        """The name under which runs are compared: the variant, if the recipe has variants, else the arm."""
        return str(self.config.get("variant") or self.config.get("arm", "?"))

    @property
    def scored(self) -> bool:
        """Whether a reward model scored its rollouts."""
        return self.config.get("arm") != "rule"

    @property
    def seed(self) -> int:
        return int(self.config.get("seed", 0))

    @property
    def problem_settings(self) -> dict[str, Any]:
        """Which problems of `dataset_name` it was trained on: what `load_problems` takes beside the name."""
        names = ("split", "size", "seed")
        return {name: self.config[f"dataset_{name}"] for name in names if f"dataset_{name}" in self.config}

    def series(self, key: str) -> list[tuple[int, float]]:
        """(step, value) of a metric, at the steps where it was measured."""
        return [(int(row["step"]), float(row[key])) for row in self.metrics if row.get(key) is not None]

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
    config = yaml.safe_load((path / "config.yaml").read_text()) if (path / "config.yaml").is_file() else {}
    environment_file = path / "environment.json"
    environment = json.loads(environment_file.read_text()) if environment_file.is_file() else {}
    return Run(path, config or {}, environment, whole_records(path / "metrics.jsonl"))


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
    return found
