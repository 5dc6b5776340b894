"""CooperTrainer: a CooperReward, its callback, and GRPOTrainer with the lean step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback
from transformers.trainer_utils import TrainOutput
from trl import GRPOConfig

from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.engines.trl.credit import StepCreditTrainer
from cooper_rl.engines.trl.folder import full_disk, is_finished, resumable, step_of
from cooper_rl.engines.trl.reward import CooperReward
from cooper_rl.engines.trl.rows import as_dataset, check_data
from cooper_rl.generation import Generator
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.settings.method import CooperSettings
from cooper_rl.verifyrm.trainer import take_up

OWN = ("verifier", "assistant", "heldout", "rehearsal", "anchors", "reference_column")


class CooperTrainer(StepCreditTrainer):
    """Trains a policy with GRPO and, in the `cooper` arm, its reward model along with it.

    Args:
        model: path or hub id of the policy, or the model.
        reward_model: as of `CooperReward`.
        args: a CooperConfig; with a GRPOConfig the method has its defaults.
        train_dataset: columns `prompt` (text or messages) and the reference answer (`reference_answer`, `answer`, ...).
        others: arguments of `CooperReward` (`heldout`, `anchors`, ...) and of GRPOTrainer; `reward_funcs` are further
            reward functions.

    Raises:
        BadInputError: the arm needs a reward model, or the data set cannot be trained on.
    """

    def __init__(
        self,
        model: Any,
        reward_model: Any = None,
        args: GRPOConfig | None = None,
        train_dataset: Any = None,
        **others: Any,
    ) -> None:
        args = args or CooperConfig(output_dir="cooper-run")
        own = {name: others.pop(name) for name in OWN if name in others}
        train_dataset = as_dataset(train_dataset)
        check_data(train_dataset, args, own.get("reference_column"), others.get("eval_dataset"))
        settings = CooperSettings.given(args if isinstance(args, CooperConfig) else None)
        self.reward = CooperReward(reward_model, settings, bf16=args.bf16, **own)
        if args.model_init_kwargs is None and not (args.bf16 or args.fp16):
            args.model_init_kwargs = {"dtype": "float32"}
        more = others.pop("reward_funcs", None) or []
        funcs = [self.reward, *(more if isinstance(more, list) else [more])]
        callbacks: list[TrainerCallback] = [*(others.pop("callbacks", None) or []), self.reward.callback]
        super().__init__(model, funcs, args, train_dataset, callbacks=callbacks, **others)
        self.enable_credit()
        callback = self.reward.callback
        callback.accelerator, callback.base_generator, callback.data_checked = (
            self.accelerator,
            self._base_generator,
            True,
        )
        callback.metrics.add = self._add_metrics
        self.cooper = self.reward.build()
        self.verifier, self.reward_model = self.reward.verifier, self.cooper.reward_model

    def _add_metrics(self, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self._metrics["train"][name].append(value)

    def _base_generator(self) -> Generator:
        """The policy's base model, which is GRPO's reference policy.

        A sharded reference policy would make the ranks wait for one another in each pass, and one rank may ask it more
        often than another. Then each rank has a copy of its own.
        """
        if self.ref_model is None or self.is_fsdp_enabled or self.is_deepspeed_enabled:
            return TransformersGenerator.from_pretrained(self.model.config._name_or_path)
        reference = self.accelerator.unwrap_model(self.ref_model)
        return TransformersGenerator(reference, self.processing_class, bf16=self.args.bf16)

    def train(self, resume_from_checkpoint: str | Path | bool | None = None, **others: Any) -> TrainOutput:
        """As that of GRPOTrainer. With True it goes on from the last checkpoint that is whole; a finished run stays."""
        checkpoint = resumable(self.args, resume_from_checkpoint)
        if checkpoint is not None and is_finished(self.args, checkpoint):
            return TrainOutput(step_of(checkpoint), 0.0, {})
        self.reward.callback.folder = checkpoint
        with full_disk(self.args.output_dir, self.reward.callback.resume_by):
            return super().train(resume_from_checkpoint=str(checkpoint) if checkpoint else None, **others)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            take_up(self.lr_scheduler)
