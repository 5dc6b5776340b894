"""The dry step of `cooper doctor --config R`: one step of the run, in a process of its own, to measure its memory.

The step is the largest that the recipe allows. No completion may end before `max_completion_length`, and a stand-in for
the verifier calls half of them correct, so that there are pairs for the reward model. Left out: held-out measurements,
checkpoints and trackers. A run of many ranks is not tried: the step sees one device.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import yaml

from cooper_rl.records import Verification
from cooper_rl.settings.files import base_of, resolve_model
from cooper_rl.settings.train import TrainSettings

SECONDS = 600.0  # after which a dry step is given up
PEAK = "memory/peak_gigabytes"
PAIRS = "pairs/count"
LEFT_OUT = {
    "max_steps": 1,
    "logging_steps": 1,
    "save_strategy": "no",
    "report_to": "none",
    "heldout_dataset_name": None,
    "heldout_triples": None,
    "verifier": "cooper_rl.doctor.dry_step:call_half_correct",
}


@dataclass(frozen=True)
class DryStep:
    """What a dry step measured, or why it measured nothing.

    `gib` is the peak memory in GiB: of the accelerator, or of the process on a CPU. `failure` is one line, empty where
    the step was taken; `ended` is false where the step took too long, which says nothing about memory.
    """

    gib: float = 0.0
    pairs: int = 0
    failure: str = ""
    ended: bool = True


def call_half_correct(reference: str, completion: str) -> Verification:
    """A stand-in for a verifier: half of all completions are CORRECT, the others INCORRECT, by their characters."""
    correct = crc32(completion.encode("utf-8", "replace")) % 2 == 0
    return Verification.compared(correct, reference, reference if correct else "")


def reason_to_skip(settings: TrainSettings, engine: str) -> str:
    """Why no dry step is taken unless it is asked for; empty where it is taken."""
    if engine != "trl":
        return f"not taken with engine {engine}"
    if "WORLD_SIZE" in os.environ:
        return "not taken under a launcher"
    named = {"policy": settings.model_name_or_path}
    if settings.needs_reward_model and settings.reward_model_type == "verifyrm":
        named["reward_model"] = settings.reward_model_name_or_path or ""
    for part, name in named.items():
        if not Path(base_of(resolve_model(name, part))).exists():
            return f"not taken: it would download {name}; --dry_step takes it"
    return ""


def end_tokens(model: str) -> list[int]:
    """The tokens that end a completion of this policy."""
    from transformers import AutoTokenizer, GenerationConfig

    folder = base_of(resolve_model(model, "policy"))
    found = {AutoTokenizer.from_pretrained(folder).eos_token_id}
    try:
        given = GenerationConfig.from_pretrained(folder).eos_token_id
    except OSError:  # it has none
        given = None
    found |= set(given) if isinstance(given, list) else {given}
    return sorted(token for token in found if token is not None)


def recipe_of_one_step(recipe: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The recipe of the step: the largest one of this recipe, and nothing beside it."""
    if recipe.get("use_vllm"):
        longest: dict[str, Any] = {"ignore_eos": True}
    else:
        longest = {"suppress_tokens": end_tokens(str(recipe["model_name_or_path"]))}
    chosen = {key: value for key, value in recipe.items() if key not in ("eval_strategy", "num_train_epochs")}
    generation = {**(recipe.get("generation_kwargs") or {}), **longest}
    return {**chosen, **LEFT_OUT, "generation_kwargs": generation, "output_dir": str(folder / "run")}


def take_step(recipe: Mapping[str, Any], seconds: float = SECONDS) -> DryStep:
    """Takes one step of the recipe in a process of its own, and measures its peak memory.

    Args:
        seconds: after these the process is ended.
    """
    with TemporaryDirectory(prefix="cooper-dry-step-") as name:
        folder = Path(name)
        (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe_of_one_step(recipe, folder)))
        command = [sys.executable, "-m", "cooper_rl.cli", "train", "--config", str(folder / "recipe.yaml")]
        with (folder / "log").open("w+b") as log:
            child = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                code = child.wait(seconds)
            except subprocess.TimeoutExpired:
                return DryStep(failure=f"not ended after {seconds:g} s", ended=False)
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
        if code:
            return DryStep(failure=explain_end(code, (folder / "log").read_text(errors="replace")))
        records = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    measured = [record for record in records if PEAK in record][-1]
    return DryStep(measured[PEAK] * 1e9 / 2**30, int(max(record.get(PAIRS, 0) for record in records)))


def explain_end(code: int, log: str) -> str:
    """One line on why a dry step failed."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if any("out of memory" in line.lower() for line in lines):
        return "it ran out of memory"
    if code == -signal.SIGKILL:
        return "it was killed, as a system does that has run out of memory"
    return lines[-1] if lines else f"it ended with {code}"
