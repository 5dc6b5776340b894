"""The trainer's callback: when the parts of the joint step run, and what happens to a run that fails."""

from __future__ import annotations

import resource
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback

from cooper_rl.errors import CooperError
from cooper_rl.method import run_files
from cooper_rl.method.cooper import after_policy_step, guard_stage, sound_alarm

if TYPE_CHECKING:
    from cooper_rl.engines.trl.trainer import CooperTrainer


def peak_bytes(device: torch.device) -> int:
    """The most memory so far: of the accelerator, or of this process on a CPU."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class CooperCallback(TrainerCallback):  # type: ignore[misc]
    """Runs what follows the policy's step (`cooper.py`) and the held-out measurements, before the log line."""

    def __init__(self, trainer: CooperTrainer) -> None:
        self.trainer = trainer
        self.step_started = time.perf_counter()
        self.skipped: Counter[str] = Counter()  # steps in a row without a finite gradient

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        trainer = self.trainer
        if state.global_step == 0 and trainer.heldout:
            before = trainer.measure()
            if trainer.accelerator.is_main_process:
                run_files.append_metrics(args.output_dir, 0, before)
        if state.global_step == 0 and trainer.guard:
            trainer.guard.begin()
        for row in run_files.read_metrics(args.output_dir):  # of the steps before, where a run goes on
            if 0 < row["step"] <= state.global_step:
                sound_alarm(trainer, row)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.step_started = time.perf_counter()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A policy gradient that is not finite is dropped before the optimiser sees it."""
        device = self.trainer.accelerator.device
        parameters = [p for p in self.trainer.model.parameters() if p.grad is not None]  # none below DeepSpeed
        spoiled = torch.zeros((), device=device)
        for parameter in parameters:
            grad = parameter.grad.to_local() if hasattr(parameter.grad, "to_local") else parameter.grad
            spoiled += (~torch.isfinite(grad).all()).to(device)
        dropped = self.trainer.accelerator.reduce(spoiled, "sum").item() > 0
        if dropped:
            for parameter in parameters:
                parameter.grad = None
        self.trainer.add_metrics({"policy/skipped": float(dropped)})
        self.count_skipped("policy", dropped)

    def count_skipped(self, which: str, skipped: bool) -> None:
        """Ends the run where too many steps in a row had to be skipped."""
        self.skipped[which] = self.skipped[which] + 1 if skipped else 0
        if self.skipped[which] > self.trainer.args.max_skipped_steps:
            raise CooperError(
                f"{self.skipped[which]} steps in a row had a {which} gradient that is not finite; the last checkpoint"
                " is from before: go on from it with --resume and a lower learning rate"
            )

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        trainer, metrics = self.trainer, {}
        reward, now = trainer.reward, time.perf_counter()
        fresh = bool(reward.rollouts)
        if fresh:  # a step on an old batch (num_iterations > 1) has no fresh rollouts, and no stage 2
            metrics = after_policy_step(trainer)
            metrics["time/score_seconds"] = reward.seconds
            metrics["time/generate_seconds"] = reward.started - self.step_started
            metrics["time/policy_seconds"] = now - reward.started - reward.seconds
            self.count_skipped("reward model", metrics.get("reward_model/skipped", 0.0) > 0)
        if trainer.stop_asked() and state.global_step % args.steps_of_a_batch == 0:
            control.should_save = control.should_training_stop = True
        if trainer.guard and (fresh or control.should_save):  # only an approved reward model is saved
            metrics.update(guard_stage(trainer, whole=control.should_save))
        due = state.global_step == state.max_steps or (
            args.heldout_steps and state.global_step % args.heldout_steps == 0
        )
        if trainer.heldout and due:
            metrics.update(trainer.measure())
        metrics["memory/peak_gigabytes"] = peak_bytes(trainer.accelerator.device) / 1e9
        trainer.add_metrics(metrics)
