"""Models in this process, by transformers or vLLM: they write without disturbing the training around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jinja2.exceptions import TemplateError
from transformers import GenerationConfig

from cooper_rl import distributed
from cooper_rl.distributed import loading_whole, own_device
from cooper_rl.errors import BadInputError, how_to_install
from cooper_rl.generation.generator import Generation, Generator, Messages, Sampling, conversation

ROWS_ON_CPU = 32  # rows of a batch, which fill two cores
MOST_TOKENS = (
    131072  # of the rows of a batch, prompts and completions: 6 GB of keys and values with 1.5 billion weights
)
CHARACTERS_PER_TOKEN = 2  # of a prompt, at least: ordinary text has about four


class TransformersGenerator(Generator):
    """A causal language model and its tokenizer. Generating does not change the model's mode or the random state.

    Args:
        batch_size: the most rows of a batch; None takes 32 on a CPU, and as many as `MOST_TOKENS` allow elsewhere.
        bf16: True computes forward passes in bfloat16, whatever type the weights have.
    """

    template: Mapping[str, Any] | None = None  # further arguments of the chat template, such as `enable_thinking`

    def __init__(self, model: Any, tokenizer: Any, batch_size: int | None = None, *, bf16: bool = False) -> None:
        from cooper_rl.fast.layers import use_short_attention

        self.model = model
        self.tokenizer = tokenizer
        self.batch_size = batch_size or (ROWS_ON_CPU if model.device.type == "cpu" else MOST_TOKENS)
        self.bf16 = bf16
        use_short_attention()

    @classmethod
    def from_pretrained(cls, name: str, batch_size: int | None = None) -> TransformersGenerator:
        """Loads a local folder, a hub id or a `.gguf` file (which needs the package gguf).

        On a CPU the weights are float32, elsewhere bfloat16, whatever type the file has.

        Raises:
            BadInputError: the model cannot be loaded, or has no chat template.
        """
        from transformers import AutoModelForCausalLM, AutoTokenizer

        where: dict[str, str] = {"pretrained_model_name_or_path": name}
        if name.endswith(".gguf"):
            path = Path(name)
            where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
        device = own_device()
        try:
            tokenizer = AutoTokenizer.from_pretrained(**where)
            dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
            with loading_whole():
                model = AutoModelForCausalLM.from_pretrained(**where, dtype=dtype).to(device)
        except (OSError, ValueError, ImportError) as error:
            raise BadInputError(f"{name}: cannot be loaded: {str(error).splitlines()[0]}") from error
        if not tokenizer.chat_template:
            raise BadInputError(f"{name}: its tokenizer has no chat template; use an instruction-tuned model")
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        return cls(model, tokenizer, batch_size)

    def stream(
        self,
        prompts: Sequence[Messages],
        sampling: Sampling,
        seeds: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, Generation]]:
        """Generates in batches of prompts of similar length, the shortest first."""
        texts = render_chat(self.tokenizer, prompts, self.template)
        for rows in batches_by_length(texts, self.batch_size, sampling.max_new_tokens):
            with (
                isolate(self.model, seeds[rows[0]] if seeds else 0),
                torch.autocast(self.model.device.type, dtype=torch.bfloat16, enabled=self.bf16),
            ):
                batch = generate_batch(self.model, self.tokenizer, [texts[i] for i in rows], sampling)
            yield from zip(rows, batch, strict=True)


def sample(
    model: Any,
    tokenizer: Any,
    questions: Sequence[str],
    sampling: Sampling,
    *,
    system_prompt: str | None = None,
    seed: int = 0,
    batch_size: int = 256,
    template: Mapping[str, Any] | None = None,
) -> list[str]:
    """One completion a question, in order. Batches are of like length.

    Every rank calls it, with as many questions as the others. A sharded policy generates on all ranks in step, so that
    all make as many batches.

    Args:
        template: further arguments of the chat template, such as `enable_thinking`.
    """
    prompts = render_chat(tokenizer, [conversation(question, system_prompt) for question in questions], template)
    completions = [""] * len(prompts)
    longest_characters = (
        distributed.most(max(map(len, prompts), default=0), model.device) if distributed.size() > 1 else 0
    )
    with isolate(model, seed):
        for rows in batches_by_length(prompts, batch_size, sampling.max_new_tokens, longest_characters):
            batch = generate_batch(model, tokenizer, [prompts[i] for i in rows], sampling)
            for row, generation in zip(rows, batch, strict=True):
                completions[row] = str(generation.text)
    return completions


def render_chat(tokenizer: Any, messages: Sequence[Messages], template: Mapping[str, Any] | None = None) -> list[str]:
    """The conversations as the model's chat template writes them, up to where it answers.

    Args:
        template: further arguments of the chat template.

    Raises:
        BadInputError: there is no template, or it refuses them, as some do with a system message or without one.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise BadInputError(
            "the policy's tokenizer has no chat template; name an instruction-tuned model, or set"
            " tokenizer.chat_template and save it with the model"
        )
    try:
        return [
            tokenizer.apply_chat_template(list(each), add_generation_prompt=True, tokenize=False, **(template or {}))
            for each in messages
        ]
    except TemplateError as error:
        asked = "has" if any(message["role"] == "system" for message in messages[0]) else "lacks"
        raise BadInputError(
            f"the chat template refuses the messages ({error}); the prompt {asked} a system message: change"
            " system_prompt, or the prompts"
        ) from error


def generate_batch(model: Any, tokenizer: Any, prompts: Sequence[str], sampling: Sampling) -> list[Generation]:
    """One generation of each rendered prompt, with the random state as it is."""
    from cooper_rl.fast.decode import complete

    decoding: dict[str, Any] = {"do_sample": False}
    if sampling.temperature > 0:
        decoding = {"do_sample": True, "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0}
    ids = tokenizer(list(prompts), add_special_tokens=False)["input_ids"]
    ends = end_tokens(model, tokenizer)
    decoding |= {"max_new_tokens": sampling.max_new_tokens, "eos_token_id": ends}
    with own_settings_aside(model):
        empty = tokenizer.pad_token_id
        written = complete(model, ids, empty, ends, pad_token_id=empty, **decoding)
    texts = tokenizer.batch_decode(written, skip_special_tokens=True)
    reasons = ["length" if set(ends).isdisjoint(ids) else "stop" for ids in written]
    return [Generation(text, reason) for text, reason in zip(texts, reasons, strict=True)]


@contextmanager
def own_settings_aside(model: Any) -> Iterator[None]:
    """Inside, the model's generation_config.json has no say: a repetition penalty in it would change what is drawn.

    Training draws without it too (TRL's `GRPOConfig` names all that it uses), as does vLLM with settings of ours.
    """
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    own, base.generation_config = base.generation_config, GenerationConfig()
    try:
        yield
    finally:
        base.generation_config = own


@contextmanager
def isolate(model: Any, seed: int) -> Iterator[None]:
    """Evaluation mode and a seed of its own inside; mode and random states as before afterwards."""
    training = model.training
    kind = model.device.type
    own = {} if kind in ("cpu", "mps") else {"device_type": kind}  # mps has no state of a device to come back to
    # no_grad, not inference_mode, in which a sharded model cannot gather its weights
    with torch.random.fork_rng(devices=[model.device] if own else [], **own), torch.no_grad():
        torch.manual_seed(seed)
        model.eval()
        try:
            yield
        finally:
            model.train(training)


def end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a completion: the tokenizer's, and those of the model's own generation settings."""
    own = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    more = own if isinstance(own, list) else [] if own is None else [own]
    return list(dict.fromkeys([tokenizer.eos_token_id, *more]))


def batches_by_length(
    texts: Sequence[str], batch_size: int, new_tokens: int, longest_characters: int = 0
) -> Iterator[list[int]]:
    """Indices in batches of like length, the shortest first: of so many rows, or as many as `MOST_TOKENS` allow.

    Args:
        longest_characters: each text counts as at least so long, so that the number of batches follows from that of
            the texts.
    """
    batch: list[int] = []
    for row in sorted(range(len(texts)), key=lambda i: (len(texts[i]), i)):
        most = MOST_TOKENS // (max(len(texts[row]), longest_characters) // CHARACTERS_PER_TOKEN + new_tokens)
        if len(batch) >= max(1, min(batch_size, most)):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


class VLLMGenerator(Generator):
    """Calls `vllm.LLM.chat` with one chunk of prompts at a time, so that a kill loses at most one chunk."""

    def __init__(self, name: str, chunk_size: int = 256, **settings: Any) -> None:
        try:
            import vllm
        except ImportError as error:
            raise BadInputError(f"vllm:{name}: vLLM is not installed; {how_to_install('vllm')}") from error
        self._sampling = vllm.SamplingParams
        self._model = vllm.LLM(name, **settings)
        self.chunk_size = chunk_size

    def stream(
        self,
        prompts: Sequence[Messages],
        sampling: Sampling,
        seeds: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, Generation]]:
        """Generates chunk by chunk, in the order of the prompts."""
        for start in range(0, len(prompts), self.chunk_size):
            rows = range(start, min(start + self.chunk_size, len(prompts)))
            settings = [
                self._sampling(
                    max_tokens=sampling.max_new_tokens,
                    temperature=sampling.temperature,
                    top_p=sampling.top_p,
                    seed=seeds[row] if seeds else None,
                )
                for row in rows
            ]
            outputs = self._model.chat([list(prompts[row]) for row in rows], settings, use_tqdm=False)
            for row, output in zip(rows, outputs, strict=True):
                yield row, Generation(output.outputs[0].text, str(output.outputs[0].finish_reason))
