"""VerifyRM's training as a transformers `Trainer`: binary cross-entropy on length-bucketed batches.

The Trainer provides several processes, checkpoints, resuming, autocast and gradient checkpointing.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import (
    EarlyStoppingCallback,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from cooper_rl.checkpoints import complete_checkpoint
from cooper_rl.distributed import precision
from cooper_rl.packing import cut, pad
from cooper_rl.records import LabelledCompletion
from cooper_rl.settings.reward_model import RewardModelTrainConfig
from cooper_rl.verifyrm.losses import bce_loss, prefix_loss, step_margin_loss, summed_over
from cooper_rl.verifyrm.model import VerifyRM
from cooper_rl.verifyrm.triples import Examples, evaluate


class LengthBuckets:
    """Batches of rows of similar length, in a new order each epoch.

    Rows are shuffled into pools of 50 batches. Each pool is sorted by length and cut into batches, and the batches are
    shuffled.

    Args:
        at_once: batches of an optimiser step, over ranks and accumulation. With several of them the short batch comes
            last, where accelerate knows how to divide it; so two ranks are one process that accumulates two batches.
    """

    def __init__(self, lengths: Sequence[int], size: int, seed: int, at_once: int = 1) -> None:
        self.lengths, self.batch_size, self.seed, self.at_once = lengths, size, seed, at_once
        self.drop_last = False
        self.epoch = 0

    def __len__(self) -> int:
        return math.ceil(len(self.lengths) / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        rng = random.Random(self.seed)
        for _ in range(self.epoch + 1):
            groups = self._one_epoch(rng)
        return iter(groups)

    def _one_epoch(self, rng: random.Random) -> list[list[int]]:
        size, order = self.batch_size, list(range(len(self.lengths)))
        rng.shuffle(order)
        groups = []
        for start in range(0, len(order), 50 * size):
            pool = sorted(order[start : start + 50 * size], key=lambda i: self.lengths[i])
            groups += [pool[i : i + size] for i in range(0, len(pool), size)]
        rng.shuffle(groups)
        if self.at_once > 1:
            groups.sort(key=lambda group: len(group) < size)
        return groups


def join_ranks(args: TrainingArguments) -> int:
    """The number of ranks. Asking for it makes their process group, if there is to be one."""
    return int(args.world_size)


class RewardModelTrainer(Trainer):  # type: ignore[misc]
    """Trains a VerifyRM in place. Losses and metrics go to `metrics.jsonl` of the output folder.

    Args:
        heldout: triples that the model is measured on every `eval_steps`, for early stopping on balanced accuracy.
        progress: called with `completed`, `total` and a `description` after each step.
    """

    def __init__(
        self,
        reward_model: VerifyRM,
        train: Sequence[LabelledCompletion],
        heldout: Sequence[LabelledCompletion],
        config: RewardModelTrainConfig,
        progress: Callable[..., object] | None = None,
    ) -> None:
        self.reward_model, self.config, self.heldout = reward_model, config, heldout
        self.recent: list[dict[str, float]] = []
        examples = Examples(reward_model, train, steps=config.prefix_steps if config.prefix_weight else None)
        right = sum(t.correct for t in train)
        self.positive_weight = (len(train) - right) / right if config.class_balance and right else 1.0
        size = config.per_device_train_batch_size
        args = arguments(config, evaluated=bool(heldout))
        ranks = join_ranks(args)
        at_once = ranks * config.gradient_accumulation_steps
        self.buckets = LengthBuckets(examples.ids.lengths(), size, config.seed, at_once)
        args.max_steps = count_steps(config, len(self.buckets), ranks)
        super().__init__(
            model=reward_model.model,
            args=args,
            train_dataset=examples,  # type: ignore[arg-type]
            eval_dataset=list(heldout) or None,  # type: ignore[arg-type]
            processing_class=reward_model.tokenizer,
            callbacks=[Reporter(self.buckets, progress)],
        )
        self.model_accepts_loss_kwargs = False  # the loss is the mean over a batch
        self.remove_callback(PrinterCallback)
        if config.early_stopping_patience and heldout:
            self.add_callback(EarlyStoppingCallback(config.early_stopping_patience))

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Length-bucketed batches, divided among the processes."""
        loader: DataLoader[Any] = DataLoader(
            self.train_dataset,  # type: ignore[arg-type]
            batch_sampler=self.buckets,  # type: ignore[arg-type]
            collate_fn=self.collate,
        )
        return self.accelerator.prepare(loader)  # type: ignore[no-any-return]

    def collate(self, examples: list[dict[str, Any]]) -> dict[str, Tensor]:
        """Padded ids and masks, (B, T), and labels (B,). A loss of prefixes adds places and labels, (B, S)."""
        ids, mask = pad([e["ids"] for e in examples], self.reward_model.model.config.pad_token_id)
        batch = {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([e["label"] for e in examples])}
        if self.config.prefix_weight:
            batch["places"], batch["valid"] = pad([e["places"] or [0] for e in examples], 0)
            batch["valid"] &= torch.tensor([bool(e["places"]) for e in examples])[:, None]
            batch["step_labels"], _ = pad([e["step_labels"] or [0] for e in examples], 0)
        return batch

    def training_step(self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        """As the Trainer's. A batch of more than `tokens_per_pass` is cut, and its parts' gradients are summed."""
        together = self.is_fsdp_enabled or self.is_deepspeed_enabled  # all ranks make the same number of passes
        parts = [inputs] if together else cut(inputs, self.config.tokens_per_pass)
        whole = summed_over(*(inputs.get(name) for name in ("labels", "step_labels", "valid")))  # type: ignore[arg-type]
        losses, first = [], len(self.recent)
        for part in parts:
            alone = nullcontext() if part is parts[-1] else self.accelerator.no_sync(model)  # ranks sum once a batch
            with alone:
                losses.append(super().training_step(model, {**part, "whole": whole}, num_items_in_batch))
        found = self.recent[first:]
        self.recent[first:] = [{name: sum(own[name] for own in found) for name in found[0]}]
        return torch.stack(losses).sum()

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Binary cross-entropy of the float32 logits; `class_balance` weights right triples against wrong ones.

        With `prefix_weight`, the loss of the prefixes is added. The one forward pass gives the logits of both. A part
        of a batch gives its part of the batch's loss and metrics.
        """
        labels_B = inputs.pop("labels")
        places, step_labels, valid = (inputs.pop(name, None) for name in ("places", "step_labels", "valid"))
        counts = summed_over(labels_B, step_labels, valid)
        shares = [own / max(1, whole) for own, whole in zip(counts, inputs.pop("whole", counts), strict=True)]
        outputs = model(**inputs, output_hidden_states=places is not None)
        found = [bce_loss(outputs.logits[:, 0].float(), labels_B, positive_weight=self.positive_weight)]
        if places is not None:
            hidden_B_T_H = outputs.hidden_states[-1]
            hidden_B_S_H = hidden_B_T_H.gather(1, places[:, :, None].expand(-1, -1, hidden_B_T_H.shape[2]))
            logits_B_S = self.accelerator.unwrap_model(model).score(hidden_B_S_H)[:, :, 0].float()
            found.append(prefix_loss(logits_B_S, step_labels, valid))
            if self.config.prefix_margin:
                found.append(step_margin_loss(logits_B_S, step_labels, valid, self.config.prefix_margin))
        rows = list(zip(found, shares, strict=False))
        loss, *added = [own * share for (own, _), share in rows]
        loss = loss + self.config.prefix_weight * sum(added) if added else loss
        metrics = {name: value * share for (_, own), share in rows for name, value in own.items()}
        self.recent.append(metrics)
        return (loss, outputs) if return_outputs else loss

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """AdamW with one parameter group: every parameter has weight decay, as in the released settings."""
        config = self.config
        self.optimizer = torch.optim.AdamW(
            [p for p in self.model.parameters() if p.requires_grad],  # type: ignore[union-attr]
            lr=config.learning_rate,
            betas=(config.adam_beta1, config.adam_beta2),
            weight_decay=config.weight_decay,
            fused=config.optim == "adamw_torch_fused" or None,
        )
        return self.optimizer

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """The learning rate's schedule, after its warmup."""
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer or self.optimizer, lambda step: lr_factor(self.config, step, num_training_steps)
        )
        return self.lr_scheduler

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            take_up(self.lr_scheduler)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Writes a checkpoint with the template's settings: `VerifyRM.from_pretrained` then scores as in training."""
        super()._save(output_dir, state_dict)
        if self.args.should_save:  # every rank calls this, and one of them writes
            self.reward_model.save_settings(output_dir or self.config.output_dir)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Writes a checkpoint, then the mark that its folder is complete."""
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()
        if self.is_world_process_zero():
            step = self.state.global_step
            complete_checkpoint(Path(self.config.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{step}", step)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Metrics on the held-out triples."""
        measured = evaluate(self.reward_model.score_records, self.heldout)
        found = {f"eval_{name}": value for name, value in measured.items()}
        self.log(found)
        self.control: TrainerControl = self.callback_handler.on_evaluate(self.args, self.state, self.control, found)
        return found

    def log(self, logs: dict[str, float], *_: Any) -> None:
        """Writes one line of metrics.jsonl. Metrics of the steps are means since the last line."""
        if "loss" in logs and self.recent:
            names = [name for name in self.recent[0] if name != "loss"]
            logs = {**logs, **{n: sum(m[n] for m in self.recent) / len(self.recent) for n in names}}
            self.recent.clear()
        self.state.log_history.append({**logs, "step": self.state.global_step})
        if self.is_world_process_zero():
            with (Path(self.config.output_dir) / "metrics.jsonl").open("a") as file:
                file.write(json.dumps({"step": self.state.global_step, **logs}) + "\n")
        self.control = self.callback_handler.on_log(self.args, self.state, self.control, logs)


class Reporter(TrainerCallback):  # type: ignore[misc]
    """Reports the progress, and tells the batch sampler the epoch."""

    def __init__(self, buckets: LengthBuckets, progress: Callable[..., object] | None) -> None:
        self.buckets, self.progress = buckets, progress

    def on_epoch_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Sets the epoch that decides the order of the batches, so that a resumed run sees the same batches."""
        self.buckets.epoch = int(state.epoch or 0)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Reports the step to the progress bar."""
        if self.progress:
            self.progress(completed=state.global_step, total=state.max_steps)

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: Any = None, **_: Any
    ) -> None:
        """Shows the loss beside the progress bar."""
        if self.progress and logs and "loss" in logs:
            self.progress(description=f"loss {logs['loss']:.3f}")


def arguments(config: RewardModelTrainConfig, *, evaluated: bool) -> TrainingArguments:
    """The Trainer's own settings, without the number of steps (`count_steps`)."""
    stopping, on_cpu = bool(config.early_stopping_patience) and evaluated, not torch.accelerator.is_available()
    bf16, tf32 = precision(config.bf16, use_cpu=on_cpu)
    recomputes = not on_cpu if config.gradient_checkpointing is None else config.gradient_checkpointing
    return TrainingArguments(
        output_dir=config.output_dir,
        seed=config.seed,
        per_device_train_batch_size=config.per_device_train_batch_size,
        gradient_accumulation_steps=config.gradient_accumulation_steps,
        max_grad_norm=config.max_grad_norm,
        bf16=bf16,
        tf32=tf32,
        # without it, torchrun on CPUs gives each process a process group of its own
        use_cpu=on_cpu,
        logging_steps=config.logging_steps,
        save_strategy="steps" if config.save_steps else "no",
        save_steps=config.save_steps or 500,
        save_total_limit=2,
        eval_strategy="steps" if config.eval_steps and evaluated else "no",
        eval_steps=config.eval_steps or None,
        load_best_model_at_end=stopping,
        metric_for_best_model="eval_balanced_accuracy" if stopping else None,
        remove_unused_columns=False,
        report_to=[],
        disable_tqdm=True,
        **({"gradient_checkpointing": True} if recomputes else {}),
    )


def count_steps(config: RewardModelTrainConfig, batches: int, ranks: int) -> int:
    """The optimiser steps of a training. `batches` is the number of batches of an epoch, over all ranks."""
    steps = math.ceil(math.ceil(batches / ranks / config.gradient_accumulation_steps) * config.num_train_epochs)
    return min(steps, config.max_steps) if config.max_steps > 0 else steps


def lr_factor(config: RewardModelTrainConfig, step: int, total: int) -> float:
    """The factor of the learning rate at a step: warmup, then the schedule.

    It is not transformers' `get_scheduler`, whose warmup begins at 0: here the first step already teaches.
    """
    warmup = max(1, round(config.warmup_ratio * total))
    if step < warmup:
        return (step + 1) / warmup
    rest = (step - warmup) / max(1, total - warmup)
    if config.lr_scheduler_type == "constant":
        return 1.0
    return 1 - rest if config.lr_scheduler_type == "linear" else 0.5 * (1 + math.cos(math.pi * rest))


def take_up(scheduler: Any) -> None:
    """Sets the learning rates that the schedule has at its present step.

    A checkpoint stores the rates themselves. If a run is resumed with more steps, the stored rates belong to the
    shorter schedule. At its end they are often 0, so that the first new step would teach nothing.
    """
    if isinstance(scheduler, torch.optim.lr_scheduler.LambdaLR):
        step, rates = scheduler.last_epoch, scheduler.base_lrs
        scheduler._last_lr = [rate * part(step) for rate, part in zip(rates, scheduler.lr_lambdas, strict=True)]
        for group, rate in zip(scheduler.optimizer.param_groups, scheduler.get_last_lr(), strict=True):
            group["lr"] = rate
