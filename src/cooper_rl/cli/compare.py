"""`cooper compare`: runs the arms on the same problems, each in its own process, then writes a table and a report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from cooper_rl.cli.console import print_rows
from cooper_rl.cli.progress import Display
from cooper_rl.distributed import visible_devices
from cooper_rl.errors import CooperError
from cooper_rl.jsonl import write_atomically
from cooper_rl.report.runs import read_run
from cooper_rl.report.story import conclusion
from cooper_rl.report.summary import base_policy, summarize, table
from cooper_rl.report.write import write_report

TRAIN_COMMAND = (sys.executable, "-m", "cooper_rl.cli", "train")
POLL_SECONDS = 0.5
STEP_COST = {"rule": 1, "static": 2, "hybrid": 2, "cooper": 3}  # relative cost of a step; any other run: 3


@dataclass
class Job:
    """One arm or variant with one seed."""

    arm: str
    seed: int
    folder: Path
    name: str
    variant: bool = False
    max_steps: int = 0
    process: subprocess.Popen[bytes] | None = None
    device: str | None = None  # the GPU that it sees

    @property
    def cost(self) -> int:
        return STEP_COST.get(self.arm, max(STEP_COST.values()))

    def has_finished(self) -> bool:
        """Whether the run came to its end, and this end is not before `max_steps`."""
        path = self.folder / "finished.json"
        return path.is_file() and json.loads(path.read_text())["step"] >= self.max_steps

    def has_failed(self) -> bool:
        """Whether its process ended without a finished run."""
        return self.process is not None and self.process.poll() is not None and not self.has_finished()


def run_folder(output_dir: Path, arm: str, seed: int) -> Path:
    """The folder of one run of a comparison."""
    return output_dir / f"{arm}-seed{seed}"


def compare(
    config: Path,
    overrides: Mapping[str, object],
    *,
    arms: Sequence[str],
    seeds: Sequence[int],
    output_dir: Path,
    variants: Sequence[str] = (),
    max_steps: Mapping[str, int] = {},
    jobs: int | None = None,
    as_json: bool = False,
    train_command: Sequence[str] = TRAIN_COMMAND,
    all_devices: bool = False,
) -> dict[str, Any]:
    """Runs what is not finished yet, `jobs` at a time, and returns the summary that it writes.

    A finished run is not run again. An interrupted one is resumed, and so is one that is to have more steps now. A run
    that fails does not stop the others. The longest runs start first, one a core, so that the short ones keep the cores
    busy at the end. Where there are GPUs, each run sees one of them alone; `jobs` above their number share them.

    Args:
        arms: what is compared: arms, or variants of the recipe.
        variants: those of `arms` that are variants.
        max_steps: the steps of each of `arms`, where the recipe sets them.
        jobs: runs at a time; None runs one on each GPU, or as many as the cores allow where there is none.
        all_devices: each run takes all GPUs itself, as on verl.

    Raises:
        CooperError: a run failed; its log's last lines are in the message.
    """
    todo = [
        Job(
            arm,
            seed,
            run_folder(output_dir, arm, seed),
            f"{arm} seed {seed}" if seeds[1:] else arm,
            arm in variants,
            max_steps.get(arm, 0),
        )
        for seed in seeds
        for arm in arms
    ]
    devices = [] if all_devices else visible_devices()
    jobs = jobs or min(len(todo), len(devices) or os.cpu_count() or 1)
    with Display(todo, [] if variants else arms, Console(stderr=True)) as display:
        _run_all(todo, jobs, config, overrides, train_command, display, devices)
    return _conclude(todo, output_dir, as_json)


def _run_all(
    todo: Sequence[Job],
    jobs: int,
    config: Path,
    overrides: Mapping[str, object],
    train_command: Sequence[str],
    display: Display,
    devices: Sequence[str],
) -> None:
    waiting = sorted((job for job in todo if not job.has_finished()), key=lambda job: -job.cost)
    running: list[Job] = []
    received: list[int] = []  # signals; one that ended this program while a run is started would leave the run behind
    taken = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    handlers = {number: signal.signal(number, lambda number, _: received.append(number)) for number in taken}
    try:
        while waiting or running:
            while waiting and len(running) < jobs and not received:
                waiting[0].device = free_device(devices, running)
                running.append(_start(waiting.pop(0), config, overrides, train_command, jobs))
                display.show_start(running[-1])
            time.sleep(POLL_SECONDS)
            still = [job for job in running if job.process and job.process.poll() is None]
            for job in running:
                display.show(job)
            running = still
            if received:
                raise SystemExit(128 + received[0])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for job in running:
            if job.process and job.process.poll() is None:
                os.killpg(job.process.pid, signal.SIGTERM)
        for job in running:
            if job.process:
                job.process.wait()


def free_device(devices: Sequence[str], running: Sequence[Job]) -> str | None:
    """The GPU with the fewest runs; None where there is none."""
    taken = [job.device for job in running]
    return min(devices, key=taken.count, default=None)


def _start(job: Job, config: Path, overrides: Mapping[str, object], train_command: Sequence[str], jobs: int) -> Job:
    job.folder.mkdir(parents=True, exist_ok=True)
    command = [*train_command, "--config", str(config), "--variant" if job.variant else "--arm", job.arm]
    command += ["--seed", str(job.seed), "--output_dir", str(job.folder)]
    for key, value in overrides.items():
        command += [f"--{key}={yaml.safe_dump(value, default_flow_style=True).removesuffix('...' + chr(10)).strip()}"]
    if (job.folder / "config.yaml").is_file():
        command.append("--resume")
    environment = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // jobs))}
    if job.device is not None:
        environment["CUDA_VISIBLE_DEVICES"] = job.device
    with (job.folder / "train.log").open("ab") as log:
        job.process = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **environment},
        )
    return job


def _conclude(todo: Sequence[Job], output_dir: Path, as_json: bool) -> dict[str, Any]:
    failed = [job for job in todo if job.has_failed()]
    done = [read_run(job.folder) for job in todo if job.has_finished()]
    summary = summarize(done)
    if done:
        write_atomically(output_dir / "summary.json", json.dumps(summary, indent=2) + "\n")
        report = write_report([run.path for run in done], output_dir / "report.html")
        if as_json:
            sys.stdout.write(json.dumps(summary) + "\n")
        else:
            _print_table(summary, report)
    if failed:
        tail = " | ".join(_log_tail(failed[0].folder / "train.log"))
        raise CooperError(f"{', '.join(job.name for job in failed)} failed; {failed[0].folder}/train.log ends: {tail}")
    return summary


def _print_table(summary: dict[str, Any], report: Path) -> None:
    print_rows(table(summary))
    console = Console(width=None if sys.stdout.isatty() else 200)
    for sentence in [base_policy(summary), *conclusion(summary, report)]:
        console.print(sentence, highlight=False, markup=False, soft_wrap=not sys.stdout.isatty())


def _log_tail(path: Path) -> list[str]:
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    return [line.strip() for line in lines if line.strip()][-3:]
