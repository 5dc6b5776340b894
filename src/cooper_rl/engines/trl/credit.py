"""Token advantages: where the steps of a completion have a credit of their own (`method/credit.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from cooper_rl.engines.credit import reference_values, token_advantages
from cooper_rl.engines.trl.resume import ResumingTrainer
from cooper_rl.engines.trl.reward import CooperReward
from cooper_rl.errors import BadInputError
from cooper_rl.generation.in_process import rendered
from cooper_rl.method.credit import Ends, PolicyValues, Values
from cooper_rl.records import Sample


class StepCreditTrainer(ResumingTrainer):
    """GRPOTrainer whose advantages are those of tokens, (B, T), where the method's settings ask for it."""

    reward: CooperReward

    def enable_credit(self) -> None:
        """Lets the reward ask this trainer's policy for the values of steps.

        Raises:
            BadInputError: the credit needs the whole policy on each rank, and it is sharded.
        """
        check_credit(self.reward.settings.credit, sharded=self.is_fsdp_enabled or self.is_deepspeed_enabled)
        self.reward.policy_values = self._policy_values

    def _policy_values(self, prompts: Sequence[Any], samples: Sequence[Sample]) -> PolicyValues:
        return partial(self._reference_values, prompts, samples)

    def _reference_values(self, prompts: Sequence[Any], samples: Sequence[Sample], ends: Ends) -> Values:
        """The policy's own values of steps, for the credit `reference_gain`."""
        tokenizer, template = self.processing_class, self.args.chat_template_kwargs
        ids = [  # as TRL encodes them: a plain prompt gets the tokenizer's first token, a template writes its own
            tokenizer(prompt)["input_ids"]
            if isinstance(prompt, str)
            else tokenizer(rendered(tokenizer, [prompt], template)[0], add_special_tokens=False)["input_ids"]
            for prompt in prompts
        ]
        policy = self.accelerator.unwrap_model(self.model)
        values: Values = reference_values(policy, tokenizer, ids, samples, ends)
        return values

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        core, batch = self.reward.core, self.reward.batch
        if self.reward.settings.credit == "outcome" or batch is None or core is None:
            return output
        steps = core.credit.of(batch, output["advantages"].tolist())
        length = output["completion_ids"].shape[1]
        output["advantages"] = token_advantages(
            self.processing_class, self.reward.completion_ids, steps, output["advantages"], length
        )
        return output


def check_credit(credit: str, *, sharded: bool) -> None:
    """Refuses a credit that needs the whole policy on each rank, where it is sharded."""
    if credit == "reference_gain" and sharded:
        raise BadInputError(
            "credit = reference_gain: a sharded policy values no steps; run it without FSDP and DeepSpeed"
        )
