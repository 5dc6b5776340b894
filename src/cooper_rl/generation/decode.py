"""Decoding of a batch that shrinks: what `transformers.generate` draws, with less done for each token.

`shrinking_sample` is handed to `model.generate(custom_generate=...)`, so that everything around the loop (the settings'
defaults, processors of the logits, stopping criteria, the cache) is transformers' own. In the loop

- a prompt that stands in the batch several times, as each of GRPO's does, is computed once;
- keys and values are written into room kept for them, where a `DynamicLayer` copies all of them for each token;
- completions that have ended leave the batch;
- a forward pass gets its inputs ready-made.

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

from cooper_rl.attention import has_plain_layers
from cooper_rl.generation.cache import ROOM, roomy
from cooper_rl.generation.draw import drawn_of_nucleus, without_nucleus
from cooper_rl.generation.merged import adapters_merged

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
KNOWN_INPUTS = {"attention_mask", "position_ids", "past_key_values", "use_cache", "logits_to_keep"}
LEAVE_SHARE = 8  # rows leave the batch when at least one in so many has ended
CHECK_EVERY = 8  # tokens between two looks at which rows have ended, on an accelerator, where each look waits for it


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
    alone = not (torch.distributed.is_available() and torch.distributed.is_initialized())
    loop = {"custom_generate": shrinking_sample} if alone and is_token_by_token(model, settings) else {}
    with adapters_merged(model) if alone else nullcontext():
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
    batch = _Batch(model, input_ids, stopping_criteria.max_length, _eos_ids(stopping_criteria, input_ids), model_kwargs)
    batch.may_leave = all(type(each) in ROW_BY_ROW for each in logits_processor)
    logits_B_V = batch.prefill()
    before, top_p = without_nucleus(logits_processor)
    while True:
        scores_B_V = before(batch.history(), logits_B_V) if len(before) else logits_B_V
        if generation_config.do_sample:
            tokens_B = drawn_of_nucleus(torch.softmax(scores_B_V, dim=-1), top_p)
        else:
            tokens_B = torch.argmax(scores_B_V, dim=-1)
        if batch.add(tokens_B, generation_config._pad_token_tensor):
            return batch.sequences()
        logits_B_V = batch.step()


def _eos_ids(criteria: Any, like: Tensor) -> Tensor | None:
    """The tokens that end a completion, or None."""
    found = [each.eos_token_id for each in criteria if isinstance(each, stopping.EosTokenCriteria)]
    return torch.as_tensor(found[0], device=like.device).reshape(-1) if found else None


class _Batch:
    """The rows that are still written, out of B, and everything that the next forward pass needs of them."""

    def __init__(
        self, model: Any, input_ids: Tensor, max_length: int, eos_ids: Tensor | None, inputs: dict[str, Any]
    ) -> None:
        self.model = model
        self.eos_ids = eos_ids
        self.may_leave = True
        self.prompts = input_ids
        self.length = input_ids.shape[1]
        self.all_ids = input_ids.new_zeros((len(input_ids), max_length))
        self.all_ids[:, : self.length] = input_ids
        self.rows = torch.arange(len(input_ids), device=input_ids.device)  # of those still in the batch
        self.ended = torch.zeros_like(self.rows, dtype=torch.bool)
        self.mask: Tensor | None = None
        if inputs.get("attention_mask") is not None:
            self.mask = input_ids.new_ones(self.all_ids.shape)
            self.mask[:, : self.length] = inputs["attention_mask"]
        self.prompt_positions = inputs["position_ids"].expand(len(input_ids), -1)
        self.positions = self.prompt_positions[:, -1:]
        self.cache = roomy(inputs["past_key_values"])
        self.further = {"logits_to_keep": 1} if "logits_to_keep" in inputs else {}

    def prefill(self) -> Tensor:
        """Computes each distinct prompt once; logits of the first new token, (B, V)."""
        sides = [self.prompts] if self.mask is None else [self.prompts, self.mask]
        back, distinct = distinct_rows(torch.cat(sides, dim=1))
        logits = self._forward(self.prompts[distinct], self.prompt_positions[distinct], distinct)
        for layer in self.cache.layers:
            layer.spread(back, min(self.all_ids.shape[1] - self.length, ROOM))
        return logits[back]

    def step(self) -> Tensor:
        """Logits after the last token of the rows in the batch, (rows, V)."""
        self.positions = self.positions + 1
        return self._forward(self.all_ids[self.rows, self.length - 1][:, None], self.positions, self.rows)

    def _forward(self, ids: Tensor, positions: Tensor, rows: Tensor) -> Tensor:
        mask = None if self.mask is None else self.mask[rows, : self.length]
        outputs = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=self.cache,
            use_cache=True,
            return_dict=True,
            **self.further,
        )
        return outputs.logits[:, -1].float()

    def history(self) -> Tensor:
        """All tokens so far of the rows in the batch."""
        return self.all_ids[self.rows, : self.length]

    def add(self, tokens_B: Tensor, pad_id: Tensor | None) -> bool:
        """Takes the new tokens; returns whether nothing is left to write. Rows that have ended get padding."""
        if self.eos_ids is not None:
            if pad_id is not None:
                tokens_B = torch.where(self.ended, pad_id.to(tokens_B), tokens_B)
            self.ended |= torch.isin(tokens_B, self.eos_ids)
        self.all_ids[self.rows, self.length] = tokens_B
        self.length += 1
        if self.length == self.all_ids.shape[1]:
            return True
        if self.eos_ids is None or (tokens_B.device.type != "cpu" and self.length % CHECK_EVERY):
            return False
        count = int(self.ended.sum())
        if count == len(self.rows):
            return True
        if self.may_leave and count * LEAVE_SHARE >= len(self.rows):
            self._leave(len(self.rows) - count)
        return False

    def _leave(self, count: int) -> None:
        """The rows that have ended leave; of the `count` others those at the end move into their places."""
        targets = self.ended[:count].nonzero()[:, 0]
        sources = (~self.ended[count:]).nonzero()[:, 0] + count
        for state in (self.rows, self.positions):
            state[targets] = state[sources]
        self.rows, self.positions = self.rows[:count], self.positions[:count]
        self.ended = torch.zeros_like(self.ended[:count])
        for layer in self.cache.layers:
            layer.move(sources, targets, count)

    def sequences(self) -> Tensor:
        """Prompts and completions, (B, T)."""
        return self.all_ids[:, : self.length]


def distinct_rows(rows_B_T: Tensor) -> tuple[Tensor, Tensor]:
    """(place_B, first_P): which distinct row each row is, and where each distinct row comes first."""
    first: dict[bytes, int] = {}
    place = [first.setdefault(row.tobytes(), len(first)) for row in rows_B_T.cpu().numpy()]
    firsts = [place.index(p) for p in range(len(first))]
    return torch.tensor(place, device=rows_B_T.device), torch.tensor(firsts, device=rows_B_T.device)
