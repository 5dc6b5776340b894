"""The dry step of `cooper doctor`: real steps of real runs, in processes of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from cooper_rl.doctor import conclude, dry_step, examine_recipe, measure
from cooper_rl.doctor.dry_step import (
    DryStep,
    call_half_correct,
    explain_end,
    missing_model,
    reason_against,
    recipe_of_two_steps,
    suppressed_tokens,
    take_step,
)
from cooper_rl.generation.in_process import TransformersGenerator, end_tokens
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.settings.train import TrainSettings

RECIPE = load_recipe("recipes/quickstart.yaml", ["--dataset_size", "64", "--per_device_train_batch_size", "16"])


@pytest.mark.slow
def test_the_command_measures_the_step_and_ends_with_the_verdict():
    command = [sys.executable, "-m", "cooper_rl.cli", "doctor", "--config", "recipes/quickstart.yaml", "--json"]
    words = ["--arm", "cooper", "--dataset_size", "64", "--per_device_train_batch_size", "16"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {each["what"]: each["detail"] for each in json.loads(done.stdout)}
    assert "of main memory; measured with the longest completions and" in found["dry step"]
    assert 0.3 < float(found["dry step"].split()[0]) < 3 and " 0 pairs" not in found["dry step"]
    assert found["verdict"] == "fits, as a dry step showed"


@pytest.mark.slow
def test_longer_completions_need_more_memory():
    short = take_step({**RECIPE, "arm": "cooper", "max_completion_length": 16})
    long = take_step({**RECIPE, "arm": "cooper", "max_completion_length": 512})
    assert not short.failure and not long.failure and long.gib > 1.3 * short.gib


@pytest.mark.parametrize(
    ("code", "log", "line", "memory"),
    [
        (
            1,
            "Traceback\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate\n\n",
            "it ran out of memory",
            True,
        ),
        (-9, "loading\n", "it was killed, as a system does that has run out of memory", True),
        (2, "loading\ncooper: error: no /memory/file\n", "cooper: error: no /memory/file", False),
        (1, "if you are running out of memory, use less\nImportError: x\n", "ImportError: x", False),
        (3, "", "it ended with 3", False),
    ],
)
def test_why_a_step_failed(monkeypatch, code, log, line, memory):
    found = explain_end(code, log)
    assert (found.failure, found.memory) == (line, memory)
    monkeypatch.setattr(dry_step, "take_step", lambda recipe: found)
    verdict = conclude([measure(RECIPE)]).detail
    assert verdict == f"{'does not fit' if memory else 'does not run here'}, because {line}"


def test_of_several_gpus_the_step_sees_the_first(monkeypatch):
    """A process that sees two is refused (`distributed.check_launched`)."""
    seen = []

    def started(command, env, **_):
        seen.append(env["CUDA_VISIBLE_DEVICES"])
        return subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])

    monkeypatch.setattr(dry_step.distributed, "visible_devices", lambda: ["5", "7"])
    monkeypatch.setattr(dry_step, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": started}))
    assert take_step({**RECIPE, "arm": "rule"}).failure == "it ended with 3" and seen == ["5"]


def test_a_step_that_fails_or_takes_too_long():
    failed = take_step({**RECIPE, "arm": "rule", "per_device_train_batch_size": 12})
    assert failed.ended and "is not a multiple of num_generations = 8" in failed.failure
    late = take_step({**RECIPE, "arm": "rule"}, seconds=0.5)
    assert late.failure == "not ended after 0.5 s" and not late.ended


def test_a_step_without_pairs_is_no_measurement_of_cooper(monkeypatch):
    monkeypatch.setattr(dry_step, "take_step", lambda recipe: DryStep(gib=0.01))
    cooper, rule = measure({**RECIPE, "arm": "cooper"}), measure({**RECIPE, "arm": "rule"})
    assert cooper.state == "warn" and cooper.detail.startswith("no pair was made")
    assert conclude([cooper]).detail == "fits, as counted; look at: dry step"
    assert rule.state == "ok" and conclude([rule]).detail == "fits, as a dry step showed"


SIGNALLED = """
import sys
from cooper_rl.doctor.dry_step import take_step
from cooper_rl.settings.recipe import load_recipe
take_step(load_recipe("recipes/quickstart.yaml", ["--arm", "rule"]))
"""


def test_a_doctor_that_is_ended_ends_its_step(tmp_path):
    """SIGTERM, as a scheduler sends it: no training goes on, and the folder is gone."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    doctor = subprocess.Popen([sys.executable, "-c", SIGNALLED], env=environment, stderr=subprocess.DEVNULL)
    while not (log := next(tmp_path.glob("cooper-dry-step-*/log"), None)):
        time.sleep(0.05)
    while not (children := psutil.Process(doctor.pid).children()):
        time.sleep(0.05)
    doctor.terminate()
    assert doctor.wait(30) == 128 + signal.SIGTERM
    assert not any(psutil.pid_exists(child.pid) for child in children) and not log.parent.exists()


def test_the_recipe_of_the_steps(tmp_path, monkeypatch):
    made = recipe_of_two_steps({"arm": "rule", "output_dir": "x", "push_to_hub": True, "num_iterations": 3}, tmp_path)
    assert made["max_steps"] == 6 and made["push_to_hub"] is False and made["save_strategy"] == "no"
    assert made["output_dir"] == str(tmp_path / "run")
    parts = {"steps_per_generation": 4, "gradient_accumulation_steps": 2, "reward_model_update_steps": 4}
    made = recipe_of_two_steps({**RECIPE, **parts}, tmp_path)
    assert made["max_steps"] == 4 and made["reward_model_update_steps"] == 1
    made = recipe_of_two_steps({**RECIPE, "generation_batch_size": 48}, tmp_path)
    assert made["max_steps"] == 6, "three passes of 16 completions are one generation batch"
    made = recipe_of_two_steps({**RECIPE, "use_vllm": True, "generation_kwargs": {"seed": 1}}, tmp_path)
    assert made["generation_kwargs"] == {"seed": 1, "ignore_eos": True}


def test_where_no_step_is_taken(monkeypatch, tmp_path):
    def settings(**more):
        return TrainSettings.from_recipe({**RECIPE, **more})

    assert reason_against(settings(), "trl") == missing_model(settings()) == ""
    assert "engine verl" in reason_against(settings(), "verl")
    assert "vLLM server" in reason_against(settings(use_vllm=True, vllm_mode="server"), "trl")
    assert missing_model(settings(model_name_or_path="Qwen/Qwen2.5-1.5B")) == "Qwen/Qwen2.5-1.5B"
    own = {"negative_sources": {"assistant": 1}, "assistant_model": "Qwen/Qwen2.5-0.5B", "arm": "cooper"}
    assert missing_model(settings(**own)) == "Qwen/Qwen2.5-0.5B"
    assert missing_model(settings(**own, assistant_base_url="http://127.0.0.1:1/v1")) == ""
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: str(tmp_path / file))
    assert missing_model(settings(model_name_or_path="Qwen/Qwen2.5-1.5B")) == ""
    monkeypatch.setattr("cooper_rl.doctor.measure", lambda recipe: pytest.fail("it takes one"))
    assert [each.detail for each in examine_recipe(RECIPE, dry_step=False)][-2:] == [
        "not taken (--no-dry_step)",
        "fits, as counted",
    ]
    assert "not taken with engine plain" in [each.detail for each in examine_recipe(RECIPE, "plain", dry_step=True)]
    monkeypatch.setattr("cooper_rl.doctor.memory.available", lambda: ("a small device", 0.05))
    assert "by the count the run does not fit" in [each.detail for each in examine_recipe(RECIPE)][-2]
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert reason_against(settings(), "trl") == "not taken under a launcher"


def test_the_stand_in_for_a_verifier_calls_half_correct():
    said = [call_half_correct("1", f"completion {i}").verdict.name for i in range(200)]
    assert set(said) == {"CORRECT", "INCORRECT"} and 70 < said.count("CORRECT") < 130


def test_the_tokens_that_end_a_completion_are_those_of_the_loaded_policy():
    loaded = TransformersGenerator.from_pretrained(resolve_model("nano-weekdays", "policy"))
    assert suppressed_tokens("nano-weekdays") == end_tokens(loaded.model, loaded.tokenizer)
