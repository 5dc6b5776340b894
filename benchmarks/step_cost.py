"""Counts one joint step of recipes/qwen2.5-1.5b.yaml on H100 cards: tokens, seconds by stage, memory, price of the run.

    python benchmarks/step_cost.py
    python benchmarks/step_cost.py --write  # into docs/step-cost.md

It is arithmetic: nothing is run, and none of it was ever measured. Sizes come from the recipe and from the model's
configuration, memory from `cooper doctor`. What is assumed stands in `Assumed` and `Card`, each with its unit.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from cooper_rl.doctor import memory
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.settings.train import TrainSettings

ROOT = Path(__file__).parents[1]
RECIPE, PAGE = ROOT / "recipes" / "qwen2.5-1.5b.yaml", ROOT / "docs" / "step-cost.md"
BEGIN, END = "<!-- by benchmarks/step_cost.py -->\n", "<!-- end -->\n"
# Qwen2.5-1.5B: embeddings, and of each of 28 layers attention with biases, the gated MLP and two norms
HIDDEN, INNER, LAYERS, VOCABULARY, KV_WIDTH = 1536, 8960, 28, 151_936, 256
LAYER = 2 * HIDDEN * (HIDDEN + KV_WIDTH) + HIDDEN + 2 * KV_WIDTH + 3 * HIDDEN * INNER + 2 * HIDDEN
SHAPE = memory.Shape(VOCABULARY * HIDDEN + LAYERS * LAYER + HIDDEN, LAYERS, HIDDEN, VOCABULARY, KV_WIDTH)
BF16, FLOAT = 2, 4  # bytes


@dataclass(frozen=True)
class Card:
    """An H100 SXM, by its data sheet."""

    flops: float = 989e12  # bf16 products, dense, per second
    bytes: float = 3.35e12  # of its memory, per second
    link: float = 450e9  # bytes per second to the other cards of a node, one way
    gib: float = 79.6


def assumed(value: float, told: str) -> float:
    """A field of `Assumed`."""
    return field(default=value, metadata={"told": told})


@dataclass(frozen=True)
class Assumed:
    """What nobody measured."""

    prompt: float = assumed(200, "tokens of a prompt, mean")
    completion: float = assumed(1000, "tokens of a completion, mean; the longest of a batch has max_completion_length")
    template: float = assumed(100, "tokens that a VerifyRM reads beside question and completion")
    products: float = assumed(0.4, "share of the card's bf16 products that passes reach")
    decoding: float = assumed(0.3, "share of the card's bandwidth that decoding reaches")
    heldout_step: float = assumed(0.025, "seconds for a token of a held-out batch, by transformers")
    verdicts: float = assumed(1000, "long completions that the rule judges in a second, on each rank")
    disk: float = assumed(1e9, "bytes of a checkpoint that are written in a second")
    tried: float = assumed(1.5, "times that a rewrite is asked for, of at most negative_tries")
    price: float = assumed(2.5, "dollars an hour for a card")


def pass_flops(tokens: float, length: float) -> float:
    """Of a forward pass: two for each parameter and token, and attention to half of the sequence."""
    return tokens * (2 * SHAPE.parameters + 2 * LAYERS * HIDDEN * length)


def decode_bytes(rows: float, own: Assumed, longest: int, room: float) -> float:
    """What decoding reads: the weights for each token of the longest row, and each row's keys and values so far.

    Args:
        room: bytes for keys and values. Rows that do not fit wait for others.
    """
    a_token = 2 * LAYERS * KV_WIDTH * BF16
    waves = max(1, math.ceil(rows * (own.prompt + own.completion) * a_token / room))
    seen = own.prompt * own.completion + own.completion**2 / 2
    return waves * longest * SHAPE.parameters * BF16 + rows * seen * a_token


def stages(settings: TrainSettings, ranks: int, card: Card, own: Assumed) -> Iterator[tuple[str, float, float]]:
    """(stage, seconds at the card's limit, seconds with the assumed shares) of a step. The limit is 0 for the host."""
    rows = settings.generation_batch  # of each rank
    length = own.prompt + own.completion
    share = float(settings.trainer_kwargs["vllm_gpu_memory_utilization"])
    room = share * card.gib * memory.GIB - SHAPE.parameters * BF16

    def products(name: str, flops: float) -> tuple[str, float, float]:
        return name, flops / card.flops, flops / card.flops / own.products

    def decoding(name: str, count: float, room: float) -> tuple[str, float, float]:
        least = decode_bytes(count, own, settings.max_completion_length, room) / card.bytes
        return name, least, least / own.decoding

    yield decoding("vLLM writes the completions", rows, room)
    yield "the rule judges (beside the score)", 0.0, rows / own.verdicts
    yield products("VerifyRM scores", pass_flops(rows * (length + own.template), length))
    yield products("log-probabilities, of vLLM's policy and the reference", 2 * pass_flops(rows * length, length))
    yield products("the policy's gradient, with its layers computed again", 4 * pass_flops(rows * length, length))
    pairs = rows * ranks / settings.num_generations * settings.pairs_per_prompt  # of all ranks, on one server
    yield decoding("the assistant rewrites (beside the gradient)", pairs * own.tried, 0.8 * card.gib * memory.GIB)
    sequences = 2 * pairs / ranks * (length + own.template)
    yield products("VerifyRM learns", 4 * pass_flops(sequences, length))
    weights = SHAPE.parameters * FLOAT
    moved = 2 * (2 * (ranks - 1) / ranks * weights / card.link + 7 * weights / card.bytes)
    yield "gradients summed and both optimisers' steps", moved, moved
    batches = math.ceil(settings.heldout_dataset_size / ranks / rows)
    heldout = batches * settings.max_completion_length * own.heldout_step / settings.heldout_steps
    yield "held-out measuring, spread over its steps", 0.0, heldout
    yield "checkpoints, spread over their steps", 0.0, 6 * weights / own.disk / settings.save_steps


def per_step(found: Sequence[tuple[str, float, float]], column: int) -> float:
    """Seconds of a step: what is done beside another stage counts where it takes longer."""
    seconds = {stage[0]: stage[column] for stage in found}
    beside = {
        "the rule judges (beside the score)": "VerifyRM scores",
        "the assistant rewrites (beside the gradient)": "the policy's gradient, with its layers computed again",
    }
    hidden = sum(min(seconds[a], seconds[b]) for a, b in beside.items())
    return sum(seconds.values()) - hidden


def settings_on(ranks: int) -> TrainSettings:
    """The recipe on this many cards, with as many completions a step as on 8."""
    recipe = load_recipe(RECIPE)
    return TrainSettings.from_recipe(
        {**recipe, "gradient_accumulation_steps": recipe["gradient_accumulation_steps"] * 8 // ranks}
    )


def memory_parts(settings: TrainSettings, card: Card) -> dict[str, float]:
    """GiB by part, as `cooper doctor` counts them, on a card."""
    tokens = memory.PROMPT_TOKENS + settings.max_completion_length
    parts = memory.policy_bytes(settings, SHAPE, tokens, ranks=8, in_tiles=True)
    parts["reward model weights"] = memory.FLOAT * SHAPE.parameters
    parts |= memory.cotraining_bytes(settings, SHAPE, tokens, ranks=8, on_device=True)
    del parts["key-value cache"]  # vLLM's
    found = {name: size / memory.GIB for name, size in parts.items() if memory.IN_MAIN_MEMORY not in name}
    return found | memory.vllm_gib(settings, card.gib)


def page(card: Card, own: Assumed) -> str:
    """The tables, as Markdown."""
    cases = {ranks: settings_on(ranks) for ranks in (1, 8)}
    found = {ranks: list(stages(settings, ranks, card, own)) for ranks, settings in cases.items()}
    eight = cases[8]
    rollouts = eight.generation_batch * 8
    lines = [
        f"A step has {rollouts:,} completions of {rollouts // eight.num_generations} problems:"
        f" {rollouts * own.completion / 1e6:.2f} million tokens written, and"
        f" {rollouts * (own.prompt + own.completion) / 1e6:.2f} million read in each pass.",
        f"The model has {SHAPE.parameters / 1e9:.3f} billion parameters.",
        "",
        "| Seconds of a step | 1 card: limit | 1 card: expected | 8 cards: limit | 8 cards: expected |",
        "|---|---|---|---|---|",
    ]
    for one, other in zip(found[1], found[8], strict=True):
        numbers = " | ".join(f"{value:.2f}" if value else "-" for value in (*one[1:], *other[1:]))
        lines.append(f"| {one[0]} | {numbers} |")
    totals = [per_step(found[ranks], column) for ranks in (1, 8) for column in (1, 2)]
    lines.append(f"| **together** | {' | '.join(f'**{total:.1f}**' for total in totals)} |")
    lines += ["", "| 300 steps | 1 card | 8 cards |", "|---|---|---|"]
    hours = {ranks: eight.max_steps * per_step(found[ranks], 2) / 3600 for ranks in (1, 8)}
    lines.append("| hours | " + " | ".join(f"{hours[ranks]:.1f}" for ranks in (1, 8)) + " |")
    prices = " | ".join(f"{hours[ranks] * ranks * own.price:,.0f}" for ranks in (1, 8))
    lines += [f"| dollars, at {own.price} an hour for a card | {prices} |", ""]
    parts = memory_parts(eight, card)
    lines += ["| Memory of a card | GiB |", "|---|---|", *(f"| {name} | {size:.1f} |" for name, size in parts.items())]
    lines += [f"| **at the peak**, of {card.gib} | **{memory.total(parts):.1f}** |", ""]
    lines += ["| Assumed | Value |", "|---|---|"]
    lines += [f"| {item.metadata['told']} | {getattr(own, item.name):,g} |" for item in fields(own)]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    arguments = parser.parse_args()
    made = page(Card(), Assumed())
    if not arguments.write:
        sys.stdout.write(made)
        return
    before = PAGE.read_text(encoding="utf-8")
    after = re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: f"{BEGIN}{made}{END}", before, flags=re.DOTALL)
    PAGE.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
