"""What GRPOTrainer computes, with fewer tokens and fewer calls: generation, and the log-probabilities of completions.

TRL runs prompt and completion of each row through the model, all rows padded to the longest, and on a CPU the head on
all of them. Here a prompt is computed once for its whole group, completions go on from its keys and values in batches
of like length, and the head sees completion tokens alone. The numbers are TRL's up to rounding. Whatever is not known
to be equal takes TRL's own way: several processes, vLLM, images, dropout, gradient checkpointing, sliding windows.
"""

from __future__ import annotations

import inspect
import logging
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from transformers import DynamicCache, GenerationMixin
from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation

from cooper_rl.fast import is_on
from cooper_rl.fast.batch import distinct_rows
from cooper_rl.fast.decode import complete
from cooper_rl.fast.layers import use_short_attention
from cooper_rl.packing import buckets, has_plain_layers, spread, tokens_of_a_pass

logger = logging.getLogger(__name__)
TOLERANCE = 1e-3  # of the mean difference from TRL's log-probabilities in float32, where the two are compared
HALF_TOLERANCE = 3e-2  # the same where forward passes are computed in 16 bits, whatever type comes out of them


class LeanGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPOTrainer whose generation and log-probabilities leave out what does not change the result."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._equal_models: dict[int, bool] = {}  # by the model's id: whether it gave TRL's log-probabilities
        use_short_attention()
        super().__init__(*args, **kwargs)

    def _generate_single_turn(
        self, prompt_ids: Any, images: Any, multimodal_fields: Any, num_generations: int, **kwargs: Any
    ) -> Any:
        others = self.use_vllm or self.use_transformers_continuous_batching or multimodal_fields or images
        others = others or is_split(self.model)
        if others or self.accelerator.num_processes > 1 or not is_on():
            return super()._generate_single_turn(prompt_ids, images, multimodal_fields, num_generations, **kwargs)
        with (
            unwrap_model_for_generation(
                self.model_wrapped,
                self.accelerator,
                generation_kwargs=self.generation_kwargs,
                gradient_checkpointing_kwargs=self.args.gradient_checkpointing_kwargs,
            ) as model,
            torch.no_grad(),
            self.accelerator.autocast(),  # the precision of the log-probabilities
        ):
            pad_id = self._tokenizer.pad_token_id
            return complete(
                model, prompt_ids, pad_id, self.eos_token_ids, generation_config=self.generation_config
            ), None

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        compute_aux_loss: bool = False,
        **inputs: Any,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        own = super()._get_per_token_logps_and_entropies
        rest = (input_ids, attention_mask, logits_to_keep)
        others = compute_aux_loss or any(value is not None for value in inputs.values())
        if others or not self._is_lean(model, *rest):
            settings = {"compute_entropy": compute_entropy, "compute_aux_loss": compute_aux_loss}
            return own(model, *rest, batch_size, **settings, **inputs)  # type: ignore[no-any-return]
        with self.accelerator.autocast():
            logps, entropies = completion_logps(model, *rest)
        return logps, entropies if compute_entropy else None, None

    def _is_lean(self, model: Any, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int) -> bool:
        """Whether the model's log-probabilities can be had the short way; compared with TRL's own the first time."""
        completions = attention_mask[:, -logits_to_keep:]
        if (
            not is_on()
            or self.accelerator.num_processes > 1
            or self.is_deepspeed_enabled
            or self.is_fsdp_enabled
            or self._is_vlm
            or is_split(model)
            or self.args.gradient_checkpointing
            or self.args.torch_compile
            or input_ids.shape[1] - logits_to_keep < 2
            or not bool(completions[:, 0].any())
            or not continues_prompts(model)
        ):
            return False
        if id(model) not in self._equal_models:
            few = (input_ids[:8], attention_mask[:8], logits_to_keep)
            with torch.no_grad(), self.accelerator.autocast():
                logps, _ = completion_logps(model, *few)
            with torch.no_grad():
                expected, _, _ = super()._get_per_token_logps_and_entropies(model, *few)
            difference = (logps - expected).abs().sum() / few[1][:, -logits_to_keep:].sum().clamp(min=1)
            half = self.args.bf16 or self.args.fp16 or expected.dtype != torch.float32
            equal = bool(difference <= (HALF_TOLERANCE if half else TOLERANCE))
            if not equal:
                logger.warning("a shared prompt changes this model's log-probabilities: TRL's own way is taken")
            self._equal_models[id(model)] = equal
        return self._equal_models[id(model)]


def is_split(model: Any) -> bool:
    """Whether a model's layers lie on several devices: keys and values are then not where their rows' numbers are."""
    return len(set((getattr(model, "hf_device_map", None) or {}).values())) > 1


def continues_prompts(model: Any) -> bool:
    """Whether completions can go on from keys and values of their prompt as if both were one sequence."""
    base = model.get_base_model() if hasattr(model, "peft_config") else model
    if any(each.is_prompt_learning for each in getattr(model, "peft_config", {}).values()):
        return False  # virtual tokens come before the prompt
    config = base.config.get_text_config()
    rope = getattr(config, "rope_parameters", None) or {}
    return (
        not (model.training and has_dropout(model, config))
        and not base.config.is_encoder_decoder
        and rope.get("rope_type") not in ("dynamic", "longrope")  # whose angles depend on the longest sequence
        and base.prepare_inputs_for_generation.__func__ is GenerationMixin.prepare_inputs_for_generation
        and {"past_key_values", "logits_to_keep"} <= set(inspect.signature(base.forward).parameters)
        and has_plain_layers(DynamicCache(config=base.config))
    )


def has_dropout(model: nn.Module, config: Any) -> bool:
    """Whether rows of the same prompt would get different noise."""
    if any(module.p > 0 for module in model.modules() if isinstance(module, nn.Dropout)):
        return True
    found = {name: p for name, p in config.to_dict().items() if "drop" in name and isinstance(p, float)}
    return any(p > 0 for name, p in found.items() if not name.startswith(("classifier", "summary")))  # heads of no LM


def completion_logps(
    model: Any, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int
) -> tuple[Tensor, Tensor | None]:
    """Log-probabilities of the last `logits_to_keep` tokens of each row (B, K), 0 where there is none, and entropies.

    The model must have TRL's fused head, which knows the temperature. Of a prompt all but the last token is computed
    once; from this last token on, each distinct completion is a row of its own.
    """
    config = getattr(model, "config", None)
    place_of_row_B, distinct_D = distinct_rows(torch.cat([input_ids, attention_mask], dim=1))
    input_ids, attention_mask = input_ids[distinct_D], attention_mask[distinct_D]
    split = input_ids.shape[1] - logits_to_keep - 1  # the last token of the prompt predicts the first completion token
    place_B, first_P = distinct_rows(torch.cat([input_ids[:, : split + 1], attention_mask[:, : split + 1]], dim=1))
    prefixes = DynamicCache(config=config)
    prefix_mask = attention_mask[:, :split]
    model(
        input_ids=input_ids[first_P, :split],
        attention_mask=prefix_mask[first_P],
        past_key_values=prefixes,
        use_cache=True,
        logits_to_keep=1,
    )
    lengths = attention_mask[:, -logits_to_keep:].sum(1).tolist()
    order, logps, entropies = [], [], []
    batch_tokens = tokens_of_a_pass(input_ids.device.type)
    for rows in buckets([i for i, length in enumerate(lengths) if length], lengths, batch_tokens):
        length, rows_b = lengths[rows[0]], torch.tensor(rows, device=input_ids.device)
        here = slice(split + 1, split + 1 + length)
        present = attention_mask[rows_b, here]
        labels = input_ids[rows_b, here].masked_fill(present == 0, -100)
        outputs = model(
            input_ids=input_ids[rows_b, split : split + length],
            attention_mask=torch.cat([prefix_mask[rows_b], present], dim=1),
            past_key_values=spread(prefixes, place_B[rows_b], split, config),
            shift_labels=labels,
            fused_lm_head=True,
        )
        order += rows
        logps.append(pad(outputs.log_probs, (0, logits_to_keep - length)))
        if outputs.entropy is not None:
            entropies.append(pad(outputs.entropy, (0, logits_to_keep - length)))
    back = torch.full((len(input_ids),), len(order), device=input_ids.device)  # the row of zeros behind the others
    back[order] = torch.arange(len(order), device=input_ids.device)
    back = back[place_of_row_B]
    return _in_order(logps, back), _in_order(entropies, back) if entropies else None


def _in_order(parts: list[Tensor], back_B: Tensor) -> Tensor:
    parts = [*parts, parts[0].new_zeros((1, parts[0].shape[1]))]
    return torch.cat(parts).index_select(0, back_B)
