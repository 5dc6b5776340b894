"""What `cooper train-rm` can do beyond one straight run; the processes are real."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from accelerate.data_loader import BatchSamplerShard
from safetensors.torch import load_file

from cooper_rl.doctor.memory import shape_of
from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.evaluation.process import evaluate_process
from cooper_rl.records import LabelledCompletion, Verdict
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.reward_model import AugmentationSettings, RewardModelTrainConfig
from cooper_rl.synthesis.augment import augment_triples, slip_number
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.losses import bce_loss
from cooper_rl.verifyrm.model import VerifyRMSettings
from cooper_rl.verifyrm.rm_trainer import LengthBuckets, RewardModelTrainer, lr_factor
from cooper_rl.verifyrm.train_rm import fit_temperature, train_reward_model, training_data
from cooper_rl.verifyrm.triples import Examples, evaluate, prefix_targets, read_triples
from ranks import COOPER
from rounding import assert_same_but_for_rounding
from studies.nano.triples import written_triples

TOKENS = 16 * 39  # of a batch of 16 triples, on average


@pytest.fixture(scope="module")
def train_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("triples") / "train.jsonl"
    path.write_text("".join(json.dumps(t) + "\n" for t in written_triples("train", 400, 1)))
    return str(path)


def config_of(train_file, folder, **settings):
    given = {"max_steps": 8, "per_device_train_batch_size": 16, "learning_rate": 5e-4, "max_tokens": 256, **settings}
    return RewardModelTrainConfig(given.pop("model_name_or_path", "nano"), [train_file], str(folder), **given)


def command_of(train_file, folder, *more):
    settings = ["--model_name_or_path", "nano", "--train_files", train_file, "--output_dir", str(folder)]
    settings += ["--max_steps", "30", "--per_device_train_batch_size", "16", "--learning_rate", "5e-4"]
    return ["train-rm", *settings, "--max_tokens", "256", "--save_steps", "5", *more]


def weights(folder):
    return load_file(Path(folder) / "model.safetensors")


def same_weights(a, b):
    """To the last bit: the same machine, kernels and batches."""
    first, second = weights(a), weights(b)
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


def assert_same_trained(a, b, config, batches=1):
    """Two runs of this configuration end alike, up to what adding up in another order explains.

    `batches`: how many make one step.
    """
    steps = config.max_steps
    rates = [config.learning_rate * lr_factor(config, step, steps) for step in range(steps)]
    assert_same_but_for_rounding(weights(a), weights(b), rates, summands=batches * TOKENS)


@pytest.mark.slow  # 55 seconds; test_resume kills runs too
def test_a_killed_run_resumes_to_the_same_weights(train_file, tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "-m", "cooper_rl.cli"]
    subprocess.run(
        [*run, *command_of(train_file, tmp_path / "straight")], check=True, env=environment, capture_output=True
    )
    killed = subprocess.Popen(
        [*run, *command_of(train_file, tmp_path / "killed")],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (tmp_path / "killed" / "checkpoint-10" / "trainer_state.json").exists():
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "killed" / "model.safetensors").exists()
    refused = subprocess.run([*run, *command_of(train_file, tmp_path / "killed")], capture_output=True, text=True)
    assert refused.returncode == 2 and "--resume" in refused.stderr
    done = subprocess.run(
        [*run, *command_of(train_file, tmp_path / "killed", "--resume")],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert same_weights(tmp_path / "straight", tmp_path / "killed")


def test_a_run_made_longer_has_the_longer_schedules_learning_rate(train_file, tmp_path):
    settings = {"save_steps": 2, "logging_steps": 1, "lr_scheduler_type": "linear", "warmup_ratio": 0.0}
    for steps in (2, 4):
        train_reward_model(config_of(train_file, tmp_path, max_steps=steps, **settings), resume=steps > 2)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    rates = [row["learning_rate"] / 5e-4 for row in rows if "learning_rate" in row]
    assert rates == pytest.approx([1, 1, 2 / 3, 1 / 3])  # one step of warm-up at least


def test_a_finished_training_is_not_trained_further_by_resuming(train_file, tmp_path, caplog):
    config = config_of(train_file, tmp_path, max_steps=2, save_steps=2)
    figures, before = train_reward_model(config), (tmp_path / "model.safetensors").read_bytes()
    assert train_reward_model(config, resume=True) == figures and "finished already" in caplog.text
    assert (tmp_path / "model.safetensors").read_bytes() == before
    assert json.loads((tmp_path / "recipe.json").read_text())["recipe"]["bf16"] is False, "what was computed on a CPU"


@pytest.mark.slow  # 32 seconds each: three processes
@pytest.mark.numeric
@pytest.mark.parametrize("tokens", ["16384", "300"])
def test_two_processes_train_as_one(tokens, train_file, tmp_path):
    """Two gloo ranks with a batch each are one process that accumulates two batches; also where these are cut."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    two = command_of(train_file, tmp_path / "two", "--max_steps", "10", "--tokens_per_pass", tokens)
    done = subprocess.run([*COOPER, *two], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    one = command_of(train_file, tmp_path / "one", "--max_steps", "10", "--gradient_accumulation_steps", "2")
    subprocess.run([sys.executable, "-m", "cooper_rl.cli", *one], env=environment, check=True, capture_output=True)
    config = config_of(train_file, tmp_path, max_steps=10)
    assert_same_trained(tmp_path / "one", tmp_path / "two", config, batches=2)
    with pytest.raises(AssertionError, match="rounding explains"):
        assert_same_trained(tmp_path / "one", tmp_path / "one" / "checkpoint-5", config, batches=2)


def test_lora_trains_adapters_and_saves_a_plain_model(train_file, tmp_path):
    train_reward_model(config_of(train_file, tmp_path / "rm", lora_rank=4))
    keys = weights(tmp_path / "rm").keys()
    assert not any("lora" in key for key in keys) and "score.weight" in keys
    plain = VerifyRM.from_backbone(Path(__file__).parents[2] / "src/cooper_rl/domains/nano/shipped/arithmetic/policy")
    before = plain.model.state_dict()
    moved = [k for k, v in weights(tmp_path / "rm").items() if not torch.equal(v, before[k])]
    assert "score.weight" in moved and any("q_proj" in k for k in moved)
    assert not any("norm" in k or "embed" in k for k in moved)


def test_adapters_saved_alone_are_the_merged_model(train_file, tmp_path, monkeypatch):
    """On a backbone with a hub's name, found in models/; a second training goes on from the adapters."""
    shutil.copytree(resolve_model("nano", "policy"), tmp_path / "models" / "nano-policy")
    monkeypatch.chdir(tmp_path)
    settings = {"model_name_or_path": "Somebody/Nano-Policy", "lora_rank": 4, "max_steps": 4}
    train_reward_model(config_of(train_file, tmp_path / "merged", **settings))
    train_reward_model(config_of(train_file, tmp_path / "alone", **settings, merge_adapters=False))
    assert not (tmp_path / "alone" / "model.safetensors").exists()
    assert (tmp_path / "alone" / "adapters" / "adapter_model.safetensors").stat().st_size < 1e6
    written = json.loads((tmp_path / "alone" / "adapters" / "adapter_config.json").read_text())
    assert written["base_model_name_or_path"] == "Somebody/Nano-Policy"
    triples = [LabelledCompletion("1 + 1?", "2", f"The answer is {n}.", n == 2) for n in range(6)]
    merged, alone = (VerifyRM.from_pretrained(tmp_path / name).score_records(triples) for name in ("merged", "alone"))
    assert torch.allclose(merged, alone, atol=1e-2) and not torch.equal(merged, alone)  # rounded to bfloat16
    stored = load_file(tmp_path / "alone" / "adapters" / "adapter_model.safetensors")
    assert {value.dtype for value in stored.values()} == {torch.bfloat16}
    figures = json.loads((tmp_path / "alone" / "recipe.json").read_text())["figures"]
    heldout = training_data(config_of(train_file, tmp_path / "alone", **settings))[1]
    assert figures == evaluate(VerifyRM.from_pretrained(tmp_path / "alone").score_records, heldout)
    assert shape_of(str(tmp_path / "alone")) == shape_of(resolve_model("nano", "policy"))
    further = {**settings, "model_name_or_path": str(tmp_path / "alone"), "merge_adapters": False}
    train_reward_model(config_of(train_file, tmp_path / "further", **further, learning_rate=1e-9))
    assert torch.allclose(VerifyRM.from_pretrained(tmp_path / "further").score_records(triples), alone, atol=1e-4)
    shutil.rmtree(tmp_path / "models")
    (tmp_path / "alone" / "adapters" / "adapter_config.json").write_text(
        json.dumps({**written, "base_model_name_or_path": "./gone"})
    )
    with pytest.raises(MissingFileError, match=r"alone: the adapters' base: ./gone: no such model folder"):
        VerifyRM.from_pretrained(tmp_path / "alone")


@pytest.mark.slow
def test_what_all_of_training_has_changed_is_saved_as_adapters(train_file, tmp_path):
    """With the full rank nothing but norms, embeddings and rounding differ; with a low one it stays near."""
    whole = config_of(train_file, tmp_path / "whole", max_steps=20)
    train_reward_model(whole)
    heldout = training_data(whole)[1]
    expected = VerifyRM.from_pretrained(tmp_path / "whole").score_records(heldout)
    base = VerifyRM.from_pretrained(resolve_model("nano", "reward_model")).score_records(heldout)
    for rank, error in ((4, 0.2), (400, 0.02)):
        folder = tmp_path / str(rank)
        figures = train_reward_model(replace(whole, output_dir=str(folder), adapters_rank=rank))
        adapted = VerifyRM.from_pretrained(folder)
        found = adapted.score_records(heldout)
        assert (expected - found).abs().mean() < error * (expected - base).abs().mean()
        assert figures == evaluate(adapted.score_records, heldout)
        assert not (folder / "model.safetensors").exists()
        assert all(p.requires_grad for p in adapted.model.parameters())


def test_frozen_layers_stay_as_they_were(train_file, tmp_path):
    train_reward_model(config_of(train_file, tmp_path / "half", max_steps=2, frozen_layers=1))
    before, after = weights(resolve_model("nano", "policy")), weights(tmp_path / "half")
    same = {name for name in before.keys() & after.keys() if torch.equal(before[name], after[name])}
    frozen = {name for name in after if "embed_tokens" in name or ".layers.0." in name}
    assert frozen <= same and any(".layers.1." in name for name in after.keys() - same)
    with pytest.raises(BadInputError, match="frozen_layers = 99: the model has"):
        train_reward_model(config_of(train_file, tmp_path / "all", frozen_layers=99))


def test_what_goes_on_adapters_is_saved_on_their_base(train_file, tmp_path):
    """Trained further, a base with adapters is that base with other adapters."""
    first = config_of(train_file, tmp_path / "first", max_steps=2, adapters_rank=4)
    train_reward_model(first)
    again = replace(first, model_name_or_path=first.output_dir, output_dir=str(tmp_path / "second"), calibrate=True)
    train_reward_model(again)
    shutil.rmtree(tmp_path / "first")
    found = VerifyRM.from_pretrained(tmp_path / "second")
    written = json.loads((tmp_path / "second" / "adapters" / "adapter_config.json").read_text())
    assert written["base_model_name_or_path"] == "nano"
    assert found.settings == VerifyRMSettings(**json.loads((tmp_path / "second" / "verifyrm.json").read_text()))


def test_gradient_checkpointing_changes_nothing(train_file, tmp_path):
    """What is computed again is computed by the same operations on the same numbers."""
    for name, on in (("without", False), ("with", True)):
        train_reward_model(config_of(train_file, tmp_path / name, gradient_checkpointing=on))
    assert same_weights(tmp_path / "without", tmp_path / "with")


@pytest.mark.numeric
@pytest.mark.parametrize(
    "settings",
    [{"class_balance": True, "gradient_accumulation_steps": 2}, {"prefix_weight": 1.0, "prefix_margin": 1.0}],
)
def test_a_batch_is_cut_into_passes_of_so_many_tokens_and_the_step_is_the_same(
    settings, train_file, stepped_file, tmp_path
):
    file, logged = stepped_file if "prefix_weight" in settings else train_file, {}
    for name, tokens in (("whole", 16384), ("cut", 200)):
        config = config_of(
            file, tmp_path / name, max_steps=3, logging_steps=1, heldout_fraction=0, tokens_per_pass=tokens, **settings
        )
        trainer, seen = trainer_of(config), []
        note = partial(lambda seen, _, __, given: seen.append(tuple(given["input_ids"].shape)), seen)
        hook = trainer.model.register_forward_pre_hook(note, with_kwargs=True)
        trainer.train()
        hook.remove()
        trainer.reward_model.save_pretrained(config.output_dir)
        rows = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        logged[name] = [{k: v for k, v in row.items() if "runtime" not in k and "per_second" not in k} for row in rows]
        batches = 3 * config.gradient_accumulation_steps
        assert len(seen) == batches if name == "whole" else len(seen) > 3 * batches
        assert name == "whole" or all(rows * width <= 200 for rows, width in seen)
        assert sum(rows for rows, _ in seen) == 16 * batches
    for cut, whole in zip(logged["cut"], logged["whole"], strict=True):
        assert cut == pytest.approx(whole, rel=1e-3)
    assert_same_trained(tmp_path / "whole", tmp_path / "cut", config, config.gradient_accumulation_steps)


def trainer_of(config):
    Path(config.output_dir).mkdir()
    torch.manual_seed(0)
    model = VerifyRM.from_backbone(resolve_model("nano", "policy"), settings=VerifyRMSettings(max_tokens=256))
    return RewardModelTrainer(model, *training_data(config), config)


@pytest.mark.numeric
def test_either_form_of_adamw_gives_the_same_but_for_rounding(train_file, tmp_path, monkeypatch):
    create, fused = RewardModelTrainer.create_optimizer, []

    def noted(trainer, model=None):
        optimizer = create(trainer, model)
        fused.append(bool(optimizer.defaults["fused"]))
        return optimizer

    monkeypatch.setattr(RewardModelTrainer, "create_optimizer", noted)
    for optim in ("adamw_torch", "adamw_torch_fused"):
        config = config_of(train_file, tmp_path / optim, optim=optim)
        train_reward_model(config)
    assert fused == [False, True]
    assert_same_trained(tmp_path / "adamw_torch", tmp_path / "adamw_torch_fused", config)


def test_accumulated_batches_are_one_batch(train_file, tmp_path):
    """2 x 8 of the same length buckets is not 1 x 16, but both are means over 16: the step count tells it."""
    train_reward_model(
        config_of(
            train_file,
            tmp_path / "rm",
            per_device_train_batch_size=8,
            gradient_accumulation_steps=2,
            max_steps=-1,
            num_train_epochs=1,
        )
    )
    last = [json.loads(line) for line in (tmp_path / "rm" / "metrics.jsonl").open()][-1]
    assert last["step"] == pytest.approx(360 / 16, abs=3)


def test_early_stopping_keeps_the_best(train_file, tmp_path):
    config = config_of(
        train_file,
        tmp_path / "rm",
        learning_rate=0.0,
        max_steps=60,
        eval_steps=5,
        save_steps=5,
        early_stopping_patience=2,
    )
    train_reward_model(config)
    lines = [json.loads(line) for line in (tmp_path / "rm" / "metrics.jsonl").open()]
    measured = [line["step"] for line in lines if "eval_balanced_accuracy" in line]
    assert measured == [
        5,
        10,
        15,
    ]  # nothing moves at a learning rate of 0: the first is the best, two more are waited for
    checkpoint = VerifyRM.from_pretrained(tmp_path / "rm" / "checkpoint-15")  # scores as it was trained
    assert checkpoint.settings.max_tokens == config.max_tokens != VerifyRMSettings().max_tokens


def test_progress_tells_steps_and_loss(train_file, tmp_path):
    told = []
    config = config_of(train_file, tmp_path / "rm", logging_steps=4)
    train_reward_model(config, progress=lambda **update: told.append(update))
    assert [u["completed"] for u in told if "completed" in u] == list(range(1, 9))
    assert sum(u.get("description", "").startswith("loss 0.") for u in told) == 2


@pytest.fixture
def stepped_file(tmp_path):
    rows = []
    for n in range(48):
        a, b, slip = n % 9 + 1, n % 7 + 2, n % 3 - 1  # -1: no slip, else the step that is wrong
        first, second = a + b + (slip == 0), (a + b + (slip == 0)) * 2 + (slip == 1)
        steps = [f"{a} + {b} = {first}.", f"{first} * 2 = {second}.", f"The answer is {second}."]
        rows.append({"question": f"({a} + {b}) * 2?", "answer": str(2 * (a + b)), "steps": steps, "first_error": slip})
    path = tmp_path / "stepped.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.slow  # 22 seconds: two trainings
def test_prefixes_are_taught_by_where_the_first_error_is(stepped_file, tmp_path):
    triples = read_triples(stepped_file)
    assert sum(t.correct for t in triples) == 16 and all(len(t.ends) == 3 for t in triples)
    given = {"max_steps": 100, "num_train_epochs": 100, "learning_rate": 1e-3, "heldout_fraction": 0.0}
    train_reward_model(config_of(stepped_file, tmp_path / "plain", **given))
    train_reward_model(config_of(stepped_file, tmp_path / "steps", prefix_weight=1.0, prefix_margin=1.0, **given))
    told = [row for row in map(json.loads, (tmp_path / "steps" / "metrics.jsonl").open()) if "step_order" in row]
    assert told[-1]["step_order"] > told[0]["step_order"]
    plain, taught = (VerifyRM.from_pretrained(tmp_path / name) for name in ("plain", "steps"))
    before, after = (
        evaluate_process(triples, model.step_values, samples=10)["at_half"]["all"]["f1"] for model in (plain, taught)
    )
    assert after > 0.8 > before
    assert sum(t.correct == bool(s > 0.5) for t, s in zip(triples, taught.score_records(triples), strict=True)) >= 44


def test_the_loss_of_prefixes_reads_the_logits_that_step_values_reads(stepped_file, tmp_path):
    triples = read_triples(stepped_file)[:6]
    config = config_of(stepped_file, tmp_path, prefix_weight=1.0)
    model = VerifyRM.from_backbone(resolve_model("nano", "policy"), settings=VerifyRMSettings(max_tokens=256))
    trainer = RewardModelTrainer(model, triples, [], config)
    batch = trainer.collate([trainer.train_dataset[i] for i in range(6)])
    places, labels, valid = (batch[name] for name in ("places", "step_labels", "valid"))
    assert valid.sum(1).tolist() == [2] * 6
    assert labels.tolist() == [[int(t.first_error in (-1, 1)), int(t.first_error == -1)] for t in triples]
    with torch.no_grad():
        hidden = model.model.eval()(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], output_hidden_states=True
        ).hidden_states[-1]
        found = model.model.score(hidden.gather(1, places[:, :, None].expand(-1, -1, hidden.shape[2])))[:, :, 0]
        expected = model.step_logits(triples, [t.ends for t in triples])
    assert torch.allclose(found, torch.stack([each[:2] for each in expected]), atol=1e-5)


def test_class_balance_by_hand():
    logits, labels = torch.tensor([0.0, 0.0, 0.0, 0.0]), torch.tensor([1.0, 0.0, 0.0, 0.0])
    plain, weighted = (float(bce_loss(logits, labels, positive_weight=w)[0]) for w in (1.0, 3.0))
    assert weighted == pytest.approx(plain * 6 / 4)


def test_calibration_is_found_and_stored(nano_reward_model, train_file, tmp_path):
    triples = [
        LabelledCompletion(t["question"], t["reference"], t["completion"], t["correct"])
        for t in written_triples("train", 200, 2)
    ]
    fitted = fit_temperature(nano_reward_model, triples)
    model = VerifyRM(nano_reward_model.model, nano_reward_model.tokenizer, VerifyRMSettings(max_tokens=256))
    model.model.score.weight.data *= 4
    try:
        assert fit_temperature(model, triples) == pytest.approx(4 * fitted, rel=0.03)
    finally:
        model.model.score.weight.data /= 4
    train_reward_model(config_of(train_file, tmp_path / "rm", calibrate=True))
    loaded = VerifyRM.from_pretrained(tmp_path / "rm")
    assert loaded.settings.temperature != 1.0
    z = loaded.logits(["a"], ["1"], ["1"])
    assert torch.allclose(loaded.score(["a"], ["1"], ["1"]), torch.sigmoid(z / loaded.settings.temperature))


def test_token_ids_to_train_on_are_kept_in_four_bytes_each(nano_reward_model, stepped_file, monkeypatch):
    made = read_triples(stepped_file)[:7]
    ids = nano_reward_model.encode(made)
    targets = prefix_targets(nano_reward_model, made, ids, "line")
    monkeypatch.setattr("cooper_rl.verifyrm.triples.BATCH", 3)
    plain, stepped = (Examples(nano_reward_model, made, steps) for steps in (None, "line"))
    assert list(plain) == [{"ids": own, "label": float(t.correct)} for own, t in zip(ids, made, strict=True)]
    own = [{"places": places, "step_labels": labels} for places, labels in targets]
    assert list(stepped) == [a | b for a, b in zip(plain, own, strict=True)] and any(places for places, _ in targets)
    assert plain.ids.lengths() == list(map(len, ids)) and plain[-1]["ids"] == ids[-1]
    assert plain.ids.flat.itemsize * len(plain.ids.flat) == 4 * sum(map(len, ids))
    with pytest.raises(IndexError):
        plain[7]


def test_buckets_repeat_by_epoch():
    lengths = [random.Random(i).randint(1, 90) for i in range(333)]
    buckets = LengthBuckets(lengths, 8, seed=3)
    first = list(buckets)
    assert sorted(i for batch in first for i in batch) == list(range(333)) and len(first) == len(buckets)
    buckets.epoch = 1
    second = list(buckets)
    assert second != first and list(buckets) == second
    buckets.epoch = 0
    assert list(buckets) == first


@pytest.mark.parametrize("count", [2, 3, 8])
def test_ranks_get_as_many_batches_and_every_row(count):
    lengths = [20 + 7 * i % 90 for i in range(333)]
    for seed in range(5):
        shares = [list(BatchSamplerShard(LengthBuckets(lengths, 8, seed, count), count, rank)) for rank in range(count)]
        assert {len(share) for share in shares} == {-(-len(LengthBuckets(lengths, 8, seed)) // count)}
        assert {row for share in shares for batch in share for row in batch} == set(range(333))


def test_a_trained_model_is_not_written_over(train_file, tmp_path):
    (tmp_path / "recipe.json").write_text("{}")
    for resume in (False, True):
        with pytest.raises(BadInputError, match="already holds a trained reward model; set another output_dir"):
            train_reward_model(config_of(train_file, tmp_path), resume=resume)


def test_what_is_corrupted_is_not_right():
    right = LabelledCompletion("What is 12 + 7?", "19", "12 + 7 = 19.\nThe answer is 19.", True)
    wrong = augment_triples([right] * 200, AugmentationSettings(augment_wrong=1.0), seed=0)[200:]
    with RuleVerifier() as rule:
        assert Verdict.CORRECT not in rule.verify_many(["19"] * 200, [t.completion for t in wrong])
    assert not any(t.correct for t in wrong)


def test_of_a_changed_number_the_first_wrong_step_is_known():
    steps = ["3 + 4 = 7.", "7 * 2 = 14.", "So it is 14."]
    right = LabelledCompletion("(3 + 4) * 2?", "14", "\n".join(steps), True)
    wrong = augment_triples([right] * 300, AugmentationSettings(augment_wrong=1.0), seed=0)[300:]
    known = [t for t in wrong if t.first_error is not None]
    assert 100 < len(known) < 200 and {t.first_error for t in known} == {0, 1}
    for triple in known:
        said = [triple.completion[a:b].strip() for a, b in zip((0, *triple.ends), triple.ends, strict=False)]
        assert len(said) == 3 and said[: triple.first_error] == steps[: triple.first_error]
        assert said[triple.first_error] != steps[triple.first_error]
        assert triple.prefix_labels(2) == [int(triple.first_error > 0), 0]
    shorter = slip_number(replace(right, completion="It is 10"), "It is 1", "line")
    assert shorter.first_error == 0 and shorter.ends == (7,)


def test_augmentation_adds_shares_and_keeps_the_rest():
    triples = [LabelledCompletion("q", str(i), f"#### {i}", i % 2 == 0) for i in range(400)]
    more = augment_triples(triples, AugmentationSettings(augment_forms=0.5, augment_wrong=0.5), seed=0)
    assert more[:400] == triples and more == augment_triples(
        triples, AugmentationSettings(augment_forms=0.5, augment_wrong=0.5), seed=0
    )
    forms = [t for t in more[400:] if t.completion.startswith("#### ") and f"#### {t.reference_answer}" != t.completion]
    assert 250 < len(more) - 400 < 350 and len(forms) > 150
    assert augment_triples(triples, AugmentationSettings(), seed=0) == triples


def test_an_answer_alone_keeps_its_label():
    said = ["2 + 2 = 4, so the answer is \\frac{8}{2}.", "We get \\boxed{5}", "No answer\nhere", "5"]
    triples = [LabelledCompletion("q", "4", text, index == 0) for index, text in enumerate(said)]
    more = augment_triples(triples, AugmentationSettings(augment_alone=1.0), seed=0)[4:]
    assert [t.correct for t in more] == [True, False] + [False] * (len(more) - 2)
    assert more[0].completion in (r"\frac{8}{2}", r"\boxed{\frac{8}{2}}") and more[1].completion in ("5", r"\boxed{5}")
    assert all("here" not in t.completion for t in more)


def test_a_right_completion_stands_in_for_the_reference():
    completions = [("2 + 2 = 4\n#### 4", True), ("four", True), ("5", False), ("4.0", True)]
    triples = [LabelledCompletion("q", "4", text, correct) for text, correct in completions]
    alone = [LabelledCompletion("other", "7", "7", True), LabelledCompletion("no right one", "8", "9", False)]
    grown = augment_triples([*triples, *alone], AugmentationSettings(augment_references=1.0), seed=0)
    more = grown[6:]
    assert grown[:6] == [*triples, *alone] and [t.question for t in more] == ["q"] * len(more) and len(more) >= 2
    right = {text for text, correct in completions if correct}
    assert all(t.reference_answer in right - {t.completion} for t in more)
    assert {(t.completion, t.correct) for t in more} <= set(completions)
    assert ("5", False) in {(t.completion, t.correct) for t in more}


def test_invented_answers_and_working_keep_to_their_shares_and_labels():
    working = "First we add what is given, carry the one and then look at every case in turn. " * 4
    triples = [LabelledCompletion(f"q{i}", str(i), f"{working}#### {i}", i % 2 == 0) for i in range(400)]
    grown = augment_triples(triples, AugmentationSettings(augment_invent=0.5, augment_choices=0.25), seed=0)
    by_source = {source: [t for t in grown if t.source == source] for source in ("", "invented", "choices")}
    assert grown[:400] == triples == by_source[""]
    assert 160 < len(by_source["invented"]) < 240 and 70 < len(by_source["choices"]) < 130
    assert all(0.4 < sum(t.correct for t in by_source[s]) / len(by_source[s]) < 0.6 for s in ("invented", "choices"))
    short = LabelledCompletion("q", "7", "8", False)
    more = augment_triples([*triples, short], AugmentationSettings(augment_working=1.0), seed=0)[401:]
    assert {t.correct for t in more} == {True, False}
    assert all(t.completion.startswith(working) for t in more if t.question != "q")  # it has working of its own
    assert all(
        t.completion.endswith("8") and "7" in t.reference_answer and not t.correct for t in more if t.question == "q"
    )


def test_without_working_there_is_none_to_put_before_an_answer():
    short = [LabelledCompletion("q", "7", "7", True)]
    assert augment_triples(short, AugmentationSettings(augment_working=1.0), seed=0) == short


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"early_stopping_patience": 2}, "eval_steps"),
        ({"augment_wrong": 2.0}, "augment_wrong"),
        ({"optim": "adamw_hf"}, "adamw_torch_fused or adamw_torch"),
        ({"augment_references": -0.1}, "augment_references"),
        ({"frozen_layers": 1, "lora_rank": 4}, "leave frozen_layers out"),
        ({"train_sizes": [4, 4]}, "2 numbers for 1 train_files"),
        ({"adapters_rank": 4, "lora_rank": 4, "merge_adapters": False}, "set one"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(BadInputError, match=message):
        RewardModelTrainConfig("nano", ["x"], "y", **settings)
