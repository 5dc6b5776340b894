"""Decoding of a shrinking batch draws what transformers' own loop draws."""

from itertools import product

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from cooper_rl.fast import decode
from cooper_rl.fast.batch import Batch
from cooper_rl.fast.layers import merging_adapters

SIZES = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
PLAIN = {
    "llama": {**SIZES, "num_key_value_heads": 1},
    "qwen3": {**SIZES, "num_key_value_heads": 2, "head_dim": 8},
    "gpt_neox": SIZES,
    "gpt2": {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
    "opt": {**SIZES, "ffn_dim": 32, "word_embed_proj_dim": 16, "max_position_embeddings": 64},
}
OTHERS = {  # a window, a recurrent state
    "gemma2": {**SIZES, "num_key_value_heads": 1, "head_dim": 8, "sliding_window": 4},
    "mamba": {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4},
}
PROMPTS = [[5, 6, 7, 8]] * 3 + [[9, 10]] * 3 + [[11]] * 2
END, PAD = 2, 0


def model_of(kind, **changes):
    torch.manual_seed(3)
    settings = {**PLAIN, **OTHERS}[kind] | {"bos_token_id": 1, "eos_token_id": END, "pad_token_id": PAD} | changes
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(20)  # small random weights make all tokens alike
    return model


def with_transformers(model, prompts, **settings):
    width = max(map(len, prompts))
    ids = torch.tensor([[PAD] * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    written = model.generate(input_ids=ids, attention_mask=mask, pad_token_id=PAD, **settings)[:, width:].tolist()
    return [row[: row.index(END) + 1] if END in row else row for row in written]


def completions(model, prompts, **settings):
    return decode.complete(model, prompts, PAD, [END], pad_token_id=PAD, **settings)


@pytest.fixture
def own_loop(monkeypatch):
    """Counts the batches that the loop itself writes."""
    seen = []
    begin = Batch.prefill
    monkeypatch.setattr(Batch, "prefill", lambda self: seen.append(len(self.rows)) or begin(self))
    return seen


@pytest.mark.parametrize("kind", PLAIN)
def test_the_likeliest_tokens_are_those_of_transformers(kind, own_loop):
    model = model_of(kind)
    expected = with_transformers(model, PROMPTS, max_new_tokens=20, do_sample=False)
    assert len({tuple(row) for row in expected}) == 3
    assert completions(model, PROMPTS, max_new_tokens=20, do_sample=False) == expected
    assert own_loop == [8]


def test_rows_that_end_leave_the_batch_and_disturb_no_other(own_loop, monkeypatch):
    sizes = []
    leave = Batch._leave
    monkeypatch.setattr(Batch, "_leave", lambda self, count: sizes.append(count) or leave(self, count))
    model = model_of("llama")
    prompts = [[3 + i, 4 + i // 2, 5][: 1 + i % 3] for i in range(24)]
    expected = with_transformers(model, prompts, max_new_tokens=30, do_sample=False, eos_token_id=[END, 7, 9])
    expected = [row[: min([row.index(e) for e in (END, 7, 9) if e in row], default=len(row)) + 1] for row in expected]
    settings = {"max_new_tokens": 30, "do_sample": False, "eos_token_id": [END, 7, 9]}
    assert decode.complete(model, prompts, PAD, [END, 7, 9], pad_token_id=PAD, **settings) == expected
    assert len(sizes) > 2 and sizes == sorted(sizes, reverse=True)
    assert len({len(row) for row in expected}) > 3


def test_the_switch_leaves_all_to_transformers(own_loop, monkeypatch):
    monkeypatch.setenv("COOPER_FAST", "0")
    model = model_of("llama")
    expected = with_transformers(model, PROMPTS, max_new_tokens=12, do_sample=False)
    assert completions(model, PROMPTS, max_new_tokens=12, do_sample=False) == expected
    assert own_loop == []


@pytest.mark.parametrize("kind", OTHERS)
def test_other_caches_are_left_to_transformers(kind, own_loop):
    model = model_of(kind)
    expected = with_transformers(model, PROMPTS, max_new_tokens=12, do_sample=False)
    assert completions(model, PROMPTS, max_new_tokens=12, do_sample=False) == expected
    assert own_loop == []


def test_beams_and_processors_with_a_memory_are_left_to_transformers(own_loop):
    model = model_of("llama")
    for settings in ({"num_beams": 2}, {"no_repeat_ngram_size": 2}):
        expected = with_transformers(model, PROMPTS, max_new_tokens=12, do_sample=False, **settings)
        assert completions(model, PROMPTS, max_new_tokens=12, do_sample=False, **settings) == expected
    assert own_loop == []


def test_a_repetition_penalty_sees_the_rows_own_tokens(own_loop):
    model = model_of("llama")
    settings = {"max_new_tokens": 20, "do_sample": False, "repetition_penalty": 1.8}
    assert completions(model, PROMPTS, **settings) == with_transformers(model, PROMPTS, **settings)
    assert own_loop == [8]


def chi_square(counts, probabilities, total):
    """The statistic, and its mean plus 5 standard deviations, over the cells in which a few are expected."""
    cells = [cell for cell, p in probabilities.items() if p * total >= 5]
    rest = total - sum(counts.get(cell, 0) for cell in cells), total - sum(probabilities[c] * total for c in cells)
    pairs = [(counts.get(cell, 0), probabilities[cell] * total) for cell in cells] + ([rest] if rest[1] > 1 else [])
    degrees = len(pairs) - 1
    return sum((seen - due) ** 2 / due for seen, due in pairs), degrees + 5 * (2 * degrees) ** 0.5


@pytest.mark.parametrize(
    ("settings", "nucleus"),  # the one likeliest token does not reach top_p, all seven do
    [
        ({}, 64),
        ({"temperature": 0.6}, 64),
        ({"top_p": 0.7}, 1),
        ({"top_p": 0.7}, 64),
        ({"top_k": 3}, 64),
        ({"min_p": 0.2}, 64),
        ({"temperature": 1.5, "top_p": 0.9}, 1),
        ({"temperature": 1.5, "top_p": 0.9}, 64),
    ],
    ids=str,
)
def test_sequences_are_as_frequent_as_the_model_says(settings, nucleus, monkeypatch):
    """All sequences of three tokens out of seven; some end early, so that rows leave and move."""
    monkeypatch.setattr(decode, "NUCLEUS", nucleus)
    model = model_of("llama", vocab_size=7)
    with torch.no_grad():
        model.lm_head.weight.mul_(0.15)
    decoding = {"top_k": 0, "top_p": 1.0, "temperature": 1.0, **settings}
    probabilities = {}
    with torch.no_grad():
        for first, second in product(range(7), repeat=2):
            logits = model(torch.tensor([[5, 6, first, second]])).logits[0]
            after = [warped(logits[place], decoding) for place in (1, 2, 3)]
            if first == END:
                probabilities[(END,)] = after[0][END].item()
            elif second == END:
                probabilities[(first, END)] = (after[0][first] * after[1][END]).item()
            else:
                for third in range(7):
                    p = after[0][first] * after[1][second] * after[2][third]
                    probabilities[first, second, third] = p.item()
    assert sum(probabilities.values()) == pytest.approx(1, abs=1e-5)
    torch.manual_seed(0)
    total = 20000
    drawn = completions(model, [[5, 6]] * total, max_new_tokens=3, do_sample=True, **decoding)
    counts = {}
    for row in map(tuple, drawn):
        counts[row] = counts.get(row, 0) + 1
    assert all(probabilities[row] > 0 for row in counts)
    statistic, bound = chi_square(counts, probabilities, total)
    assert statistic < bound
    wrong = {cell: p for cell, p in zip(probabilities, reversed(list(probabilities.values())), strict=True)}
    statistic, bound = chi_square(counts, wrong, total)
    assert statistic > bound  # the check sees another distribution


def warped(logits, decoding):
    """Probabilities after temperature, then top_k, top_p and min_p, written out."""
    p = torch.softmax(logits / decoding["temperature"], dim=-1)
    if decoding["top_k"]:
        p = torch.where(p >= p.sort(descending=True).values[decoding["top_k"] - 1], p, 0.0)
    if decoding["top_p"] < 1:
        order = p.argsort(descending=True)
        before = p[order].cumsum(0) - p[order]
        p = p.clone()
        p[order[before >= decoding["top_p"]]] = 0.0
    if decoding.get("min_p"):
        p = torch.where(p >= decoding["min_p"] * p.max(), p, 0.0)
    return p / p.sum()


def test_a_token_of_probability_zero_is_never_drawn():
    probabilities = torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]]).repeat(10000, 1)
    torch.manual_seed(1)
    drawn = decode.draw(probabilities)
    assert set(drawn.tolist()) == {1, 3}
    assert (drawn == 1).float().mean().item() == pytest.approx(0.25, abs=5 * (0.25 * 0.75 / 10000) ** 0.5)


def adapted(kind):
    peft = pytest.importorskip("peft")
    settings = peft.LoraConfig(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules="all-linear")
    model = peft.get_peft_model(model_of(kind), settings)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_()
    return model.eval()


def test_adapters_are_in_the_weights_while_decoding_and_not_after_it(monkeypatch):
    model = adapted("llama")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    expected = with_transformers(model, PROMPTS, max_new_tokens=12, do_sample=False)
    merged = []
    forward = type(model.base_model.model).forward

    def watched(self, *arguments, **settings):
        merged.append(self.model.layers[0].mlp.up_proj.merged)
        return forward(self, *arguments, **settings)

    monkeypatch.setattr(type(model.base_model.model), "forward", watched)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
        assert completions(model, PROMPTS, max_new_tokens=12, do_sample=False) == expected
    assert merged and all(merged)
    monkeypatch.undo()
    after = model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert trained == [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    assert expected != with_transformers(model_of("llama"), PROMPTS, max_new_tokens=12, do_sample=False)


def test_a_model_that_transformers_loads_from_adapters(tmp_path):
    model = adapted("llama")
    model_of("llama").save_pretrained(tmp_path / "base")
    model.peft_config["default"].base_model_name_or_path = str(tmp_path / "base")
    model.save_pretrained(tmp_path / "adapters")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "adapters").eval()
    before = {name: value.clone() for name, value in loaded.state_dict().items()}
    with torch.no_grad():
        found = completions(loaded, PROMPTS, max_new_tokens=12, do_sample=False)
    assert found == with_transformers(model, PROMPTS, max_new_tokens=12, do_sample=False)
    assert all(torch.equal(loaded.state_dict()[name], value) for name, value in before.items())


def test_adapters_are_merged_on_any_device(monkeypatch):
    model = adapted("llama")
    monkeypatch.setattr(type(model), "device", torch.device("cuda"), raising=False)
    with merging_adapters(model):
        assert model.base_model.model.model.layers[0].mlp.up_proj.merged


def test_adapters_come_out_of_the_weights_after_an_error():
    model = adapted("llama")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(ZeroDivisionError), merging_adapters(model):
        raise ZeroDivisionError
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())
    assert not model.base_model.model.model.layers[0].mlp.up_proj.merged
