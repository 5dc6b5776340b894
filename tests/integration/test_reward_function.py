"""CooperReward among the reward functions of an unchanged trl.GRPOTrainer."""

import copy
import json
import logging
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from datasets import Dataset
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, TrainerCallback
from trl import GRPOConfig, GRPOTrainer
from typer.testing import CliRunner

from cooper_rl import CooperConfig, CooperReward, CooperSettings, CooperTrainer, VerifyRM
from cooper_rl.cli import app
from cooper_rl.domains import load_problems
from cooper_rl.engines.config import TRACKED, send_rollouts
from cooper_rl.engines.trl.rows import training_rows
from cooper_rl.errors import BadInputError
from cooper_rl.method.journal import read_metrics
from cooper_rl.records import Batch, Reason, Verdict, Verification
from cooper_rl.settings.files import EMBEDDED
from cooper_rl.verifyrm.triples import read_triples
from rollouts import make_rollout

NANO = EMBEDDED["nano"]
METHOD = {
    "verifier_workers": 1,
    "negative_sources": {"mined": 3, "perturb": 1},
    "reward_model_learning_rate": 1e-4,
    "replay_per_step": 8,
    "guard_probes": 1,
    "reward_threshold": 0.5,
}
OF_THE_MACHINE = ("time", "runtime", "per_second", "memory")


def arguments(folder, **settings):
    chosen = {"num_generations": 4, "per_device_train_batch_size": 16, "max_completion_length": 32, "max_steps": 3}
    chosen |= {"learning_rate": 2e-4, "logging_steps": 1, "report_to": "none", "use_cpu": True, "bf16": False}
    chosen |= {"save_strategy": "no", "beta": 0.001, "gradient_checkpointing": False, "disable_tqdm": True, "seed": 3}
    chosen |= {"loss_type": "grpo", "use_bias_correction_kl": False, "model_init_kwargs": {"dtype": "float32"}}
    return GRPOConfig(str(folder), **{**chosen, **settings})


def rows(size=64):
    return training_rows(load_problems("nano", size=size, seed=0))


def short(completions, **_):
    return [-len(text_of(each)) / 100 for each in completions]


def text_of(completion):
    return completion if isinstance(completion, str) else completion[-1]["content"]


def made(folder, reward_model="nano", data=None, others=(), more=None, method=None, **settings):
    """A trainer of TRL's with Cooper among its reward functions."""
    cooper = CooperReward(reward_model, **{**METHOD, **(method or {})})
    funcs = [cooper, *others]
    args, data = arguments(folder, **settings), rows() if data is None else data
    trainer = GRPOTrainer(str(NANO["policy"]), funcs, args, data, callbacks=[cooper.callback], **(more or {}))
    return cooper, trainer


def figures(folder):
    """The lines of a run without what depends on the machine."""
    return [
        {name: value for name, value in row.items() if not any(word in name for word in OF_THE_MACHINE)}
        for row in read_metrics(folder)
    ]


def test_beside_a_second_reward_function(tmp_path):
    cooper, trainer = made(tmp_path, others=[short], reward_weights=[1.0, 0.1])
    trainer.train()
    lines = read_metrics(tmp_path)
    assert [line["step"] for line in lines] == [1, 2, 3]
    for line in lines:
        assert line["reward"] == pytest.approx(line["rewards/cooper/mean"] + 0.1 * line["rewards/short/mean"])
        assert {"pairs/yield", "hacking/gap", "accuracy/rule", "time/policy_seconds", "policy/skipped"} <= line.keys()
    history = [row for row in trainer.state.log_history if "reward" in row]
    assert [row["pairs/count"] for row in history] == [line["pairs/count"] for line in lines]
    assert cooper.metrics["accuracy/rule"] == lines[-1]["accuracy/rule"]
    written = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert written["arm"] == "cooper" and written["num_generations"] == 4 and written["max_steps"] == 3
    assert json.loads((tmp_path / "finished.json").read_text())["step"] == 3
    assert len(list((tmp_path / "rollouts").iterdir())) == len(list((tmp_path / "pairs").iterdir())) == 3
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 0 and (tmp_path / "report.html").stat().st_size > 10_000


class WithoutLeanStep(CooperTrainer):
    """CooperTrainer with TRL's own generation and log-probabilities."""

    _generate_single_turn = GRPOTrainer._generate_single_turn
    _get_per_token_logps_and_entropies = GRPOTrainer._get_per_token_logps_and_entropies


def test_the_same_figures_and_weights_as_cooper_trainer_without_its_lean_step(tmp_path):
    anchors = read_triples(NANO["reward_model"] / "anchors.jsonl.gz")[:20]
    kept = {"max_steps": 4, "save_strategy": "steps", "save_steps": 4}
    cooper = CooperReward("nano", anchors=anchors, **METHOD, guard_steps=2)
    args = arguments(tmp_path / "reward", **kept)
    GRPOTrainer(str(NANO["policy"]), [cooper], args, rows(), callbacks=[cooper.callback]).train()
    own = {
        name: getattr(args, name) for name in ("per_device_train_batch_size", "max_completion_length", "learning_rate")
    }
    config = CooperConfig(str(tmp_path / "shell"), num_generations=4, seed=3, **METHOD, guard_steps=2, **own, **kept)
    WithoutLeanStep(str(NANO["policy"]), "nano", config, rows(), anchors=anchors).train()
    assert figures(tmp_path / "reward") == figures(tmp_path / "shell")
    for kind in ("rollouts", "pairs"):
        found = [path.read_bytes() for path in sorted((tmp_path / "reward" / kind).iterdir())]
        assert (
            found == [path.read_bytes() for path in sorted((tmp_path / "shell" / kind).iterdir())] and len(found) == 4
        )
    for name in ("model.safetensors", "reward_model/model.safetensors", "reward_model/optimizer.safetensors"):
        one, other = (tmp_path / folder / "checkpoint-4" / name for folder in ("reward", "shell"))
        assert one.read_bytes() == other.read_bytes(), name
    start = load_file(Path(NANO["reward_model"]) / "model.safetensors")
    trained = load_file(tmp_path / "reward" / "checkpoint-4" / "reward_model" / "model.safetensors")
    assert any(not start[name].float().equal(trained[name].float()) for name in start), "the reward model has learned"


def test_a_cooper_trainer_takes_further_reward_functions(tmp_path):
    config = CooperConfig(str(tmp_path), arm="rule", num_generations=4, per_device_train_batch_size=8, max_steps=1)
    config.max_completion_length, config.reward_weights = 16, [1.0, 0.5]
    trainer = CooperTrainer(str(NANO["policy"]), args=config, train_dataset=rows(8), reward_funcs=short)
    trainer.train()
    (line,) = read_metrics(tmp_path)
    assert line["reward"] == pytest.approx(line["rewards/cooper/mean"] + 0.5 * line["rewards/short/mean"])


def test_an_evaluation_is_not_learned_from(tmp_path, caplog):
    held = Dataset.from_list([{"prompt": [{"role": "user", "content": f"What is {i} + 1?"}]} for i in range(4)])
    plan = {"eval_strategy": "steps", "eval_steps": 1, "per_device_eval_batch_size": 8, "max_steps": 2}
    _, trainer = made(tmp_path, others=[short], more={"eval_dataset": rows(4)}, **plan)
    baseline = trainer.evaluate()
    trainer.train()
    lines = read_metrics(tmp_path)
    assert [line["step"] for line in lines] == [0, 1, 2]
    assert lines[0]["eval_reward"] == baseline["eval_reward"] and all("eval_reward" in line for line in lines)
    assert not any(name.startswith("eval_pairs") for line in lines for name in line)
    assert len(list((tmp_path / "rollouts").iterdir())) == 2
    with caplog.at_level(logging.WARNING):
        assert math.isfinite(trainer.evaluate(held)["eval_reward"]), "the other reward function still counts"
    assert "no reward in this evaluation" in caplog.text


@pytest.mark.parametrize("arm", ["rule", "static", "hybrid"])
def test_the_arms_are_settings(tmp_path, arm):
    _, trainer = made(tmp_path, None if arm == "rule" else "nano", method={"arm": arm}, max_steps=1)
    trainer.train()
    (line,) = read_metrics(tmp_path)
    assert "pairs/yield" not in line and ("hacking/false_positive_rate" in line) == (arm != "rule")


def call(cooper, texts, state=None, **columns):
    """A call as patched and older trainers make it: the columns as keywords, and nothing else."""
    prompts = [f"What is {i // 4} + 3?" for i in range(len(texts))]
    return cooper(prompts=prompts, completions=texts, **columns)


def test_a_call_with_columns_alone_and_without_the_callback(caplog):
    cooper = CooperReward("nano", **METHOD)
    texts = [f"{i // 4} + 3 = {i // 4 + 3}. The answer is {i // 4 + 3 + i % 2}." for i in range(8)]
    answers = [f"It is so.\n#### {i // 4 + 3}" for i in range(8)]
    with caplog.at_level(logging.WARNING):
        rewards = [call(cooper, texts, answer=answers) for _ in range(3)]
    assert (
        set(rewards[0]) == {0.0, 1.0}
        and rewards[0][::2] == [1.0] * 4
        and caplog.text.count("works without its callback") == 1
    )
    assert cooper.core.settings.num_generations == 4 and cooper.core.reward_model.version == 2
    assert cooper.metrics["accuracy/rule"] == 0.5 and cooper.core.pairs.prepared[0] == 3


def test_without_the_callback_a_trainer_learns_from_each_step_once(tmp_path, caplog):
    cooper = CooperReward("nano", **METHOD)
    plan = {"eval_strategy": "steps", "eval_steps": 1, "per_device_eval_batch_size": 8}
    trainer = GRPOTrainer(
        str(NANO["policy"]), [cooper, short], arguments(tmp_path, **plan), rows(), eval_dataset=rows(4)
    )
    trainer.train()
    assert caplog.text.count("works without its callback") == 1
    assert cooper.core.reward_model.version == 3 and not (tmp_path / "metrics.jsonl").exists()
    assert ["accuracy/rule" in row for row in trainer.state.log_history if "loss" in row] == [False, True, True]


def test_what_could_not_be_judged_has_no_reward(tmp_path):
    late = Verification(Verdict.TIMEOUT, Reason.DEADLINE)
    cooper = CooperReward(arm="rule", verifier_workers=1)
    begin = cooper.verifier.begin_many
    cooper.verifier.begin_many = lambda references, texts: lambda: [late, *begin(references, texts)()[1:]]
    texts = ["The answer is 3.", "The answer is 4.", "The answer is 3.", "Never."]
    assert call(cooper, texts, gold=["3"] * 4) == [None, 0.0, 1.0, 0.0]


def test_the_last_message_of_the_assistant_counts():
    tools = [
        {"role": "assistant", "content": "I look it up.", "tool_calls": [{"function": {"name": "add"}}]},
        {"role": "tool", "name": "add", "content": "3"},
        {"role": "assistant", "content": "The answer is 3."},
        {"role": "tool", "name": "add", "content": "The answer is 5."},
    ]
    cooper = CooperReward(arm="rule", verifier_workers=1)
    assert call(cooper, [tools, tools[:2]], solution=["3", "3"]) == [1.0, 0.0]
    assert call(cooper, ["It is 3.", "It is 4."], ground_truth=[["7", "3"], ["3", "5"]]) == [1.0, 0.0]


def judged_rollouts(count):
    """Rollouts whose texts a page that took them as HTML would run."""
    return [
        make_rollout(
            f"q{i}", "1", f"<img src=x onerror=alert({i})>", float("nan"), Verdict.INCORRECT, Reason.MISMATCH, 0.5, i
        )
        for i in range(count)
    ]


@pytest.mark.parametrize(("count", "sent"), [(8, [0, 2, 4, 6, 8, 10, 12, 14]), (3, [0, 5, 10]), (99, list(range(16)))])
def test_trackers_get_some_rollouts_of_a_batch_as_data(monkeypatch, count, sent):
    """Stand-ins for both trackers; the tests below ask the real ones, where they are installed."""
    logged = []
    trackio = SimpleNamespace(Trace=lambda **given: given, log=logged.append)
    wandb = SimpleNamespace(Table=lambda **given: given, log=logged.append, run="a run")
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    send_rollouts(["tensorboard", "trackio", "wandb"], Batch(7, tuple(judged_rollouts(16))), count)
    traces, table = (row["rollouts"] for row in logged)
    assert [row["train/global_step"] for row in logged] == [7, 7]
    assert [trace["messages"][0] for trace in traces] == [{"role": "user", "content": f"q{i}"} for i in sent]
    assert traces[1]["messages"][1] == {"role": "assistant", "content": f"<img src=x onerror=alert({sent[1]})>"}
    judged = {"reference_answer": "1", "verdict": Verdict.INCORRECT, "reason": Reason.MISMATCH, "reward": 0.5}
    assert traces[0]["metadata"] == {"step": 7, "score": None, **judged}
    assert [row[3] for row in table["data"]] == [f"<img src=x onerror=alert({i})>" for i in sent]
    assert table["columns"] == ["step", *TRACKED] and len(table["data"][0]) == 8
    wandb.run = None  # the trainer has begun no run of it
    send_rollouts(["wandb"], Batch(7, tuple(judged_rollouts(2))), 2)
    send_rollouts(["trackio"], Batch(7, tuple(judged_rollouts(2))), 0)
    assert len(logged) == 2


def written(folder, step, name="completion"):
    """A field of a step's rollouts, as the run folder has them."""
    return [json.loads(line)[name] for line in (folder / "rollouts" / f"step_{step:06d}.jsonl").open()]


def test_trackio_itself_has_the_rollouts_of_each_step(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    pytest.importorskip("trackio")
    from trackio.sqlite_storage import SQLiteStorage

    tracked = {"report_to": "trackio", "project": "cooper", "run_name": "run", "max_steps": 2}
    cooper, trainer = made(tmp_path / "run", method={"tracked_rollouts": 4}, **tracked)
    with cooper.verifier:
        trainer.train()
    traces = SQLiteStorage.get_traces("cooper", "run")
    assert len(traces) == 8
    for step in (1, 2):
        of_step = [trace for trace in traces if trace["metadata"]["step"] == step]
        assert {trace["messages"][1]["content"] for trace in of_step} == set(written(tmp_path / "run", step)[::4])
        assert {trace["metadata"]["verdict"] for trace in of_step} <= {"CORRECT", "INCORRECT", "UNPARSEABLE"}


def test_wandb_itself_has_the_rollouts_of_each_step(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    cooper, trainer = made(tmp_path / "run", method={"tracked_rollouts": 4}, report_to="wandb", max_steps=2)
    with cooper.verifier:
        trainer.train()
    tables = [
        json.loads(path.read_text()) for path in tmp_path.glob("wandb/offline-*/files/media/table/rollouts_*.json")
    ]
    rows = sorted((row for table in tables for row in table["data"]), key=lambda row: row[0])
    assert [row[0] for row in rows] == [1] * 4 + [2] * 4 and tables[0]["columns"] == ["step", *TRACKED]
    assert [row[3] for row in rows[:4]] == written(tmp_path / "run", 1)[::4]


def test_a_reward_model_by_name_folder_or_object(tmp_path):
    folder = NANO["reward_model"]
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype="bfloat16")
    texts = ["0 + 3 = 3. The answer is 3.", "The answer is 5.", "", "The answer is 3."]
    given = ["nano", str(folder), folder, VerifyRM.from_pretrained("nano"), model]
    found = [call(CooperReward(each, arm="static", verifier_workers=1), texts, answer=["3"] * 4) for each in given]
    assert found[0] == found[1] == found[2] == found[3]
    assert found[4] == pytest.approx(found[0], abs=0.02)  # its weights were rounded to 16 bits
    two = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2, ignore_mismatched_sizes=True)
    with pytest.raises(BadInputError, match="no sequence classifier with one label"):
        CooperReward(two)


def test_settings_by_keyword_and_in_one_object():
    settings = CooperSettings(arm="static", guard_steps=3)
    cooper = CooperReward("nano", settings, guard_steps=4, cotrain=True, verifier="exact")
    assert cooper.settings.verifier == cooper.verifier.kind == "exact"
    assert (cooper.settings.arm, cooper.settings.cotrain, cooper.settings.guard_steps) == ("cooper", True, 4)
    for wrong, told in [
        ({"gard_steps": 3}, "no setting 'gard_steps'; did you mean 'guard_steps'?"),
        ({"max_steps": 3}, "no setting 'max_steps'"),
        ({"arm": "cooperr"}, "arm: 'cooperr' is not"),
        ({"negative_sources": {"mind": 1}}, "did you mean mined?"),
    ]:
        with pytest.raises(BadInputError, match=re.escape(told)):
            CooperReward("nano", **wrong)
    with pytest.raises(BadInputError, match="arm cooper needs a reward model"):
        CooperReward()


def test_what_a_reward_function_cannot_do_is_refused_before_the_first_step(tmp_path, caplog):
    _, trainer = made(tmp_path / "credit", method={"credit": "first_error"})
    with pytest.raises(BadInputError, match=r"credit = first_error: .* use CooperTrainer"):
        trainer.train()
    reward = CooperReward("nano", reward_model_alone_steps=2, negative_sources={"mined": 1})
    with pytest.raises(BadInputError, match=r"reward_model_alone_steps: .* callbacks=\[cooper.callback\]"):
        reward(prompts=["1 + 1?"] * 16, completions=["2"] * 16, reference_answer=["2"] * 16)
    _, trainer = made(tmp_path / "rows", data=rows(4).remove_columns("reference_answer"))
    with pytest.raises(BadInputError, match="row 0: the record needs one of reference_answer"):
        trainer.train()
    _, trainer = made(tmp_path / "few", data=rows(2))
    trainer.args.deepspeed_plugin = object()  # whose engine only CooperTrainer knows
    with pytest.raises(BadInputError, match="has 2 rows, and a generation batch needs 4"):
        trainer.train()
    with pytest.raises(BadInputError, match="stage 2 learns from one generated batch a step"):
        made(tmp_path / "cycle", gradient_accumulation_steps=2, steps_per_generation=1)
    assert "under DeepSpeed only CooperTrainer sees a gradient that is not finite" in caplog.text
    assert not list(tmp_path.glob("*/metrics.jsonl"))


@pytest.mark.slow  # 13 seconds: four short runs
def test_a_stream_and_checkpoints_by_the_epoch(tmp_path):
    kept = {"save_strategy": "steps", "save_steps": 2}
    for steps, resume in ((2, False), (3, True)):
        _, trainer = made(tmp_path / "stream", data=rows(16).to_iterable_dataset(), max_steps=steps, **kept)
        trainer.train(resume_from_checkpoint=resume)
    assert [line["step"] for line in read_metrics(tmp_path / "stream")] == [1, 2, 3]
    kept = {"save_strategy": "epoch", "num_train_epochs": 2, "max_steps": -1}
    anchors = read_triples(NANO["reward_model"] / "anchors.jsonl.gz")[:10]
    cooper = CooperReward("nano", anchors=anchors, **METHOD)
    args = arguments(tmp_path / "epochs", **kept)
    trainer = GRPOTrainer(str(NANO["policy"]), [cooper], args, rows(8), callbacks=[cooper.callback])
    trainer.train()
    assert sorted(path.parent.name for path in tmp_path.glob("epochs/*/complete.json")) == [
        "checkpoint-2",
        "checkpoint-4",
    ]
    resumed, again = made(tmp_path / "epochs", data=rows(8), **{**kept, "num_train_epochs": 3})
    again.train(resume_from_checkpoint=True)
    assert again.state.global_step == 6 and resumed.core.reward_model.version >= 4


@pytest.mark.slow  # a short run
def test_steps_without_a_line_of_their_own(tmp_path):
    """TRL's lines stay where they are; the metrics of the last steps are in the run folder's last line."""
    cooper, trainer = made(tmp_path, others=[short], logging_steps=4, max_steps=6)
    accuracies = []
    learn = cooper.learn
    cooper.learn = lambda **given: accuracies.append(learn(**given)["accuracy/rule"]) or {**cooper.metrics}
    trainer.train()
    assert ["loss" in row for row in trainer.state.log_history] == [True, False]
    assert "reward" in trainer.state.log_history[-1]
    four, six = read_metrics(tmp_path)
    assert (four["step"], six["step"]) == (4, 6)
    assert four["accuracy/rule"] == pytest.approx(sum(accuracies[:4]) / 4)
    assert six["accuracy/rule"] == pytest.approx(sum(accuracies[4:]) / 2) and "train_runtime" not in six
    assert six["reward"] == trainer.state.log_history[-1]["reward"]


@pytest.mark.slow  # a short run
def test_batches_that_end_within_a_step(tmp_path):
    """Each generated batch is used four times, and each step takes three uses."""
    plan = {"steps_per_generation": 4, "gradient_accumulation_steps": 3, "per_device_train_batch_size": 4}
    cooper, trainer = made(tmp_path, max_steps=4, **plan)
    trainer.train()
    files = sorted(path.name for path in (tmp_path / "rollouts").iterdir())
    assert files == ["step_000001.jsonl", "step_000002.jsonl", "step_000003.jsonl"]
    assert cooper.core.reward_model.version == 3 and len(read_metrics(tmp_path)) == 4


def test_a_callback_that_is_added_later_and_a_reward_of_another_trainer(tmp_path):
    cooper = CooperReward(arm="rule", verifier_workers=1)
    settings = arguments(tmp_path / "first", max_steps=1)
    trainer = GRPOTrainer(str(NANO["policy"]), [cooper], settings, rows(8))
    trainer.add_callback(cooper.callback)
    trainer.train()
    assert [line["step"] for line in read_metrics(tmp_path / "first")] == [1]
    second = arguments(tmp_path / "second", max_steps=1)
    with pytest.raises(BadInputError, match="has worked in another trainer: make a new one"):
        GRPOTrainer(str(NANO["policy"]), [cooper], second, rows(8), callbacks=[cooper.callback])


def test_one_reward_model_in_two_runs_is_refused(tmp_path):
    reward_model = VerifyRM.from_pretrained("nano")
    made(tmp_path / "first", reward_model, max_steps=1)[1].train()
    with pytest.raises(BadInputError, match=r"had \d updates in another run: load it anew"):
        made(tmp_path / "second", reward_model)[1].train()
    made(tmp_path / "third", VerifyRM.from_pretrained("nano"), max_steps=1)[1].train()


class EvaluateNow(TrainerCallback):
    """Evaluates and logs before the callback of the reward has its turn."""

    def on_train_begin(self, args, state, control, **_):
        self.trainer.log({"mine/begin": 1.0})

    def on_step_end(self, args, state, control, **_):
        self.trainer.evaluate()
        self.trainer.log({"mine/step": 1.0, "eval_mine": 2.0})


@pytest.mark.parametrize("attached", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_an_evaluation_between_step_and_stage_2_is_not_learned_from(tmp_path, attached):
    """Nor where the callback is missing and each batch is used twice."""
    cooper, first = CooperReward("nano", **METHOD), EvaluateNow()
    learned, learn = [], cooper.learn
    cooper.learn = lambda **given: (learned.append(len(cooper.batch.rollouts)), learn(**given))[1]
    args = arguments(tmp_path, per_device_eval_batch_size=8, num_iterations=1 if attached else 2, max_steps=4)
    callbacks = [first, cooper.callback] if attached else [first]
    policy = str(NANO["policy"])
    trainer = GRPOTrainer(policy, [cooper], args, rows(), eval_dataset=rows(2), callbacks=callbacks)
    first.trainer = trainer
    trainer.train()
    assert learned == [16] * (4 if attached else 2)
    if attached:
        lines = read_metrics(tmp_path)
        assert [line["step"] for line in lines] == [0, 1, 2, 3, 4] and lines[0]["mine/begin"] == 1.0
        wanted = {"mine/step", "eval_mine", "eval_reward"}
        assert [wanted - line.keys() for line in lines[1:]] == [set()] * 4


@pytest.mark.slow  # two short runs
def test_training_goes_on_in_the_same_process_after_an_error(tmp_path):
    class Once(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            if state.global_step == 3 and not hasattr(self, "done"):
                self.done = True
                raise KeyboardInterrupt

    cooper, trainer = made(tmp_path, save_strategy="steps", save_steps=2, max_steps=5)
    trainer.add_callback(Once())
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    with pytest.raises(BadInputError, match="already holds a run"):
        trainer.train()
    trainer.train(resume_from_checkpoint=True)
    assert [line["step"] for line in read_metrics(tmp_path)] == [1, 2, 3, 4, 5]
    assert (tmp_path / "finished.json").is_file() and cooper.core.reward_model.version == 5


SIGNALLED = """
import os, signal, sys, time
sys.path[:0] = [{tests!r}, {tests!r} + "/.."]
import test_reward_function as t

class Interrupt(t.TrainerCallback):
    def on_step_begin(self, *_, **__):
        raise KeyboardInterrupt

_, trainer = t.made({folder!r}, None, method={{"arm": "rule"}})
trainer.add_callback(Interrupt())
try:
    trainer.train()
except KeyboardInterrupt:
    print("interrupted", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
"""


@pytest.mark.slow  # 11 seconds: a process of its own
def test_a_process_whose_training_failed_ends_by_a_signal(tmp_path):
    code = SIGNALLED.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, "interrupted" in done.stdout) == (-signal.SIGTERM, True), done.stderr[-500:]


def test_a_callback_without_its_reward_function_is_told(tmp_path, caplog):
    cooper = CooperReward(arm="rule", verifier_workers=1)
    args = arguments(tmp_path, max_steps=1)
    GRPOTrainer(str(NANO["policy"]), [short], args, rows(8), callbacks=[cooper.callback]).train()
    assert "the callback of a CooperReward works without it" in caplog.text
    assert copy.deepcopy(cooper.callback.metrics) is not cooper.callback.metrics


@pytest.fixture(scope="module")
def checkpointed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpointed")
    made(folder, save_strategy="steps", save_steps=2, max_steps=2)[1].train()
    return folder


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"method": {"arm": "static"}, "max_steps": 4}, "was made with arm = 'cooper', not 'static'"),
        ({"seed": 4, "max_steps": 4}, "was made with seed = 3, not 4"),
        ({"num_generations": 8, "max_steps": 4}, "was made with num_generations = 4, not 8"),
        ({"per_device_train_batch_size": 8, "max_steps": 4}, "generation batches of 16 completions, not 8"),
        (
            {"method": {"reward_model_learning_rate": 1e-3}, "max_steps": 4},
            "reward_model_learning_rate = 0.0001, not 0.001",
        ),
        ({"max_steps": 2}, "finished at step 2, nothing is left to train"),
    ],
)
def test_a_resumed_run_is_the_run_that_began(checkpointed, tmp_path, changed, told):
    shutil.copytree(checkpointed, tmp_path / "run")
    before = read_metrics(tmp_path / "run")
    with pytest.raises(BadInputError, match=re.escape(told)):
        made(tmp_path / "run", **changed)[1].train(resume_from_checkpoint=True)
    assert read_metrics(tmp_path / "run") == before


def test_a_smaller_batch_with_more_accumulation_goes_on(checkpointed, tmp_path):
    shutil.copytree(checkpointed, tmp_path / "run")
    _, trainer = made(tmp_path / "run", per_device_train_batch_size=8, gradient_accumulation_steps=2, max_steps=4)
    trainer.train(resume_from_checkpoint=True)
    asked = [
        {json.loads(line)["question"] for line in path.open()} for path in sorted((tmp_path / "run/rollouts").iterdir())
    ]
    assert len(asked) == 4 and len(set().union(*asked)) == 16, "no problem is drawn twice"


def test_a_checkpoint_without_coopers_part_and_one_from_elsewhere(checkpointed, tmp_path):
    shutil.copytree(checkpointed / "checkpoint-2", tmp_path / "elsewhere" / "checkpoint-2")
    cooper, trainer = made(tmp_path / "run", max_steps=4)
    with pytest.raises(BadInputError, match=r"checkpoint-2: has no part of Cooper's.*cooper.load"):
        trainer.train(resume_from_checkpoint=str(tmp_path / "elsewhere" / "checkpoint-2"))
    cooper = CooperReward("nano", **METHOD)
    cooper.load(tmp_path / "elsewhere" / "checkpoint-2")  # before there is a trainer
    args = arguments(tmp_path / "run", max_steps=4)
    trainer = GRPOTrainer(str(NANO["policy"]), [cooper], args, rows(), callbacks=[cooper.callback])
    trainer.train(resume_from_checkpoint=str(tmp_path / "elsewhere" / "checkpoint-2"))
    assert [line["step"] for line in read_metrics(tmp_path / "run")] == [3, 4] and cooper.core.reward_model.version == 4


SCRIPT = Path(__file__).parents[2] / "examples" / "own-script" / "train.py"


def script(folder, *more):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder), *more], env=environment, stderr=subprocess.PIPE, text=True
    )


def ended(process, code=0):
    _, errors = process.communicate(timeout=250)
    assert process.returncode == code, errors[-2000:]
    return errors


def wait_for(process, folder, step):
    deadline = time.monotonic() + 200
    while not any(row["step"] >= step for row in read_metrics(folder)):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow  # 80 seconds: four runs of a script
def test_a_strangers_script_is_killed_and_resumed_to_the_last_digit(tmp_path):
    ended(script(tmp_path / "straight"))
    straight = figures(tmp_path / "straight")
    assert [row["step"] for row in straight] == list(range(1, 21))
    killed = script(tmp_path / "killed")
    wait_for(killed, tmp_path / "killed", 8)
    killed.kill()
    killed.communicate()
    stopped = script(tmp_path / "killed", "resume")
    wait_for(stopped, tmp_path / "killed", 14)
    stopped.send_signal(signal.SIGTERM)
    told = ended(stopped, 128 + signal.SIGTERM)
    assert "with a checkpoint; trainer.train(resume_from_checkpoint=True) continues" in told
    ended(script(tmp_path / "killed", "resume"))
    found = figures(tmp_path / "killed")
    for row, expected in zip(found, straight, strict=True):
        for name in expected.keys() - {"reward_model/rolled_back"}:
            assert row[name] == expected[name], (row["step"], name)
    one, other = (tmp_path / name / "checkpoint-20" for name in ("straight", "killed"))
    for name in ("model.safetensors", "reward_model/model.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
