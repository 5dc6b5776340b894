"""The script for a machine with a GPU: each of its parts runs on a CPU too, in small."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow  # a minute: four short runs
def test_every_part_runs_in_small(tmp_path):
    done = subprocess.run(
        [sys.executable, "benchmarks/gpu_once.py", "--tiny"],
        cwd=ROOT,
        env={**os.environ, "OUT": str(tmp_path), "OMP_NUM_THREADS": "1", "TRL_EXPERIMENTAL_SILENCE": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert list(found) == ["versions", "limits", "agreement", "resume", "step tiny", "attention tiny"]
    assert found["agreement"]["equal"] and found["resume"]["equal"]
    step = found["step tiny"]
    assert all(step[f"{stage}_seconds"] > 0 for stage in ("generate", "score", "policy", "reward_model"))
    assert step["reward_model_share_of_product"] > 0  # there were pairs to learn from
    assert float(step["doctor_gib"]["at the peak"]) > 0
    assert "\n| part | what | found |\n" in f"\n{done.stdout}"
