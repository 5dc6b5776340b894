"""`cooper train` on TRL: one run into a run folder, from a recipe."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from cooper_rl.checkpoints import last_checkpoint
from cooper_rl.engines.parts import environment, load_parts, resolved, settings_of
from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.engines.trl.trainer import CooperTrainer, training_rows
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.settings.train import TrainRecipe
from cooper_rl.verifyrm.adapters import adapter_settings

logger = logging.getLogger(__name__)


def run_training(recipe: Mapping[str, Any], *, resume: bool = False) -> None:
    """Trains as the recipe says; with `resume`, continues from the last complete checkpoint or from the start.

    Raises:
        CooperError: the hacking alarm stopped the run.
        SystemExit: SIGTERM or Ctrl-C stopped it; its code is 128 + the signal's number.
    """
    named, config = settings_of(recipe)
    try:
        trainer = build_trainer(named, config)
    except CooperError:
        raise
    except (ImportError, ValueError) as error:  # a library that a setting needs, or two settings that contradict
        raise BadInputError(f"settings: {' '.join(str(error).split())}") from error
    checkpoint = last_checkpoint(config.output_dir) if resume else None
    after_step = int(checkpoint.name.split("-")[1]) if checkpoint else -1
    if 0 < config.max_steps < after_step:
        raise BadInputError(
            f"{config.output_dir}: has a checkpoint of step {after_step}; set max_steps, now"
            f" {config.max_steps}, to that or more"
        )
    trainer.journal.begin(resolved(recipe, config), environment(config.seed), after_step)
    if config.max_steps == after_step:  # transformers would take one step more
        trainer.journal.finish(after_step, 0.0)
        return
    trainer.accelerator.wait_for_everyone()
    started = time.monotonic()
    before = {number: signal.signal(number, partial(stop, trainer)) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with trainer.verifier:
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    step = trainer.state.global_step
    trainer.accelerator.wait_for_everyone()  # a rank that stops early would end without waiting for the others
    if trainer.stopped_by and step < trainer.state.max_steps:
        if trainer.stopped_by == "signal":
            received = signal.Signals(trainer.signalled or signal.SIGTERM)  # another rank may have received it
            logger.warning("%s: stopped after step %d with a checkpoint; --resume continues", received.name, step)
            raise SystemExit(128 + received)
        raise CooperError(
            f"{config.output_dir}: the hacking alarm stopped the run after step {step}, with a checkpoint; look at the"
            " report, then continue with --resume --alarm_action log (or hybrid)"
        )
    if step < config.max_steps:
        raise CooperError(f"{config.output_dir}: the run ended after step {step} of {config.max_steps}; see its log")
    trainer.journal.finish(step, time.monotonic() - started)


def stop(trainer: CooperTrainer, number: int, _: Any) -> None:
    """The handler of SIGTERM and of Ctrl-C: the run ends after the step, with a checkpoint; a second Ctrl-C ends it."""
    trainer.signalled = number
    if number == signal.SIGINT:
        signal.signal(number, signal.default_int_handler)
        logger.warning("stopping after this step, with a checkpoint; Ctrl-C again stops at once")


def build_trainer(named: TrainRecipe, config: CooperConfig) -> CooperTrainer:
    """The trainer with its models, data and held-out measurements."""
    parts = load_parts(named, config)
    adapters = adapter_settings("CAUSAL_LM", named.lora_rank, named.lora_alpha) if named.lora_rank else None
    return CooperTrainer(
        parts.policy,
        parts.reward_model,
        config,
        training_rows(parts.problems, named.system_prompt),
        assistant=parts.assistant,
        heldout=parts.heldout,
        rehearsal=parts.rehearsal,
        anchors=parts.anchors,
        peft_config=adapters,
    )
