"""A run killed with SIGKILL and resumed is the run that would have been."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_arms import SMALL, words_of

ROOT = Path(__file__).parents[2]
STEPS = 6
OF_THE_MACHINE = ("time", "runtime", "per_second", "memory")


def command(folder, *extra):
    own = {"max_steps": STEPS, "save_steps": 2, "heldout_steps": 2, "guard_steps": 2, "reward_threshold": 0.5}
    words = ["--config", str(ROOT / "recipes" / "quickstart.yaml"), "--output_dir", str(folder)]
    words += words_of({**SMALL, **own})
    return [sys.executable, "-m", "cooper_rl.cli", "train", *words, *extra]


def train(folder, *extra):
    done = subprocess.run(command(folder, *extra), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return metrics(folder)


def metrics(folder):
    """Step -> figures that do not depend on the machine."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert len({row["step"] for row in rows}) == len(rows), "a step is there twice"
    return {
        row["step"]: {k: v for k, v in row.items() if not any(word in k for word in OF_THE_MACHINE)} for row in rows
    }


def assert_equal(found, expected):
    assert list(found) == list(expected) == list(range(STEPS + 1))
    for step, figures in expected.items():
        assert found[step].keys() == figures.keys()
        for key, value in figures.items():
            assert found[step][key] == pytest.approx(value, abs=1e-6, nan_ok=True), (step, key)


def kill_when(folder, ready, *extra):
    process = subprocess.Popen(command(folder, *extra), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 200
    while not ready(folder):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("straight")
    return folder, train(folder)


@pytest.mark.slow  # 35 seconds: the straight run
def test_the_checkpoint_holds_the_reward_model(straight):
    """Known fault 7: no reward-model weights in the checkpoint."""
    folder, rows = straight
    reward_model = folder / f"checkpoint-{STEPS}" / "reward_model"
    for name in ("model.safetensors", "optimizer.safetensors", "scheduler.json", "verifyrm.json"):
        assert (reward_model / name).is_file()
    assert not list(reward_model.glob("*.bin")) and not list(reward_model.glob("*.pt"))
    assert rows[STEPS]["eval/true_accuracy"] is not None
    learned = [step for step, row in rows.items() if "reward_model/loss" in row]
    assert learned == [step for step, row in rows.items() if row.get("pairs/count")] and len(learned) > STEPS / 2


@pytest.mark.slow  # 65 seconds: three runs; test_faults has SIGTERM and resume
def test_killed_between_saves_and_during_a_save(straight, tmp_path):
    def fourth_step(folder):
        path = folder / "metrics.jsonl"
        return path.is_file() and '"step": 3,' in path.read_text()

    def in_the_middle_of_a_save(folder):
        checkpoint = folder / "checkpoint-4"
        return (checkpoint / "reward_model").is_dir() and not (checkpoint / "complete.json").is_file()

    kill_when(tmp_path, fourth_step)
    kill_when(tmp_path, in_the_middle_of_a_save, "--resume")
    assert not (tmp_path / "checkpoint-4" / "complete.json").is_file()
    assert_equal(train(tmp_path, "--resume"), straight[1])
    pairs = [path.read_text() for path in sorted((tmp_path / "pairs").glob("*"))]
    assert pairs == [path.read_text() for path in sorted((straight[0] / "pairs").glob("*"))]


@pytest.mark.slow  # 41 seconds: three runs
def test_a_run_made_longer_has_the_longer_schedules_learning_rates(tmp_path):
    schedules = {"lr_scheduler_type": "linear", "lr_scheduler_kwargs": None, "reward_model_lr_scheduler_type": "linear"}
    words = words_of({**schedules, "warmup_steps": 0, "reward_model_warmup_steps": 0, "heldout_steps": 0})
    train(tmp_path, *words, "--max_steps", "2")
    rows = train(tmp_path, *words, "--max_steps", "4", "--resume")
    names = [name for name in rows[1] if name.endswith("learning_rate")]
    assert len(names) == 2
    for name in names:
        updated = [step for step in range(1, 5) if name in rows[step]]  # a step without pairs has no update
        expected = [1 - update / (2 if step <= 2 else 4) for update, step in enumerate(updated)]
        assert updated[-1] > 2 and [rows[step][name] / rows[1][name] for step in updated] == pytest.approx(expected), (
            name
        )


@pytest.mark.slow  # 40 seconds: five short runs
def test_a_run_at_its_end_takes_no_step_more_and_one_without_steps_is_no_success(straight, tmp_path):
    folder, rows = straight
    shutil.copytree(folder, tmp_path / "again")
    assert_equal(train(tmp_path / "again", "--resume"), rows)
    assert json.loads((tmp_path / "again" / "finished.json").read_text())["step"] == STEPS
    shorter = subprocess.run(
        command(tmp_path / "again", "--resume", "--max_steps", "2"), capture_output=True, text=True
    )
    assert shorter.returncode == 2 and "has a checkpoint of step 6; set max_steps" in shorter.stderr
    few = subprocess.run(command(tmp_path / "few", "--dataset_size", "1"), capture_output=True, text=True)
    assert few.returncode == 2 and "the training data set has 1 rows, and a generation batch needs" in few.stderr
    rare = train(tmp_path / "rare", "--logging_steps", "4", "--max_steps", "3")
    assert "eval/true_accuracy" in rare[3]
    epochs = subprocess.run(command(tmp_path / "epochs", "--save_strategy", "epoch"), capture_output=True, text=True)
    assert epochs.returncode == 0 and (tmp_path / "epochs" / f"checkpoint-{STEPS}" / "complete.json").is_file()
