"""The dry step of `cooper doctor --config R`: two steps of the run, in a process of its own, to measure its memory.

They are the largest that the recipe allows. No completion may end before `max_completion_length`, and a stand-in for
the verifier calls half of them correct, so that there are pairs for the reward model. Two steps are taken, since the
optimisers' state is made in the first. Left out: held-out measurements, checkpoints, trackers and the hub. A run of
many ranks is not tried: the process sees one device.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NoReturn
from zlib import crc32

import yaml

from cooper_rl import distributed
from cooper_rl.records import Verification
from cooper_rl.settings.files import base_of, looks_local, resolve_model
from cooper_rl.settings.train import TrainSettings

SECONDS = 600.0  # after which a dry step is given up
PEAK = "memory/peak_gigabytes"
PAIRS = "pairs/count"
OUT_OF_MEMORY = ("OutOfMemoryError", "CUDA out of memory", "can't allocate memory")  # as torch and its allocators say
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
LEFT_OUT = {
    "logging_steps": 1,
    "save_strategy": "no",
    "report_to": "none",
    "push_to_hub": False,
    "heldout_dataset_name": None,
    "heldout_triples": None,
    "reward_model_alone_steps": 0,  # both models are updated in both steps
    "reward_model_update_steps": 1,
    "verifier": "cooper_rl.doctor.dry_step:call_half_correct",
}


@dataclass(frozen=True)
class DryStep:
    """What a dry step measured, or why it measured nothing.

    Attributes:
        gib: the peak memory in GiB: of the accelerator, or of the process on a CPU.
        pairs: the most pairs of a step.
        failure: one line, empty where the steps were taken.
        ended: False where they took too long, which says nothing about memory.
        memory: whether memory was what failed.
    """

    gib: float = 0.0
    pairs: int = 0
    failure: str = ""
    ended: bool = True
    memory: bool = False


def call_half_correct(reference: str, completion: str) -> Verification:
    """A stand-in for a verifier: half of all completions are CORRECT, the others INCORRECT, by their characters."""
    correct = crc32(completion.encode("utf-8", "replace")) % 2 == 0
    return Verification.compared(correct, reference, reference if correct else "")


def reason_against(settings: TrainSettings, engine: str) -> str:
    """Why no dry step can be taken, asked for or not; empty where one can."""
    if engine != "trl":
        return f"not taken with engine {engine}"
    if "WORLD_SIZE" in os.environ:
        return "not taken under a launcher"
    if settings.trainer_kwargs.get("vllm_mode") == "server":
        return "not taken: it would send weights to the vLLM server"
    return ""


def missing_model(settings: TrainSettings) -> str:
    """The first model of the recipe that a dry step would download; empty where all are on this machine."""
    named = [(settings.model_name_or_path, "policy")]
    if settings.needs_reward_model and settings.reward_model_type == "verifyrm":
        named.append((settings.reward_model_name_or_path or "", "reward_model"))
    if settings.asks_assistant and settings.assistant_model and not settings.assistant_base_url:
        named.append((settings.assistant_model, "policy"))
    return next((name for name, part in named if not _is_here(base_of(resolve_model(name, part)))), "")


def _is_here(name: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    if Path(name).exists() or looks_local(name):
        return True  # what does not exist is refused by the run itself
    return any(isinstance(try_to_load_from_cache(name, file), str) for file in WEIGHTS)


def suppressed_tokens(model: str) -> list[int]:
    """The tokens that would end a completion of this policy."""
    from transformers import AutoTokenizer, GenerationConfig

    from cooper_rl.generation.in_process import end_tokens

    folder = base_of(resolve_model(model, "policy"))
    try:
        own: Any = GenerationConfig.from_pretrained(folder)
    except OSError:  # it has none
        own = None
    return end_tokens(SimpleNamespace(generation_config=own), AutoTokenizer.from_pretrained(folder))


def recipe_of_two_steps(recipe: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The recipe of the largest two steps of this recipe, and of nothing beside them."""
    settings = TrainSettings.from_recipe(recipe)
    own = settings.trainer_kwargs
    longest = (
        {"ignore_eos": True}
        if own.get("use_vllm")
        else {"suppress_tokens": suppressed_tokens(settings.model_name_or_path)}
    )
    batches = settings.generation_batch // settings.per_device_train_batch_size  # this process generates all of them
    uses = batches * settings.num_iterations  # of a generation batch, by passes of the policy
    return {
        **recipe,
        **LEFT_OUT,
        "max_steps": 2 * max(1, uses // settings.gradient_accumulation_steps),
        "generation_kwargs": {**(own.get("generation_kwargs") or {}), **longest},
        "output_dir": str(folder / "run"),
    }


def take_step(recipe: Mapping[str, Any], seconds: float = SECONDS) -> DryStep:
    """Takes two steps of the recipe in a process of its own, and measures its peak memory.

    Args:
        seconds: after these the process is ended.
    """
    with TemporaryDirectory(prefix="cooper-dry-step-") as name, leaving_by_signals():
        folder = Path(name)
        (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe_of_two_steps(recipe, folder)))
        command = [sys.executable, "-m", "cooper_rl.cli", "train", "--config", str(folder / "recipe.yaml")]
        first = distributed.visible_devices()[:1]
        with (folder / "log").open("w+b") as log:
            child = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=os.environ | ({"CUDA_VISIBLE_DEVICES": first[0]} if first else {}),
                start_new_session=True,
            )
            try:
                code = child.wait(seconds)
            except subprocess.TimeoutExpired:
                return DryStep(failure=f"not ended after {seconds:g} s", ended=False)
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
        if code:
            return explain_end(code, (folder / "log").read_text(errors="replace"))
        records = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    peaks = [record[PEAK] for record in records if PEAK in record]
    return DryStep(peaks[-1] * 1e9 / 2**30, int(max(record.get(PAIRS, 0) for record in records)))


@contextmanager
def leaving_by_signals() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP raise SystemExit, as Ctrl-C raises an error: what was begun is ended."""

    def leave(number: int, _: Any) -> NoReturn:
        raise SystemExit(128 + number)

    taken = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def explain_end(code: int, log: str) -> DryStep:
    """Why a dry step failed.

    Args:
        code: the process's exit code, or the signal that killed it as a negative number.
        log: what it wrote.
    """
    if any(words in log for words in OUT_OF_MEMORY):
        return DryStep(failure="it ran out of memory", memory=True)
    if code == -signal.SIGKILL:
        return DryStep(failure="it was killed, as a system does that has run out of memory", memory=True)
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return DryStep(failure=lines[-1] if lines else f"it ended with {code}")
