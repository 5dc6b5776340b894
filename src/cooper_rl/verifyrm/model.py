"""VerifyRM: a language model's backbone with a one-label head; its sigmoid is the score of a completion."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from cooper_rl.distributed import loading_whole, own_device
from cooper_rl.errors import BadInputError
from cooper_rl.packing import tokens_of_a_pass
from cooper_rl.parts import optional
from cooper_rl.records import Scorable
from cooper_rl.settings.files import ADAPTERS, base_of, check_model_folder, is_adapters, resolve_model
from cooper_rl.steps import step_ends
from cooper_rl.verifyrm import sharding, stored
from cooper_rl.verifyrm.logits import score_exactly, score_ids
from cooper_rl.verifyrm.stored import SETTINGS_FILE, VerifyRMSettings
from cooper_rl.verifyrm.template import Encoded, encode, places_of, text_of, triples_of


class VerifyRM:
    """A reference-based reward model (paper, section 3.2). Its weights are float32 whatever the checkpoint holds."""

    def __init__(self, model: nn.Module, tokenizer: Any, settings: VerifyRMSettings | None = None) -> None:
        from cooper_rl.fast.layers import use_short_attention

        self.model = model.float()
        self.tokenizer = tokenizer
        self.settings = settings or VerifyRMSettings()
        self.autocast: torch.dtype | None = None  # the type of forward passes; the weights stay float32
        self.updates = 0  # how many the method's stage 2 has made of this object
        use_short_attention()
        if isinstance(head := getattr(model, "score", None), nn.Linear):
            head.register_forward_hook(score_exactly)
        self.adapters: Any = None  # a PeftModel around `model` where low-rank adapters are trained, else None

    @classmethod
    def from_pretrained(
        cls, path: str | Path, *, device: torch.device | str | None = None, bf16: bool = False
    ) -> VerifyRM:
        """Loads a VerifyRM; safetensors only. Adapters are merged into the weights.

        Adapters go on a VerifyRM, or on a causal language model with a head of their own.

        Args:
            path: a local folder, a hub id, or the name of one that comes with Cooper: `nano` or `nano-weekdays`.
            device: where it scores; by default this process's accelerator, or the CPU where there is none.
            bf16: True computes forward passes in bfloat16; the weights stay float32.

        Raises:
            MissingFileError: there is no such folder, or the hub has no such model or cannot be reached.
            BadInputError: the weights are pickled, or the model is not a one-label classifier.
        """
        path = resolve_model(str(path), "reward_model")
        if path.endswith(".gguf"):
            raise BadInputError(f"{path}: a GGUF file has no head; name a VerifyRM's folder or hub id")
        stored.check_adapters(Path(path))
        if is_adapters(path):
            return cls._from_adapters(Path(path), device, bf16)
        check_model_folder(path)
        with stored.loading(path):
            config = AutoConfig.from_pretrained(path)
        if config.num_labels != 1 or not stored.is_classifier(config):
            raise BadInputError(
                f"{path}: not a VerifyRM (a sequence classifier with one label); make one with `cooper train-rm`"
            )
        with stored.loading(path), loading_whole():
            model, found_keys = AutoModelForSequenceClassification.from_pretrained(
                path, use_safetensors=True, dtype=torch.float32, output_loading_info=True
            )
            tokenizer = stored.load_tokenizer(path)
        stored.refuse_missing(path, found_keys["missing_keys"])
        if model.config.pad_token_id is None:  # checkpoints of the paper's code have none
            model.config.pad_token_id = tokenizer.pad_token_id
        found = cls(model.to(device or own_device()).eval(), tokenizer, stored.load_settings(path, config))
        found.autocast = torch.bfloat16 if bf16 else None
        return found

    @classmethod
    def _from_adapters(cls, path: Path, device: torch.device | str | None, bf16: bool) -> VerifyRM:
        peft = optional("peft", extra="peft", needed_by="loading low-rank adapters")
        base = base_of(path)
        check_model_folder(base, f"{path}: the adapters' base")
        found = cls.from_pretrained(base, device=device) if stored.is_reward_model(base) else cls.from_backbone(base)
        found.model.to(device or own_device())
        found.autocast = torch.bfloat16 if bf16 else None
        found.adapters = peft.PeftModel.from_pretrained(found.model, path / ADAPTERS)
        found.merge_adapters()
        found.model.eval()
        found.model.name_or_path = str(path)  # where further adapters go on it
        found.settings = stored.load_settings(path, found.model.config)
        return found

    @classmethod
    def from_model(cls, model: Any) -> VerifyRM:
        """A VerifyRM of a sequence classifier of transformers that is loaded already; its weights become float32.

        Its tokenizer and its settings come from where it was loaded.

        Raises:
            BadInputError: it has not one label, or was not loaded from anywhere.
        """
        path = str(model.config._name_or_path)
        if model.config.num_labels != 1 or not path:
            raise BadInputError(
                f"the reward model {type(model).__name__} is no sequence classifier with one label that was loaded with"
                " from_pretrained; give a VerifyRM, its folder or its hub id"
            )
        with stored.loading(path):
            tokenizer = stored.load_tokenizer(path)
        if model.config.pad_token_id is None:
            model.config.pad_token_id = tokenizer.pad_token_id
        return cls(model.eval(), tokenizer, stored.load_settings(path, model.config))

    @classmethod
    def from_backbone(cls, path: str | Path, *, settings: VerifyRMSettings | None = None, seed: int = 0) -> VerifyRM:
        """A new VerifyRM: a causal language model's backbone with a new score head, whose small weights are seeded."""
        check_model_folder(path)
        tokenizer = stored.load_tokenizer(path)
        with loading_whole(), stored.new_head():
            model, found_keys = AutoModelForSequenceClassification.from_pretrained(
                path, num_labels=1, use_safetensors=True, dtype=torch.float32, output_loading_info=True
            )
        stored.refuse_missing(path, {*found_keys["missing_keys"]} - {"score.weight"})
        model.config.pad_token_id = tokenizer.pad_token_id
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            model.score.weight.copy_(torch.randn(model.score.weight.shape, generator=generator) * 0.02)
        return cls(model, tokenizer, settings)

    def add_adapters(self, rank: int, alpha: int = 0, base: str = "") -> None:
        """Freezes the weights and adds low-rank adapters to every linear layer, in place. All of the head is trained.

        Args:
            rank: the adapters' rank.
            alpha: the adapters are scaled by alpha / rank; 0 means twice the rank.
            base: recorded as the adapters' base model; by default where this model was loaded from.

        Raises:
            BadInputError: peft is not installed.
        """
        settings = stored.adapter_settings("SEQ_CLS", rank, alpha)
        from peft import get_peft_model

        self.adapters = get_peft_model(self.model, settings)  # type: ignore[arg-type]
        if base:
            self.adapters.peft_config["default"].base_model_name_or_path = base

    def merge_adapters(self) -> None:
        """Merges the adapters into the weights: the model has none any more, and all of its weights can be trained."""
        if self.adapters is not None:
            self.model, self.adapters = self.adapters.merge_and_unload().requires_grad_(True), None

    def encode(self, records: Sequence[Scorable]) -> list[list[int]]:
        """Token ids of each record, with this checkpoint's template settings (`template.encode`)."""
        return encode(
            self.tokenizer,
            records,
            max_tokens=self.settings.max_tokens,
            with_reference=self.settings.with_reference,
        )

    def encode_once(self, records: Iterable[Scorable]) -> Encoded:
        """Token ids of each text among the records; equal texts are encoded once."""
        texts = list(dict.fromkeys(map(text_of, records)))
        return dict(zip(texts, self.encode(texts), strict=True))

    def logits_of(
        self, records: Sequence[Scorable], *, batch_tokens: int | None = None, encoded: Encoded | None = None
    ) -> Tensor:
        """Logits with their gradient, shape (B,), float32 on the CPU.

        Equal records are computed once, and so is the prefix that completions of one question share. If the model is
        sharded, every rank must call this at the same time.

        Args:
            batch_tokens: padded tokens of a forward pass. The default is 768 on a CPU, where small passes pad less and
                stay in the cache, and 16,384 elsewhere.
            encoded: what `encode_once` gave for these records and others, where they are encoded already.
        """
        device = next(self.model.parameters()).device.type
        batch_tokens = batch_tokens or tokens_of_a_pass(device)
        texts = list(map(text_of, records))
        place = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        encoded = self.encode_once(place) if encoded is None else encoded
        ids_D_T = [encoded[text] for text in place]
        with torch.autocast(device, dtype=self.autocast, enabled=self.autocast is not None):
            score = sharding.score_sharded if sharding.is_sharded(self.model) else score_ids
            logits_D = score(self.model, ids_D_T, batch_tokens=batch_tokens)
        return logits_D.index_select(0, torch.tensor([place[text] for text in texts], dtype=torch.long))

    def step_logits(
        self,
        records: Sequence[Scorable],
        ends: Sequence[Sequence[int]],
        *,
        batch_tokens: int | None = None,
        encoded: Encoded | None = None,
    ) -> list[Tensor]:
        """Logits at the ends of each record's steps, with their gradient: one tensor (S,) a record, on the CPU.

        Equal records are computed once, all steps in one pass, and so is a prefix that completions share. The last
        step's logit is that of the whole completion. A step that `max_tokens` cut off has the first logit that is left.

        Args:
            ends: offsets of characters in each completion, just after its steps (`steps.step_ends`).
            encoded: as in `logits_of`.

        Raises:
            ValueError: the model is sharded.
        """
        if sharding.is_sharded(self.model):
            raise ValueError("the values of steps need a whole reward model; set reward_model_sharded to false")
        rows = zip(records, map(tuple, ends), strict=True)
        texts = [(text_of(record), ends_S) for record, ends_S in rows]
        place = {text: index for index, text in enumerate(dict.fromkeys(text for text in texts if text[1]))}
        own, own_ends = [triple for triple, _ in place], [ends_S for _, ends_S in place]
        encoded = self.encode_once(own) if encoded is None else encoded
        ids = [encoded[triple] for triple in own]
        places = places_of(self.tokenizer, own, own_ends, ids, with_reference=self.settings.with_reference)
        device = next(self.model.parameters()).device.type
        with torch.autocast(device, dtype=self.autocast, enabled=self.autocast is not None):
            logits_N = score_ids(
                self.model, ids, batch_tokens=batch_tokens or tokens_of_a_pass(device), places_B=places
            )
        found = logits_N.split([len(each) for each in places])
        return [found[place[text]] if text in place else torch.zeros(0) for text in texts]

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step_values(
        self, records: Sequence[Scorable], ends: Sequence[Sequence[int]], *, batch_tokens: int | None = None
    ) -> list[Tensor]:
        """Values of the prefixes that end with each step: probabilities that the completion will be right, (S,) each.

        Args:
            ends: as in `step_logits`. A completion without steps gets an empty tensor.
        """
        training = self.model.training
        self.model.eval()
        logits = self.step_logits(records, ends, batch_tokens=batch_tokens)
        self.model.train(training)
        return [torch.sigmoid(logits_S / self.settings.temperature) for logits_S in logits]

    def logits(
        self,
        questions: Sequence[str],
        references: Sequence[str],
        completions: Sequence[str],
        *,
        batch_tokens: int | None = None,
    ) -> Tensor:
        """As `logits_of`, from three columns of the same length."""
        return self.logits_of(triples_of(questions, references, completions), batch_tokens=batch_tokens)

    @torch.no_grad()  # type: ignore[untyped-decorator] # inference_mode forbids gathering a sharded model
    def score_records(self, records: Sequence[Scorable], *, batch_tokens: int | None = None) -> Tensor:
        """Probabilities that the completions are right, shape (B,), float32 on the CPU.

        Args:
            batch_tokens: padded tokens of a forward pass, as in `logits_of`.
        """
        training = self.model.training
        if training:  # to visit every module takes as long as a quarter of a short completion's pass
            self.model.eval()
        logits_B = self.logits_of(records, batch_tokens=batch_tokens)
        if training:
            self.model.train()
        return torch.sigmoid(logits_B / self.settings.temperature)

    def score(
        self,
        questions: Sequence[str],
        references: Sequence[str],
        completions: Sequence[str],
        *,
        spans: str | Sequence[Sequence[int]] | None = None,
        batch_tokens: int | None = None,
    ) -> Tensor | list[Tensor]:
        """As `score_records`, from three columns: probabilities that the completions are right, shape (B,).

        Args:
            spans: where steps end: `line`, `sentence`, or offsets for each completion. The result is then that of
                `step_values`.

        Raises:
            ValueError: the columns differ in length, or an item is neither a text nor a number.
        """
        rows = triples_of(questions, references, completions)
        if spans is None:
            return self.score_records(rows, batch_tokens=batch_tokens)
        ends = [step_ends(text, spans) for text in completions] if isinstance(spans, str) else spans
        return self.step_values(rows, ends, batch_tokens=batch_tokens)

    def save_pretrained(self, folder: str | Path, weights: Mapping[str, Tensor] | None = None) -> None:
        """Writes model.safetensors (keys `model.*`, `score.weight`), the tokenizer and the template's settings.

        If the model has adapters, these are written in place of weights and tokenizer, which are the base's:
        adapters/adapter_model.safetensors.

        Args:
            weights: the weights gathered from all ranks, where the model is sharded.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        if self.adapters is None:
            self.model.save_pretrained(folder, state_dict=weights)
            self.tokenizer.save_pretrained(folder)
        else:
            stored.save_adapters(self.adapters, Path(folder) / ADAPTERS)
        self.save_settings(folder)

    @property
    def weights_file(self) -> str:
        """What `save_pretrained` writes the trained weights to, within its folder."""
        return "model.safetensors" if self.adapters is None else f"{ADAPTERS}/adapter_model.safetensors"

    def save_settings(self, folder: str | Path) -> None:
        """Writes verifyrm.json, the settings that the weights in the folder are scored with."""
        (Path(folder) / SETTINGS_FILE).write_text(json.dumps(asdict(self.settings), indent=2) + "\n")

    def load_weights(self, folder: str | Path) -> None:
        """Restores what `save_pretrained` wrote into this model, with or without adapters.

        Raises:
            BadInputError: the folder holds the weights of another model.
        """
        name = self.weights_file
        if not (Path(folder) / name).is_file():
            raise BadInputError(f"{folder}: no {name}: it is of another reward model; start in a new output_dir")
        weights = load_file(Path(folder) / name)
        if self.adapters is not None:
            from peft import set_peft_model_state_dict

            set_peft_model_state_dict(self.adapters, weights)
            return
        own = self.model.state_dict()
        if {k: v.shape for k, v in weights.items()} != {k: own[k].shape for k in weights if k in own}:
            raise BadInputError(f"{folder}: the checkpoint is of another reward model; start in a new output_dir")
        self.model.load_state_dict({key: sharding.shard_like(value, own[key]) for key, value in weights.items()})
