"""The trainer's callback: stage 2 and the held-out measurements between the policy's step and the log line."""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback

from cooper_rl.engines.parts import environment, resolved

if TYPE_CHECKING:
    from cooper_rl.engines.trl.trainer import CooperTrainer


def peak_bytes(device: torch.device) -> int:
    """The peak memory so far, in bytes: of the accelerator, or of this process on a CPU."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class CooperCallback(TrainerCallback):  # type: ignore[misc]
    """Calls stage 2 after each policy step on a fresh generation batch."""

    def __init__(self, trainer: CooperTrainer) -> None:
        self.trainer = trainer
        self.step_started = time.perf_counter()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self.trainer.journal.begun:  # a run from Python; `cooper train` begins it with its recipe
            settings = {**resolved({}, args), "max_steps": state.max_steps}
            self.trainer.journal.begin(settings, environment(args.seed), state.global_step or -1)
        if state.global_step:
            return
        if self.trainer.heldout:
            self.trainer.journal.log(0, self.trainer.measure())
        self.trainer.cooper.begin()

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.step_started = time.perf_counter()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Drops a policy gradient that is not finite before the optimiser uses it."""
        device = self.trainer.accelerator.device
        parameters = [p for p in self.trainer.model.parameters() if p.grad is not None]  # empty under DeepSpeed
        corrupted = torch.zeros((), device=device)
        for parameter in parameters:
            grad = parameter.grad.to_local() if hasattr(parameter.grad, "to_local") else parameter.grad
            corrupted += (~torch.isfinite(grad).all()).to(device)
        dropped = self.trainer.accelerator.reduce(corrupted, "sum").item() > 0
        if dropped:
            for parameter in parameters:
                parameter.grad = None
        self.trainer.add_metrics({"policy/skipped": float(dropped)})
        self.trainer.cooper.skips.count("policy", dropped)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        trainer, now = self.trainer, time.perf_counter()
        reward, batch = trainer.reward, trainer.reward.batch
        cycle_ends = state.global_step % args.steps_of_a_batch == 0
        signalled = cycle_ends and trainer.signalled_anywhere()
        saving = control.should_save or signalled
        metrics: dict[str, float] = {}
        if batch:  # None after a step on an old batch (num_iterations > 1), which has no stage 2
            reward.batch = None
            report = trainer.cooper.learn(batch, saving=saving)
            trainer.alarm_stops = report.stop
            metrics = {
                **report.metrics,
                "time/score_seconds": batch.seconds,
                "time/generate_seconds": reward.started - self.step_started,
                "time/policy_seconds": now - reward.started - batch.seconds,
            }
        elif saving or (cycle_ends and trainer.alarm_stops):
            metrics.update(trainer.cooper.before_save(state.global_step).metrics)
        if signalled or (cycle_ends and trainer.alarm_stops):
            trainer.stopped_by = "signal" if signalled else "alarm"
            control.should_save = control.should_training_stop = True
        due = state.global_step == state.max_steps or (
            args.heldout_steps and state.global_step % args.heldout_steps == 0
        )
        if trainer.heldout and due:
            metrics.update(trainer.measure())
        if due or control.should_training_stop:  # with logging_steps > 1 these metrics would wait, the last for ever
            control.should_log = True
        metrics["memory/peak_gigabytes"] = peak_bytes(trainer.accelerator.device) / 1e9
        trainer.add_metrics(metrics)
