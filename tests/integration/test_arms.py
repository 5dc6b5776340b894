"""The arms on the nano models, a few steps each: what they share, and where they must part."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from cooper_rl.engines.trl.cooper_trainer import run_training
from cooper_rl.errors import BadInputError
from cooper_rl.settings.files import EMBEDDED
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.verifyrm.losses import PREFIX_METRICS
from ranks import COOPER

STEPS = 3
SMALL = {
    "max_steps": STEPS,
    "save_steps": STEPS,
    "per_device_train_batch_size": 16,
    "num_generations": 4,
    "dataset_size": 64,
    "heldout_dataset_size": 16,
    "heldout_triples_size": 40,
    "heldout_steps": STEPS,
    "anchor_triples_size": 20,
    "guard_probes": 1,
    "guard_sample": 8,
    "max_completion_length": 40,
    "reward_threshold": None,
    "pairs_per_prompt": 4,  # of so few prompts some have no right rollout
    "seed": 2,  # each of the first steps has a pair
}


ASKED = {"counterfactual_references": 1, "counterfactual_uses": ["negatives", "monitor"]}


def words_of(settings):
    return [w for k, v in settings.items() for w in (f"--{k}", json.dumps(v) if v is not None else "null")]


def train(folder, arm, **settings):
    words = words_of({**SMALL, **settings})
    recipe = load_recipe("recipes/quickstart.yaml", [*words, "--arm", arm, "--output_dir", str(folder)])
    run_training(recipe)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return {row["step"]: row for row in rows}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("arms")
    made = {arm: (root / arm, train(root / arm, arm, **ASKED)) for arm in ("static", "cooper")}
    still = {"reward_model_learning_rate": 0.0, "reward_model_weight_decay": 0.0}
    made["still"] = (root / "still", train(root / "still", "cooper", **ASKED, **still))
    return made


def policy_of(folder):
    return load_file(folder / f"checkpoint-{STEPS}" / "model.safetensors")


def test_without_updates_cooper_is_static(runs):
    static, still = runs["static"], runs["still"]
    for step in range(1, STEPS + 1):
        for key in ("reward", "loss", "accuracy/rule", "hacking/gap"):
            assert still[1][step][key] == pytest.approx(static[1][step][key], abs=1e-7), (step, key)
    ours, theirs = policy_of(still[0]), policy_of(static[0])
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_with_updates_the_reward_model_moves_and_the_first_reward_does_not(runs):
    """The rewards of a step come from the reward model before that step's update."""
    static, cooper = runs["static"], runs["cooper"]
    assert cooper[1][1]["reward"] == pytest.approx(static[1][1]["reward"], abs=1e-7)
    assert cooper[1][STEPS]["reward"] != static[1][STEPS]["reward"]
    before = load_file(EMBEDDED["nano-weekdays"]["reward_model"] / "model.safetensors")
    after = load_file(cooper[0] / f"checkpoint-{STEPS}" / "reward_model" / "model.safetensors")
    assert before.keys() == after.keys() and any(not torch.equal(before[name], after[name]) for name in before)


def test_measurements_are_there(runs):
    """Known fault 7: validation that returns nothing for what a reward model scored."""
    for arm in ("static", "cooper"):
        rows = runs[arm][1]
        for step in (0, STEPS):
            for key in ("eval/true_accuracy", "eval/rule_accuracy", "eval/reward_model_accuracy"):
                assert 0 <= rows[step][key] <= 1
        wanted = {"reward", "kl", "completions/mean_length", "accuracy/rule", "hacking/gap", "verifier/timeout_rate"}
        wanted |= {f"time/{part}_seconds" for part in ("generate", "score", "policy")}
        if arm == "cooper":
            wanted |= {
                "reward_model/loss",
                "reward_model/margin",
                "reward_model/pair_accuracy",
                "reward_model/grad_norm",
            }
            wanted |= {"pairs/yield", "pairs/negative_reject_rate", "pairs/mined", "time/pairs_seconds"}
        assert wanted <= rows[STEPS].keys()


def test_every_metric_is_documented_and_every_documented_one_exists(runs):
    text = Path("docs/metrics.md").read_text()
    documented = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    written = {name for arm in ("static", "cooper") for row in runs[arm][1].values() for name in row} - {"step"}
    assert written <= documented
    conditional = {"pairs/assistant_failure_rate", "pairs/assistant_paused", "time/assistant_wait_seconds"}
    of_steps = {f"reward_model/{name}" for name in PREFIX_METRICS}  # test_engines.py has a run that writes them
    of_verl = {"eval/missing"}
    of_schedule = {"policy/frozen"}  # the same file has a run that writes it
    of_kinds = {f"hacking/youden_j_{kind}_answer" for kind in ("no", "other")} | {"hacking/youden_j_several_answers"}
    assert documented - written - of_kinds == conditional | of_steps | of_schedule | of_verl
    assert "hacking/youden_j" in written and len(of_kinds & written) > 0
    assert all(name in Path("src/cooper_rl/engines/verl/ppo_trainer.py").read_text() for name in of_verl)
    code = (Path("src/cooper_rl/method/negatives.py")).read_text()
    assert all(name in code for name in conditional)


def test_every_recorded_negative_is_wrong_by_the_rule(runs):
    from cooper_rl.verifiers import RuleVerifier

    folder, _ = runs["cooper"]
    pairs = [
        json.loads(line) for path in sorted((folder / "pairs").glob("*")) for line in path.read_text().splitlines()
    ]
    assert pairs
    with RuleVerifier("math_verify", workers=1) as verifier:
        for pair in pairs:
            assert verifier.verify(reference=pair["reference_answer"], completion=pair["positive"]).value == "CORRECT"
            wrong = pair.get("negative_reference") or pair["reference_answer"]
            assert verifier.verify(reference=wrong, completion=pair["negative"]).value != "CORRECT"
    assert {pair["negative_source"] for pair in pairs} == {"mined", "counterfactual"}


STEPPED = {"arm": "static", "reward_threshold": 0.5}


@pytest.mark.parametrize("settings", [{"arm": "hybrid"}, pytest.param(STEPPED, marks=pytest.mark.slow)], ids=str)
def test_other_rewards(tmp_path, settings):
    rows = train(tmp_path, **settings)
    records = [json.loads(line) for line in (tmp_path / "rollouts" / "step_000001.jsonl").read_text().splitlines()]
    for record in records:
        if settings["arm"] == "hybrid":
            assert record["reward"] == (1.0 if record["verdict"] == "CORRECT" else record["score"])
        else:
            assert record["reward"] == float(record["score"] > 0.5)
    assert len(rows) == STEPS + 1


def test_held_out_steps_of_zero_measure_at_the_ends_alone(tmp_path):
    rows = train(tmp_path / "run", "rule", heldout_steps=0, max_steps=2, save_steps=2)
    assert [step for step, row in sorted(rows.items()) if "eval/true_accuracy" in row] == [0, 2]
    with pytest.raises(BadInputError, match="heldout_steps = -1"):
        train(tmp_path / "other", "rule", heldout_steps=-1)


@pytest.mark.slow  # 28 seconds: a model of its own
def test_an_assistant_of_its_own_rewrites(tmp_path):
    """`assistant_model` names another model than the base policy: with the base's weights the pairs are the same, and
    without a reference policy (beta 0) the base is loaded for it."""
    noise = tmp_path / "noise"
    shutil.copytree(EMBEDDED["nano-weekdays"]["policy"], noise)
    shapes = {key: value.shape for key, value in load_file(noise / "model.safetensors").items()}
    generator = torch.Generator().manual_seed(0)
    save_file(
        {key: torch.randn(shape, generator=generator) for key, shape in shapes.items()}, noise / "model.safetensors"
    )
    asked = {"negative_sources": {"assistant": 1}, "max_steps": 1, "save_steps": 1, "heldout_steps": 0}
    negatives = {}
    for name, model, beta in (
        ("base", None, 0.001),
        ("same", "nano-weekdays", 0.001),
        ("loaded", None, 0.0),
        ("other", str(noise), 0.001),
    ):
        train(tmp_path / name, "cooper", **asked, assistant_model=model, beta=beta)
        records = (tmp_path / name / "pairs" / "step_000001.jsonl").read_text().splitlines()
        negatives[name] = [json.loads(record)["negative"] for record in records]
    assert negatives["base"] == negatives["same"] == negatives["loaded"]
    assert negatives["base"] and not set(negatives["base"]) & set(negatives["other"])


@pytest.mark.slow  # 31 seconds; test_several_processes has ranks too
def test_two_ranks_are_one_run(tmp_path):
    """torchrun on CPUs: one world of two, one run folder, twice the batch."""
    small = {**SMALL, "max_steps": 2, "save_steps": 2, "reward_threshold": 0.5}
    settings = [word for name, value in small.items() for word in (f"--{name}", str(value))]
    command = [*COOPER, "train", "--config", "recipes/quickstart.yaml", "--arm", "cooper", *settings]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--output_dir", str(tmp_path / "run")], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").open()]
    assert [row["step"] for row in rows] == [0, 1, 2]


@pytest.mark.slow  # 25 seconds: two runs
def test_adapters_alone_are_trained_and_kept(tmp_path):
    """LoRA on policy and reward model: small checkpoints, a resumed run is the straight one, both load again."""
    from cooper_rl.verifyrm import VerifyRM

    settings = {"lora_rank": 4, "reward_model_lora_rank": 2, "max_steps": 4, "save_steps": 2, "heldout_steps": 2}
    rows = train(tmp_path / "straight", "cooper", **settings)
    assert rows[4]["reward_model/loss"] is not None and rows[4]["grad_norm"] > 0
    folder = tmp_path / "straight" / "checkpoint-4"
    for part in (folder, folder / "reward_model" / "adapters"):
        assert (part / "adapter_model.safetensors").is_file() and not list(folder.rglob("model.safetensors"))
        assert (part / "adapter_model.safetensors").stat().st_size < 0.3 * 3_929_120
    adapters = load_file(folder / "adapter_model.safetensors")
    assert any(value.abs().sum() > 0 for key, value in adapters.items() if "lora_B" in key)
    shutil.copytree(tmp_path / "straight", tmp_path / "again")
    shutil.rmtree(tmp_path / "again" / "checkpoint-4")
    words = words_of({**SMALL, **settings})
    again = ["--arm", "cooper", "--output_dir", str(tmp_path / "again")]
    run_training(load_recipe("recipes/quickstart.yaml", [*words, *again]), resume=True)
    for name in ("adapter_model.safetensors", "reward_model/adapters/adapter_model.safetensors"):
        ours, theirs = (load_file(tmp_path / run / "checkpoint-4" / name) for run in ("again", "straight"))
        assert ours.keys() == theirs.keys() and all(torch.equal(ours[key], theirs[key]) for key in theirs)
    loaded = VerifyRM.from_pretrained(folder / "reward_model")
    assert "score.weight" in loaded.model.state_dict() and not any("lora" in key for key in loaded.model.state_dict())
    assert 0 <= float(loaded.score(["What is 2 + 2?"], ["4"], ["It is 4."])) <= 1
    with pytest.raises(BadInputError, match="reward_model_sharded"):
        train(tmp_path / "sharded", "cooper", **settings, reward_model_sharded="true")
