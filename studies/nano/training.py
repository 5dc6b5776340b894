"""What `pretrain` trains with: the tokenizer, demonstrations as token ids, batches, schedule and optimiser."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Iterator

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from cooper_rl.packing import pack_rows

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
SPECIAL_TOKENS = ["<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"]
TEMPLATE_TAGS = [f"<{slash}{name}>" for name in ("question", "reference_answer", "completion") for slash in ("", "/")]
# A piece is a word, one digit or a run of signs, with the space before it. Numbers are thus read digit by digit.
PIECES = r" ?\p{L}+| ?\d| ?[^\s\p{L}\d]+|\s+"


def train_tokenizer(texts: list[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of the world's texts, with a chat template. Text never becomes a special token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(TEMPLATE_TAGS),
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in TEMPLATE_TAGS])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        chat_template=CHAT_TEMPLATE,
        padding_side="left",
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )


def encode(tokenizer: PreTrainedTokenizerFast, pairs: list[tuple[str, str]]) -> list[tuple[list[int], int]]:
    """(token ids of prompt and completion, index of the completion's first token) of each pair."""
    user, assistant, end = tokenizer.convert_tokens_to_ids(["<|user|>", "<|assistant|>", "<|end|>"])
    questions = tokenizer([question for question, _ in pairs], add_special_tokens=False)["input_ids"]
    completions = tokenizer([completion for _, completion in pairs], add_special_tokens=False)["input_ids"]
    return [
        ([user, *question, assistant, *completion, end], len(question) + 2)
        for question, completion in zip(questions, completions, strict=True)
    ]


logger = logging.getLogger(__name__)
IGNORED = -100  # the label of a token that has no loss


def batches(
    examples: list[tuple[list[int], int]], batch_tokens: int, pad: int, rng: random.Random
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches (input_ids_B_T, labels_B_T) of similar length, in random order. Only completion tokens have labels."""
    lengths = [len(ids) for ids, _ in examples]
    order = sorted(range(len(examples)), key=lambda i: (lengths[i], rng.random()))
    groups = list(pack_rows(order, lengths, batch_tokens))
    rng.shuffle(groups)
    for group in groups:
        width = max(len(examples[i][0]) for i in group)
        ids = torch.full((len(group), width), pad)
        labels = torch.full((len(group), width), IGNORED)
        for row, i in enumerate(group):
            tokens, start = examples[i]
            ids[row, : len(tokens)] = torch.tensor(tokens)
            labels[row, start : len(tokens)] = ids[row, start : len(tokens)]
        yield ids, labels


def cosine(steps: int, warmup: int) -> Callable[[int], float]:
    """The factor of the learning rate at a step: a linear warmup, then cosine decay to 0.1."""

    def factor(step: int) -> float:
        progress = min(1.0, step / steps)
        return min(1.0, (step + 1) / warmup) * (0.55 + 0.45 * math.cos(math.pi * progress))

    return factor


def optimize(
    model: LlamaForCausalLM,
    schedule: list[tuple[torch.Tensor, torch.Tensor]],
    factor: Callable[[int], float],
    *,
    learning_rate: float,
    weight_decay: float,
) -> None:
    """Takes one AdamW step per batch, with the learning rate `learning_rate * factor(step)`."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=weight_decay)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    started, running = time.monotonic(), 0.0
    for step, (ids, labels) in enumerate(schedule):
        loss = model(input_ids=ids, labels=labels, attention_mask=(ids != model.config.pad_token_id).long()).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        running = 0.98 * running + 0.02 * loss.item() if step else loss.item()
        if step % 200 == 0:
            logger.info("step %d loss %.4f (%.0f s)", step, running, time.monotonic() - started)
