"""`cooper train`: one run into a run folder, from a recipe."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import platform
import signal
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import yaml

from cooper_rl.domains import load_problems, truth_of
from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.engines.trl.trainer import CooperTrainer, training_rows
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.generation import Generator, OpenAIServer
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.jsonl import write_atomically
from cooper_rl.method import run_files
from cooper_rl.settings.files import EMBEDDED, resolve_model
from cooper_rl.settings.train import TrainRecipe
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.model import adapter_settings
from cooper_rl.verifyrm.triples import read_triples

logger = logging.getLogger(__name__)
PACKAGES = ("torch", "transformers", "trl", "accelerate", "datasets", "math-verify", "reasoning-gym", "cooper-rl")


def run_training(recipe: dict[str, Any], *, resume: bool = False) -> None:
    """Trains as the recipe says; with `resume`, goes on from the last complete checkpoint or from the start."""
    names = {field.name for field in dataclasses.fields(TrainRecipe)}
    settings = TrainRecipe(**{key: value for key, value in recipe.items() if key in names})
    try:
        config = CooperConfig(**{key: value for key, value in recipe.items() if key not in names})
    except BadInputError:
        raise
    except (ValueError, TypeError) as error:
        raise BadInputError(f"settings: {' '.join(str(error).split())}") from error
    trainer = build_trainer(settings, config)
    checkpoint = run_files.last_checkpoint(config.output_dir) if resume else None
    if trainer.accelerator.is_main_process:
        run_files.rewind(config.output_dir, int(checkpoint.name.split("-")[1]) if checkpoint else -1)
        write_records_of_origin(recipe, config)
    trainer.accelerator.wait_for_everyone()
    started = time.monotonic()
    before = signal.signal(signal.SIGTERM, lambda *_: setattr(trainer, "signalled", True))
    try:
        with trainer.verifier:
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    finally:
        signal.signal(signal.SIGTERM, before)
    step = trainer.state.global_step
    stopped = step < trainer.state.max_steps and trainer.stop_asked()
    trainer.accelerator.wait_for_everyone()  # a rank that stops early ends without waiting
    if stopped:
        if trainer.signalled or not trainer.stopped_by_alarm:  # the signal may have come to another rank
            logger.warning("SIGTERM: stopped after step %d with a checkpoint; --resume goes on", step)
            raise SystemExit(128 + signal.SIGTERM)
        raise CooperError(
            f"{config.output_dir}: the hacking alarm stopped the run after step {step}, with a checkpoint; look at the"
            " report, then go on with --resume --alarm_action log (or hybrid)"
        )
    if trainer.accelerator.is_main_process:
        finished = {"step": step, "seconds": time.monotonic() - started}
        write_atomically(Path(config.output_dir) / "finished.json", json.dumps(finished) + "\n")


def build_trainer(settings: TrainRecipe, config: CooperConfig) -> CooperTrainer:
    """The trainer with its models, data and held-out measurements."""
    problems = load_problems(
        settings.dataset_name,
        split=settings.dataset_split,
        size=settings.dataset_size,
        seed=settings.dataset_seed,
    )
    reward_model = None
    if config.arm != "rule":
        assert settings.reward_model_name_or_path
        reward_model = VerifyRM.from_pretrained(resolve_model(settings.reward_model_name_or_path, "reward_model"))
        if settings.reward_model_lora_rank and config.arm == "cooper":
            reward_model.add_adapters(settings.reward_model_lora_rank, settings.reward_model_lora_alpha)
    rehearsal = []
    if settings.rehearsal_triples and config.arm == "cooper":
        rehearsal = read_triples(resolve_triples(settings.rehearsal_triples, "train"))
    anchors = []
    if settings.anchor_triples and config.arm == "cooper":
        anchors = read_triples(resolve_triples(settings.anchor_triples, "anchors"))[: settings.anchor_triples_size]
    adapters = adapter_settings("CAUSAL_LM", settings.lora_rank, settings.lora_alpha) if settings.lora_rank else None
    return CooperTrainer(
        resolve_model(settings.model_name_or_path, "policy"),
        reward_model,
        config,
        training_rows(problems, settings.system_prompt),
        assistant=build_assistant(settings, config),
        heldout=build_heldout(settings, config),
        rehearsal=rehearsal,
        anchors=anchors,
        peft_config=adapters,
    )


def build_assistant(settings: TrainRecipe, config: CooperConfig) -> Generator | None:
    """A server, or a model of its own in this process; None where the policy's base model rewrites, or nobody does."""
    if not config.asks_assistant:
        return None
    if settings.assistant_base_url:
        return OpenAIServer(
            settings.assistant_base_url,
            settings.assistant_model or "default",
            concurrency=settings.assistant_concurrency,
            timeout_seconds=settings.assistant_timeout_seconds,
            batch_seconds=settings.assistant_batch_seconds,
        )
    if settings.assistant_model:
        return TransformersGenerator.from_pretrained(resolve_model(settings.assistant_model, "policy"))
    return None


def build_heldout(settings: TrainRecipe, config: CooperConfig) -> HeldOut | None:
    """What the recipe names for measuring, or None."""
    if not settings.heldout_dataset_name and not settings.heldout_triples:
        return None
    problems, triples = [], []
    if settings.heldout_dataset_name:
        problems = load_problems(
            settings.heldout_dataset_name,
            split=settings.heldout_dataset_split,
            size=settings.heldout_dataset_size,
            seed=settings.dataset_seed,
        )
    if settings.heldout_triples and config.arm != "rule":
        path = resolve_triples(settings.heldout_triples, "heldout")
        triples = read_triples(path)[: settings.heldout_triples_size]
    truth = truth_of(settings.heldout_dataset_name or "")
    return HeldOut(config, problems, truth, triples, settings.system_prompt)


def resolve_triples(name: str, part: str) -> str:
    """A name of `EMBEDDED` is a file that the package ships (part: heldout, anchors or train); any other is itself."""
    return str(EMBEDDED[name]["reward_model"] / f"{part}.jsonl.gz") if name in EMBEDDED else name


def write_records_of_origin(recipe: dict[str, Any], config: CooperConfig) -> None:
    """config.yaml and environment.json: all that is needed to do the run again."""
    folder = Path(config.output_dir)
    resolved = {**recipe, "seed": config.seed, "max_steps": config.max_steps, "arm": config.arm}
    write_atomically(folder / "config.yaml", yaml.safe_dump(resolved, sort_keys=True))
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    ).stdout.strip()
    environment = {
        "versions": {name: version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "commit": commit or None,
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "devices": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        "seed": config.seed,
    }
    write_atomically(folder / "environment.json", json.dumps(environment, indent=2) + "\n")
