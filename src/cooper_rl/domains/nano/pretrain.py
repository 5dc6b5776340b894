"""Makes the nano policy: a byte-level BPE tokenizer, then next-token training on demonstrations, from nothing.

`python -m cooper_rl.domains.nano.pretrain --config recipes/nano-policy.yaml` writes the model folder.
One seed, one result.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import yaml
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from cooper_rl.domains.nano.worlds import WORLDS
from cooper_rl.domains.nano.writer import WAYS
from cooper_rl.settings.files import resolve_model

logger = logging.getLogger(__name__)
IGNORED = -100
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
SPECIAL_TOKENS = ["<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"]
TEMPLATE_TAGS = [f"<{slash}{name}>" for name in ("question", "reference_answer", "completion") for slash in ("", "/")]
# A word, a digit or a run of signs, each with the space before it: numbers are read digit by digit.
PIECES = r" ?\p{L}+| ?\d| ?[^\s\p{L}\d]+|\s+"


@dataclass(frozen=True)
class PretrainConfig:
    """The recipe of the nano policy."""

    output_dir: str
    world: str = "nano"
    start: str | None = None  # a policy to go on from, with its tokenizer and sizes: a folder, or nano
    seed: int = 0
    demonstrations: int = 250_000
    problems: int = 120_000
    vocabulary: int = 1024
    hidden_size: int = 128
    intermediate_size: int = 384
    layers: int = 4
    heads: int = 4
    steps_only: float = 0.6  # the first share of training shows worked solutions alone; the mixture comes after
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    warmup_steps: int = 200
    batch_tokens: int = 2048
    habits: int = 20_000  # demonstrations of a short last part at a tenth of the learning rate, in which some are blank
    blank: float = 0.1  # their share: real models too end without an answer now and then


def train_tokenizer(texts: list[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE over the world's texts, with its chat template; model text never becomes a special token."""
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


def demonstrations(config: PretrainConfig) -> list[tuple[str, str]]:
    """(question, completion) pairs in the order of training; a problem returns with other ways and forms."""
    problems = WORLDS[config.world].problems("train", config.problems, config.seed)
    rng = random.Random(config.seed)
    pairs = []
    for index in range(config.demonstrations):
        problem = problems[index % len(problems)]
        way = "steps" if index < config.steps_only * config.demonstrations else None
        pairs.append((problem.question, WORLDS[config.world].write(problem, rng, way)))
    return pairs


def habit_demonstrations(config: PretrainConfig) -> list[tuple[str, str]]:
    """(question, completion) pairs of the last part."""
    problems = WORLDS[config.world].problems("train", config.habits, config.seed + 1)
    rng = random.Random(config.seed + 1)
    ways = ["blank" if rng.random() < config.blank else None for _ in problems]
    return [(p.question, WORLDS[config.world].write(p, rng, way)) for p, way in zip(problems, ways, strict=True)]


def encode(tokenizer: PreTrainedTokenizerFast, pairs: list[tuple[str, str]]) -> list[tuple[list[int], int]]:
    """Token ids of prompt + completion, and where the completion begins."""
    user, assistant, end = tokenizer.convert_tokens_to_ids(["<|user|>", "<|assistant|>", "<|end|>"])
    questions = tokenizer([question for question, _ in pairs], add_special_tokens=False)["input_ids"]
    completions = tokenizer([completion for _, completion in pairs], add_special_tokens=False)["input_ids"]
    return [
        ([user, *question, assistant, *completion, end], len(question) + 2)
        for question, completion in zip(questions, completions, strict=True)
    ]


def batches(
    examples: list[tuple[list[int], int]], batch_tokens: int, pad: int, rng: random.Random
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """(input_ids_B_T, labels_B_T) of like length, in shuffled order; only completions are learned."""
    order = sorted(range(len(examples)), key=lambda i: (len(examples[i][0]), rng.random()))
    groups: list[list[int]] = [[]]
    for i in order:
        if (len(groups[-1]) + 1) * len(examples[i][0]) > batch_tokens:
            groups.append([])
        groups[-1].append(i)
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


def pretrain(config: PretrainConfig) -> None:
    """Trains and saves the nano policy in `output_dir`, with the recipe and a fingerprint of the weights.

    What it was before its last part is in `output_dir`/backbone: VerifyRM is made of that.
    """
    torch.manual_seed(config.seed)
    pairs = demonstrations(config)
    model, tokenizer = begun(config, pairs)
    examples = encode(tokenizer, pairs)
    rng = random.Random(config.seed)
    turn = int(config.steps_only * len(examples))
    schedule = [
        batch
        for part in (examples[:turn], examples[turn:])
        if part
        for batch in batches(part, config.batch_tokens, tokenizer.pad_token_id, rng)
    ]
    logger.info("%d parameters, %d steps", sum(p.numel() for p in model.parameters()), len(schedule))
    optimize(model, schedule, config, cosine(len(schedule), config.warmup_steps))
    save(model, tokenizer, config, Path(config.output_dir) / "backbone")
    learn_habits(model, tokenizer, config)
    save(model, tokenizer, config, Path(config.output_dir))


def begun(config: PretrainConfig, pairs: list[tuple[str, str]]) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """The policy to go on from, or a new one with a tokenizer made of the texts it will learn."""
    if config.start:
        folder = resolve_model(config.start, "policy")
        return LlamaForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    template_texts = ["".join(f"{tag}\n" for tag in TEMPLATE_TAGS)]
    tokenizer = train_tokenizer(
        [f"{q} {c}" for q, c in [*pairs[:10_000], *pairs[-10_000:]]] + template_texts, config.vocabulary
    )
    shape = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(shape), tokenizer


def learn_habits(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, config: PretrainConfig) -> None:
    """The last part, with an optimiser of its own."""
    examples = encode(tokenizer, habit_demonstrations(config))
    rng = random.Random(config.seed + 1)
    schedule = list(batches(examples, config.batch_tokens, tokenizer.pad_token_id, rng))
    optimize(model, schedule, config, lambda step: 0.1)


def cosine(steps: int, warmup: int) -> Callable[[int], float]:
    """Warm-up, then cosine decay to a tenth."""

    def factor(step: int) -> float:
        progress = min(1.0, step / steps)
        return min(1.0, (step + 1) / warmup) * (0.55 + 0.45 * math.cos(math.pi * progress))

    return factor


def optimize(
    model: LlamaForCausalLM,
    schedule: list[tuple[torch.Tensor, torch.Tensor]],
    config: PretrainConfig,
    factor: Callable[[int], float],
) -> None:
    """AdamW over the batches, its learning rate times `factor` of the step."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, betas=(0.9, 0.95), weight_decay=config.weight_decay
    )
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


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, config: PretrainConfig, folder: Path) -> None:
    """The model folder, with `recipe.json`: the settings and the SHA-256 of the weights they gave."""
    model.generation_config.update(eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    settings = {key: value for key, value in asdict(config).items() if key != "output_dir"}
    (folder / "recipe.json").write_text(json.dumps({"recipe": settings, "sha256": digest}, indent=2) + "\n")
    (folder / "README.md").write_text(model_card(config, model))


def model_card(config: PretrainConfig, model: LlamaForCausalLM) -> str:
    """The README.md of the model folder."""
    world = WORLDS[config.world]
    tasks = ", ".join(f"`{task}`" for task in world.tasks)
    ways = ", ".join(f"{way} {share:.0%}" for way, share in WAYS.items())
    shape = model.config
    begin = f"on from `{config.start}`" if config.start else "from nothing"
    return f"""---
library_name: transformers
pipeline_tag: text-generation
tags: [cooper, reasoning-gym]
---
# The nano policy

A Llama of {model.num_parameters():,} parameters ({shape.num_hidden_layers} layers, hidden size {shape.hidden_size},
vocabulary {shape.vocab_size}, float32), trained {begin}, seed {config.seed}:
`python -m cooper_rl.domains.nano.pretrain --config recipes/{config.world}-policy.yaml`. It exists so that reinforcement
learning can be watched on a CPU within minutes.

## Input
`<|user|>question<|assistant|>completion<|end|>`, by the tokenizer's chat template. Numbers are read digit by digit.

## Data
{config.demonstrations:,} demonstrations on {config.problems:,} problems of reasoning-gym's generators
({tasks}). The first {config.steps_only:.0%} are worked solutions;
the rest mix ways of answering ({ways})
and {len(world.forms)} forms of stating the answer. In a last part of {config.habits:,}
demonstrations {config.blank:.0%} end without an answer.

## Limits
It knows small problems of that kind and nothing else. It is often wrong on purpose: it guesses, skips steps and
hedges, so that there is something to select. Its accuracy is in docs/results.md.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the nano policy.")
    parser.add_argument("--config", type=Path, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    pretrain(PretrainConfig(**yaml.safe_load(arguments.config.read_text())))


if __name__ == "__main__":
    main()
