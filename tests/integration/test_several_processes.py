"""torchrun on CPUs: two ranks are the run of one with the same global batch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

SCRIPT = Path(__file__).parent / "scripted_run.py"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node"]


def run(folder, ranks):
    launcher = [*TORCHRUN, str(ranks)] if ranks > 1 else []
    done = subprocess.run(
        [sys.executable, *launcher, str(SCRIPT), str(folder), str(24 // ranks)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TRL_EXPERIMENTAL_SILENCE": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in (folder / "metrics.jsonl").open()]


def test_two_ranks_are_the_run_of_one(tmp_path):
    """Three groups of 8 on two ranks: one straddles them. In two steps one rank is without a valid pair."""
    one, two = run(tmp_path / "one", 1), run(tmp_path / "two", 2)
    keys = ["reward", "accuracy/rule", "hacking/false_positive_rate", "pairs/yield", "pairs/count", "reward_std"]
    keys += ["reward_model/loss", "reward_model/grad_norm", "grad_norm", "kl", "reward_model/rolled_back"]
    for ours, theirs in zip(two, one, strict=True):
        for key in keys:
            assert ours[key] == pytest.approx(theirs[key], rel=1e-3, abs=1e-6), (theirs["step"], key)
    assert {round(row["pairs/yield"], 2) for row in one} == {1.0, 0.67}
    assert any(row["grad_norm"] > 0 for row in one) and one[0]["reward_model/loss"] > 0
    for name in ("model.safetensors", "reward_model/model.safetensors"):
        found, expected = (load_file(tmp_path / ranks / "checkpoint-5" / name) for ranks in ("two", "one"))
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            torch.testing.assert_close(found[key], value, rtol=0, atol=1e-5)
    for kind in ("rollouts", "pairs"):
        for path in sorted((tmp_path / "one" / kind).iterdir()):
            ours = [json.loads(line) for line in (tmp_path / "two" / kind / path.name).open()]
            theirs = [json.loads(line) for line in path.open()]
            strip = [
                [{k: v for k, v in r.items() if k not in ("score", "reward")} for r in rs] for rs in (ours, theirs)
            ]
            assert sorted(map(str, strip[0])) == sorted(map(str, strip[1]))
