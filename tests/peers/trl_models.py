"""What TRL's tests load from the hub, made here: tiny models, their tokenizer and data, as folders of their names.

TRL's tests name `trl-internal-testing/<name>`. Where a folder of that name is in the working directory, transformers
and datasets take it and ask no hub. The models have random weights. Their vocabulary is a hundredth of Qwen's, whose
head would take most of the time; the few ids of Qwen that the tests write down are renumbered (`renumbered`).
"""

from __future__ import annotations

import codecs
import contextlib
import importlib
import io
import json
import re
import string
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    PreTrainedTokenizerFast,
)

OWNER = "trl-internal-testing"

# Qwen's ids in completions that the tests write down, with the texts that they say these are. Ids below 256 are bytes.
SPECIAL = {151643: "<|endoftext|>", 151644: "<|im_start|>", 151645: "<|im_end|>"}
SPECIAL[128004] = "<|finetune_right_pad_id|>"  # of Llama, which one test pads with
TAGS = {151657: "<tool_call>", 151658: "</tool_call>"}
PIECES = {
    4913: '{"', 606: "name", 788: '":', 330: ' "', 64648: "multiply", 22785: "_tool", 497: '",', 16370: "arguments",
    5212: ' {"', 11248: "}}\n", 7692: "async", 93054: "_multiply", 35744: "increment", 9520: "step", 450: "de",
    13477: "crement", 1513: " don", 944: "'t", 1414: " know", 894: " any", 5392: " tool", 17453: "Done", 2765: " won",
    16252: " increment", 927: "sh", 411: "out", 1318: "text", 6023: "hi", 95642: '"}}\n', 14172: "tool", 6659: "call",
    397: ">\n", 522: "</", 314: " {", 293: " b",
}  # fmt: skip
BYTES = 256
VOCABULARY = 1200
OWN_IDS = {theirs: BYTES + i for i, theirs in enumerate({**PIECES, **SPECIAL, **TAGS})}
END = OWN_IDS[151645]
PLAIN_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SENTENCES = ["A shop sells pens and books.", "How much do three of them cost?", "The answer is four.", "Is it so?"] * 3

SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 4096,
    "bos_token_id": None,
    "eos_token_id": END,
    "pad_token_id": OWN_IDS[151643],
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
WRITERS: dict[str, tuple[str, dict[str, Any]]] = {  # by the name of their folder: type of the model, its settings
    "tiny-Qwen2ForCausalLM-2.5": ("qwen2", {}),
    "tiny-Qwen3ForCausalLM": ("qwen3", {"head_dim": 8}),
    "tiny-Qwen3MoeForCausalLM": ("qwen3_moe", {"head_dim": 8, **EXPERTS}),
    "tiny-LlamaForCausalLM-3.2": ("llama", {}),
    "tiny-MistralForCausalLM-0.2": ("mistral", {"sliding_window": None}),
    "tiny-Gemma2ForCausalLM": ("gemma2", {"head_dim": 8, "sliding_window": 16}),
    "tiny-Cohere2ForCausalLM": ("cohere2", {"sliding_window": 16}),
    "tiny-GptOssForCausalLM": (
        "gpt_oss",
        {"head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16},
    ),
    "tiny-Glm4MoeForCausalLM": (
        "glm4_moe",
        {"head_dim": 8, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    ),
}
CLASSIFIERS = {
    "tiny-Qwen2ForSequenceClassification-2.5": ("qwen2", {}),
    "tiny-Qwen3ForSequenceClassification": ("qwen3", {"head_dim": 8}),
    "tiny-LlamaForSequenceClassification-3.2": ("llama", {}),
}
REMOTE_CODE = '''\
"""A model whose code stands beside its weights."""

from transformers import Qwen2Config, Qwen2ForCausalLM


class RemoteConfig(Qwen2Config):
    """Qwen2's, under a name that transformers does not know."""

    model_type = "remote"


class RemoteForCausalLM(Qwen2ForCausalLM):
    """Qwen2, under a name that transformers does not know."""

    config_class = RemoteConfig
'''


def make_all(folder: Path) -> None:
    """Writes all models and the data set below `folder`, where TRL's tests are to run."""
    home = folder / OWNER
    tokenizer = make_tokenizer()
    for i, (name, (kind, settings)) in enumerate({**WRITERS, **CLASSIFIERS}.items()):
        torch.manual_seed(i)
        config = AutoConfig.for_model(kind, **SIZES | settings)
        if name in CLASSIFIERS:
            config.num_labels = 1
        maker = AutoModelForSequenceClassification if name in CLASSIFIERS else AutoModelForCausalLM
        model = maker.from_config(config, dtype=torch.float32)
        write_on(model)
        model.save_pretrained(home / name)
        save_tokenizer(tokenizer, kind, home / name)
    make_remote(home / "tiny-RemoteForCausalLM", tokenizer)
    make_data(home / "zen")


def write_on(model: Any) -> None:
    """Makes the end token unlikely, as it is in Qwen's vocabulary: tests expect completions of full length."""
    head = model.get_output_embeddings()
    if head is None or model.config.tie_word_embeddings:
        return
    with torch.no_grad():
        model.get_input_embeddings().weight[:, 0] = 0.05  # so that the first number of each state is positive
        head.weight[END] = 0
        head.weight[END, 0] = -5


def make_tokenizer() -> Tokenizer:
    """A byte-level tokenizer with the tokens of the tests, some that it learns here, and words that fill it up."""
    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learnt = Tokenizer(models.BPE())
    learnt.pre_tokenizer = split
    letters = [chr(c) for c in (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100), *range(0x100, 0x144))]
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=letters, show_progress=False)
    learnt.train_from_iterator([*SENTENCES, *zen(), template("qwen3")], trainer)
    merges = [tuple(pair) for pair in json.loads(learnt.to_str())["model"]["merges"]]
    ids = {letter: i for i, letter in enumerate(letters)}  # in the order of the bytes' letters, as GPT-2's and Qwen's
    ids |= {as_letters(text): OWN_IDS[theirs] for theirs, text in {**PIECES, **SPECIAL, **TAGS}.items()}
    for token in (*map("".join, merges), *map(word, range(VOCABULARY))):
        if len(ids) < VOCABULARY:
            ids.setdefault(token, len(ids))
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges))
    tokenizer.pre_tokenizer, tokenizer.decoder = split, decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL.values()])
    tokenizer.add_tokens([AddedToken(token, special=False) for token in TAGS.values()])
    return tokenizer


def renumbered(source: str) -> str:
    """TRL's tests with the ids of this vocabulary in their lists of ids, where Qwen's stand."""

    def list_of_ids(found: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(OWN_IDS.get(int(number[0]), number[0])), found[0])

    return re.sub(r"\[\d+(?:, \d+)+\]", list_of_ids, source)


def as_letters(text: str) -> str:
    """A text of ASCII as byte-level tokenizers write it."""
    return text.replace(" ", "\u0120").replace("\n", "\u010a")


def word(i: int) -> str:
    """A word of its own for each number, of one to eight letters, every other one after a space."""
    letters, rest = "", i
    while rest or not letters:
        rest, place = divmod(rest, 26)
        letters += string.ascii_lowercase[place]
    return "\u0120" * (i % 2) + letters + "Z" * (i % 5 + 1)


def save_tokenizer(tokenizer: Tokenizer, kind: str, folder: Path) -> None:
    """Beside a model, with the chat template of its kind."""
    own = {"qwen2": "qwen2_5", "qwen3": "qwen3", "qwen3_moe": "qwen3"}.get(kind)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=template(own) if own else PLAIN_TEMPLATE,
    ).save_pretrained(folder)


def template(name: str) -> str:
    """A chat template as the installed TRL ships it: TRL knows a tokenizer with tools by its template's text."""
    return (resources.files("trl") / "chat_templates" / f"{name}.jinja").read_text(encoding="utf-8")


def make_remote(folder: Path, tokenizer: Tokenizer) -> None:
    """A model that cannot be loaded without code from its own folder."""
    config = AutoConfig.for_model("qwen2", **SIZES)
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
    save_tokenizer(tokenizer, "qwen2", folder)
    (folder / "modeling_remote.py").write_text(REMOTE_CODE)
    file = folder / "config.json"
    changes = {
        "architectures": ["RemoteForCausalLM"],
        "model_type": "remote",
        "auto_map": {
            "AutoConfig": "modeling_remote.RemoteConfig",
            "AutoModelForCausalLM": "modeling_remote.RemoteForCausalLM",
        },
    }
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


WORDS = (4, 2, 3, 1, 4, 3, 1, 4, 3, 3, 2, 6)  # of each line, in its prompt: one test names these prompts


def zen() -> list[str]:
    """The lines of Python's `import this`, from which the data set has its name."""
    with contextlib.redirect_stdout(io.StringIO()):
        text = codecs.decode(importlib.import_module("this").s, "rot13")
    return [line for line in text.splitlines()[1:] if line]


def make_data(folder: Path) -> None:
    """Prompts alone, as texts and as messages, in the splits `train` and `test`."""
    prompts = [" ".join(line.split()[:words]) for line, words in zip(zen(), WORDS, strict=False)]
    splits = {"train": prompts, "test": ["Now is", "Although never", "If the implementation"]}
    folder.mkdir(parents=True)
    header = ["---", "configs:"]
    for config in ("standard_prompt_only", "conversational_prompt_only"):
        header += [f"- config_name: {config}", "  data_files:"]
        for split, texts in splits.items():
            rows = [text if config.startswith("standard") else [{"role": "user", "content": text}] for text in texts]
            name = f"{config}-{split}.jsonl"
            (folder / name).write_text("".join(json.dumps({"prompt": row}) + "\n" for row in rows))
            header += [f"  - split: {split}", f"    path: {name}"]
    (folder / "README.md").write_text("\n".join([*header, "---", ""]))
