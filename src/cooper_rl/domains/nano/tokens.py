"""The nano models' tokenizer: byte-level BPE over a world's texts, and demonstrations as token ids."""

from __future__ import annotations

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

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
