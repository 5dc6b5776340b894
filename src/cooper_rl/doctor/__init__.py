"""`cooper doctor`: what this machine has, what will not work, why, and the way out."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from cooper_rl.engines.verl.limits import missing_here
from cooper_rl.engines.verl.translate import packs
from cooper_rl.errors import how_to_install
from cooper_rl.settings.files import ADAPTED, EMBEDDED, base_of, is_adapters
from cooper_rl.settings.train import TrainSettings

# (distribution, least version, first version that is not supported)
SUPPORTED = (
    ("torch", (2, 8), None),
    ("transformers", (5, 10), (5, 24)),
    ("trl", (1, 16), (1, 17)),
    ("accelerate", (1, 10), None),
    ("datasets", (4, 0), None),
    ("math-verify", (0, 9), None),
    ("reasoning-gym", (0, 1, 25), None),
)
OPTIONAL = {"reasoning-gym": f"the nano worlds and its tasks need it: {how_to_install('reasoning-gym')}"}

LONG = 1024  # tokens of a completion from which generating by transformers is most of a step on a GPU
ON_VERL = "engine verl"  # what a finding about this engine is called
DRY_STEP = "dry step"  # and one about steps that were taken
NO_MEMORY = "dry step, out of memory"
DDP_TIMEOUT = 1800  # transformers' default of ddp_timeout, in seconds


@dataclass(frozen=True)
class Finding:
    """One line of the output. `state` is ok, warn or fail."""

    state: str
    what: str
    detail: str


def release(text: str) -> tuple[int, ...]:
    """The leading numbers of a version."""
    numbers = []
    for part in text.split("+")[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def examine() -> Iterator[Finding]:
    """All findings, in the order to read them."""
    python_ok = (3, 11) <= sys.version_info[:2] <= (3, 13)
    yield Finding("ok" if python_ok else "warn", "python", f"{platform.python_version()} (supported: 3.11 to 3.13)")
    for name, least, beyond in SUPPORTED:
        yield package(name, least, beyond)
    yield from machine()
    for name, folders in EMBEDDED.items():
        missing = [part for part, folder in folders.items() if not (folder / "model.safetensors").is_file()]
        detail = f"missing {', '.join(missing)}: reinstall" if missing else str(folders["policy"].parent)
        yield Finding("fail" if missing else "ok", f"embedded {name}", detail)
    yield from check_adapters()
    yield from data()
    found = importlib.util.find_spec("vllm") is not None
    yield Finding("ok", "vllm", f"{version('vllm')}" if found else "not installed; only use_vllm needs it")


def check_adapters() -> Iterator[Finding]:
    """The reward models that are shipped as adapters, and where their bases come from."""
    for name, folder in ADAPTED.items():
        there = is_adapters(folder)
        base = base_of(folder)
        where = f"on {base}, from the hub when it is loaded" if not Path(base).is_dir() else f"on {base}"
        yield Finding("ok" if there else "fail", f"reward model {name}", where if there else "missing: reinstall")


def package(name: str, least: tuple[int, ...], beyond: tuple[int, ...] | None) -> Finding:
    """An installed version against the supported range."""
    try:
        installed = version(name)
    except PackageNotFoundError:
        if name in OPTIONAL:
            return Finding("warn", name, f"not installed: {OPTIONAL[name]}")
        return Finding("fail", name, "not installed: run make env")
    wanted = f">= {'.'.join(map(str, least))}" + (f", < {'.'.join(map(str, beyond))}" if beyond else "")
    fits = release(installed) >= least and (beyond is None or release(installed) < beyond)
    return Finding("ok" if fits else "warn", name, f"{installed} (supported: {wanted})")


def machine() -> Iterator[Finding]:
    """Cores, memory, disk and accelerators."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    yield Finding("ok", "processor", f"{os.cpu_count()} cores, {pages * size / 2**30:.0f} GiB memory")
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    yield Finding("ok" if free > 5 else "warn", "disk", f"{free:.0f} GiB free here")
    if importlib.util.find_spec("torch") is None:
        return
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    yield Finding("ok", "accelerator", ", ".join(names) if names else "none: bf16 and models beyond 0.5B will be slow")


def data() -> Iterator[Finding]:
    """Local copies of data sets, and whether the hub may be used."""
    folder = os.environ.get("COOPER_DATA_DIR")
    if not folder:
        yield Finding("ok", "data", "COOPER_DATA_DIR is not set: public sets come from the hub")
    elif not Path(folder).is_dir():
        yield Finding("fail", "data", f"COOPER_DATA_DIR={folder} is not a folder: set it to one, or unset it")
    else:
        count = sum(1 for _ in Path(folder).rglob("*.json*"))
        yield Finding("ok" if count else "warn", "data", f"COOPER_DATA_DIR={folder}: {count} files")
    offline = os.environ.get("HF_HUB_OFFLINE") == "1"
    yield Finding("ok", "hub", "offline (HF_HUB_OFFLINE=1)" if offline else "used for names that are not local")


def estimate_memory(settings: TrainSettings, engine: str = "trl") -> Iterator[Finding]:
    """The memory that a run of this recipe needs on a device, and whether it fits."""
    from cooper_rl.doctor.memory import (
        IN_MAIN_MEMORY,
        KEPT_ON_CPU,
        LIBRARIES,
        MAIN_MEMORY,
        VLLM,
        available,
        estimate,
        total,
    )

    device, there = available()
    parts = estimate(settings, device_gib=there, engine=engine)
    for name, size in parts.items():
        yield Finding("ok", name, f"{size:8.2f} GiB")
    if device != MAIN_MEMORY:
        parts = {name: size for name, size in parts.items() if IN_MAIN_MEMORY not in name and name != LIBRARIES}
    peak = total(parts, KEPT_ON_CPU if device == MAIN_MEMORY else 0.0)
    smaller = "per_device_train_batch_size or reward_model_pairs_per_pass"
    if VLLM in parts:
        smaller = f"vllm_gpu_memory_utilization, {smaller}"
    more = "leave room for half as much again, since it grows over a run" if device == MAIN_MEMORY else ""
    yield fit("at the peak", peak, more, f"try a smaller {smaller}, lora_rank, or recipes/accelerate/fsdp2.yaml")


def fit(what: str, gib: float, more: str = "", way_out: str = "") -> Finding:
    """Whether so many GiB fit into the device of this machine. They fit if they take less than 95 % of it.

    Args:
        more: what is said where they fit.
        way_out: what is said where they do not.
    """
    from cooper_rl.doctor.memory import available

    device, there = available()
    fits = gib < 0.95 * there
    told = more if fits else way_out
    detail = f"{gib:8.2f} GiB: {'fits' if fits else 'does not fit'} into {there:.0f} GiB of {device}"
    return Finding("ok" if fits else "fail", what, f"{detail}; {told}" if told else detail)


def estimate_memory_on_verl(settings: TrainSettings) -> Iterator[Finding]:
    """As `estimate_memory`, with the engine verl: on each device, while it generates and while it trains."""
    from cooper_rl.doctor.memory import available, estimate_on_verl, peaks

    parts = estimate_on_verl(settings, available()[1])
    for name, size in parts.items():
        yield Finding("ok", name, f"{size:8.2f} GiB")
    for name, size in peaks(parts).items():
        yield fit(f"at the peak {name}", size, "", "try a smaller vllm_gpu_memory_utilization, or reward_model_sharded")


NEVER_RUN = "this project has run on CPUs only; docs/clusters.md has what of it was ever run where"


def warn_of_setup(settings: TrainSettings, engine: str = "trl") -> Iterator[Finding]:
    """What of a recipe goes wrong or crawls on this machine's accelerators; nothing on a machine without one."""
    import torch

    own, count = settings.trainer_kwargs, torch.cuda.device_count()
    if not count:
        return
    yield Finding("warn", "never run", f"on a GPU: {NEVER_RUN}")
    if engine != "verl" and count > 1 and "WORLD_SIZE" not in os.environ:
        start = f"torchrun --standalone --nproc_per_node {count} -m cooper_rl.cli train ..."
        yield Finding(
            "warn", "launcher", f"{count} GPUs are visible: start with {start}, or set CUDA_VISIBLE_DEVICES=0"
        )
    if settings.bf16 is False and not own.get("fp16"):
        yield Finding("warn", "bf16", "false: float32 is computed at a fifteenth of bfloat16's rate; leave bf16 out")
    if engine == "verl" and not packs(settings):
        told = "each pass is padded to its longest sequence: install flash-attn where verl runs, and set bf16: true"
        yield Finding("warn", "attention", told)
    if engine == "trl" and not own.get("use_vllm") and settings.max_completion_length >= LONG:
        told = f"{settings.max_completion_length} tokens by transformers, a launch of kernels for each; set use_vllm"
        yield Finding("warn", "generation", told)
    if own.get("use_vllm") and own.get("vllm_mode", "colocate") == "colocate" and not own.get("vllm_enable_sleep_mode"):
        yield Finding("warn", "vLLM", "keeps its memory while the models are trained; set vllm_enable_sleep_mode")
    if settings.asks_assistant and not settings.assistant_base_url:
        yield Finding(
            "warn", "assistant", "rewrites in this process, after the step; assistant_base_url does it beside"
        )
    patience = float(own.get("ddp_timeout", DDP_TIMEOUT))
    if settings.verifier_batch_seconds >= patience:
        told = f"{settings.verifier_batch_seconds:g} s, and waiting ranks end a run after {patience:g} s (ddp_timeout)"
        yield Finding("warn", "verifier_batch_seconds", told)


def measure(recipe: Mapping[str, Any]) -> Finding:
    """The peak memory of two steps of this recipe, taken here, and whether it fits."""
    from cooper_rl.doctor.dry_step import take_step

    step = take_step(recipe)
    if step.failure:
        return Finding("fail" if step.ended else "warn", NO_MEMORY if step.memory else DRY_STEP, step.failure)
    found = fit(DRY_STEP, step.gib, *[f"measured with the longest completions and {step.pairs} pairs"] * 2)
    if found.state == "ok" and not step.pairs and TrainSettings.from_recipe(recipe).cotrain:
        return Finding("warn", DRY_STEP, "no pair was made, so the reward model's step was not measured")
    return found


def conclude(findings: Sequence[Finding]) -> Finding:
    """The last line on a recipe: whether it fits here, and what stands against it."""
    failed = [finding for finding in findings if finding.state == "fail"]
    if failed:
        large = [f"{f.what} it needs {f.detail.strip()}" for f in failed if " GiB: " in f.detail]
        others = [f.detail for f in failed if " GiB: " not in f.detail]
        because = "; ".join([*large, *others]).replace(": does not fit into", ", more than 95 % of the")
        fits_not = large or any(finding.what == NO_MEMORY for finding in failed)
        return Finding("fail", "verdict", f"{'does not fit' if fits_not else 'does not run here'}, because {because}")
    warned = [finding.what for finding in findings if finding.state == "warn"]
    measured = any(finding.what == DRY_STEP and " GiB: " in finding.detail for finding in findings)
    verdict = "fits, as a dry step showed" if measured else "fits, as counted"
    return Finding("ok", "verdict", verdict + (f"; look at: {', '.join(warned)}" if warned else ""))


def lacks_of(engine: str, settings: TrainSettings | None = None) -> list[Finding]:
    """What a run with this engine lacks on this machine."""
    return [Finding("fail", ON_VERL, lack) for lack in missing_here(settings)] if engine == "verl" else []


def examine_recipe(
    recipe: Mapping[str, Any], engine: str = "trl", *, dry_step: bool | None = None
) -> Iterator[Finding]:
    """The memory that a run of this recipe needs with this engine, what to look at, and whether it fits.

    Args:
        dry_step: whether to take one; None takes one where the count fits, the models are here and the engine is trl.
    """
    from cooper_rl.doctor.dry_step import missing_model, reason_against

    settings = TrainSettings.from_recipe(recipe)
    found = list(estimate_memory_on_verl(settings) if engine == "verl" else estimate_memory(settings, engine))
    found += [*warn_of_setup(settings, engine), *lacks_of(engine, settings)]
    reason = reason_against(settings, engine)
    if dry_step is False:
        reason = "not taken (--no-dry_step)"
    elif dry_step is None and any(finding.state == "fail" for finding in found):
        reason = "not taken: by the count the run does not fit; --dry_step takes it"
    elif dry_step is None and not reason and (missing := missing_model(settings)):
        reason = f"not taken: it would download {missing}; --dry_step takes it"
    yield from found
    found.append(Finding("ok", DRY_STEP, reason) if reason else measure(recipe))
    yield found[-1]
    yield conclude(found)


def print_findings(
    recipe: Mapping[str, Any] | None = None, *, as_json: bool, engine: str = "trl", dry_step: bool | None = None
) -> int:
    """Writes the findings to stdout and returns the exit code: 1 where a finding fails, else 0.

    Args:
        recipe: if given, what it needs with this engine is shown instead, and whether it fits.
        engine: with verl, what a run on it lacks here is shown too.
        dry_step: whether to take a dry step; see `examine_recipe`.
    """
    if recipe is None:
        found: Iterable[Finding] = [*examine(), *lacks_of(engine)]
    else:
        found = examine_recipe(recipe, engine, dry_step=dry_step)
    findings = []
    for finding in found:
        findings.append(finding)
        if not as_json:  # at once: a dry step may take minutes
            sys.stdout.write(f"{finding.state:<5} {finding.what:<36} {finding.detail}\n")
            sys.stdout.flush()
    if as_json:
        sys.stdout.write(json.dumps([asdict(finding) for finding in findings], indent=2) + "\n")
    return int(any(finding.state == "fail" for finding in findings))
