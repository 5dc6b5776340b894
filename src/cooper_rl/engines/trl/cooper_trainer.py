"""CooperTrainer: a CooperReward, its callback, and GRPOTrainer with the lean step; and `cooper train` with it."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from transformers.trainer_utils import TrainOutput

from cooper_rl import distributed
from cooper_rl.checkpoints import full_disk, last_checkpoint, step_of
from cooper_rl.engines.config import CooperConfig
from cooper_rl.engines.loading import load_parts, settings_of
from cooper_rl.engines.trl.callback import StopSignals
from cooper_rl.engines.trl.folder import find_checkpoint, is_finished
from cooper_rl.engines.trl.reward_function import CooperReward, copy_policy
from cooper_rl.engines.trl.rows import check_data, check_size, to_dataset, training_rows
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.fast.lean import LeanGRPOTrainer
from cooper_rl.generation import Generator
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.settings.method import CooperSettings
from cooper_rl.settings.train import TrainSettings
from cooper_rl.verifyrm.rm_trainer import take_up
from cooper_rl.verifyrm.stored import adapter_settings

OWN = ("verifier", "assistant", "heldout", "rehearsal", "anchors", "reference_column")  # arguments of CooperReward


class CooperTrainer(LeanGRPOTrainer):
    """Trains a policy with GRPO and, in the `cooper` arm, its reward model along with it.

    Args:
        model: path or hub id of the policy, or the model.
        reward_model: as of `CooperReward`.
        args: a CooperConfig; with a GRPOConfig the method has its defaults.
        train_dataset: columns `prompt` (text or messages) and the reference answer (`reference_answer`, `answer`, ...).
        others: arguments of `CooperReward` (those in `OWN`) and of GRPOTrainer; `reward_funcs` are further ones.

    Raises:
        BadInputError: the arm needs a reward model, the data set cannot be trained on, or it is alone on several GPUs.
    """

    def __init__(
        self, model: Any, reward_model: Any = None, args: Any = None, train_dataset: Any = None, **others: Any
    ) -> None:
        if isinstance(model, str):
            distributed.check_launched()
        args, data = args or CooperConfig(output_dir="cooper-run"), to_dataset(train_dataset)
        own = {name: others.pop(name) for name in OWN if name in others}
        if others.pop("data_checked", False):  # when its problems were read
            check_size(data, args)
        else:
            check_data(data, args, own.get("reference_column"), others.get("eval_dataset"))
        settings = CooperSettings.from_keywords(args if isinstance(args, CooperConfig) else None)
        self.reward = CooperReward(reward_model, settings, bf16=args.bf16, **own)
        if args.model_init_kwargs is None and not (args.bf16 or args.fp16):
            args.model_init_kwargs = {"dtype": "float32"}
        more, callback = others.pop("reward_funcs", None) or [], self.reward.callback
        funcs = [self.reward, *(more if isinstance(more, list) else [more])]
        callbacks = [*(others.pop("callbacks", None) or []), callback]
        super().__init__(model, funcs, args, data, callbacks=callbacks, **others)
        callback.accelerator, callback.data_checked = self.accelerator, True
        callback.base_generator, callback.metrics.line = partial(load_base, self), self._metrics["train"]
        self.cooper, self.verifier = self.reward.build(), self.reward.verifier
        self.reward_model = self.cooper.reward_model
        if settings.credit != "outcome":
            from cooper_rl.credit import TrainerCredit

            self.reward.credit = TrainerCredit(self)

    def train(self, resume_from_checkpoint: str | Path | bool | None = None, **others: Any) -> TrainOutput:
        """As that of GRPOTrainer. True goes on from the last checkpoint that is whole; a finished run is left as it is.

        Raises:
            BadInputError: there is no such checkpoint.
            CooperError: a checkpoint could not be written.
        """
        checkpoint, callback = find_checkpoint(self.args, resume_from_checkpoint), self.reward.callback
        callback.checkpoint = checkpoint
        if checkpoint is not None and is_finished(self.args, checkpoint):
            step = self.state.global_step = self.state.max_steps = step_of(checkpoint)
            self.cooper.journal.finish(step, 0.0)
            return TrainOutput(step, 0.0, {})
        with full_disk(self.args.output_dir, callback.resume_by):
            return super().train(resume_from_checkpoint=str(checkpoint) if checkpoint else None, **others)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            take_up(self.lr_scheduler)


def load_base(trainer: Any) -> Generator:
    """A trainer's reference policy; a copy where it has none, or where it is sharded and ranks would wait for it."""
    if trainer.ref_model is None or trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        return copy_policy(trainer.model)
    reference = trainer.accelerator.unwrap_model(trainer.ref_model)
    return TransformersGenerator(reference, trainer.processing_class, bf16=trainer.args.bf16)


def run_training(recipe: Mapping[str, Any], *, resume: bool = False) -> None:
    """Trains as the recipe says; with `resume`, continues from the last complete checkpoint or from the start.

    Raises:
        CooperError: the hacking alarm stopped the run.
        SystemExit: SIGTERM or Ctrl-C stopped it; its code is 128 + the signal's number.
    """
    distributed.check_launched()
    named, config = settings_of(recipe)
    try:
        trainer = build_trainer(named, config)
    except CooperError:
        raise
    except (ImportError, ValueError) as error:  # a library that a setting needs, or two settings that contradict
        raise BadInputError(f"settings: {' '.join(str(error).split())}") from error
    callback = trainer.reward.callback
    callback.resume_by = "--resume"
    callback.recipe, callback.signals = recipe, StopSignals(signal.SIGTERM, signal.SIGINT)
    last = distributed.of_first(lambda: last_checkpoint(config.output_dir)) if resume else None
    with trainer.verifier:
        trainer.train(resume_from_checkpoint=last)
    step, folder = trainer.state.global_step, config.output_dir
    if callback.stopped_by and step < trainer.state.max_steps:
        raise CooperError(
            f"{folder}: the hacking alarm stopped the run after step {step}, with a checkpoint; look at the report,"
            " then continue with --resume --alarm_action log (or hybrid)"
        )
    if step < config.max_steps:
        raise CooperError(f"{folder}: the run ended after step {step} of {config.max_steps}; see its log")


def build_trainer(named: TrainSettings, config: CooperConfig) -> CooperTrainer:
    """The trainer with its models, data and held-out measurements."""
    parts = load_parts(named, config)
    return CooperTrainer(
        parts.policy,
        parts.reward_model,
        config,
        training_rows(parts.problems, named.system_prompt),
        data_checked=True,
        assistant=parts.assistant,
        heldout=parts.heldout,
        rehearsal=parts.rehearsal,
        anchors=parts.anchors,
        peft_config=adapter_settings("CAUSAL_LM", named.lora_rank, named.lora_alpha) if named.lora_rank else None,
    )
