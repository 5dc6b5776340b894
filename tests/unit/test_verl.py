"""The verl engine without verl: translation of settings, data, refusals, the order of a batch, the remote model."""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet
import pytest
import torch
from transformers import AutoTokenizer

from cooper_rl.checkpoints import complete_checkpoint, last_checkpoint
from cooper_rl.distributed import free_cache
from cooper_rl.doctor import print_findings
from cooper_rl.engines.loading import load_parts
from cooper_rl.engines.verl import limits, run, run_files
from cooper_rl.engines.verl.ranked_model import RemoteRewardModel
from cooper_rl.engines.verl.run import dotted_names, explain_end, run_training
from cooper_rl.engines.verl.run_files import is_dropped, row_of
from cooper_rl.engines.verl.translate import (
    at,
    cooper_settings,
    devices,
    prompts_per_step,
    run_settings,
    settings_of,
    verl_settings,
)
from cooper_rl.engines.verl.verl_data import (
    DataFiles,
    Rows,
    place_of,
    rewards_of,
    rows_of,
    sample_of,
    stable_order,
    whole_groups,
    write_data,
    write_rows,
)
from cooper_rl.errors import BadInputError
from cooper_rl.records import Batch, Problem, Reason, Sample, Triple, Verdict
from cooper_rl.settings.files import EMBEDDED
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.settings.train import TrainSettings
from cooper_rl.testing import check_reward_model
from rollouts import make_rollout

QUICKSTART = Path(__file__).parents[2] / "recipes" / "quickstart.yaml"
SCHEDULE = ["--lr_scheduler_type", "constant", "--lr_scheduler_kwargs", "null"]
FILES = DataFiles(Path("train.parquet"), Path("heldout.parquet"), 128, 4000)
ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"


def settings(*words):
    return TrainSettings.from_recipe(load_recipe(QUICKSTART, [*SCHEDULE, "--output_dir", "runs/x", *words]))


def test_a_recipe_in_verls_settings():
    found = verl_settings(settings("--verl", "{trainer.n_gpus_per_node: 2, trainer.nnodes: 2}"), FILES)
    expected = {
        "trainer.v1.trainer_mode": "cooper",
        "data.train_batch_size": 32,  # 64 completions on each of 4 devices, in groups of 8
        "data.max_prompt_length": 128,
        "data.max_response_length": 64,
        f"{ROLLOUT}.n": 8,
        f"{ROLLOUT}.top_k": -1,
        f"{ACTOR}.ppo_mini_batch_size": 32,  # one optimiser step on the batch
        f"{ACTOR}.ppo_micro_batch_size_per_gpu": 64,
        f"{ACTOR}.loss_agg_mode": "seq-mean-token-mean",
        f"{ACTOR}.use_kl_loss": True,
        f"{ACTOR}.kl_loss_coef": 0.001,
        f"{ACTOR}.optim.lr": 2e-4,
        f"{ACTOR}.optim.betas": [0.9, 0.95],
        f"{ACTOR}.optim.weight_decay": 0.0,  # TRL's default, where verl's is 0.01
        f"{ACTOR}.optim.lr_warmup_steps": -1,  # the schedule `constant` has no warmup, whatever warmup_steps says
        "actor_rollout_ref.model.path": str(EMBEDDED["nano-weekdays"]["policy"]),
        "trainer.default_local_dir": str(Path("runs/x").absolute()),
        "trainer.total_training_steps": 120,
        "trainer.save_freq": 60,
        "trainer.test_freq": 20,
        "trainer.resume_mode": "disable",
        "trainer.logger": ["console"],
    }
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("words", "place", "value"),
    [
        (["--bf16", "true"], f"{ROLLOUT}.dtype", "bfloat16"),
        (["--lr_scheduler_type", "cosine", "--warmup_steps", "0.1"], f"{ACTOR}.optim.lr_warmup_steps_ratio", 0.1),
        (["--lr_scheduler_type", "constant_with_warmup"], f"{ACTOR}.optim.lr_warmup_steps", 20),
        (["--beta", "0"], f"{ACTOR}.use_kl_loss", False),
        (["--loss_type", "dapo"], f"{ACTOR}.loss_agg_mode", "token-mean"),
        (["--scale_rewards", "none"], "algorithm.norm_adv_by_std_in_grpo", False),
        (["--epsilon", "0.1", "--epsilon_high", "0.3"], f"{ACTOR}.clip_ratio_high", 0.3),
        (["--gradient_accumulation_steps", "4"], "data.train_batch_size", 256),
        (["--max_steps", "-1", "--num_train_epochs", "2"], "trainer.total_epochs", 2),
        (["--report_to", "wandb"], "trainer.logger", ["console", "wandb"]),
        (["--vllm_tensor_parallel_size", "2"], f"{ROLLOUT}.tensor_model_parallel_size", 2),
        (["--verl", "{actor_rollout_ref.rollout.name: sglang}"], f"{ROLLOUT}.name", "sglang"),
        (["--heldout_temperature", "0"], f"{ROLLOUT}.val_kwargs.do_sample", False),
        (["--max_grad_norm", "0"], f"{ACTOR}.grad_clip", 1e9),  # TRL's 0 means no clipping; verl's makes gradients 0
    ],
)
def test_one_setting_in_verls_settings(words, place, value):
    limits.check_supported(settings(*words))
    assert verl_settings(settings(*words), FILES)[place] == value


ATTENTION = "+actor_rollout_ref.model.override_config.attn_implementation"


@pytest.mark.parametrize(("able", "kind"), [(True, "bfloat16"), (False, "float32")])
def test_without_a_word_the_gpu_decides_on_bfloat16(monkeypatch, able, kind):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda including_emulation: able)
    found = verl_settings(settings(), FILES)
    assert found[f"{ROLLOUT}.dtype"] == kind
    assert found[f"+{ACTOR}.fsdp_config.mixed_precision"]["param_dtype"] == ("bf16" if able else "fp32")


@pytest.mark.parametrize(
    ("installed", "bf16", "packed"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_flash_attention_is_taken_where_it_is_installed_and_can_be(monkeypatch, installed, bf16, packed):
    monkeypatch.setattr("cooper_rl.engines.verl.translate.find_spec", lambda name: name if installed else None)
    found = verl_settings(settings("--bf16", str(bf16).lower()), FILES)
    assert found.get(ATTENTION) == (None if packed else "sdpa")
    assert found.get("actor_rollout_ref.model.use_remove_padding", True) is packed


def test_local_files_are_named_so_that_a_process_elsewhere_finds_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "tiny").mkdir(parents=True)
    (tmp_path / "anchors.jsonl").write_text("")
    words = ["--model_name_or_path", "models/tiny", "--reward_model_name_or_path", "Org/Tiny"]
    chosen = settings(*words, "--anchor_triples", "anchors.jsonl")
    recipe = load_recipe(QUICKSTART, [*SCHEDULE, *words, "--anchor_triples", "anchors.jsonl"])
    found = cooper_settings(chosen, recipe)
    assert found["reward_model_name_or_path"] == found["model_name_or_path"] == str(tmp_path / "models" / "tiny")
    assert found["anchor_triples"] == str(tmp_path / "anchors.jsonl")
    assert found["rehearsal_triples"] == "nano-weekdays", "a shipped set keeps its name"
    assert verl_settings(chosen, FILES)["actor_rollout_ref.model.path"] == str(tmp_path / "models" / "tiny")


def test_without_held_out_problems_verl_does_not_validate():
    found = verl_settings(settings(), DataFiles(Path("train.parquet"), None, 64, 4000), resume=True)
    assert (found["trainer.test_freq"], found["trainer.val_before_train"]) == (-1, False)
    assert found["data.val_files"] == "train.parquet" and found["trainer.resume_mode"] == "auto"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lora_rank", "4"], "lora_rank = 4: the verl engine supports 0 only"),
        (["--num_iterations", "2"], "num_iterations = 2: the verl engine supports 1 only"),
        (["--credit", "centred"], "credit = 'centred': the verl engine supports 'outcome' only"),
        (["--loss_type", "bnpo"], "loss_type = 'bnpo': the verl engine supports 'grpo', 'dapo' only"),
        (["--use_vllm", "false"], "use_vllm = False: the verl engine supports True only"),
        (["--delta", "3.0"], "delta: the verl engine does not translate it"),
        (["--lr_scheduler_type", "linear"], "lr_scheduler_type = 'linear': the verl engine supports 'constant'"),
        (["--lr_scheduler_kwargs", "{a: 1}"], "lr_scheduler_kwargs: verl's schedules have none"),
        (["--lr_scheduler_type", "null"], "is not"),
        (["--save_steps", "0.5"], "save_steps = 0.5: verl saves after whole steps"),
        (["--steps_per_generation", "4"], "steps_per_generation = 4: the verl engine takes one optimiser step"),
        (["--max_steps", "-1", "--num_train_epochs", "1.5"], "num_train_epochs = 1.5: verl counts whole epochs"),
        (["--negative_sources", "{assistant: 1}"], "assistant_base_url is not set: on verl the assistant runs on a"),
        (["--reward_model_sharded", "true", "--reward_model_lora_rank", "4"], "adapters cannot be sharded"),
        (["--model_name_or_path", "m.gguf"], "verl reads no GGUF"),
        (["--report_to", "comet_ml"], "report_to = 'comet_ml': verl has none of that name; it has none, clearml"),
        (["--per_device_train_batch_size", "3"], "24 completions a step .* 8 devices.* multiple of num_generations"),
    ],
)
def test_what_the_verl_engine_does_not_have_is_refused(words, message):
    with pytest.raises(BadInputError, match=message):
        chosen = [*words, "--num_generations", "16"] if "per_device" in words[0] else words
        run_training(load_recipe(QUICKSTART, [*SCHEDULE, "--output_dir", "runs/x", *chosen]))
    assert not Path("runs/x").exists()


def on_a_machine(monkeypatch, installed, gpus=0):
    """As on a machine with these packages and GPUs, and without a Ray cluster."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(limits, "find_spec", lambda name: name in installed or None)
    monkeypatch.setattr("torch.cuda.device_count", lambda: gpus)


@pytest.mark.parametrize(
    ("installed", "gpus", "line"),
    [
        ([], 8, "verl is not installed: in a clone of cooper-rl, pip install '.[verl]'"),
        (["verl"], 8, "vllm, which serves the rollouts, is not installed: docs/verl.md names the version to install"),
        (["verl", "vllm"], 1, "1 GPUs here, and the run takes 2: name a Ray cluster that has them in RAY_ADDRESS, set"),
    ],
)
def test_what_this_machine_lacks_is_refused_before_ray_is_started(monkeypatch, capsys, tmp_path, installed, gpus, line):
    on_a_machine(monkeypatch, installed, gpus)
    words = ["--verl", "{trainer.n_gpus_per_node: 2}", "--output_dir", str(tmp_path / "run")]
    monkeypatch.setattr(run, "configuration", lambda *_, **__: pytest.fail("it goes on to ray"))
    with pytest.raises(BadInputError) as refused:
        run_training(load_recipe(QUICKSTART, [*SCHEDULE, *words]))
    assert str(refused.value).startswith(f"--engine verl: {line}") and not (tmp_path / "run").exists()
    recipe = load_recipe(QUICKSTART, [*SCHEDULE, *words])
    assert print_findings(recipe, as_json=False, engine="verl") == 1
    assert f"fail  engine verl                          {line}" in capsys.readouterr().out


def test_nothing_is_lacking_on_a_cluster_on_cpus_or_where_all_is_there(monkeypatch):
    chosen = settings("--verl", "{trainer.n_gpus_per_node: 2}")
    on_a_machine(monkeypatch, ["verl", "vllm"], 2)
    assert list(limits.missing_here(chosen)) == []
    on_a_machine(monkeypatch, ["verl"])
    assert len(list(limits.missing_here())) == len(list(limits.missing_here(chosen))) == 2
    own = settings("--verl", "{trainer.device: cpu, actor_rollout_ref.rollout.name: seeded}")
    assert list(limits.missing_here(own)) == []
    assert list(limits.missing_here(settings("--verl", "{+ray_kwargs.ray_init.address: auto}"))) == []
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert list(limits.missing_here(chosen)) == []


def test_a_schedule_that_is_not_named_is_refused():
    recipe = load_recipe(QUICKSTART, ["--output_dir", "runs/x"])
    del recipe["lr_scheduler_type"], recipe["lr_scheduler_kwargs"]
    with pytest.raises(BadInputError, match="lr_scheduler_type is not set, and its default, linear, is none of verl's"):
        limits.check_supported(TrainSettings.from_recipe(recipe))


def test_every_setting_of_trl_is_read_or_refused():
    assert not set(limits.READ) & set(limits.ONLY)
    from cooper_rl.settings.recipe import trl_fields

    assert {*limits.READ, *limits.ONLY} - {"lora_rank", "credit"} <= set(trl_fields())


def test_a_batch_that_only_all_devices_together_make_whole_is_no_error(tmp_path):
    from cooper_rl.cli.training import check_before_training

    words = ["--per_device_train_batch_size", "4", "--num_generations", "16", "--output_dir", str(tmp_path / "run")]
    recipe = load_recipe(QUICKSTART, [*SCHEDULE, *words])
    check_before_training(recipe, engine="verl")
    assert prompts_per_step(TrainSettings.from_recipe(recipe)) == 2
    with pytest.raises(BadInputError, match="is not a multiple of num_generations = 16"):
        check_before_training(recipe)


def test_devices_are_those_of_all_nodes():
    assert devices(settings()) == 8 and prompts_per_step(settings()) == 64
    assert devices(settings("--verl", "{trainer.nnodes: 2}")) == 16


def test_problems_as_verls_rows_and_back(tmp_path):
    problems = [Problem("1 + 1?", "2", "made", "p1", {"worked_solution": "So 2."}), Problem("2 + 2?", "4")]
    path = write_rows(tmp_path / "problems" / "train.parquet", rows_of(problems, "made", "Think."))
    rows = pyarrow.parquet.read_table(path).to_pylist()
    assert rows[0]["prompt"] == [
        {"role": "system", "content": "Think."},
        {"role": "user", "content": "1 + 1?"},
    ]
    back = [sample_of({**row, "raw_prompt": row["prompt"]}, "It is 2.") for row in rows]
    assert back == [Sample("1 + 1?", "2", "It is 2.", "p1", "So 2."), Sample("2 + 2?", "4", "It is 2.")]


def test_a_file_named_for_training_and_measuring_is_warned_of_in_every_engine(tmp_path, caplog):
    (tmp_path / "own.jsonl").write_text("".join(f'{{"question": "{i} + 1?", "answer": {i + 1}}}\n' for i in range(30)))
    data = ["--dataset_name", str(tmp_path / "own.jsonl"), "--heldout_dataset_name", str(tmp_path / "own.jsonl")]
    sizes = ["--dataset_size", "30", "--heldout_dataset_size", "5", "--arm", "rule", "--output_dir", str(tmp_path)]
    named = settings(*data, *sizes)
    write_data(named, AutoTokenizer.from_pretrained(EMBEDDED["nano-weekdays"]["policy"]))
    load_parts(named, named)
    assert len([line for line in caplog.messages if line.startswith("5 of 5 held-out questions are training")]) == 2


def test_a_users_own_row_needs_a_reference_answer_only():
    row = {"raw_prompt": [{"role": "user", "content": "1 + 1?"}], "reward_model": {"ground_truth": 2}}
    assert sample_of(row, "2") == Sample("1 + 1?", "2", "2")
    with pytest.raises(BadInputError, match=r"data row 7: no reward_model.ground_truth"):
        sample_of({**row, "reward_model": {}, "extra_info": {"index": 7}}, "2")


def test_a_row_with_several_answers_or_a_long_prompt():
    said = [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "<think>"}]
    row = {"raw_prompt": np.array(said, dtype=object), "reward_model": {"ground_truth": np.array([2, 2.5])}}
    assert sample_of(row, "2") == Sample("1 + 1?", "2", "2", aliases=("2.5",))
    (written,) = rows_of([Problem("1 + 1?", "2", aliases=("two", "II"))], "made")
    assert sample_of({**written, "raw_prompt": written["prompt"]}, "2").references == ("2", "two", "II")
    assert "aliases" not in rows_of([Problem("1 + 1?", "2")], "made")[0]["extra_info"]
    for truth, message in (({"a": 1}, "holds a dict"), (float("nan"), "is nan"), ([], "is an empty list")):
        with pytest.raises(BadInputError, match=rf"data row \?: column 'reward_model.ground_truth' {message}"):
            sample_of({**row, "reward_model": {"ground_truth": truth}}, "2")
    with pytest.raises(BadInputError, match=r"data row \?: the question is blank"):
        sample_of({**row, "raw_prompt": said[1:]}, "2")


def rows(*listed):
    """Rows from (uid, index, response)."""
    uids, indices, responses = zip(*listed, strict=True)
    return Rows(uids, indices, responses, [Sample(uid, "", str(ids)) for uid, _, ids in listed])


def test_the_order_of_a_batch_does_not_depend_on_who_answered_first():
    listed = [("b", 1, [9]), ("a", 2, [5]), ("b", 1, [3]), ("a", 2, [4]), ("c", 1, [8])]
    batches = [rows(*listed), rows(*listed[::-1]), rows(*[(uid + "x", i, ids) for uid, i, ids in listed])]
    ordered = [batch.select(stable_order(batch)) for batch in batches]
    assert [list(batch.responses) for batch in ordered] == [[[3], [9], [8], [4], [5]]] * 3
    assert list(ordered[0].uids) == ["b", "b", "c", "a", "a"]


def test_any_index_of_a_users_rows_gives_an_order():
    places = [place_of(index) for index in ("b7", 10, None, np.int64(9), "a2")]
    assert sorted(range(5), key=places.__getitem__) == [3, 1, 2, 4, 0]


def test_a_prompt_that_lacks_rollouts_has_reward_0():
    batch = rows(("a", 0, [1]), ("a", 0, [2]), ("b", 1, [3]), ("c", 2, [4]), ("c", 2, [5]))
    whole = whole_groups(batch, 2)
    assert whole == [0, 1, 3, 4]
    assert rewards_of(rewarded(0.1, 0.2, 0.3, 0.4), whole, 5) == [0.1, 0.2, 0.0, 0.3, 0.4]


def test_what_could_not_be_judged_has_its_groups_mean_reward():
    """So that its advantage is 0: verl has no value for "no reward"."""
    assert rewards_of(rewarded(1.0, None, None, None), range(4), 4) == [1.0, 1.0, 0.0, 0.0]
    assert rewards_of(rewarded(1.0, 0.0, None, 0.5, size=4), range(4), 4) == [1.0, 0.0, 0.5, 0.5]


def rewarded(*rewards, size=2):
    judged = Verdict.CORRECT, Reason.MATCH
    rollouts = [make_rollout("q", "1", "1", 0.5, *judged, reward, i // size) for i, reward in enumerate(rewards)]
    return Batch(1, tuple(rollouts))


CONFIGURATION = {
    "trainer": {"default_local_dir": "/runs/x", "v1": {"sampler": {"custom_sampler": {"path": None}}}},
    "data": {"max_response_length": 64, "seed": 3},
    "actor_rollout_ref": {
        "rollout": {"n": 8},
        "actor": {"ppo_micro_batch_size_per_gpu": 4, "checkpoint": {"async_save": False}},
        "model": {"path": str(EMBEDDED["nano"]["policy"])},
    },
    "reward": {"reward_model": {"enable": False}},
    "cooper": {"reward_model_name_or_path": "nano", "pairs_per_prompt": 1, "negative_sources": {"mined": 1}},
}


def test_the_settings_of_a_run_out_of_verls_configuration():
    found = settings_of(CONFIGURATION)
    assert (found.num_generations, found.max_completion_length, found.seed, found.arm) == (8, 64, 3, "cooper")
    assert found.pairs_per_prompt == 1 and found.output_dir == "/runs/x"
    written = run_settings(CONFIGURATION, found)
    assert written["num_generations"] == 8 and written["pairs_per_prompt"] == 1 and written["cotrain"] is True
    assert at(CONFIGURATION, "data.seed") == 3 and at(CONFIGURATION, "data.seed.x") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cooper": {"pairs_per_promt": 1}}, "cooper: unknown key 'pairs_per_promt'; did you mean 'pairs_per_prompt'"),
        ({"cooper": {"pairs_per_prompt": "many"}}, "cooper: pairs_per_prompt: 'many' is not a whole number"),
        ({"cooper": {"num_generations": 4}}, "cooper.num_generations = 4 contradicts actor_rollout_ref.rollout.n = 8"),
        ({"cooper": {"temperature": 0.5}}, "cooper.temperature: not a setting of Cooper's own; give verl's"),
        ({"cooper": {"model_name_or_path": "nano-weekdays"}}, "cooper.model_name_or_path contradicts"),
        ({"cooper": {"learning_rate": 0.1}}, "cooper.learning_rate: verl has a setting of its own for it"),
        ({"cooper": {"lora_rank": 16}}, "cooper.lora_rank: verl has a setting of its own for it"),
        ({"cooper": {"dataset_name": "gsm8k"}}, "cooper.dataset_name: verl has a setting of its own for it"),
        ({"cooper": {"heldout_temperature": 0.5}}, "cooper.heldout_temperature: verl has a setting of its own"),
        ({"cooper": {"seed": 7}}, "cooper.seed = 7 contradicts data.seed = 3"),
        (
            {"cooper": {"credit": "reference_gain"}},
            "credit = 'reference_gain': the verl engine supports 'outcome' only",
        ),
        ({"cooper": {"reward_model_alone_steps": 3}}, "reward_model_alone_steps: on verl the policy cannot wait"),
        ({"cooper": {"reward_model_name_or_path": "nano"}}, "assistant_base_url is not set"),
        ({"reward": {"reward_model": {"enable": True}}}, "reward.reward_model.enable = True: the trainer cooper needs"),
    ],
)
def test_a_configuration_that_does_not_go_is_refused(change, message):
    with pytest.raises(BadInputError, match=message):
        settings_of({**CONFIGURATION, **change})


def test_what_a_recipe_passes_through_verl_comes_back():
    """The method's settings of a run by `cooper train --engine verl` are the recipe's."""
    recipe = load_recipe(QUICKSTART, [*SCHEDULE, "--output_dir", "/runs/x", "--arm", "static"])
    chosen = TrainSettings.from_recipe(recipe)
    tree = json.loads(json.dumps(CONFIGURATION))
    for place, value in verl_settings(chosen, FILES).items():
        *above, last = place.removeprefix("+").split(".")
        part = tree
        for name in above:
            part = part.setdefault(name, {})
        part[last] = value
    found = settings_of({**tree, "cooper": cooper_settings(chosen, recipe), "cooper_recipe": recipe})
    differing = {name for name in vars(found) if getattr(found, name) != getattr(chosen, name)}
    assert differing == {"max_steps", "trainer_kwargs"}  # the trainer sets the one; verl has read the other


def test_a_line_of_metrics():
    times = {"gen": 2.0, "old_log_prob": 0.5, "update_actor": 1.0, "step": 9.0}
    found = row_of({"actor/grad_norm": 0.5, "actor/kl_loss": 0.1, "response_length/mean": 30, "note": "x"}, times)
    assert found["grad_norm"] == 0.5 and found["kl"] == 0.1 and found["completions/mean_length"] == 30
    assert found["time/generate_seconds"] == 2.0 and found["time/policy_seconds"] == 1.5 and "note" not in found
    assert not is_dropped({"actor/grad_norm": 0.5}) and is_dropped({"actor/grad_norm": float("nan")})


class Ranks:
    """The ranks of a worker group, in this process, each with a model of its own."""

    def __init__(self, models):
        self.models = models
        self.calls = []

    def __call__(self, name, *shares):
        self.calls.append((name, shares))
        return [getattr(model, name)(*own) for model, own in zip(self.models, zip(*shares, strict=True), strict=True)]


def ranks_of(count):
    from cooper_rl.engines.verl.ranked_model import RewardModelRank

    chosen = settings("--reward_model_learning_rate", "1e-4", "--reward_model_warmup_steps", "2")
    return Ranks([RewardModelRank(chosen, "cpu") for _ in range(count)])


def test_the_remote_reward_model_keeps_the_contract(tmp_path):
    ranks = ranks_of(1)
    check_reward_model(RemoteRewardModel(ranks, 1), RemoteRewardModel(ranks_of(1), 1), tmp_path)
    gc.collect()
    assert ranks.models[0].snapshots == {}, "a snapshot that nothing refers to is freed on the ranks"


def test_the_reward_model_leaves_no_memory_to_itself_that_the_rollout_server_needs(monkeypatch, tmp_path):
    """It is a process of its own on the policy's device, where the server wakes after it."""
    freed = []
    monkeypatch.setattr("cooper_rl.engines.verl.ranked_model.free_cache", lambda device: freed.append(device.type))
    rank = ranks_of(1).models[0]
    triple = [Triple("What is 1 + 1?", "2", "It is 2.")]
    calls = ((rank.score, triple), (rank.start_scores, triple), (rank.snapshot, 1), (rank.restore, 1))
    for call, argument in (*calls, (rank.save, tmp_path / "state"), (rank.load, tmp_path / "state")):
        call(argument)
    rank.update([], [])
    assert freed == ["cpu"] * 7
    free_cache(torch.device("cpu"))  # has none


def test_records_are_shared_out_and_scores_come_back_in_order():
    class Scorer:
        def score(self, share):
            return [float(record.completion) for record in share]

    ranks = Ranks([Scorer() for _ in range(3)])
    records = [Triple("q", "r", str(i)) for i in range(7)]
    assert RemoteRewardModel(ranks, 3).score(records) == [float(i) for i in range(7)]
    assert [len(share) for share in ranks.calls[0][1][0]] == [2, 2, 3]
    assert RemoteRewardModel(ranks, 3).score([]) == []


def test_the_newest_complete_checkpoint_is_chosen(tmp_path):
    def config(mode, path=None):
        trainer = {"resume_mode": mode, "resume_from_path": path, "default_local_dir": str(tmp_path)}
        return SimpleNamespace(trainer=SimpleNamespace(**trainer))

    empty = config("auto")
    run_files.choose_checkpoint(empty)
    assert empty.trainer.resume_mode == "disable"
    for step in (2, 4, 10):
        folder = tmp_path / f"{run_files.PREFIX}{step}"
        folder.mkdir()
        (folder / "monitors.json").write_text("{}")
        if step < 10:
            complete_checkpoint(folder, step)  # the last one was cut off
    found = config("auto")
    run_files.choose_checkpoint(found)
    assert found.trainer.resume_from_path == str(tmp_path / "global_step_4")
    assert last_checkpoint(tmp_path) is None
    with pytest.raises(BadInputError, match=r"no monitors.json; it is no checkpoint of the trainer cooper"):
        run_files.choose_checkpoint(config("resume_path", str(tmp_path)))
    with pytest.raises(BadInputError, match=r"global_step_10: an older run's checkpoint; choose another folder"):
        run_files.choose_checkpoint(config("disable"))
    run_files.finish_checkpoint(tmp_path / "global_step_10", 10, 2)
    assert {path.name for path in tmp_path.iterdir()} == {"global_step_4", "global_step_10"}


def test_no_checkpoint_but_the_runs_own_older_ones_is_deleted(tmp_path):
    for step in (20, 40, 60, 280, 300):
        (tmp_path / f"{run_files.PREFIX}{step}").mkdir()
    for step in (40, 60, 280):
        complete_checkpoint(tmp_path / f"{run_files.PREFIX}{step}", step)
    run_files.finish_checkpoint(tmp_path / "global_step_60", 60, None)
    run_files.finish_checkpoint(tmp_path / "global_step_60", 60, 2)
    assert {int(path.name.removeprefix(run_files.PREFIX)) for path in tmp_path.iterdir()} == {20, 40, 60, 280, 300}
    (tmp_path / "global_step_80").mkdir()
    run_files.finish_checkpoint(tmp_path / "global_step_80", 80, 2)
    assert {int(path.name.removeprefix(run_files.PREFIX)) for path in tmp_path.iterdir()} == {20, 60, 80, 280, 300}


def test_another_trainers_checkpoints_are_not_taken_for_the_runs(tmp_path):
    folder = tmp_path / "global_step_20"
    folder.mkdir()
    (folder / "data.pt").write_bytes(b"")
    trainer = {"resume_mode": "auto", "resume_from_path": None, "default_local_dir": str(tmp_path)}
    with pytest.raises(BadInputError, match=r"global_step_20: no monitors.json; it is another trainer's checkpoint"):
        run_files.choose_checkpoint(SimpleNamespace(trainer=SimpleNamespace(**trainer)))


def test_how_a_run_ended_is_one_line():
    told = explain_end(settings(), RuntimeError("\nfirst line\nsecond line"))
    assert told.startswith("runs/x: the run on verl ended early (RuntimeError: first line)") and "\n" not in told
    assert dotted_names({"a": {"b": 1}, "c": 2}) == {"a", "a.b", "c"}


PLUGIN = """
import importlib, logging, sys, types
logging.basicConfig(format="%(message)s")
for name in ("verl", "verl.utils", "verl.utils.import_utils", "verl.trainer", "verl.trainer.ppo"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [sys.argv[1]]
sys.modules["verl.utils"].import_utils = sys.modules["verl.utils.import_utils"]
import cooper_rl.engines.verl.plugin as plugin
assert plugin.is_plugin_loaded() and not sys.modules["verl.utils.import_utils"].is_trl_available()
assert "cooper_rl.engines.verl.ppo_trainer" not in sys.modules
assert importlib.import_module("verl.trainer.ppo.v1").executed
"""


def test_a_plugin_that_cannot_be_loaded_says_so(tmp_path):
    """In place of verl there are empty modules, so that the plugin loads, and its trainer does not."""
    (tmp_path / "v1.py").write_text("executed = True\n")
    done = subprocess.run([sys.executable, "-c", PLUGIN, str(tmp_path)], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert "cooper-rl: trainer.v1.trainer_mode=cooper is not there, since its trainer cannot be loaded" in done.stderr
