"""What is stored beside a VerifyRM's weights, its settings and its tokenizer; and one line for a damaged folder."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from transformers import AutoTokenizer
from transformers.utils import cached_file

from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.verifyrm.template import TEMPLATE_VERSION

logger = logging.getLogger(__name__)

SETTINGS_FILE = "verifyrm.json"
MOST_TOKENS = 8192  # of a checkpoint without settings; the paper's code trains on up to so many


@dataclass(frozen=True)
class VerifyRMSettings:
    """The settings that a checkpoint stores so that it scores its input as in training."""

    template_version: int = TEMPLATE_VERSION
    with_reference: bool = True
    max_tokens: int = 1024
    temperature: float = 1.0  # calibration: score = sigmoid(z / temperature)


def stored_settings(path: str | Path, config: Any) -> VerifyRMSettings:
    """The checkpoint's settings. One that was made elsewhere has none; it reads as much as its backbone can."""
    try:
        file = cached_file(str(path), SETTINGS_FILE)
    except OSError:
        file = None
    if file is not None:
        return _checked_settings(Path(file))
    settings = VerifyRMSettings(max_tokens=min(getattr(config, "max_position_embeddings", MOST_TOKENS), MOST_TOKENS))
    logger.warning("%s: no %s; texts are read up to %d tokens", path, SETTINGS_FILE, settings.max_tokens)
    return settings


def _checked_settings(file: Path) -> VerifyRMSettings:
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


def padding_tokenizer(path: str | Path) -> Any:
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


def _is_free(tokenizer: Any, token: str) -> bool:
    index = tokenizer.convert_tokens_to_ids(token)
    return index is not None and token in tokenizer.get_vocab() and index != tokenizer.eos_token_id
