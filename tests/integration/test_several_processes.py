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
from rounding import assert_same_but_for_rounding

SCRIPT = Path(__file__).parent / "scripted_run.py"
TOKENS = 1_000  # of one step: 24 rollouts, or as many pairs and labelled triples, of about 40 tokens
PROBLEMS = 9  # of the held-out measurement

pytestmark = pytest.mark.numeric


def run(folder, ranks, *how):
    done = subprocess.run(
        [*(TWO_RANKS if ranks > 1 else [sys.executable]), str(SCRIPT), str(folder), str(24 // ranks), *how],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TRL_EXPERIMENTAL_SILENCE": "1"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in (folder / "metrics.jsonl").open()]


def weights(folder):
    """The tensors of the policy and of the reward model in the last checkpoint, without the tied copy of one."""
    parts = {"policy": "model.safetensors", "reward model": "reward_model/model.safetensors"}
    loaded = {part: load_file(folder / "checkpoint-5" / path) for part, path in parts.items()}
    loaded["policy"].pop("lm_head.weight", None)  # tied to the embeddings; FSDP2 writes it all the same
    return loaded


def assert_same_trained(ours, theirs, rows):
    """Both models are those of the run with these metrics, up to what adding up in another order explains."""
    rates = {"policy": "learning_rate", "reward model": "reward_model/learning_rate"}
    for part, key in rates.items():
        used = [row[key] for row in rows if row["step"]]
        assert ours[part].keys() == theirs[part].keys()
        assert_same_but_for_rounding(ours[part], theirs[part], used, summands=TOKENS)


def assert_no_ties(folder):
    """No two wrong rollouts of a group have scores that rounding could put in the other order.

    The mined negatives are those with the highest scores. Rounding moves a logit by less than 1e-4, so 1e-3 is enough.
    """
    for path in sorted((folder / "rollouts").iterdir()):
        rollouts = [json.loads(line) for line in path.open()]
        for group in {r["group"] for r in rollouts}:
            scores = [r["score"] for r in rollouts if r["group"] == group and r["verdict"] != "CORRECT"]
            logits = torch.tensor(scores, dtype=torch.float64).logit().sort().values
            assert logits.diff().min() > 1e-3, (path.name, group)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The run of one rank: its folder and its metrics."""
    folder = tmp_path_factory.mktemp("one")
    return folder, run(folder, 1)


@pytest.mark.parametrize(
    "how",
    [
        pytest.param([], id="replicated"),
        pytest.param(["fsdp2", "reward_model_sharded"], id="sharded", marks=pytest.mark.slow),
    ],
)
def test_two_ranks_are_the_run_of_one(alone, tmp_path, how):
    """Three groups of 8 on two ranks: one straddles them. In two steps one rank is without a valid pair.

    With policy and reward model whole on both ranks, and with both shared out over them. Averages agree to a
    thousandth, several hundred times the rounding error of a sum over the step's tokens. Counts agree exactly, but
    for held-out greedy answers after an update: where two tokens are equally likely, rounding chooses, so one answer
    may be another.
    """
    folder, one = alone
    two = run(tmp_path, 2, *how)
    keys = ["reward", "accuracy/rule", "hacking/false_positive_rate", "pairs/yield", "pairs/count", "reward_std"]
    keys += ["reward_model/loss", "reward_model/grad_norm", "grad_norm", "kl", "reward_model/rolled_back"]
    keys += ["eval/rule_accuracy", "eval/reward_model_accuracy"]
    for ours, theirs in zip(two, one, strict=True):
        for key in theirs.keys() & keys:
            tie = 1 / PROBLEMS if key == "eval/rule_accuracy" and theirs["step"] else 0
            assert ours[key] == pytest.approx(theirs[key], rel=1e-3, abs=1e-6 + tie), (theirs["step"], key)
    assert [row["step"] for row in one if "eval/rule_accuracy" in row] == [0, 3, 5]
    steps = [row for row in one if row["step"]]
    assert all(set(keys[:-2]) <= row.keys() for row in steps)
    assert {round(row["pairs/yield"], 2) for row in steps} == {1.0, 0.67}
    assert_no_ties(folder)
    assert any(row["grad_norm"] > 0 for row in steps) and steps[0]["reward_model/loss"] > 0
    assert_same_trained(weights(tmp_path), weights(folder), one)
    for kind in ("rollouts", "pairs"):
        for path in sorted((folder / kind).iterdir()):
            ours = [json.loads(line) for line in (tmp_path / kind / path.name).open()]
            theirs = [json.loads(line) for line in path.open()]
            rounded = ("score", "start_score", "counterfactual_score", "reward")
            strip = [[{k: v for k, v in r.items() if k not in rounded} for r in rs] for rs in (ours, theirs)]
            assert sorted(map(str, strip[0])) == sorted(map(str, strip[1]))
    if "fsdp2" in how:  # resumed, it ends as the straight one: the same sums in the same order
        straight = weights(tmp_path)
        (tmp_path / "checkpoint-5").rename(tmp_path / "straight")
        run(tmp_path, 2, *how, "resume")
        resumed = weights(tmp_path)
        for part, tensors in straight.items():
            assert all(torch.equal(resumed[part][name], tensor) for name, tensor in tensors.items()), part


@pytest.mark.slow  # 34 seconds: two processes
def test_an_assistant_beside_a_sharded_policy_keeps_no_rank_waiting(tmp_path):
    """The ranks ask it for their own prompts, so not alike often; the reference policy is sharded."""
    rows = run(tmp_path, 2, "fsdp2", "assistant")
    assert [row["step"] for row in rows] == [0, 1, 2, 3, 4, 5]
    assert all("pairs/assistant_failure_rate" in row for row in rows[1:])
