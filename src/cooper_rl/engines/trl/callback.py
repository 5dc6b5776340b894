"""The trainer's callback: stage 2 and the held-out measurements between the policy's step and the log line."""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback

from cooper_rl.engines.parts import environment, resolved
from cooper_rl.errors import BadInputError
from cooper_rl.method.journal import METRICS

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
        self.started, self.begun_here = time.monotonic(), False

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.begun_here = not self.trainer.journal.begun  # a run from Python; `cooper train` begins it with its recipe
        if self.begun_here:
            self._begin(args, state)
        if state.global_step:
            return
        if self.trainer.heldout:
            self.trainer.journal.log(0, self.trainer.measure())
        self.trainer.cooper.begin()

    def _begin(self, args: Any, state: Any) -> None:
        """Begins the run's folder.

        Raises:
            BadInputError: it holds another run.
        """
        journal = self.trainer.journal
        held = not state.global_step and (journal.folder / METRICS).is_file()
        if self.trainer.cooper.world.add_up([float(held)])[0]:
            raise BadInputError(
                f"{journal.folder}: already holds a run; continue it with trainer.train(resume_from_checkpoint=True),"
                " or choose another output_dir"
            )
        self.started = time.monotonic()
        model = {"model_name_or_path": self.trainer.model.config._name_or_path}
        settings = {**resolved({**model, **args.chosen()}, args), "max_steps": state.max_steps}
        journal.begin(settings, environment(args.seed), state.global_step or -1)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.begun_here:
            if not self.trainer.stopped_by:
                self.trainer.journal.finish(state.global_step, time.monotonic() - self.started)
            self.trainer.journal.begun = False

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
        trainer.checked = saving
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
        if due or saving or control.should_training_stop:
            control.should_log = True  # with logging_steps > 1 these metrics would wait, the last for ever
        metrics["memory/peak_gigabytes"] = peak_bytes(trainer.accelerator.device) / 1e9
        trainer.add_metrics(metrics)
