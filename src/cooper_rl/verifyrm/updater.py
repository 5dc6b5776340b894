"""The reward model's optimiser step on contrastive pairs; its state is safetensors and JSON, never a pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import finalize

import torch
from safetensors.torch import load_file, save_file
from transformers import get_scheduler

from cooper_rl import distributed
from cooper_rl.records import ContrastivePair, LabelledCompletion, Scorable
from cooper_rl.settings.files import OPTIMISER
from cooper_rl.verifyrm import VerifyRM, sharding
from cooper_rl.verifyrm.logits import recomputing
from cooper_rl.verifyrm.losses import PREFIX_METRICS, Counts, bce_loss, contrastive_loss, prefix_losses, steps_of
from cooper_rl.verifyrm.rm_trainer import take_up
from cooper_rl.verifyrm.template import Encoded, text_of

if TYPE_CHECKING:
    from cooper_rl.settings.method import CooperSettings

Pass = tuple[Sequence[ContrastivePair], Sequence[LabelledCompletion]]
METRICS = ("loss", "margin", "pair_accuracy", "label_loss")


def metric_names(counts: Counts, settings: CooperSettings) -> list[str]:
    """The metrics of an update that has something to be measured on."""
    parted, stepped = bool(settings.prefix_weight and counts.parted), bool(settings.prefix_weight and counts.stepped)
    labelled = bool(counts.labelled or settings.label_pairs)
    has = dict.fromkeys(("loss", "margin", "pair_accuracy"), True) | {"label_loss": labelled}
    has |= {"step_margin": parted, "step_pair_accuracy": parted, "prefix_loss": stepped}
    return [name for name in (*METRICS, *PREFIX_METRICS) if has[name]]


def within_limit(
    pairs: Sequence[tuple[ContrastivePair, int]], labelled: Sequence[tuple[LabelledCompletion, int]], tokens: int
) -> Iterator[Pass]:
    """Halves a pass until it has at most so many tokens, or a single pair or triple. Each has its number of tokens."""
    if len(pairs) + len(labelled) < 2 or sum(own for _, own in (*pairs, *labelled)) <= tokens:
        yield [pair for pair, _ in pairs], [triple for triple, _ in labelled]
        return
    half, other = -(-len(pairs) // 2), len(labelled) // 2
    yield from within_limit(pairs[:half], labelled[:other], tokens)
    yield from within_limit(pairs[half:], labelled[other:], tokens)


class Kept(dict[str, torch.Tensor]):
    """A copy in main memory. Once nothing refers to it, the next copy takes its memory."""


class RewardModelUpdater:
    """AdamW on float32 master weights: one step per generation batch on L = -log sigmoid(z_pos - z_neg).

    Across ranks the gradient is the mean over all ranks' valid pairs, so that 2 ranks give the same result as 1. Every
    rank takes part in the reduction, even if it has no pair. A sharded reward model ends with the same weights.

    Args:
        reward_model: already on its device, and already sharded if it is to be.
        num_training_steps: length of the learning rate's schedule, in batches of the run.
    """

    def __init__(self, reward_model: VerifyRM, settings: CooperSettings, num_training_steps: int = 1) -> None:
        self.reward_model = reward_model
        self.settings = settings
        self.sharded = sharding.is_sharded(reward_model.model)
        self.parameters = [p for p in reward_model.model.parameters() if p.requires_grad]
        assert all(p.dtype == torch.float32 for p in self.parameters), "master weights must be float32"
        if not self.sharded:
            distributed.check_same(reward_model.model.parameters(), "reward model")
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            lr=settings.reward_model_learning_rate,
            betas=(settings.reward_model_adam_beta1, settings.reward_model_adam_beta2),
            weight_decay=settings.reward_model_weight_decay,
            fused=self.device.type == "cuda" or None,
        )
        given = settings.reward_model_gradient_checkpointing
        self.recomputes = self.device.type != "cpu" if given is None else given
        self.offloads = settings.reward_model_offload and self.device.type != "cpu"
        self.away: dict[tuple[torch.Tensor, str], torch.Tensor] = {}  # where the optimiser's state is between steps
        self.spare: dict[str, torch.Tensor] = {}  # memory of copies that are not needed any more
        self.create_scheduler(num_training_steps)
        self.start = self._copy("weight.") if settings.reads_doubt else {}

    def create_scheduler(self, num_training_steps: int) -> None:
        """Makes the learning rate's schedule for a run of this many batches. Some of them may have no update."""
        self.scheduler = get_scheduler(
            self.settings.reward_model_lr_scheduler_type,
            self.optimizer,
            num_warmup_steps=self.settings.reward_model_warmup_steps,
            num_training_steps=max(1, num_training_steps // self.settings.reward_model_update_steps),
        )

    @property
    def version(self) -> int:
        """How many updates the reward model has had."""
        return int(self.scheduler.last_epoch)

    def score(self, triples: Sequence[Scorable]) -> list[float]:
        """Probability, from 0 to 1, that each completion is right."""
        scores: list[float] = self.reward_model.score_records(triples).tolist()
        return scores

    def start_scores(self, triples: Sequence[Scorable]) -> list[float]:
        """Scores with the initial weights, swapped in for the call."""
        if self.version == 0:
            return self.score(triples)
        present = self._copy("weight.")
        self._put_back(self.start, "weight.")
        try:
            return self.score(triples)
        finally:
            self._put_back(present, "weight.")

    def step_values(self, triples: Sequence[Scorable], ends: Sequence[Sequence[int]]) -> list[list[float]]:
        """Value after each step of a completion, from 0 to 1; the last one is the score."""
        return [values_S.tolist() for values_S in self.reward_model.step_values(triples, ends)]

    def update(self, pairs: Sequence[ContrastivePair], labelled: Sequence[LabelledCompletion] = ()) -> dict[str, float]:
        """Takes one optimiser step and returns `reward_model/*` metrics. Without a pair on any rank nothing changes.

        The contrastive loss depends only on differences of z. The threshold between right and wrong may therefore
        drift, and an exploit that scores 0.9 beside right answers at 0.99 gets almost no gradient. So the binary
        cross-entropy of the `labelled` triples (rehearsed and replayed ones) is added to the loss, and with
        `label_pairs` that of the pairs' own labels. `prefix_weight` adds both losses of prefixes. (Ours, not the
        paper's.)
        """
        ends = [steps_of(t, self.settings.credit_steps) for t in labelled] if self.settings.prefix_weight else []
        sizes = len(pairs), len(labelled), sum(p.at is not None for p in pairs), sum(len(own) > 1 for own in ends)
        counts = Counts(*distributed.add_up(torch.tensor(sizes, dtype=torch.float32, device=self.device)).tolist())
        if not counts.pairs:
            return {}
        names = metric_names(counts, self.settings)
        metrics = dict.fromkeys(names, 0.0)
        encoded = self.reward_model.encode_once([*(r for p in pairs for r in (p.right, p.wrong)), *labelled])
        for some_pairs, some_labelled in self._passes(pairs, labelled, encoded):
            loss, found = self._loss(some_pairs, some_labelled, counts, encoded)
            if self.sharded:  # a sharded model's backward pass averages over the ranks
                loss = loss * distributed.size()
            loss.backward()
            metrics = {name: value + found.get(name, 0.0) for name, value in metrics.items()}
        if distributed.size() > 1 and not self.sharded:
            for parameter in self.parameters:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
            distributed.add_up_all([parameter.grad for parameter in self.parameters if parameter.grad is not None])
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.reward_model_max_grad_norm or torch.inf)
        norm = sharding.whole(norm)
        learning_rate = self.scheduler.get_last_lr()[0]
        finite = bool(torch.isfinite(norm))  # the same on every rank, since the gradients are summed
        if finite:
            with self._state_on_device():
                self.optimizer.step()
            self.reward_model.updates += 1
        self.scheduler.step()
        self.optimizer.zero_grad(set_to_none=True)
        shares = torch.tensor(list(metrics.values()), device=self.device)
        logged = dict(zip(names, distributed.add_up(shares).tolist(), strict=True))
        logged |= {"skipped": float(not finite), "grad_norm": norm.item(), "learning_rate": learning_rate}
        return {f"reward_model/{name}": value for name, value in logged.items()}

    @property
    def device(self) -> torch.device:
        """Where the reward model is."""
        return self.parameters[0].device

    def _passes(
        self, pairs: Sequence[ContrastivePair], labelled: Sequence[LabelledCompletion], encoded: Encoded
    ) -> Iterator[Pass]:
        """Splits this rank's pairs and triples into passes through the reward model, whose gradients are summed."""
        size = self.settings.reward_model_pairs_per_pass
        count = max(-(-len(pairs) // size), -(-len(labelled) // (2 * size))) if size else int(bool(pairs or labelled))
        of_pairs = [(pair, sum(len(encoded[text_of(r)]) for r in (pair.right, pair.wrong))) for pair in pairs]
        of_labelled = [(triple, len(encoded[text_of(triple)])) for triple in labelled]
        passes: list[Pass] = []
        for index in range(count):
            some = slice(index * len(pairs) // count, (index + 1) * len(pairs) // count)
            others = slice(index * len(labelled) // count, (index + 1) * len(labelled) // count)
            passes += within_limit(of_pairs[some], of_labelled[others], self.settings.reward_model_tokens_per_pass)
        if self.sharded:  # all ranks must make the same number of passes
            passes += [([], [])] * (distributed.most(len(passes), self.device) - len(passes))
        return iter(passes)

    def _loss(
        self,
        pairs: Sequence[ContrastivePair],
        labelled: Sequence[LabelledCompletion],
        counts: Counts,
        encoded: Encoded,
    ) -> tuple[torch.Tensor, dict[str, float]]:
        """The contribution of one pass to the loss, and its metrics, from one forward pass.

        Dropout is off, so that z is the same as in scoring.

        Args:
            counts: of the whole step, which the sums are divided by.
        """
        records: list[Scorable] = [*(pair.right for pair in pairs), *(pair.wrong for pair in pairs), *labelled]
        self.reward_model.model.eval()
        of_steps: list[torch.Tensor] = []
        with recomputing(self.reward_model.model) if self.recomputes else nullcontext():
            if self.settings.prefix_weight:
                ends = [steps_of(record, self.settings.credit_steps) for record in records]
                of_steps = self.reward_model.step_logits(records, ends, encoded=encoded)
                logits = torch.stack([logits_S[-1] for logits_S in of_steps]) if of_steps else torch.zeros(0)
            else:
                logits = self.reward_model.logits_of(records, encoded=encoded)
        positive_N, negative_N, labelled_B = logits.split([len(pairs), len(pairs), len(labelled)])
        loss = logits.sum() * 0.0
        metrics: dict[str, float] = {}
        if pairs:
            valid_N = torch.ones(len(pairs), dtype=torch.bool, device=logits.device)
            contrastive, found = contrastive_loss(positive_N, negative_N, valid_N)
            weight = len(pairs) / counts.pairs
            loss = loss + contrastive * weight
            metrics = {name: value * weight for name, value in found.items()}
        labels = [float(t.correct) for t in labelled]
        with_label_B = labelled_B
        if self.settings.label_pairs:
            labels = [1.0] * len(pairs) + [0.0] * len(pairs) + labels
            with_label_B = logits
        if labels:
            bce, found = bce_loss(with_label_B, torch.tensor(labels, device=logits.device))
            weight = len(labels) / (counts.labelled + (2 * counts.pairs if self.settings.label_pairs else 0))
            loss = loss + bce * weight
            metrics["label_loss"] = found["loss"] * weight
        if self.settings.prefix_weight:
            added, found = prefix_losses(pairs, labelled, of_steps, counts)
            loss, metrics = loss + self.settings.prefix_weight * added, {**metrics, **found}
        return loss, metrics

    @contextmanager
    def _state_on_device(self) -> Iterator[None]:
        """The optimiser's state is beside the weights within this; afterwards it is where `reward_model_offload` says.

        The optimiser's counts of steps stay where they are.
        """
        if not self.offloads:
            yield
            return
        for parameter, state in self.optimizer.state.items():
            state |= {name: value.to(parameter.device) for name, value in state.items() if value.dim()}
        yield
        for parameter, state in self.optimizer.state.items():
            for name, value in state.items():
                if value.dim():
                    state[name] = distributed.to_main_memory(value, self.away.get((parameter, name)))
                    self.away[parameter, name] = state[name]

    def snapshot(self) -> dict[str, torch.Tensor]:
        """A copy on the CPU of what an update changes: the trained weights and the optimiser's state.

        Several ranks share it out. All of them make a snapshot together, and restore it together.
        """
        return self._copy("")

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:
        """Restores weights and optimiser, but not the learning rate's schedule. Every rank must call this."""
        if not any(name.startswith("state.") for name in snapshot):  # it was made before the first update
            self.optimizer.state.clear()
        with self._state_on_device():
            self._put_back(snapshot, "")

    def _copy(self, kind: str) -> Kept:
        """A copy on the CPU of what this rank keeps of the tensors whose names begin so."""
        own, kept = (None, distributed.rank()), Kept()
        for name, tensor, owner in self._tensors():
            if name.startswith(kind) and owner in own:
                kept[name] = distributed.to_main_memory(tensor, self.spare.pop(name, None))
        finalize(kept, self.spare.update, dict(kept)).atexit = False
        return kept

    def _put_back(self, kept: Mapping[str, torch.Tensor], kind: str) -> None:
        """Gives all ranks what each of them has kept of this kind."""
        for name, tensor, owner in self._tensors():
            if name in kept:
                tensor.copy_(kept[name])
            if owner is not None and name.startswith(kind):
                distributed.send(tensor, owner)

    def _tensors(self) -> Iterator[tuple[str, torch.Tensor, int | None]]:
        """Name and memory of each tensor that an update changes, and the rank that keeps its copies.

        Each rank keeps its own (None) where the weights are sharded. So it does with the optimiser's counts of steps,
        which may be in main memory.
        """
        alone = self.sharded or distributed.size() == 1
        everything, before = sum(parameter.numel() for parameter in self.parameters), 0
        for index, parameter in enumerate(self.parameters):
            owner = None if alone else before * distributed.size() // everything
            before += parameter.numel()
            yield f"weight.{index}", sharding.own_part(parameter), owner
            for name, value in self.optimizer.state.get(parameter, {}).items():
                yield f"state.{index}.{name}", sharding.own_part(value), owner if value.dim() else None

    def _optimizer_tensors(self) -> dict[str, torch.Tensor]:
        return {
            f"{index}.{name}": value
            for index, parameter in enumerate(self.parameters)
            for name, value in self.optimizer.state.get(parameter, {}).items()
        }

    def save(self, folder: Path) -> None:
        """Writes the reward model with the optimiser's and the scheduler's state. Every rank must call this."""
        main = distributed.rank() == 0
        weights = sharding.gather(self.reward_model.model.state_dict(), keep=main) if self.sharded else None
        state = sharding.gather(self._optimizer_tensors(), keep=main)
        if not main:
            return
        self.reward_model.save_pretrained(folder, weights)
        save_file(state, folder / OPTIMISER)
        (folder / "scheduler.json").write_text(json.dumps(self.scheduler.state_dict()))

    def load(self, folder: Path) -> None:
        """Restores what `save` wrote into this reward model.

        Raises:
            BadInputError: the checkpoint is of another model.
        """
        self.reward_model.load_weights(folder)
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in load_file(folder / OPTIMISER).items():
            index, name = key.split(".")
            state.setdefault(int(index), {})[name] = sharding.shard_like(value, self.parameters[int(index)])
        with self._state_on_device():
            self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})
        self.scheduler.load_state_dict(json.loads((folder / "scheduler.json").read_text()))
        take_up(self.scheduler)
