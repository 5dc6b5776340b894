"""What a VerifyRM's folder holds beside its weights: settings, tokenizer and low-rank adapters.

What a library says about a damaged folder becomes one line.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoTokenizer
from transformers.utils import cached_file
from transformers.utils import logging as transformers_logging

from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.parts import optional
from cooper_rl.settings.files import ADAPTERS, is_adapters
from cooper_rl.verifyrm.template import TEMPLATE_VERSION

logger = logging.getLogger(__name__)

SETTINGS_FILE = "verifyrm.json"
ADAPTER_FILE = "adapter_config.json"
MOST_TOKENS = 8192  # of a checkpoint without settings; the paper's code trains on up to so many


@dataclass(frozen=True)
class VerifyRMSettings:
    """The settings that a checkpoint stores so that it scores its input as in training."""

    template_version: int = TEMPLATE_VERSION
    with_reference: bool = True
    max_tokens: int = 1024
    temperature: float = 1.0  # calibration: score = sigmoid(z / temperature)


def load_settings(path: str | Path, config: Any) -> VerifyRMSettings:
    """The checkpoint's settings. One that was made elsewhere has none; it reads as much as its backbone can."""
    try:
        file = cached_file(str(path), SETTINGS_FILE)
    except OSError:
        file = None
    if file is not None:
        return _check_settings(Path(file))
    settings = VerifyRMSettings(max_tokens=min(getattr(config, "max_position_embeddings", MOST_TOKENS), MOST_TOKENS))
    logger.warning("%s: no %s; texts are read up to %d tokens", path, SETTINGS_FILE, settings.max_tokens)
    return settings


@contextmanager
def loading(path: str | Path) -> Iterator[None]:
    """Turns what a library says about a damaged model folder into one line.

    Raises:
        BadInputError: the folder's files cannot be loaded.
    """
    try:
        yield
    except CooperError:
        raise
    except (OSError, ValueError, SafetensorError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BadInputError(f"{path}: cannot be loaded ({reason})") from error


@contextmanager
def new_head() -> Iterator[None]:
    """Without transformers' report that the head is new and needs training, where it is meant to be new."""
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(before)


def check_adapters(path: Path) -> None:
    """Refuses adapters that have no head of a VerifyRM, such as a policy's.

    Raises:
        BadInputError: they are not those of a sequence classifier, or lie in no folder `adapters`.
    """
    file = next((file for file in (path / ADAPTERS / ADAPTER_FILE, path / ADAPTER_FILE) if file.is_file()), None)
    if file is None:
        return
    with loading(path):
        task = json.loads(file.read_text()).get("task_type")
    if task != "SEQ_CLS" or file.parent == path:
        raise BadInputError(f"{path}: adapters of the task {task}, and no VerifyRM; make one with `cooper train-rm`")


def refuse_missing(path: str | Path, missing: Iterable[str]) -> None:
    """Refuses weights that lack some.

    Raises:
        BadInputError: some are missing.
    """
    if names := sorted(missing):
        raise BadInputError(f"{path}: its weights lack {', '.join(names[:3])}; copy the whole model again")


def load_tokenizer(path: str | Path) -> Any:
    """The tokenizer, with a pad token of its own.

    Raises:
        BadInputError: its pad token is its end of text, and no other token is free for it.
    """
    tokenizer = AutoTokenizer.from_pretrained(path)
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id == tokenizer.eos_token_id:
        unused = next((t for t in ("<|endoftext|>", "<pad>", "<|pad|>", "<unk>") if _is_free(tokenizer, t)), None)
        if unused is None:
            raise BadInputError(f"{path}: pad token and eos token are the same; set another pad_token in its tokenizer")
        tokenizer.pad_token = unused
    return tokenizer


def is_reward_model(path: str | Path) -> bool:
    """Whether a folder or hub id is a sequence classifier or adapters of one, rather than a causal language model."""
    return is_adapters(path) or is_classifier(AutoConfig.from_pretrained(path))


def is_classifier(config: Any) -> bool:
    """Whether a model's configuration is that of a sequence classifier."""
    return any("SequenceClassification" in name for name in config.architectures or [])


def adapter_settings(task_type: str, rank: int, alpha: int = 0) -> Any:
    """peft's settings for low-rank adapters in every linear layer. An alpha of 0 means twice the rank.

    Raises:
        BadInputError: peft is not installed.
    """
    peft = optional("peft", extra="peft", needed_by="training low-rank adapters")
    return peft.LoraConfig(task_type=task_type, r=rank, lora_alpha=alpha or 2 * rank, target_modules="all-linear")


def save_adapters(model: Any, folder: Path) -> None:
    """Writes a PeftModel's adapters, without the form of a model card that peft adds."""
    model.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)


@torch.no_grad()  # type: ignore[untyped-decorator]
def set_difference(model: Any, trained: Mapping[str, Tensor]) -> None:
    """Sets a PeftModel's adapters to what training has changed in each linear layer, as well as their rank allows.

    That is the sum of the largest singular values' parts (Eckart and Young). The head is copied; all other weights
    stay those of the base.

    Args:
        model: the base with new adapters.
        trained: the weights after training, by their names without adapters.
    """
    for name, layer in model.base_model.model.named_modules():
        if hasattr(layer, "lora_A"):
            change = trained[f"{name}.weight"] - layer.base_layer.weight
            u, values, v = torch.linalg.svd(change, full_matrices=False)
            down, up = layer.lora_A["default"].weight, layer.lora_B["default"].weight
            root = (values[: len(down)] / layer.scaling["default"]).sqrt()
            down.zero_()[: len(root)] = root[:, None] * v[: len(root)]
            up.zero_()[:, : len(root)] = u[:, : len(root)] * root
        elif hasattr(layer, "modules_to_save"):
            layer.modules_to_save["default"].weight.copy_(trained[f"{name}.weight"])


@torch.no_grad()  # type: ignore[untyped-decorator]
def round_adapters(model: Any) -> None:
    """Rounds the trained weights of a PeftModel to the nearest bfloat16, in place; they stay float32."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.copy_(parameter.bfloat16())


def store_in_bfloat16(file: Path) -> None:
    """Rewrites a safetensors file of float32 in bfloat16, half the size; rounded weights lose nothing."""
    weights = {name: value.bfloat16().contiguous() for name, value in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})


def _check_settings(file: Path) -> VerifyRMSettings:
    """The settings in a checkpoint's verifyrm.json.

    Raises:
        BadInputError: it is not JSON, or has a setting that is unknown or cannot be.
    """
    try:
        found = VerifyRMSettings(**json.loads(file.read_text()))
    except (ValueError, TypeError) as error:
        raise BadInputError(f"{file}: not a VerifyRM's settings ({error}); copy the file again") from error
    if found.template_version != TEMPLATE_VERSION or not found.temperature > 0 or found.max_tokens < 1:
        raise BadInputError(
            f"{file}: needs template_version {TEMPLATE_VERSION}, a temperature above 0 and max_tokens of at least 1"
        )
    return found


def _is_free(tokenizer: Any, token: str) -> bool:
    index = tokenizer.convert_tokens_to_ids(token)
    return index is not None and token in tokenizer.get_vocab() and index != tokenizer.eos_token_id
