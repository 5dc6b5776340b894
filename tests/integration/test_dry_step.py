"""The dry step of `cooper doctor`: real steps of real runs, in processes of their own."""

import json
import subprocess
import sys

import pytest

from cooper_rl.doctor import conclude, examine_recipe, measure
from cooper_rl.doctor.dry_step import call_half_correct, end_tokens, explain_end, reason_to_skip, take_step
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.settings.train import TrainSettings

RECIPE = load_recipe("recipes/quickstart.yaml", ["--dataset_size", "64", "--per_device_train_batch_size", "16"])


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
    ("code", "log", "line"),
    [
        (1, "Traceback\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate\n\n", "it ran out of memory"),
        (-9, "loading\n", "it was killed, as a system does that has run out of memory"),
        (2, "loading\ncooper: error: no such file\n", "cooper: error: no such file"),
        (3, "", "it ended with 3"),
    ],
)
def test_why_a_step_failed(code, log, line):
    assert explain_end(code, log) == line


def test_a_step_that_fails_or_takes_too_long():
    failed = take_step({**RECIPE, "arm": "rule", "per_device_train_batch_size": 12})
    assert failed.ended and "is not a multiple of num_generations = 8" in failed.failure
    found = measure({**RECIPE, "arm": "rule", "per_device_train_batch_size": 12})
    assert found.state == "fail" and conclude([found]).detail.startswith("does not run here, because cooper: error:")
    late = take_step({**RECIPE, "arm": "rule"}, seconds=0.5)
    assert late.failure == "not ended after 0.5 s" and not late.ended


def test_where_no_step_is_taken(monkeypatch, tmp_path):
    settings = TrainSettings.from_recipe(RECIPE)
    assert reason_to_skip(settings, "trl") == "" and "engine verl" in reason_to_skip(settings, "verl")
    elsewhere = TrainSettings.from_recipe({**RECIPE, "model_name_or_path": "Qwen/Qwen2.5-1.5B"})
    assert "download Qwen/Qwen2.5-1.5B" in reason_to_skip(elsewhere, "trl")
    monkeypatch.setattr("cooper_rl.doctor.measure", lambda recipe: pytest.fail("it takes one"))
    assert [each.detail for each in examine_recipe(RECIPE, dry_step=False)][-2:] == [
        "not taken (--no-dry_step)",
        "fits, as counted",
    ]
    monkeypatch.setattr("cooper_rl.doctor.memory.available", lambda: ("a small device", 0.05))
    assert "by the count the run does not fit" in [each.detail for each in examine_recipe(RECIPE)][-2]
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert reason_to_skip(settings, "trl") == "not taken under a launcher"


def test_the_stand_in_for_a_verifier_calls_half_correct():
    said = [call_half_correct("1", f"completion {i}").verdict.name for i in range(200)]
    assert set(said) == {"CORRECT", "INCORRECT"} and 70 < said.count("CORRECT") < 130


def test_the_end_tokens_of_the_embedded_policy():
    assert end_tokens("nano-weekdays") and all(isinstance(token, int) for token in end_tokens("nano-weekdays"))
