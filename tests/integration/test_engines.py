"""Two engines on one core: the same recorded batches make the same reward model, to the last bit."""

import json
import pickle

import pytest
import torch
from safetensors.torch import load_file
from test_arms import SMALL, words_of

from cooper_rl.engines.loading import load_parts, settings_of
from cooper_rl.engines.plain import PlainTrainer
from cooper_rl.engines.plain import run_training as run_plain
from cooper_rl.engines.trl.cooper_trainer import build_trainer
from cooper_rl.engines.trl.cooper_trainer import run_training as run_trl
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.settings.files import EMBEDDED
from cooper_rl.settings.recipe import load_recipe

STEPS = 4


def recipe(folder, *words):
    small = {**SMALL, "max_steps": STEPS, "save_steps": STEPS, "guard_steps": 2, "heldout_steps": 0}
    small |= {"negative_sources": {"mined": 1, "perturb": 1}, "reward_model_learning_rate": 1e-3}
    return load_recipe("recipes/quickstart.yaml", [*words_of(small), "--output_dir", str(folder), *words])


def recorded(cooper):
    """Makes the method keep each batch that it scores, as bytes."""
    batches, score = [], cooper.score

    def keep(samples, step, *values):
        batch = score(samples, step, *values)
        batches.append(pickle.dumps(batch))
        return batch

    cooper.score = keep
    return batches


def replayed(cooper, batches):
    """Makes the method score every batch as it was recorded, whatever the policy wrote."""
    rest = iter(batches)

    def play(samples, step, *_):
        batch = pickle.loads(next(rest))
        assert (batch.step, len(batch.rewards)) == (step, len(samples))
        return batch

    cooper.score = play


def lines(folder, kind):
    return [json.loads(line) for path in sorted((folder / kind).iterdir()) for line in path.open()]


def test_the_same_batches_make_the_same_reward_model(tmp_path):
    trl = build_trainer(*settings_of(recipe(tmp_path / "trl")))
    batches = recorded(trl.cooper)
    with trl.verifier:
        trl.train()
    named, config = settings_of(recipe(tmp_path / "plain"))
    plain = PlainTrainer(load_parts(named, config), config)
    replayed(plain.cooper, batches)
    with plain.verifier:
        plain.train()
    assert len(batches) == STEPS
    ours, theirs = (tmp_path / engine / f"checkpoint-{STEPS}" for engine in ("plain", "trl"))
    for name in ("model.safetensors", "optimizer.safetensors"):
        found, expected = (load_file(folder / "reward_model" / name) for folder in (ours, theirs))
        assert found.keys() == expected.keys() and all(torch.equal(found[key], expected[key]) for key in expected)
    shipped = load_file(EMBEDDED["nano-weekdays"]["reward_model"] / "model.safetensors")
    learned = load_file(ours / "reward_model" / "model.safetensors")
    assert any(not torch.equal(learned[key], shipped[key]) for key in shipped)
    assert json.loads((ours / "monitors.json").read_text()) == json.loads((theirs / "monitors.json").read_text())
    for kind in ("rollouts", "pairs"):
        assert lines(tmp_path / "plain", kind) == lines(tmp_path / "trl", kind)
    assert len(lines(tmp_path / "trl", "pairs")) >= STEPS


def test_a_run_of_the_plain_engine_has_the_files_of_a_run(tmp_path):
    run_plain(recipe(tmp_path, "--heldout_steps", "2", "--negative_sources", "{assistant: 1}"))
    rows = {row["step"]: row for row in map(json.loads, (tmp_path / "metrics.jsonl").open())}
    assert rows.keys() == set(range(STEPS + 1))
    assert all("eval/true_accuracy" in rows[step] for step in (0, 2, STEPS))
    wanted = {"reward", "kl", "loss", "grad_norm", "accuracy/rule", "pairs/yield", "hacking/alarm", "learning_rate"}
    wanted |= {f"time/{part}_seconds" for part in ("generate", "score", "policy", "pairs", "reward_model", "guard")}
    assert wanted <= rows[STEPS].keys()
    checkpoint = tmp_path / f"checkpoint-{STEPS}"
    for name in ("config.yaml", "environment.json", "finished.json", "rollouts/step_000001.jsonl"):
        assert (tmp_path / name).is_file()
    for name in ("model.safetensors", "reward_model/model.safetensors", "monitors.json", "complete.json"):
        assert (checkpoint / name).is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lora_rank", "4"], "lora_rank: the plain engine does not support it"),
        (["--num_iterations", "2"], "num_iterations = 2: the plain engine supports 1 only"),
        (["--min_p", "0.1"], "min_p: the plain engine does not read it"),
        (["--max_steps", "-1"], "max_steps = -1: the plain engine needs the number of steps"),
        (["--dataset_size", "3"], "3 problems: a step needs 4"),
    ],
)
def test_what_the_plain_engine_does_not_have_is_refused(tmp_path, words, message):
    with pytest.raises(BadInputError, match=message):
        run_plain(recipe(tmp_path, *words))
    with pytest.raises(BadInputError, match="--resume"):
        run_plain(recipe(tmp_path), resume=True)


def test_the_alarm_stops_a_run_of_the_plain_engine(tmp_path, monkeypatch):
    monkeypatch.setattr("cooper_rl.method.alarm.AcceptanceAlarm.fires_on", lambda self, shares: True)
    with pytest.raises(CooperError, match="the hacking alarm stopped the run after step 1"):
        run_plain(recipe(tmp_path, "--alarm_action", "stop"))
    assert (tmp_path / "checkpoint-1" / "complete.json").is_file() and not (tmp_path / "finished.json").exists()


@pytest.mark.slow
def test_twenty_steps_of_the_plain_engine_learn(tmp_path):
    """The first 20 steps of the quickstart: reward and true accuracy rise (docs/experiments/plain.md)."""
    schedule = {"lr_scheduler_type": "constant_with_warmup", "lr_scheduler_kwargs": None}
    words = words_of({**schedule, "max_steps": 20, "heldout_steps": 0, "seed": 0, "output_dir": str(tmp_path)})
    run_plain(load_recipe("recipes/quickstart.yaml", words))
    rows = list(map(json.loads, (tmp_path / "metrics.jsonl").open()))
    assert rows[-1]["eval/true_accuracy"] > rows[0]["eval/true_accuracy"] + 0.05
    first, last = ([row["reward"] for row in part] for part in (rows[1:6], rows[-5:]))
    assert sum(last) / 5 > sum(first) / 5


@pytest.mark.parametrize("engine", [pytest.param("trl", marks=pytest.mark.slow), "plain"])
def test_steps_have_advantages_of_their_own_in_both_engines(tmp_path, engine):
    words = ["--credit", "difference", "--prefix_weight", "0.5", "--credit_weight", "1.0", "--max_steps", "2"]
    chosen = recipe(tmp_path, *words, "--save_steps", "2")
    run_plain(chosen) if engine == "plain" else run_trl(chosen)
    valued = [row for row in lines(tmp_path, "rollouts") if row.get("step_values")]
    assert valued and all(row["step_values"][-1] == pytest.approx(row["score"]) for row in valued)
    assert all(row["step_ends"][-1] == len(row["completion"]) for row in valued)
    rows = [row for row in map(json.loads, (tmp_path / "metrics.jsonl").open()) if "reward_model/prefix_loss" in row]
    assert rows and all(row["reward_model/prefix_loss"] > 0 for row in rows)


def test_the_advantages_of_the_trl_engine_are_those_of_tokens(tmp_path, monkeypatch):
    trl = build_trainer(*settings_of(recipe(tmp_path, "--credit", "difference", "--max_steps", "1")))
    seen = []
    compute = trl._compute_loss

    def keep(model, inputs):
        seen.append(inputs["advantages"])
        return compute(model, inputs)

    monkeypatch.setattr(trl, "_compute_loss", keep)
    with trl.verifier:
        trl.train()
    assert seen and all(advantages.dim() == 2 for advantages in seen)
    found = torch.cat(seen)
    assert any(len(row.unique()) > 1 for row in found), "no completion has steps of different credit"


@pytest.mark.parametrize("engine", [pytest.param("trl", marks=pytest.mark.slow), "plain"])
def test_the_policy_stays_as_it_is_while_the_reward_model_learns_alone(tmp_path, engine):
    """On the first two of three batches; KL, weight decay and momentum move nothing either."""
    run = {"trl": run_trl, "plain": run_plain}[engine]
    start = load_file(EMBEDDED["nano-weekdays"]["policy"] / "model.safetensors")
    weights = {}
    for steps in (2, 3):
        folder = tmp_path / str(steps)
        words = ["--max_steps", str(steps), "--save_steps", str(steps), "--reward_model_alone_steps", "2"]
        run(recipe(folder, *words, "--warmup_steps", "0", "--weight_decay", "0.1"))
        weights[steps] = load_file(folder / f"checkpoint-{steps}" / "model.safetensors")
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
        assert [row["policy/frozen"] for row in rows if "policy/frozen" in row] == [1.0, 1.0, 0.0][:steps]
        assert sum("pairs/count" in row for row in rows) == steps and any("reward_model/loss" in row for row in rows)
    assert all(torch.equal(weights[2][key], value) for key, value in start.items() if key in weights[2])
    assert any(not torch.equal(weights[3][key], weights[2][key]) for key in weights[3])


@pytest.mark.slow
def test_updates_of_every_second_batch_in_both_engines(tmp_path):
    for engine, run in (("trl", run_trl), ("plain", run_plain)):
        run(recipe(tmp_path / engine, "--reward_model_update_steps", "2"))
        rows = {row["step"]: row for row in map(json.loads, (tmp_path / engine / "metrics.jsonl").open())}
        assert [step for step, row in rows.items() if "pairs/count" in row] == [2, 4]
