"""torchrun on CPUs: two ranks are the run of one with the same global batch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from ranks import TWO_RANKS

SCRIPT = Path(__file__).parent / "scripted_run.py"


def run(folder, ranks, *how):
    done = subprocess.run(
        [*(TWO_RANKS if ranks > 1 else [sys.executable]), str(SCRIPT), str(folder), str(24 // ranks), *how],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TRL_EXPERIMENTAL_SILENCE": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in (folder / "metrics.jsonl").open()]


def same_weights(ours, theirs):
    for name in ("model.safetensors", "reward_model/model.safetensors"):
        found, expected = load_file(ours / name), load_file(theirs / name)
        assert found.keys() - expected.keys() <= {"lm_head.weight"}  # tied to the embeddings
        for key, value in expected.items():
            torch.testing.assert_close(found[key], value, rtol=0, atol=1e-5)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The run of one rank: its folder and its metrics."""
    folder = tmp_path_factory.mktemp("one")
    return folder, run(folder, 1)


@pytest.mark.parametrize("how", [[], ["fsdp2", "reward_model_sharded"]], ids=["replicated", "sharded"])
def test_two_ranks_are_the_run_of_one(alone, tmp_path, how):
    """Three groups of 8 on two ranks: one straddles them. In two steps one rank is without a valid pair.

    With policy and reward model whole on both ranks, and with both shared out over them.
    """
    folder, one = alone
    two = run(tmp_path, 2, *how)
    keys = ["reward", "accuracy/rule", "hacking/false_positive_rate", "pairs/yield", "pairs/count", "reward_std"]
    keys += ["reward_model/loss", "reward_model/grad_norm", "grad_norm", "kl", "reward_model/rolled_back"]
    keys += ["eval/rule_accuracy", "eval/reward_model_accuracy"]
    for ours, theirs in zip(two, one, strict=True):
        for key in theirs.keys() & keys:
            assert ours[key] == pytest.approx(theirs[key], rel=1e-3, abs=1e-6), (theirs["step"], key)
    assert [row["step"] for row in one if "eval/rule_accuracy" in row] == [0, 3, 5]
    steps = [row for row in one if row["step"]]
    assert all(set(keys[:-2]) <= row.keys() for row in steps)
    assert {round(row["pairs/yield"], 2) for row in steps} == {1.0, 0.67}
    assert any(row["grad_norm"] > 0 for row in steps) and steps[0]["reward_model/loss"] > 0
    same_weights(tmp_path / "checkpoint-5", folder / "checkpoint-5")
    for kind in ("rollouts", "pairs"):
        for path in sorted((folder / kind).iterdir()):
            ours = [json.loads(line) for line in (tmp_path / kind / path.name).open()]
            theirs = [json.loads(line) for line in path.open()]
            strip = [
                [{k: v for k, v in r.items() if k not in ("score", "reward")} for r in rs] for rs in (ours, theirs)
            ]
            assert sorted(map(str, strip[0])) == sorted(map(str, strip[1]))
    if "fsdp2" in how:  # and a resumed one ends as the straight one does
        (tmp_path / "checkpoint-5").rename(tmp_path / "straight")
        run(tmp_path, 2, *how, "resume")
        same_weights(tmp_path / "checkpoint-5", tmp_path / "straight")
