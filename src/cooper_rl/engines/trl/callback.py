"""The trainer's side of Cooper: stage 2 after the policy's step, checkpoints, measurements, and what ends a run."""

from __future__ import annotations

import logging
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from transformers import TrainerCallback
from trl.models import unwrap_model_for_generation

from cooper_rl.checkpoints import complete_checkpoint
from cooper_rl.engines.stopping import StopSignals
from cooper_rl.engines.trl.arguments import check_cycle, steps_of_a_batch
from cooper_rl.engines.trl.folder import (
    begin_folder,
    check_new_folder,
    check_same_run,
    check_unfinished,
    checkpoint_of,
    restore_order,
)
from cooper_rl.engines.trl.metrics import StepMetrics
from cooper_rl.engines.trl.rows import check_data, check_template
from cooper_rl.errors import BadInputError
from cooper_rl.generation import Generator
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.verifyrm.updater import RewardModelUpdater

logger = logging.getLogger(__name__)
WITHOUT = (
    "the reward function `cooper` works without its callback: it writes no run folder and no checkpoint of the reward"
    " model, and no alarm and no signal ends the run; give the trainer callbacks=[cooper.callback]"
)


class CooperCallback(TrainerCallback):  # type: ignore[misc]
    """The callback of a `CooperReward`, for any trainer with the events of transformers.

    Args:
        reward: the CooperReward that it belongs to.
    """

    def __init__(self, reward: Any) -> None:
        self.reward = reward
        self.args: Any = None  # the trainer's, once it is known
        self.model: Any = None
        self.accelerator: Accelerator | None = None
        self.base_generator: Callable[[], Generator] = self._copy_of_policy
        self.metrics, self.signals = StepMetrics(), StopSignals(signal.SIGTERM)
        self.baseline: dict[str, float] = {}  # an evaluation before training, which is step 0 of the run
        self.folder: Path | None = None  # a resumed run's checkpoint, where it is not in output_dir
        self.resume_by = "trainer.train(resume_from_checkpoint=True)"  # what messages advise
        self.in_step, self.checked, self.alarm_stops, self.stopped_by = False, False, False, ""
        self.begun_here, self.step_started, self.started = False, 0.0, 0.0
        self.data_checked = False  # the training rows were looked through before the models were loaded
        self.warned: set[str] = set()

    def attach(self, args: Any, model: Any) -> None:
        """Takes note of the trainer."""
        if self.args is None:
            check_cycle(args)
        self.args, self.model = args, self.model if model is None else model

    def on_init_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        self.attach(args, model)
        for dtype in {p.dtype for p in model.parameters() if p.requires_grad} & {torch.bfloat16, torch.float16}:
            name = str(dtype).removeprefix("torch.")
            self.warn_once(f"the policy's weights are {name}: small steps are lost in rounding; load it in float32")

    def warn_once(self, text: str) -> None:
        """Warns of each thing once a run."""
        if text not in self.warned:
            self.warned.add(text)
            logger.warning(text)

    def before_call(self, step: int, log_metric: Callable[[str, float], None] | None) -> bool:
        """Called by each call of the reward function. Tells whether stage 2 learns from the batch.

        A trainer without the callback cannot tell training from evaluation. Then the last batch of a step is the one
        that is trained on, and stage 2 takes place at the first call of the next step.
        """
        if self.args is None:
            self.warn_once(WITHOUT)
            if self.reward.batch is not None and self.reward.batch.step != step:
                self.metrics.keep(self.reward.learn())
        learns = self.in_step or self.args is None
        if learns:
            self.metrics.send(log_metric)
        return learns

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, processing_class: Any = None, **others: Any
    ) -> None:
        self.attach(args, model)
        reward, dataloader, self.started = self.reward, others.get("train_dataloader"), time.monotonic()
        reward.check()
        check_unfinished(args, state)
        if not self.data_checked:
            check_data(getattr(dataloader, "dataset", None), args, reward.reference_column)
        check_template(
            processing_class, getattr(dataloader, "dataset", None), getattr(args, "chat_template_kwargs", None)
        )
        core = reward.build()
        self.begun_here = not core.journal.begun  # a run from Python; `cooper train` has begun it with its recipe
        checkpoint = checkpoint_of(args, state, self.folder) if state.global_step else None
        if self.begun_here:
            check_new_folder(core, self.resume_by) if checkpoint is None else check_same_run(core, args)
        if checkpoint is None:
            reward.check_new()
        if isinstance(core.reward_model, RewardModelUpdater):
            core.reward_model.create_scheduler(max(1, state.max_steps // steps_of_a_batch(args)))
        if self.begun_here:
            begin_folder(core, args, state, self.model.config._name_or_path)
        if checkpoint is None:
            measured = self.measure(model, processing_class) if reward.heldout else {}
            if measured or self.baseline:
                core.journal.log(0, {**measured, **self.baseline})
            core.begin()
        else:
            restore_order(dataloader, int(state.epoch or 0))
            core.load(checkpoint)
        self.signals.install()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        core = self.reward.core
        if self.begun_here:
            if not self.stopped_by:
                core.journal.finish(state.global_step, time.monotonic() - self.started)
            core.journal.begun = False
        self.signals.restore()
        core.world.add_up([0.0])  # a rank that ends early would not wait for the others
        if self.stopped_by == "signal" and state.global_step < state.max_steps:
            number = signal.Signals(self.signals.received or signal.SIGTERM)  # another rank may have received it
            told = f"{number.name}: stopped after step {state.global_step} with a checkpoint"
            logger.warning("%s; %s continues", told, self.resume_by)
            raise SystemExit(128 + number)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.in_step, self.step_started = True, time.perf_counter()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Drops a policy gradient that is not finite before the optimiser uses it."""
        parameters = [p for p in model.parameters() if p.grad is not None]  # empty under DeepSpeed
        corrupted = torch.zeros((), device=args.device)
        for parameter in parameters:
            grad = parameter.grad.to_local() if hasattr(parameter.grad, "to_local") else parameter.grad
            corrupted += (~torch.isfinite(grad).all()).to(args.device)
        dropped = self.reward.core.world.add_up([corrupted.item()])[0] > 0
        if dropped:
            for parameter in parameters:
                parameter.grad = None
        self.metrics.keep({"policy/skipped": float(dropped)})
        self.reward.core.skips.count("policy", dropped)

    def on_step_end(
        self, args: Any, state: Any, control: Any, model: Any = None, processing_class: Any = None, **_: Any
    ) -> None:
        reward, core, batch, now = self.reward, self.reward.core, self.reward.batch, time.perf_counter()
        cycle_ends = state.global_step % steps_of_a_batch(args) == 0
        signalled = cycle_ends and core.world.add_up([float(self.signals.received > 0)])[0] > 0
        saving = control.should_save or signalled
        metrics: dict[str, float] = {}
        self.in_step, self.checked = False, saving
        if batch:  # None after a step on an old batch (num_iterations > 1), which has no stage 2
            metrics = reward.learn(saving=saving)
            self.alarm_stops = reward.stops
            metrics["time/score_seconds"] = batch.seconds
            metrics["time/generate_seconds"] = reward.started - self.step_started
            metrics["time/policy_seconds"] = now - reward.started - batch.seconds
        elif saving or (cycle_ends and self.alarm_stops):
            metrics.update(core.before_save(state.global_step).metrics)
        if signalled or (cycle_ends and self.alarm_stops):
            self.stopped_by = "signal" if signalled else "alarm"
            control.should_save = control.should_training_stop = True
        every = core.settings.heldout_steps
        due = state.global_step == state.max_steps or (every and state.global_step % every == 0)
        if reward.heldout and due:
            metrics.update(self.measure(model, processing_class))
        if due or saving or control.should_training_stop:
            control.should_log = True  # with logging_steps > 1 these metrics would wait, the last for ever
        self.metrics.keep({**metrics, "memory/peak_gigabytes": peak_bytes(args.device) / 1e9})

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        journal = self.reward.build().journal
        if not logs or "train_runtime" in logs:
            return
        if not any(name.startswith("eval_") for name in logs):
            self.metrics.complete(logs)
            state.log_history[-1].update(logs)
            journal.log(state.global_step, logs)
        elif journal.written:  # an evaluation: its step has a line already
            journal.add(state.global_step, logs)
        else:
            self.baseline.update(logs)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Writes the method's part into the trainer's checkpoint, and the mark that it is complete."""
        core, folder = self.reward.core, Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if not self.checked:  # somebody asked for this checkpoint after the guard's turn
            core.before_save(state.global_step)
        core.save(folder)
        core.world.add_up([0.0])  # every rank has written its part
        if state.is_world_process_zero:
            complete_checkpoint(folder, state.global_step)

    def measure(self, model: Any, tokenizer: Any) -> dict[str, float]:
        """Makes the held-out measurements and returns their metrics."""
        reward, self.accelerator = self.reward, self.accelerator or Accelerator()  # which has the trainer's state
        with (
            unwrap_model_for_generation(model, self.accelerator) as policy,  # gathers a sharded policy
            self.accelerator.autocast(),
        ):
            found: dict[str, float] = reward.heldout.measure(
                policy, tokenizer, reward.core.reward_model, reward.verifier
            )
        return found

    def _copy_of_policy(self) -> Generator:
        name = getattr(getattr(self.model, "config", None), "_name_or_path", "")
        if not name:
            raise BadInputError(
                "negative source assistant: there is no model that could rewrite; give assistant=..., or other sources,"
                " as in negative_sources={'mined': 1, 'perturb': 1}"
            )
        return TransformersGenerator.from_pretrained(name)


def peak_bytes(device: torch.device) -> int:
    """The peak memory so far, in bytes: of the accelerator, or of this process on a CPU."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
