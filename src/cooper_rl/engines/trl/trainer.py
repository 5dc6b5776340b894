"""CooperTrainer: a CooperReward, its callback, and GRPOTrainer with the lean step."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from cooper_rl.checkpoints import step_of
from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.engines.trl.core import base_of
from cooper_rl.engines.trl.credit import StepCreditTrainer
from cooper_rl.engines.trl.reward import CooperReward
from cooper_rl.engines.trl.rows import as_dataset, check_data
from cooper_rl.settings.method import CooperSettings

OWN = ("verifier", "assistant", "heldout", "rehearsal", "anchors", "reference_column")  # arguments of CooperReward


class CooperTrainer(StepCreditTrainer):
    """Trains a policy with GRPO and, in the `cooper` arm, its reward model along with it.

    Args:
        model: path or hub id of the policy, or the model.
        reward_model: as of `CooperReward`.
        args: a CooperConfig; with a GRPOConfig the method has its defaults.
        train_dataset: columns `prompt` (text or messages) and the reference answer (`reference_answer`, `answer`, ...).
        others: arguments of `CooperReward` (those in `OWN`) and of GRPOTrainer; `reward_funcs` are further ones.

    Raises:
        BadInputError: the arm needs a reward model, or the data set cannot be trained on.
    """

    def __init__(
        self, model: Any, reward_model: Any = None, args: Any = None, train_dataset: Any = None, **others: Any
    ) -> None:
        args, data = args or CooperConfig(output_dir="cooper-run"), as_dataset(train_dataset)
        own = {name: others.pop(name) for name in OWN if name in others}
        check_data(data, args, own.get("reference_column"), others.get("eval_dataset"))
        settings = CooperSettings.given(args if isinstance(args, CooperConfig) else None)
        self.reward = CooperReward(reward_model, settings, bf16=args.bf16, **own)
        if args.model_init_kwargs is None and not (args.bf16 or args.fp16):
            args.model_init_kwargs = {"dtype": "float32"}
        more, callback = others.pop("reward_funcs", None) or [], self.reward.callback
        funcs = [self.reward, *(more if isinstance(more, list) else [more])]
        callbacks = [*(others.pop("callbacks", None) or []), callback]
        super().__init__(model, funcs, args, data, callbacks=callbacks, **others)
        self.enable_credit()
        callback.accelerator, callback.data_checked = self.accelerator, True
        callback.base_generator, callback.metrics.line = partial(base_of, self), self._metrics["train"]
        self.cooper, self.verifier = self.reward.build(), self.reward.verifier
        self.reward_model = self.cooper.reward_model

    def goes_on_from(self, checkpoint: Path | None, *, over: bool) -> None:
        self.reward.callback.checkpoint = checkpoint
        if checkpoint is not None and over:
            self.cooper.journal.finish(step_of(checkpoint), 0.0)
