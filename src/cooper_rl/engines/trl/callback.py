"""The trainer's side of Cooper: stage 2 after the policy's step, checkpoints, measurements, and what ends a run.

Below the callback are its parts: the metrics on their way to the trackers, the signals that end a run, and what is done
with the policy.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from accelerate import Accelerator
from transformers import TrainerCallback
from trl.models import unwrap_model_for_generation

from cooper_rl import distributed
from cooper_rl.checkpoints import complete_checkpoint
from cooper_rl.engines.config import check_once, send_rollouts, steps_per_batch
from cooper_rl.engines.trl.folder import begin_run
from cooper_rl.engines.trl.rows import check_first, check_template
from cooper_rl.errors import BadInputError, CooperError

logger = logging.getLogger(__name__)
WITHOUT = (
    "the reward function `cooper` works without its callback: it writes no run folder and no checkpoint of the reward"
    " model, and no alarm and no signal ends the run; give the trainer callbacks=[cooper.callback]"
)

NEEDS_CALLBACK = "the policy waits only where the trainer has callbacks=[cooper.callback], and not under DeepSpeed"


class CooperCallback(TrainerCallback):  # type: ignore[misc]
    """The callback of a `CooperReward`, for any trainer with the events of transformers."""

    def __init__(self, reward: Any) -> None:
        self.reward = reward
        self.args: Any = None  # the trainer's, once it is known
        self.model: Any = None
        self.accelerator: Accelerator | None = None
        self.base_generator: Callable[[], Any] | None = None  # the policy's base model; None: a copy of the policy
        self.metrics, self.signals = StepMetrics(), StopSignals(signal.SIGTERM)
        self.baseline: dict[str, float] = {}  # an evaluation before training, which is step 0 of the run
        self.checkpoint: Path | None = None  # that a resumed run goes on from, where it is not in output_dir
        self.resume_by = "trainer.train(resume_from_checkpoint=True)"  # what messages advise
        self.in_step, self.guarded, self.stopped_by, self.data_checked = False, False, "", False
        self.recipe: Mapping[str, Any] | None = None  # that `cooper train` runs, for config.yaml
        self.step_started, self.started = 0.0, 0.0
        self.warned: set[str] = set()

    def on_init_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        check_once(args)
        if self.args is not None and self.reward.core is not None:
            raise BadInputError("this CooperReward has worked in another trainer: make a new one for this trainer")
        self.args, self.model, self.reward.core = args, model, None  # made anew with what this trainer tells
        for name in half_types(model):
            self.warn_once(f"the policy's weights are {name}: small steps are lost in rounding; load it in float32")

    def warn_once(self, text: str) -> None:
        """Logs each warning once per run."""
        if text not in self.warned:
            self.warned.add(text)
            logger.warning(text)

    def before_call(self, step: int, log_metric: Callable[[str, float], None] | None) -> bool:
        """Called by each call of the reward function. Tells whether stage 2 learns from the batch.

        Without the callback's events stage 2 takes place at the first call of the next step. Whether the trainer is
        evaluating is then read from its model, if `log_metric` belongs to a trainer; otherwise stage 2 learns from the
        last batch of a step.
        """
        if self.args is not None:
            learns = self.in_step and bool(self.model.training)
        else:
            self.warn_once(WITHOUT)
            if self.reward.settings.reward_model_alone_steps:
                raise BadInputError(f"reward_model_alone_steps: {NEEDS_CALLBACK}")
            model = getattr(getattr(log_metric, "__self__", None), "model", None)
            learns = bool(getattr(model, "training", True))
            if self.reward.batch is not None and self.reward.batch.step != step:
                self.metrics.keep(self.reward.learn())
        if learns:
            self.metrics.send(log_metric)
        return learns

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, processing_class: Any = None, **others: Any
    ) -> None:
        if self.args is None:  # the callback was added after the trainer was made
            self.on_init_end(args, state, control, model)
        self.model, self.in_step, self.stopped_by, self.reward.batch = model, False, "", None
        if self.accelerator is None and getattr(args, "deepspeed_plugin", None):
            self.warn_once("under DeepSpeed only CooperTrainer sees a gradient that is not finite; watch grad_norm")
        dataloader = others.get("train_dataloader")
        check_first(self.reward, state, args, None if self.data_checked else dataloader)
        check_template(processing_class, dataloader, args)
        if self.reward.settings.reward_model_alone_steps and getattr(args, "deepspeed_plugin", None):
            raise BadInputError(f"reward_model_alone_steps: {NEEDS_CALLBACK}")
        core, self.started = self.reward.build(), time.monotonic()
        first = partial(measure, self.reward, model, processing_class, self.accelerator, 0)
        begin_run(self, core, state, dataloader, first)
        self.signals.install()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        core = self.reward.core
        if not self.stopped_by or state.global_step >= state.max_steps:
            core.journal.finish(state.global_step, time.monotonic() - self.started)
        self.signals.restore()
        core.ranks.add_up([0.0])  # a rank that ends early would not wait for the others
        if self.stopped_by == "signal" and state.global_step < state.max_steps:
            number = signal.Signals(self.signals.received or signal.SIGTERM)  # another rank may have received it
            told = f"{number.name}: stopped after step {state.global_step} with a checkpoint"
            logger.warning("%s; %s continues", told, self.resume_by)
            raise SystemExit(128 + number)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.in_step, self.step_started = True, time.perf_counter()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        check_engine(self.accelerator, self.reward.core)
        dropped = drop_gradient(model, self.reward.core, args.device)
        if self.reward.core.schedule.policy_waits(fresh=self.reward.batch is not None):
            model.zero_grad()  # without a gradient the optimiser leaves weights and moments alone
        self.metrics.keep({"policy/skipped": float(dropped)})
        self.reward.core.skips.count("policy", dropped)

    def on_step_end(
        self, args: Any, state: Any, control: Any, model: Any = None, processing_class: Any = None, **_: Any
    ) -> None:
        reward, core, batch, now = self.reward, self.reward.core, self.reward.batch, time.perf_counter()
        if not reward.calls:
            self.warn_once("the callback of a CooperReward works without it: add it to the trainer's reward_funcs")
        cycle_ends = state.global_step % steps_per_batch(args) == 0
        signalled = cycle_ends and core.ranks.add_up([float(self.signals.received > 0)])[0] > 0
        saving = control.should_save or signalled
        metrics: dict[str, float] = {}
        self.in_step, self.guarded = False, saving
        if batch:  # None after a step on an old batch (num_iterations > 1), which has no stage 2
            metrics = reward.learn(saving=saving)
            metrics["time/score_seconds"] = batch.seconds
            metrics["time/generate_seconds"] = reward.started - self.step_started
            metrics["time/policy_seconds"] = now - reward.started - batch.seconds
            if state.is_world_process_zero:
                send_rollouts(args.report_to, batch, core.settings.tracked_rollouts)
        elif saving or (cycle_ends and reward.stops):
            metrics.update(core.before_save(state.global_step).metrics)
        if signalled or (cycle_ends and reward.stops):
            self.stopped_by = "signal" if signalled else "alarm"
            control.should_save = control.should_training_stop = True
        every = core.settings.heldout_steps
        measures = state.global_step == state.max_steps or (every and state.global_step % every == 0)
        due = measures and (reward.heldout is not None or self.metrics.exact)
        if due:
            metrics.update(measure(reward, model, processing_class, self.accelerator, state.global_step))
        last = state.global_step >= state.max_steps and not self.metrics.exact
        if (due or saving or control.should_training_stop) and not last:
            control.should_log = True  # with logging_steps > 1 these metrics would wait, or be lost by a resume
        self.metrics.keep({**metrics, "memory/peak_gigabytes": distributed.peak_gigabytes(args.device)})

    def on_log(self, args: Any, state: Any, control: Any, logs: Any, **_: Any) -> None:
        journal = self.reward.build().journal
        if "train_runtime" in logs:  # the end; it has the metrics of steps that had no line
            rest = {name: value for name, value in logs.items() if not name.startswith(("train_", "total_"))}
            if self.metrics.complete(rest):
                journal.log(state.global_step, rest)
        elif not journal.begun:
            self.baseline.update(logs)
        else:
            if not all(name.startswith("eval_") or name == "epoch" for name in logs):
                self.metrics.complete(logs)
                state.log_history[-1].update(logs)
            journal.log(state.global_step, logs)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Writes the method's part into the trainer's checkpoint, and the mark that it is complete."""
        core, folder = self.reward.core, Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if not self.guarded:  # somebody asked for this checkpoint after the guard's turn
            core.before_save(state.global_step)
        core.save(folder)
        core.ranks.add_up([0.0])  # every rank has written its part
        if state.is_world_process_zero:
            complete_checkpoint(folder, state.global_step)


class StepMetrics:
    """Metrics of the steps since the last line.

    TRL takes metrics from a reward function alone, and stage 2 comes after it. So trackers show a step's metrics in the
    line of the next step. The run folder and `trainer.state.log_history` have each in the line of its own step. A
    subclass of the trainer can do better: it sets `line`.
    """

    line: dict[str, list[float]] | None = None  # the trainer's own metrics of its next line

    def __init__(self) -> None:
        self.unlogged: dict[str, list[float]] = defaultdict(list)
        self.unsent: dict[str, float] = {}  # of the last step; trackers have not got them yet
        self.late: set[str] = set()  # what the trainer's next line has of an earlier step

    def keep(self, metrics: Mapping[str, float]) -> None:
        """Keeps a step's metrics for the next line."""
        for name, value in metrics.items():
            self.unlogged[name].append(value)
            if self.line is not None:
                self.line[name].append(value)
        if self.line is None:
            self.unsent.update(metrics)

    def send(self, log_metric: Callable[[str, float], None] | None) -> None:
        """Gives the last step's metrics to the trackers."""
        if log_metric is None:
            return
        for name, value in self.unsent.items():
            log_metric(name, value)
        self.late |= self.unsent.keys()
        self.unsent = {}

    @property
    def exact(self) -> bool:
        """Whether the trainer's lines have each step's metrics."""
        return self.line is not None

    def complete(self, logs: dict[str, Any]) -> bool:
        """Puts the metrics of a line's own steps into it: their means, as TRL has them of its own metrics.

        Returns:
            Whether there were such steps.
        """
        own = {name: sum(values) / len(values) for name, values in self.unlogged.items()}
        for name in self.late - own.keys():
            logs.pop(name, None)
        logs.update(own)
        self.unlogged, self.late = defaultdict(list), set()
        return bool(own)


class StopSignals:
    """Takes note of signals while a run is trained. Handlers of somebody else's are left alone.

    Args:
        numbers: these signals are taken. A second one ends the run at once.
    """

    def __init__(self, *numbers: signal.Signals) -> None:
        self.numbers = numbers
        self.received = 0  # the number of the signal that this process has received
        self.before: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Takes the signals from now on. Python lets only the main thread do so."""
        self.received = 0
        if threading.current_thread() is not threading.main_thread():
            return
        for number in self.numbers:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                self.before[number] = signal.signal(number, self._receive)

    def restore(self) -> None:
        """Puts the handlers back that were there before."""
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.before = {}

    def _receive(self, number: int, frame: Any) -> None:
        if self.received or not trains(frame):  # the second one, or training has ended with an error
            self.restore()
            os.kill(os.getpid(), number)
            return
        self.received = number
        if number == signal.SIGINT:
            logger.warning("stopping after this step, with a checkpoint; Ctrl-C again stops at once")


def trains(frame: FrameType | None) -> bool:
    """Whether a method `train` is at work, in a stack of calls."""
    while frame is not None and frame.f_code.co_name != "train":
        frame = frame.f_back
    return frame is not None


def measure(reward: Any, model: Any, tokenizer: Any, accelerator: Accelerator | None, step: int) -> dict[str, float]:
    """The metrics of the held-out measurements; empty where the CooperReward has none. Every rank calls it."""
    if reward.heldout is None:
        return {}
    accelerator = accelerator or Accelerator()  # which has the state of the trainer's
    with (
        unwrap_model_for_generation(model, accelerator) as policy,  # gathers a sharded policy
        accelerator.autocast(),
    ):
        found: dict[str, float] = reward.heldout.measure(policy, tokenizer, reward.core.reward_model, reward.verifier)
    reward.core.journal.log_heldout(step, reward.heldout.last)
    return found


def drop_gradient(model: Any, core: Any, device: torch.device) -> bool:
    """Drops a gradient that is not finite on any rank, so that the optimiser leaves the weights alone."""
    parameters = [p for p in model.parameters() if p.grad is not None]  # empty under DeepSpeed
    corrupted = torch.zeros((), device=device)
    for parameter in parameters:
        grad = parameter.grad.to_local() if hasattr(parameter.grad, "to_local") else parameter.grad
        corrupted += (~torch.isfinite(grad).all()).to(device)
    dropped = bool(core.ranks.add_up([corrupted.item()])[0] > 0)
    if dropped:
        for parameter in parameters:
            parameter.grad = None
    return dropped


def check_engine(accelerator: Accelerator | None, core: Any) -> None:
    """Under DeepSpeed, which has taken its step by now and keeps the gradients: ends a run that it has made useless.

    Raises:
        CooperError: the norm of the policy's gradient is not finite.
    """
    wrapped = getattr(accelerator, "deepspeed_engine_wrapped", None)
    if wrapped is None:
        return
    norm = wrapped.engine.get_global_grad_norm()
    corrupted = norm is not None and not math.isfinite(float(norm))  # None before the first step
    if core.ranks.add_up([float(corrupted)])[0]:
        raise CooperError(
            f"the policy's gradient is not finite (norm {norm}), and DeepSpeed has taken the step with it: resume from"
            " the last checkpoint with a lower learning_rate, or train without DeepSpeed, where such steps are skipped"
        )


def half_types(model: Any) -> list[str]:
    """The types of 16 bits among the trained weights, by their names."""
    types = {p.dtype for p in model.parameters() if p.requires_grad} & {torch.bfloat16, torch.float16}
    return sorted(str(dtype).removeprefix("torch.") for dtype in types)
