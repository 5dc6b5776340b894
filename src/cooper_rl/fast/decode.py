"""Decoding of a batch that shrinks: what `transformers.generate` draws, with less done for each token.

`shrinking_sample` is handed to `model.generate(custom_generate=...)`, so that everything around the loop (the settings'
defaults, processors of the logits, stopping criteria, the cache) is transformers' own. The batch of
`fast.batch` then does less for each token: equal prompts are computed once, rows that have ended leave, and a forward
pass gets its inputs ready-made.

The distribution of each token is the same; the random numbers fall on other tokens once a completion has ended. What
this loop does not know (other caches, processors with a state for each row, beams, several processes in step) goes to
transformers' loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationMixin
from transformers.generation import logits_process
from transformers.generation import stopping_criteria as stopping
from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled

from cooper_rl.fast import is_on
from cooper_rl.fast.batch import Batch
from cooper_rl.fast.layers import merging_adapters
from cooper_rl.packing import has_plain_layers

# Processors whose result for a row depends on that row alone, wherever it stands in the batch.
ROW_BY_ROW = (
    logits_process.TemperatureLogitsWarper,
    logits_process.TopKLogitsWarper,
    logits_process.TopPLogitsWarper,
    logits_process.MinPLogitsWarper,
    logits_process.SuppressTokensLogitsProcessor,
)
IN_PLACE = (logits_process.RepetitionPenaltyLogitsProcessor,)  # knows the rows by their place: none may leave
OTHER_SEARCHES = ("prompt_lookup_num_tokens", "assistant_early_exit", "penalty_alpha", "dola_layers", "constraints")
NUCLEUS = 64  # tokens among which top_p is looked for first
KNOWN_INPUTS = {"attention_mask", "position_ids", "past_key_values", "use_cache", "logits_to_keep"}


def can_shrink(model: Any, processors: Any, criteria: Any, generation_config: Any, inputs: dict[str, Any]) -> bool:
    """Whether `shrinking_sample` knows all that this call of `generate` asks for."""
    prepares = getattr(model.prepare_inputs_for_generation, "__func__", None)
    positions, cache = inputs.get("position_ids"), inputs.get("past_key_values")
    return (
        not model.config.is_encoder_decoder
        and prepares is GenerationMixin.prepare_inputs_for_generation
        and not generation_config.return_dict_in_generate
        and set(inputs) <= KNOWN_INPUTS
        and bool(inputs.get("use_cache"))
        and isinstance(positions, Tensor)
        and positions.dim() == 2
        and cache is not None
        and has_plain_layers(cache)
        and cache.get_seq_length() == 0
        and all(type(each) in ROW_BY_ROW + IN_PLACE for each in processors)
        and all(type(each) in (stopping.MaxLengthCriteria, stopping.EosTokenCriteria) for each in criteria)
    )


def complete(
    model: Any, prompts: Sequence[Sequence[int]], pad_id: int, eos_ids: Sequence[int], **settings: Any
) -> list[list[int]]:
    """Completions of prompts of token ids, in order, each up to and with its first end token.

    Args:
        settings: of `model.generate`.
    """
    width = max(map(len, prompts))
    ids = torch.full((len(prompts), width), pad_id)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(prompt)
        mask[row, width - len(prompt) :] = 1
    # a sharded model gathers its weights in each pass, so that ranks must make as many; `generate` sees to it itself
    alone = is_on() and not (torch.distributed.is_available() and torch.distributed.is_initialized())
    loop: dict[str, Any] = {"custom_generate": shrinking_sample} if alone and is_token_by_token(model, settings) else {}
    if is_deepspeed_zero3_enabled() and not any(hasattr(parameter, "ds_id") for parameter in model.parameters()):
        loop["synced_gpus"] = (
            False  # a whole model beside a sharded policy: its ranks have different numbers of prompts
        )
    with merging_adapters(model) if alone else nullcontext():
        written = model.generate(
            input_ids=ids.to(model.device), attention_mask=mask.to(model.device), **loop, **settings
        )[:, width:].tolist()
    ends = set(eos_ids)
    return [tokens[: next((i + 1 for i, token in enumerate(tokens) if token in ends), None)] for tokens in written]


def is_token_by_token(model: Any, settings: dict[str, Any]) -> bool:
    """Whether each row is drawn or the likeliest taken token by token, without beams, drafts or contrasts."""
    given = settings.get("generation_config") or model.generation_config
    for source in (settings, vars(given), vars(model.generation_config)):
        if (source.get("num_beams") or 1) > 1 or any(source.get(name) for name in OTHER_SEARCHES):
            return False
    return True


def shrinking_sample(
    model: Any,
    input_ids: Tensor,
    logits_processor: Any,
    stopping_criteria: Any,
    generation_config: Any,
    **model_kwargs: Any,
) -> Tensor:
    """For `generate(custom_generate=...)`: prompts (B, P), padded on the left, with their completions, (B, T)."""
    if not can_shrink(model, logits_processor, stopping_criteria, generation_config, model_kwargs):
        result: Tensor = model._sample(
            input_ids,
            logits_processor=logits_processor,
            stopping_criteria=stopping_criteria,
            generation_config=generation_config,
            **model_kwargs,
        )
        return result
    batch = Batch(model, input_ids, stopping_criteria.max_length, _eos_ids(stopping_criteria, input_ids), model_kwargs)
    batch.may_leave = all(type(each) in ROW_BY_ROW for each in logits_processor)
    logits_B_V = batch.prefill()
    before, top_p = split_nucleus(logits_processor)
    while True:
        scores_B_V = before(batch.history(), logits_B_V) if len(before) else logits_B_V
        if generation_config.do_sample:
            tokens_B = draw_from_nucleus(torch.softmax(scores_B_V, dim=-1), top_p)
        else:
            tokens_B = torch.argmax(scores_B_V, dim=-1)
        if batch.add(tokens_B, generation_config._pad_token_tensor):
            return batch.sequences()
        logits_B_V = batch.step()


def _eos_ids(criteria: Any, like: Tensor) -> Tensor | None:
    """The tokens that end a completion, or None."""
    found = [each.eos_token_id for each in criteria if isinstance(each, stopping.EosTokenCriteria)]
    return torch.as_tensor(found[0], device=like.device).reshape(-1) if found else None


def split_nucleus(processors: Any) -> tuple[Any, float]:
    """The processors before a top_p that comes last, and this top_p; all of them and 1 where it does not."""
    for last in processors[-1:]:
        if type(last) is logits_process.TopPLogitsWarper and last.min_tokens_to_keep == 1:
            return type(processors)(processors[:-1]), float(last.top_p)
    return processors, 1.0


def draw_from_nucleus(probabilities_B_V: Tensor, top_p: float) -> Tensor:
    """One token of each row, (B,), among the likeliest whose probabilities reach `top_p`.

    Where the `NUCLEUS` likeliest reach it in every row, the vocabulary need not be sorted, which on a CPU takes as long
    as the forward pass of a small model. To ask whether they do would wait for a GPU at each token, so it sorts always.
    """
    if top_p >= 1:
        return draw(probabilities_B_V)
    few, on_cpu = min(NUCLEUS, probabilities_B_V.shape[1]), probabilities_B_V.device.type == "cpu"
    likeliest = probabilities_B_V.topk(few, dim=-1) if on_cpu else None
    if likeliest is None or bool((likeliest.values.sum(-1) < top_p).any()):
        likeliest = probabilities_B_V.sort(dim=-1, descending=True)
    before = likeliest.values.cumsum(-1) - likeliest.values
    outside = before >= top_p
    outside[:, 0] = False  # the likeliest is always in, also where top_p is 0
    places_B = draw(likeliest.values.masked_fill(outside, 0.0))
    return likeliest.indices.gather(1, places_B[:, None])[:, 0]


def draw(probabilities_B_V: Tensor) -> Tensor:
    """One token of each row, (B,): where the cumulated probabilities pass a uniform number.

    `torch.multinomial` draws a number for each token of the vocabulary, which takes 15 times as long on a CPU. Sums and
    numbers are float64, so that no token is rounded away; a token of probability 0 is not drawn.
    """
    cumulated_B_V = probabilities_B_V.double().cumsum(-1)
    shape, device = (len(probabilities_B_V), 1), probabilities_B_V.device
    passed_B = torch.rand(shape, dtype=torch.float64, device=device) * cumulated_B_V[:, -1:]
    return torch.searchsorted(cumulated_B_V, passed_B, right=True)[:, 0].clamp(max=probabilities_B_V.shape[1] - 1)
