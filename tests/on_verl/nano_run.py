"""The nano run of the tests, and what verl needs on a CPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ACTOR, ROLLOUT, REF = (f"actor_rollout_ref.{part}" for part in ("actor", "rollout", "ref"))
ENVIRONMENT = {
    "VERL_PLATFORM": "cpu",
    "VERL_USE_EXTERNAL_MODULES": "verl_cpu.load",
    "VERL_LOGGING_LEVEL": "WARN",
    "RAY_USAGE_STATS_ENABLED": "0",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT / "src")]),
}


def on_cpu(ranks=1):
    """Settings of verl for this many gloo ranks."""
    return {
        "trainer.device": "cpu",
        "trainer.n_gpus_per_node": ranks,
        "actor_rollout_ref.model.use_remove_padding": False,
        "+actor_rollout_ref.model.override_config.attn_implementation": "sdpa",
        f"{ACTOR}.use_torch_compile": False,
        f"{ACTOR}.fsdp_config.use_torch_compile": False,
        f"{REF}.fsdp_config.use_torch_compile": False,
        f"{ROLLOUT}.name": "seeded",
        f"{ROLLOUT}.tensor_model_parallel_size": ranks,  # one rollout server
        f"{ROLLOUT}.calculate_log_probs": True,  # verl compares them with the policy's own
        f"{ROLLOUT}.agent.num_workers": 1,
        "data.dataloader_num_workers": 0,
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": 1,
        "ray_kwargs.ray_init.num_cpus": 16,
        "+ray_kwargs.ray_init.num_gpus": ranks,
        "+ray_kwargs.ray_init.include_dashboard": False,
    }


NANO = {
    "arm": "cooper",
    "max_steps": 4,
    "save_steps": 2,
    "num_generations": 8,
    "dataset_size": 64,
    "heldout_dataset_size": 16,
    "heldout_triples_size": 40,
    "heldout_steps": 2,
    "heldout_temperature": 0.0,
    "anchor_triples_size": 40,
    "guard_probes": 1,
    "guard_sample": 8,
    "guard_steps": 2,
    "lr_scheduler_type": "constant_with_warmup",
    "lr_scheduler_kwargs": None,
    "warmup_steps": 2,
    "rehearsal_per_step": 12,
    "replay_per_step": 8,
}


def words(folder, ranks=1, **settings):
    """The arguments of `cooper train` for the nano run."""
    chosen = {**NANO, "per_device_train_batch_size": 64 // ranks, **settings, "output_dir": str(folder)}
    chosen["verl"] = {**on_cpu(ranks), **settings.get("verl", {})}
    given = [word for key, value in chosen.items() for word in (f"--{key}", json.dumps(value))]
    return ["train", "--config", str(ROOT / "recipes/quickstart.yaml"), "--engine", "verl", *given]


def start(module, arguments, log, **environment):
    """`python -m MODULE ARGUMENTS` as a process of its own; what it and its processes say goes into the log."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", module, *arguments],
        env={**os.environ, **ENVIRONMENT, **environment},
        stdout=log.open("w"),
        stderr=subprocess.STDOUT,
    )


def train(folder, ranks=1, *, resume=False, environment=None, **settings):
    """A whole run of `cooper train`; returns its metrics."""
    log = folder.parent / f"{folder.name}.log"
    arguments = words(folder, ranks, **settings) + ["--resume"] * resume
    code = start("cooper_rl.cli", arguments, log, **(environment or {})).wait()
    assert code == 0, log.read_text()[-6000:]
    return metrics(folder)


def metrics(folder):
    """The lines of metrics.jsonl by their step."""
    rows = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").open()]
    assert len({row["step"] for row in rows}) == len(rows), "a step is there twice"
    return {row["step"]: row for row in rows}
