"""`cooper train` on TRL: one run into a run folder, from a recipe."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from cooper_rl.checkpoints import last_checkpoint
from cooper_rl.engines.parts import load_parts, settings_of
from cooper_rl.engines.stopping import StopSignals
from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.engines.trl.rows import training_rows
from cooper_rl.engines.trl.trainer import CooperTrainer
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.settings.train import TrainRecipe
from cooper_rl.verifyrm.stored import adapter_settings


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
    callback = trainer.reward.callback
    trainer.resume_by = callback.resume_by = "--resume"
    callback.recipe, callback.signals = recipe, StopSignals(signal.SIGTERM, signal.SIGINT)
    with trainer.verifier:
        trainer.train(resume_from_checkpoint=last_checkpoint(config.output_dir) if resume else None)
    step, folder = trainer.state.global_step, config.output_dir
    if callback.stopped_by and step < trainer.state.max_steps:
        raise CooperError(
            f"{folder}: the hacking alarm stopped the run after step {step}, with a checkpoint; look at the report,"
            " then continue with --resume --alarm_action log (or hybrid)"
        )
    if step < config.max_steps:
        raise CooperError(f"{folder}: the run ended after step {step} of {config.max_steps}; see its log")


def build_trainer(named: TrainRecipe, config: CooperConfig) -> CooperTrainer:
    """The trainer with its models, data and held-out measurements."""
    parts = load_parts(named, config)
    return CooperTrainer(
        parts.policy,
        parts.reward_model,
        config,
        training_rows(parts.problems, named.system_prompt),
        assistant=parts.assistant,
        heldout=parts.heldout,
        rehearsal=parts.rehearsal,
        anchors=parts.anchors,
        peft_config=adapter_settings("CAUSAL_LM", named.lora_rank, named.lora_alpha) if named.lora_rank else None,
    )
