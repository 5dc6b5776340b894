"""What can go wrong in a long run: signals, numbers that are none, disks, checkpoints that are not what was written."""

import json
import os
import resource
import signal
import subprocess
import time

import pytest
import torch
from test_arms import SMALL
from test_resume import command, metrics, train

from cooper_rl.checkpoints import complete_checkpoint, last_checkpoint
from cooper_rl.engines.loading import settings_of
from cooper_rl.engines.trl.cooper_trainer import build_trainer, run_training
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.method.journal import read_metrics
from cooper_rl.settings.recipe import load_recipe


def small_trainer(folder, **settings):
    values = {**SMALL, "max_steps": 4, "save_steps": 2, "heldout_steps": 0, **settings}
    words = [word for key, value in values.items() for word in (f"--{key}", json.dumps(value))]
    recipe = load_recipe("recipes/quickstart.yaml", [*words, "--output_dir", str(folder)])
    return build_trainer(*settings_of(recipe))


def corrupt_gradients(parameter, steps, trainer):
    """NaN in this parameter's gradient at these steps."""
    parameter.register_hook(lambda grad: grad * float("nan") if trainer.state.global_step + 1 in steps else grad)


def test_a_policy_gradient_that_is_no_number_is_skipped_and_counted(tmp_path):
    trainer = small_trainer(tmp_path, arm="rule")
    corrupt_gradients(next(trainer.model.parameters()), {2}, trainer)
    with trainer.verifier:
        trainer.train()
    rows = {row["step"]: row for row in read_metrics(tmp_path)}
    assert [rows[step]["policy/skipped"] for step in range(1, 5)] == [0, 1, 0, 0]
    assert all(torch.isfinite(parameter).all() for parameter in trainer.model.parameters())


def test_a_reward_model_gradient_that_is_no_number_is_skipped_and_counted(tmp_path):
    trainer = small_trainer(tmp_path, arm="cooper")
    parameter = trainer.reward_model.parameters[0]
    parameter.register_hook(lambda grad: grad * float("nan") if trainer.state.global_step == 2 else grad)
    with trainer.verifier:
        trainer.train()
    rows = {row["step"]: row for row in read_metrics(tmp_path)}
    assert [rows[step]["reward_model/skipped"] for step in range(1, 5)] == [0, 1, 0, 0]
    assert all(torch.isfinite(p).all() for p in trainer.reward_model.parameters)


def test_a_run_that_has_broken_down_ends_and_keeps_its_last_good_checkpoint(tmp_path):
    trainer = small_trainer(tmp_path, arm="rule", max_steps=12, max_skipped_steps=3)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    corrupt_gradients(next(trainer.model.parameters()), range(1, 99), trainer)
    with trainer.verifier, pytest.raises(CooperError, match="4 steps in a row had a policy gradient"):
        trainer.train()
    assert all(torch.equal(p, q) for p, q in zip(trainer.model.parameters(), before, strict=True))
    assert last_checkpoint(tmp_path).name == "checkpoint-2"


def test_no_valid_pair_in_any_prompt_leaves_the_reward_model_alone(tmp_path):
    own = {"negative_sources": {"assistant": 1}, "counterfactual_references": 0}
    trainer = small_trainer(tmp_path, arm="cooper", max_steps=2, **own)
    trainer.cooper.pairs.sources["assistant"].propose = lambda slots, batch, attempt: [None] * len(slots)
    before = [p.detach().clone() for p in trainer.reward_model.parameters]
    with trainer.verifier:
        trainer.train()
    after = trainer.reward_model.parameters
    assert all(torch.equal(p, q) for p, q in zip(after, before, strict=True))
    assert read_metrics(tmp_path)[-1]["pairs/yield"] == 0


@pytest.mark.parametrize("action", ["log", "stop", pytest.param("hybrid", marks=pytest.mark.slow)])
def test_what_the_alarm_does(tmp_path, action, monkeypatch, caplog):
    monkeypatch.setattr("cooper_rl.method.alarm.AcceptanceAlarm.fires_on", lambda self, shares: True)
    values = {**SMALL, "max_steps": 4, "save_steps": 2, "heldout_steps": 0, "alarm_action": action}
    words = [word for key, value in values.items() for word in (f"--{key}", json.dumps(value))]
    words += ["--arm", "static", "--output_dir", str(tmp_path)]
    recipe = load_recipe("recipes/quickstart.yaml", words)
    if action == "stop":
        with pytest.raises(CooperError, match="the hacking alarm stopped the run after step 1"):
            run_training(recipe)
        assert last_checkpoint(tmp_path).name == "checkpoint-1"
        assert not (tmp_path / "finished.json").exists()
        run_training({**recipe, "alarm_action": "log"}, resume=True)
    else:
        run_training(recipe)
    assert [row["hacking/alarm"] for row in read_metrics(tmp_path) if row["step"]] == [1] * 4
    assert "hacking alarm" in caplog.text and f"action: {action}" in caplog.text
    rollouts = [json.loads(line) for line in (tmp_path / "rollouts" / "step_000003.jsonl").open()]
    right = [r for r in rollouts if r["verdict"] == "CORRECT"]
    assert right and all((r["reward"] == 1.0) == (action == "hybrid") for r in right)


@pytest.mark.slow  # 71 seconds each: three runs
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_makes_a_checkpoint_and_resume_goes_on(tmp_path, number):
    straight = train(tmp_path / "straight")
    folder = tmp_path / "stopped"
    process = subprocess.Popen(
        command(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a shell's background jobs ignore
    )
    deadline = time.monotonic() + 200
    while not any(row["step"] == 3 for row in read_metrics(folder)):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 128 + number
    assert "with a checkpoint; --resume continues" in errors and not (folder / "finished.json").exists()
    stopped = int(last_checkpoint(folder).name.split("-")[1])
    assert 4 <= stopped < 6 and metrics(folder).keys() == set(range(stopped + 1))
    found = train(folder, "--resume")
    assert found.keys() == straight.keys()
    for step, figures in straight.items():
        for key in figures.keys() - {"reward_model/rolled_back"}:
            assert found[step].get(key) == pytest.approx(figures[key], abs=1e-6, nan_ok=True), (step, key)


@pytest.mark.slow  # 44 seconds: two runs
def test_a_full_disk_is_one_line_and_the_checkpoint_before_stays(tmp_path):
    """A limit on the size of files stands in for the disk: the same error, at the same place."""
    done = subprocess.run(
        command(tmp_path, "--max_steps", "2"),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000)),
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"cooper: failed: {tmp_path}/checkpoint-2: cannot be written"), last
    assert "too large" in last and "--resume" in last
    assert last_checkpoint(tmp_path) is None
    assert [row["step"] for row in read_metrics(tmp_path)] == [0, 1, 2]
    assert train(tmp_path, "--max_steps", "2", "--resume").keys() == {0, 1, 2}


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        done = subprocess.run(command(folder), capture_output=True, text=True)
        assert done.returncode == 2, done.stderr
        assert done.stderr.strip().splitlines()[-1].startswith(f"cooper: error: {folder}: cannot be written to")
    if os.geteuid():
        (tmp_path / "locked").mkdir(mode=0o555)
        assert subprocess.run(command(tmp_path / "locked"), capture_output=True).returncode == 2


@pytest.fixture
def checkpoints(tmp_path):
    for step in (2, 4):
        folder = tmp_path / f"checkpoint-{step}"
        (folder / "reward_model").mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(bytes(range(256)) * 9000)
        (folder / "reward_model" / "model.safetensors").write_bytes(b"0123456789")
        complete_checkpoint(folder, step)
    return tmp_path


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda c: (c / "model.safetensors").write_bytes(b"short"), "model.safetensors is not what was written"),
        (lambda c: flip(c / "model.safetensors"), "model.safetensors is not what was written"),
        (lambda c: flip(c / "reward_model" / "model.safetensors"), "reward_model/model.safetensors is not what was"),
        (lambda c: (c / "reward_model" / "model.safetensors").unlink(), "reward_model/model.safetensors is missing"),
        (lambda c: (c / "complete.json").unlink(), "it was not written to its end"),
        (lambda c: (c / "complete.json").write_text("{"), "complete.json cannot be read"),
    ],
)
def test_a_damaged_checkpoint_is_left_out_for_the_one_before(checkpoints, damage, told, caplog):
    assert last_checkpoint(checkpoints).name == "checkpoint-4" and not caplog.text
    damage(checkpoints / "checkpoint-4")
    assert last_checkpoint(checkpoints).name == "checkpoint-2"
    assert "checkpoint-4 is left out" in caplog.text and told in caplog.text
    damage(checkpoints / "checkpoint-2")
    assert last_checkpoint(checkpoints) is None


def test_a_problem_without_a_reference_is_named(tmp_path):
    (tmp_path / "problems.jsonl").write_text('{"question": "a", "answer": "1"}\n{"question": "b", "answer": " "}\n')
    with pytest.raises(BadInputError, match=r"problems.jsonl:2.*answer"):
        from cooper_rl.domains import load_problems

        load_problems(str(tmp_path / "problems.jsonl"))
