"""The benchmarks' commands in the documents are understood, and their settings can be built; nothing is measured."""

import argparse
import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest

from cooper_rl.settings.recipe import load_recipe
from cooper_rl.settings.train import TrainSettings

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"python benchmarks/(\w+)\.py\b([^`\n#|([]*)")
COMMANDS = sorted(
    {
        (name, words.strip())
        for path in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.py")]
        for name, words in COMMAND.findall(path.read_text().replace("\\\n", " "))
    }
)


@pytest.fixture
def benchmark_of(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module


class UnderstoodError(Exception):
    """The command line was read."""


@pytest.mark.parametrize(("name", "words"), COMMANDS)
def test_documented_commands_are_understood(name, words, benchmark_of, monkeypatch):
    def read(parse):
        def reading(*arguments, **settings):
            parse(*arguments, **settings)
            raise UnderstoodError

        return reading

    main = benchmark_of(name).main
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", read(argparse.ArgumentParser.parse_args))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *shlex.split(words)])
    with pytest.raises(UnderstoodError):
        main()


@pytest.mark.parametrize("name", ["quickstart", "smollm2", "smollm2-135m"])
def test_the_settings_of_a_timed_step(name, benchmark_of, tmp_path):
    steps = benchmark_of("bench_step")
    recipe = load_recipe(ROOT / "recipes" / f"{name}.yaml")
    ours = steps.CooperConfig(**steps.settings(recipe, 3, str(tmp_path)))
    theirs = steps.trl_settings(recipe, 3, str(tmp_path))
    assert ours.max_steps == theirs.max_steps == 3 and ours.output_dir == theirs.output_dir == str(tmp_path)
    assert ours.bf16 == theirs.bf16 == recipe.get("bf16", False)
    assert benchmark_of("bench_overlap").config_of(3, str(tmp_path)).negative_sources == {"assistant": 1}


def test_both_sides_of_a_timed_step_train_the_recipes_adapters(benchmark_of, tmp_path, monkeypatch):
    steps, trained = benchmark_of("bench_step"), []

    def names(trainer):
        trained.append([name for name, p in trainer.model.named_parameters() if p.requires_grad])
        return [1.0]

    monkeypatch.setattr(steps, "step_seconds", names)
    small = {"lora_rank": 4, "arm": "cooper", "per_device_train_batch_size": 8, "max_completion_length": 8}
    recipe = {**load_recipe(ROOT / "recipes" / "quickstart.yaml"), **small}
    rows = steps.training_rows(steps.load_problems("nano-weekdays", size=16))
    for side in (steps.cooper, steps.plain):
        side(recipe, rows, 2, str(tmp_path))
    assert len(trained) == 2 and all(each and all("lora_" in name for name in each) for each in trained)
    assert steps.adapters_of(TrainSettings.from_recipe({**recipe, "lora_rank": 0})) is None


def test_the_page_on_a_steps_cost_is_what_the_script_counts(benchmark_of):
    cost = benchmark_of("step_cost")
    assert cost.SHAPE.parameters == 1_543_714_304, "as Qwen2.5-1.5B is published"
    made, written = cost.page(cost.Card(), cost.Assumed()), cost.PAGE.read_text(encoding="utf-8")
    assert f"{cost.BEGIN}{made}{cost.END}" in written
    assert "1.02 million tokens written" in made, "1,024 completions of 1,000 tokens"
    card, own = cost.Card(), cost.Assumed()
    stages = {stage[0]: stage[1] for stage in cost.stages(cost.settings_on(8), 8, card, own)}
    tokens, layers = 128 * 1200, 2 * 28 * 1536 * 1200
    by_hand = 4 * tokens * (2 * 1_543_714_304 + layers) / 989e12
    assert stages["the policy's gradient, with its layers computed again"] == pytest.approx(by_hand)
    keys = 128 * (200 * 1000 + 1000**2 / 2) * 2 * 28 * 256 * 2
    by_hand = (2048 * 1_543_714_304 * 2 + keys) / 3.35e12
    assert stages["vLLM writes the completions"] == pytest.approx(by_hand)
