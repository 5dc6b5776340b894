"""docs/extending.md: every example there is a part that keeps its contract and trains."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cooper_rl.domains import load_problems
from cooper_rl.method.negatives import find_source
from cooper_rl.method.reward import make_reward
from cooper_rl.testing import (
    check_domain,
    check_monitor,
    check_negative_source,
    check_reward,
    check_reward_model,
    check_verifier,
)

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def my_parts(tmp_path_factory):
    """The page's examples as the module `my_parts`, here and in worker processes."""
    folder = tmp_path_factory.mktemp("parts")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (folder / "my_parts.py").write_text("\n\n".join(blocks))
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{before}"
    sys.path.insert(0, str(folder))
    yield importlib.import_module("my_parts")
    sys.path.remove(str(folder))
    os.environ["PYTHONPATH"] = before


def test_each_example_keeps_its_contract(my_parts, tmp_path):
    check_negative_source(find_source("my_parts:LastWordGone")())
    check_reward(make_reward("my_parts:Agreement"))
    check_monitor(my_parts.Longest(), my_parts.Longest())
    check_reward_model(my_parts.LastNumber(), my_parts.LastNumber(), tmp_path)
    check_domain(my_parts.Doubles(), state="The answer is {}.".format)


def test_the_verifier(my_parts):
    check_verifier("my_parts:explain_colour", ["red", "green", "blue"])


def test_the_domain_by_its_path(my_parts):
    (problem,) = load_problems("my_parts:Doubles", split="test", size=1)
    assert int(problem.question.split()[-1][:-1]) * 2 == int(problem.reference_answer)


def test_a_run_with_them_from_the_command_line(my_parts, tmp_path):
    words = ["--max_steps", "2", "--save_steps", "2", "--heldout_steps", "0", "--per_device_train_batch_size", "16"]
    words += ["--heldout_dataset_size", "8", "--heldout_triples_size", "20", "--anchor_triples", "null"]
    words += ["--negative_sources", "{mined: 1, 'my_parts:LastWordGone': 1}", "--monitors", "my_parts:Longest"]
    words += ["--reward_model_type", "my_parts:LastNumber", "--reward_model_name_or_path", "none"]
    words += ["--reward", "my_parts:Agreement", "--cotrain", "true", "--output_dir", str(tmp_path / "run")]
    command = [sys.executable, "-m", "cooper_rl.cli", "train", "--config", "recipes/quickstart.yaml", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = list(map(json.loads, (tmp_path / "run" / "metrics.jsonl").open()))
    assert rows[-1]["completions/most_characters"] >= rows[1]["completions/most_characters"] > 0
    rollouts = list(map(json.loads, (tmp_path / "run" / "rollouts" / "step_000001.jsonl").open()))
    assert {r["reward"] for r in rollouts} <= {0.0, 0.5, 1.0}
    assert all(r["reward"] == ((r["verdict"] == "CORRECT") + (r["score"] > 0.5)) / 2 for r in rollouts)
    sources = {r["negative_source"] for r in map(json.loads, (tmp_path / "run" / "pairs" / "step_000001.jsonl").open())}
    assert sources <= {"mined", "counterfactual", "my_parts:LastWordGone"}
    assert json.loads((tmp_path / "run" / "checkpoint-2" / "reward_model" / "weights.json").read_text())[1] == 2
    state = json.loads((tmp_path / "run" / "checkpoint-2" / "monitors.json").read_text())
    assert state["longest"]["most"] == rows[-1]["completions/most_characters"]
