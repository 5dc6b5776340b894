"""Kills one nano run again and again at random moments, resumes it, and holds its end against a run without kills.

python scripts/kill_and_resume.py --kills 50 --folder runs/kills

The guard's tolerance is 0 and it checks every update: most updates are rolled back, and kills fall into that, too.
Every second kill waits for a checkpoint that is being written.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from cooper_rl.checkpoints import COMPLETE
from cooper_rl.method.journal import read_metrics

ROOT = Path(__file__).parents[1]
SETTINGS = {
    "arm": "cooper",
    "per_device_train_batch_size": 16,
    "num_generations": 4,
    "dataset_size": 512,
    "heldout_steps": 0,
    "heldout_dataset_size": 16,
    "heldout_triples_size": 40,
    "max_completion_length": 32,
    "anchor_triples_size": 60,
    "guard_probes": 1,
    "guard_steps": 1,
    "guard_tolerance": 0,
    "guard_probe_tolerance": 0,
    "save_steps": 2,
}
CLOCK = ("time", "runtime", "per_second", "memory")


def start(folder: Path, steps: int, *, resume: bool) -> subprocess.Popen[bytes]:
    """One life of the run."""
    words = [word for key, value in SETTINGS.items() for word in (f"--{key}", str(value))]
    command = [sys.executable, "-m", "cooper_rl.cli", "train", "--config", str(ROOT / "recipes" / "quickstart.yaml")]
    command += [*words, "--max_steps", str(steps), "--output_dir", str(folder), *(["--resume"] if resume else [])]
    with (folder.parent / f"{folder.name}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def last_step(folder: Path) -> int:
    """Of metrics.jsonl, -1 before there is any."""
    return max((row["step"] for row in read_metrics(folder)), default=-1)


def being_written(folder: Path, born: float) -> bool:
    """Whether a checkpoint is not complete and has files of this life; one that an earlier kill cut off has none."""
    cut_off = [path for path in folder.glob("checkpoint-*") if not (path / COMPLETE).is_file()]
    try:
        return any(path.stat().st_mtime > born for one in cut_off for path in one.rglob("*"))
    except FileNotFoundError:  # renamed or removed while it was looked at
        return False


def live_and_die(folder: Path, steps: int, rng: random.Random, *, aimed: bool) -> str:
    """Lets the run go 1 to 4 steps on and kills it within a second, or, aimed, while it writes a checkpoint.

    Returns what the kill cut off, or `ended`.
    """
    born, ahead = time.time(), rng.randint(1, 4)
    process = start(folder, steps, resume=(folder / "config.yaml").is_file())
    before = last_step(folder)
    while process.poll() is None and last_step(folder) < before + ahead:
        time.sleep(0.005)
        before = min(before, last_step(folder))  # resuming drops the steps after the checkpoint
    while aimed and process.poll() is None and not being_written(folder, born):
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.1 if aimed else 1.0))
    if process.poll() is not None:
        return "ended" if process.returncode == 0 else f"failed with {process.returncode}"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return "in a checkpoint" if being_written(folder, born) else "between"


def figures(folder: Path) -> list[dict[str, Any]]:
    """The metrics that do not depend on the clock."""
    rows = read_metrics(folder)
    return [{key: value for key, value in row.items() if not any(word in key for word in CLOCK)} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("runs/kills"))
    arguments = parser.parse_args()
    straight, killed = arguments.folder / "straight", arguments.folder / "killed"
    arguments.folder.mkdir(parents=True, exist_ok=True)
    finished = (straight / "finished.json").is_file()  # by an earlier call of this script
    if not finished and start(straight, arguments.steps, resume=False).wait() != 0:
        sys.exit(f"the straight run failed; see {straight}.log")
    rng, deaths = random.Random(arguments.seed), list[str]()
    while deaths.count("in a checkpoint") + deaths.count("between") < arguments.kills:
        deaths.append(live_and_die(killed, arguments.steps, rng, aimed=len(deaths) % 2 == 1))
        if deaths[-1] not in ("in a checkpoint", "between"):
            break
    if deaths[-1] != "ended" and start(killed, arguments.steps, resume=True).wait() != 0:
        sys.exit(f"the last life failed; see {killed}.log")
    end = f"checkpoint-{arguments.steps}"
    equal = {"metrics": figures(straight) == figures(killed)}
    for name in ("model.safetensors", "reward_model/model.safetensors"):
        ours, theirs = load_file(killed / end / name), load_file(straight / end / name)
        equal[name] = all(torch.equal(ours[key], theirs[key]) for key in theirs)
    rolled_back = sum(row.get("reward_model/rolled_back") or 0 for row in read_metrics(straight))
    counts = {kind: deaths.count(kind) for kind in sorted(set(deaths))}
    print(json.dumps({"deaths": counts, "steps": arguments.steps, "rolled_back_in": rolled_back, "equal": equal}))


if __name__ == "__main__":
    main()
