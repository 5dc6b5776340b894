"""One GPU, one command, at most nine minutes: are the figures those of a CPU, and how fast and large is each stage?

    OUT=runs/gpu python benchmarks/gpu_once.py
    python benchmarks/gpu_once.py --tiny

The second runs every part in small, on a CPU too.

It needs no weights and no network. Models of Qwen2.5-0.5B's and 1.5B's shapes get random weights, and the nano models
are in the tree. A part that fails is listed with its error, and the others still run. $OUT/gpu.json is written after
each part; the table comes last.

Beside the tree (48 MiB) it needs torch 2.8, transformers 5.10, accelerate and peft or later, and these packages, which
a machine without a network gets as wheels: trl 1.16 (0.9 MB), datasets (0.6), dill (0.1), multiprocess (0.2),
math-verify (0.1), latex2sympy2-extended (0.2), antlr4-python3-runtime (0.2), sympy and mpmath (7), pint with flexparser
and flexcache (0.4), typer with rich and shellingham (0.8), platformdirs (0.1). As a whole under 12 MB:

    pip download --no-deps --dest wheels trl==1.16.* datasets dill multiprocess math-verify ...      with a network
    pip install --no-index --no-deps --target site wheels/*.whl                                     without one
    PYTHONPATH=src:site OUT=out python benchmarks/gpu_once.py

The rates are shares of what the same card does at best in the same minute: bytes of a large copy, and operations of a
large product in bfloat16. Recomputed activations are not counted as work.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml
from bench_tokens import matmul_limit
from datasets import Dataset
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, Qwen2Config, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from cooper_rl import CooperConfig, CooperReward, CooperTrainer, VerifyRM
from cooper_rl.engines.loading import environment, version_of
from cooper_rl.settings.files import resolve_model

Data = dict[str, Any]
SHAPES: dict[str, Data] = {  # the published configurations
    "0.5b": {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "heads": 14},
    "1.5b": {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "heads": 12},
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "heads": 4},
}
GIB = 2**30
TOLERANCE = 1e-3  # of scores, log-probabilities and gradients in float32


@dataclass
class Machine:
    """Where it runs, how large, and what was found."""

    device: torch.device
    tiny: bool
    folder: Path
    found: dict[str, Data] = field(default_factory=dict)

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds_of(run: Callable[[], Any], repeats: int = 5) -> float:
    """The median time of a call, without the first."""
    times = []
    for _ in range(repeats + 1):
        synchronize()
        started = time.perf_counter()
        run()
        synchronize()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


# The parts ----------------------------------------------------------------------------------------------------------


def versions(machine: Machine) -> Data:
    found = environment(seed=0)
    return {**found.pop("versions"), "flash-attn": version_of("flash-attn"), "vllm": version_of("vllm"), **found}


def limits(machine: Machine) -> Data:
    """The best copy and the best product of this device."""
    size = 2**28 if machine.on_gpu else 2**22
    source = torch.ones(size, device=machine.device)
    target = torch.empty_like(source)
    copied = 2 * size * source.element_size() / seconds_of(lambda: target.copy_(source))
    return {"bytes_a_second": copied, "operations_a_second": matmul_limit(1.0, machine.device, torch.bfloat16)}


def agreement(machine: Machine) -> Data:
    """The nano models on this device against the CPU: scores, log-probabilities, and the gradient of a pair's loss."""
    questions = [f"What is {i} + {2 * i}?" for i in range(3, 19)]
    references = [str(3 * i) for i in range(3, 19)]
    right, wrong = ([f"The answer is {3 * i + d}." for i in range(3, 19)] for d in (0, 1))
    reward_models = [VerifyRM.from_pretrained("nano", device=device) for device in ("cpu", machine.device)]
    scores = [model.score(questions, references, right) for model in reward_models]
    gradients = []
    for model in reward_models:
        margin = model.logits(questions, references, right) - model.logits(questions, references, wrong)
        torch.nn.functional.softplus(-margin).mean().backward()
        gradients.append(torch.cat([p.grad.flatten().cpu() for p in model.model.parameters() if p.grad is not None]))
    path = resolve_model("nano", "policy")
    ids = AutoTokenizer.from_pretrained(path)(questions, return_tensors="pt", padding=True)
    logps = []
    for device in ("cpu", machine.device):
        policy = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).to(device).eval()
        with torch.no_grad():
            logits = policy(**{name: value.to(device) for name, value in ids.items()}).logits
        logps.append(logits.log_softmax(-1).cpu()[ids["attention_mask"].bool()])
    found = {
        "scores": (scores[0] - scores[1]).abs().max().item(),
        "log_probabilities": (logps[0] - logps[1]).abs().max().item(),
        "gradient": ((gradients[0] - gradients[1]).norm() / gradients[0].norm()).item(),
    }
    return {**found, "within": TOLERANCE, "equal": all(value < TOLERANCE for value in found.values())}


def resumed(machine: Machine) -> Data:
    """Four steps of the nano models, and four with a resume in the middle: are the weights equal to the last bit?"""
    straight, second = machine.folder / "straight", machine.folder / "resumed"
    policy, reward_model = (resolve_model("nano", part) for part in ("policy", "reward_model"))
    sizes: Data = {"rows": 16, "tokens": 16, "checkpointing": False, "bf16": False, "save_steps": 2}
    trainer(machine, policy, reward_model, straight, steps=4, **sizes).train()
    shutil.copytree(straight, second)
    shutil.rmtree(second / "checkpoint-4")
    again = trainer(machine, policy, reward_model, second, steps=4, **sizes)
    again.train(resume_from_checkpoint=str(second / "checkpoint-2"))
    found: Data = {}
    for part, file in {"policy": "model.safetensors", "reward_model": "reward_model/model.safetensors"}.items():
        first, other = (load_file(folder / "checkpoint-4" / file) for folder in (straight, second))
        found[part] = max((first[name].float() - other[name].float()).abs().max().item() for name in first)
    return {**found, "equal": not any(found.values())}


def joint_steps(machine: Machine, shape: str) -> Data:
    """Steps of the joint loop with random weights: seconds, rate and peak memory by stage, and doctor's estimate."""
    policy, reward_model = make_models(machine, shape)
    rows, tokens = (8, 16) if machine.tiny else (64, 512)
    sizes: Data = {"rows": rows, "tokens": tokens, "checkpointing": not machine.tiny, "bf16": machine.on_gpu}
    folder = machine.folder / f"steps-{shape}"
    lean = trainer(machine, str(policy), str(reward_model), folder, steps=3, **sizes)
    peaks = StagePeaks(lean)
    lean.train()
    found = stages(machine, folder, peaks, multiplied(policy), rows)
    found["doctor_gib"] = estimate_by_doctor(machine, policy, reward_model, sizes)
    del lean, peaks
    free()
    unchanged = trainer(
        machine, str(policy), str(reward_model), folder.with_name(f"trl-{shape}"), 3, lean=False, **sizes
    )
    unchanged.train()
    found["trl_step_seconds"] = median_of(folder.with_name(f"trl-{shape}"), "step_time")
    found["ratio_to_trl"] = found["step_seconds"] / found["trl_step_seconds"]
    del unchanged
    free()
    return found


def attention(machine: Machine, shape: str) -> Data:
    """A forward pass by each attention that there is."""
    policy, _ = make_models(machine, shape)
    flash = version_of("flash-attn")
    kinds = ["sdpa", "eager", *(["flash_attention_2"] if flash else [])]
    ids = torch.randint(5, 100, (2, 64) if machine.tiny else (8, 2048), device=machine.device)
    dtype = torch.bfloat16 if machine.on_gpu else torch.float32
    found: Data = {"flash_attn": flash or "not installed"}
    for kind in kinds:
        model = AutoModelForCausalLM.from_pretrained(policy, dtype=dtype, attn_implementation=kind).to(machine.device)
        with torch.no_grad():
            found[f"{kind}_seconds"] = seconds_of(lambda model=model: model(ids, logits_to_keep=1), 3)
        del model
        free()
    return found


# What the parts use -------------------------------------------------------------------------------------------------


def free() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def make_models(machine: Machine, shape: str) -> tuple[Path, Path]:
    """Folders of a policy and a VerifyRM of this shape, with random weights and the nano tokenizer."""
    policy, reward_model = machine.folder / f"policy-{shape}", machine.folder / f"verifyrm-{shape}"
    if not policy.exists():
        sizes = dict(SHAPES[shape])
        heads = sizes.pop("heads")
        tokenizer = AutoTokenizer.from_pretrained(resolve_model("nano", "policy"))
        config = Qwen2Config(
            vocab_size=len(tokenizer) if shape == "tiny" else 151_936,
            num_attention_heads=heads,
            num_key_value_heads=2,
            tie_word_embeddings=True,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            **sizes,
        )
        torch.manual_seed(0)
        with machine.device:
            model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        model.to(torch.bfloat16).save_pretrained(policy)
        tokenizer.save_pretrained(policy)
        del model
        free()
        VerifyRM.from_backbone(policy).save_pretrained(reward_model)
        free()
    return policy, reward_model


def multiplied(folder: Path) -> int:
    """Weights that each token is multiplied with; a tied embedding is the head too, so it counts once."""
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(Qwen2Config.from_pretrained(folder))
    return sum(parameter.numel() for parameter in model.parameters())


def problems(count: int) -> list[Data]:
    return [
        {"prompt": [{"role": "user", "content": f"What is {i} + {7 * i}?"}], "answer": str(8 * i)}
        for i in range(1, count + 1)
    ]


def trainer(
    machine: Machine,
    policy: str,
    reward_model: str,
    folder: Path,
    steps: int,
    *,
    rows: int,
    tokens: int,
    checkpointing: bool,
    bf16: bool,
    save_steps: int = 0,
    lean: bool = True,
) -> GRPOTrainer:
    """A trainer of the joint loop: CooperTrainer with its lean step, or CooperReward in an unchanged GRPOTrainer."""
    per_device = min(rows, 8)
    args: Data = {
        "output_dir": str(folder),
        "max_steps": steps,
        "per_device_train_batch_size": per_device,
        "gradient_accumulation_steps": rows // per_device,
        "num_generations": min(rows, 8),
        "max_completion_length": tokens,
        "learning_rate": 1e-5,
        "beta": 0.001,
        "bf16": bf16,
        "gradient_checkpointing": checkpointing,
        "use_cpu": not machine.on_gpu,
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        **({"save_steps": save_steps} if save_steps else {"save_strategy": "no"}),
    }
    method: Data = {
        "verifier": "by_chance:explain",
        "verifier_workers": 1,
        "negative_sources": {"mined": 1},
        "pairs_per_prompt": 2,
        "reward_model_learning_rate": 1e-5,
    }
    data = Dataset.from_list(problems(max(64, rows)))
    if lean:
        made = CooperTrainer(policy, reward_model, CooperConfig(**args, **method), data)
    else:
        reward = CooperReward(reward_model, bf16=bf16, **method)
        made = GRPOTrainer(policy, [reward], args=GRPOConfig(**args), train_dataset=data, callbacks=[reward.callback])
    made.remove_callback(PrinterCallback)
    return made


class StagePeaks(TrainerCallback):
    """The device's peak memory in each stage of a step, in GiB."""

    def __init__(self, trainer: GRPOTrainer) -> None:
        self.gib: dict[str, float] = {}
        reward = trainer.reward_funcs[0]
        trainer.reward_funcs[0] = self._around(reward)
        after = _Mark(self, "reward_model")
        handler = trainer.callback_handler
        handler.callbacks = [self, *(c for c in handler.callbacks), after]

    def _around(self, reward: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **columns: Any) -> Any:
            self.mark("generate")
            try:
                return reward(*args, **columns)
            finally:
                self.mark("score")

        return call

    def mark(self, stage: str) -> None:
        if torch.cuda.is_available():
            self.gib[stage] = max(self.gib.get(stage, 0.0), torch.cuda.max_memory_allocated() / GIB)
            torch.cuda.reset_peak_memory_stats()

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.mark("between")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.mark("policy")


class _Mark(TrainerCallback):
    def __init__(self, peaks: StagePeaks, stage: str) -> None:
        self.peaks, self.stage = peaks, stage

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.peaks.mark(self.stage)


def lines_of(folder: Path) -> list[Data]:
    rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [row for row in rows if row["step"] > 1]  # the first one warms up


def median_of(folder: Path, key: str) -> float:
    return statistics.median(row[key] for row in lines_of(folder) if key in row)


def stages(machine: Machine, folder: Path, peaks: StagePeaks, weights: int, rows: int) -> Data:
    """Seconds, shares of the limits and peaks by stage, from the run's metrics."""
    best = machine.found["limits"]
    times = {s: median_of(folder, f"time/{s}_seconds") for s in ("generate", "score", "policy", "reward_model")}
    length, pairs = median_of(folder, "completions/mean_length"), median_of(folder, "pairs/count")
    tokens = rows * length
    work = {
        "score": 2 * weights * tokens,
        "policy": 6 * weights * tokens,
        "reward_model": 12 * weights * pairs * length,
    }
    found: Data = {f"{stage}_seconds": seconds for stage, seconds in times.items()}
    found["generated_tokens_a_second"] = tokens / times["generate"]
    read = (2 if machine.on_gpu else 4) * weights * length
    found["generate_share_of_bandwidth"] = read / times["generate"] / best["bytes_a_second"]
    for stage, operations in work.items():
        found[f"{stage}_share_of_product"] = operations / times[stage] / best["operations_a_second"]
    found["step_seconds"] = median_of(folder, "step_time")
    return {**found, **{f"{stage}_peak_gib": gib for stage, gib in peaks.gib.items() if stage != "between"}}


def estimate_by_doctor(machine: Machine, policy: Path, reward_model: Path, sizes: Data) -> Data:
    """What `cooper doctor` says that such a run needs."""
    recipe = {
        "model_name_or_path": str(policy),
        "reward_model_name_or_path": str(reward_model),
        "dataset_name": str(machine.folder / "problems.jsonl"),
        "output_dir": str(machine.folder / "unused"),
        "per_device_train_batch_size": min(sizes["rows"], 8),
        "gradient_accumulation_steps": sizes["rows"] // min(sizes["rows"], 8),
        "num_generations": min(sizes["rows"], 8),
        "max_completion_length": sizes["tokens"],
        "beta": 0.001,
        "bf16": sizes["bf16"],
        "gradient_checkpointing": sizes["checkpointing"],
        "negative_sources": {"mined": 1},
    }
    lines = [{"question": row["prompt"][0]["content"], "answer": row["answer"]} for row in problems(64)]
    (machine.folder / "problems.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (machine.folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    command = [
        sys.executable,
        "-m",
        "cooper_rl.cli",
        "doctor",
        "--config",
        str(machine.folder / "recipe.yaml"),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("["):
        raise RuntimeError(done.stderr[-500:])
    return {line["what"]: line["detail"].split(" GiB")[0].strip() for line in json.loads(done.stdout)}


def parts_of(tiny: bool) -> dict[str, Callable[[Machine], Data]]:
    shapes = ["tiny"] if tiny else ["0.5b", "1.5b"]
    first: dict[str, Callable[[Machine], Data]] = {
        "versions": versions,
        "limits": limits,
        "agreement": agreement,
        "resume": resumed,
    }
    steps = {f"step {shape}": lambda machine, shape=shape: joint_steps(machine, shape) for shape in shapes}
    return {**first, **steps, f"attention {shapes[0]}": lambda machine: attention(machine, shapes[0])}


def table(found: dict[str, Data]) -> str:
    lines = ["| part | what | found |", "|---|---|---|"]
    for part, values in found.items():
        for name, value in values.items():
            shown = (
                f"{value:.4g}" if isinstance(value, float) else json.dumps(value) if isinstance(value, dict) else value
            )
            lines.append(f"| {part} | {name.replace('_', ' ')} | {shown} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="small models; on a CPU too")
    parser.add_argument("--minutes", type=float, default=9.0, help="begin no part after this time")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "runs/gpu")))
    given = parser.parse_args(arguments)
    if not given.tiny and not torch.cuda.is_available():
        parser.error("there is no GPU here; --tiny runs every part on a CPU")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    given.out.mkdir(parents=True, exist_ok=True)
    until, failed = time.monotonic() + 60 * given.minutes, []
    with tempfile.TemporaryDirectory() as folder:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        machine = Machine(device, given.tiny, Path(folder))
        for name, part in parts_of(given.tiny).items():
            started = time.monotonic()
            if started > until:
                machine.found[name] = {"skipped": "the time is up"}
                continue
            try:
                machine.found[name] = part(machine)
            except Exception as error:  # the other parts are still worth their minutes
                traceback.print_exc()
                machine.found[name] = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
                failed.append(name)
            free()
            machine.found[name]["seconds"] = time.monotonic() - started
            (given.out / "gpu.json").write_text(json.dumps(machine.found, indent=2) + "\n")
    sys.stdout.write(table(machine.found) + "\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
