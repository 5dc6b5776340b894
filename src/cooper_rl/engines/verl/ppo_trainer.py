"""Cooper as a trainer of verl's: PPOTrainerSync with the method's reward, and stage 2 after the policy's step.

The method runs in the trainer's process, as on a single rank. Only the reward model is elsewhere (`worker_group.py`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import transfer_queue as tq
from omegaconf import OmegaConf
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu

from cooper_rl.engines.loading import load_assistant, load_heldout, load_labelled
from cooper_rl.engines.verl import run_files
from cooper_rl.engines.verl.run_files import Validation, environment_of, is_dropped, row_of
from cooper_rl.engines.verl.translate import run_settings, settings_of
from cooper_rl.engines.verl.verl_data import Rows, rewards_of, stable_order, whole_groups
from cooper_rl.engines.verl.worker_group import start_reward_model
from cooper_rl.errors import CooperError
from cooper_rl.method.build import check_parts, make_cooper, make_verifier
from cooper_rl.method.loop import Cooper
from cooper_rl.method.negatives import Assistant
from cooper_rl.records import Batch, Report

logger = logging.getLogger(__name__)
FIELDS = ["uid", "responses", "reward_model", "extra_info", "raw_prompt"]


@register_trainer("cooper")
class CooperPPOTrainer(PPOTrainerSync):  # type: ignore[misc]
    """`trainer.v1.trainer_mode=cooper`. The settings of the method are in verl's configuration under `cooper`.

    Raises:
        BadInputError: `cooper` has an unknown key, a wrong value, or contradicts a setting of verl's.
        CooperError: the hacking alarm stopped the run, or too many steps in a row were skipped.
    """

    # verl's base class compares the name of the trainer with "sync" in six places, and is asynchronous for any other
    trainer_mode = property(lambda self: "sync", lambda self, name: None)

    def __init__(self, config: Any) -> None:
        config.reward.num_workers = 0  # no process that streams rewards: the method scores whole batches
        super().__init__(config)
        self.given: dict[str, Any] = OmegaConf.to_container(config, resolve=True)
        self.settings = settings_of(self.given)
        check_parts(self.settings, self.settings.reward_model_type)
        self.verifier = make_verifier(self.settings)
        self.measured = Validation(load_heldout(self.settings, self.settings), self.settings, self.verifier)
        self.scored: Batch | None = None  # scored, but stage 2 has not learned from it yet
        self.report = Report(0)
        self.clipped = 0.0  # share of the step's completions that met max_completion_length
        self.saved = 0  # the last step with a checkpoint

    def _setup(self) -> None:
        super()._setup()
        # without handles of streaming workers, verl calls `_compute_reward_colocate` on the whole batch
        self.reward_loop_manager = SimpleNamespace(reward_loop_worker_handles=None)

    def _load_checkpoint(self) -> None:
        """The last part of verl's set-up, when all processes have their places."""
        self.settings.max_steps = self.total_training_steps
        self.cooper = self._make_cooper()
        run_files.choose_checkpoint(self.config)
        super()._load_checkpoint()
        journal = self.cooper.journal
        environment = environment_of(self.settings.seed, self.config)
        journal.begin(run_settings(self.given, self.settings), environment, self.global_steps or -1)
        if self.global_steps:
            self.config.trainer.val_before_train = False  # the run that is resumed has done it
            self.cooper.load(Path(self.config.trainer.resume_from_path))

    def _make_cooper(self) -> Cooper:
        settings, reward_model = self.settings, None
        if settings.needs_reward_model:
            pool = self.resource_pool_manager.get_resource_pool(Role.RewardModel)
            reward_model = start_reward_model(settings, pool, self.config.trainer.device)
        assistant = load_assistant(settings, settings)
        rehearsal, anchors = load_labelled(settings, settings)
        return make_cooper(
            settings,
            self.verifier,
            reward_model,
            assistant=(lambda: Assistant(assistant, settings.max_completion_length, settings.seed))
            if assistant
            else None,
            rehearsal=rehearsal,
            anchors=anchors,
        )

    def fit(self, agent_loop_manager: Any) -> None:
        """verl's loop, with the files of a run around it."""
        started = time.monotonic()
        with self.verifier:
            super().fit(agent_loop_manager)
        self.cooper.journal.finish(self.global_steps - 1, time.monotonic() - started)

    def on_train_begin(self) -> None:
        """The measurements before the first step of a new run; verl has validated already where it is to."""
        if self.global_steps == 1:
            of_reward_model = self.measured.of_reward_model(self.cooper.reward_model)
            self.cooper.journal.log(0, {**self.measured.of_policy(), **of_reward_model})
            self.cooper.journal.log_heldout(0, self.measured.take_outcomes())
            self.cooper.begin()

    def _compute_reward_colocate(self, batch: Any, metrics: dict[str, Any] | None = None) -> Any:
        """Stage 1's rewards. verl gives no metrics when it validates: then the completions are only judged."""
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=FIELDS)
        rows = Rows.of(data, self.tokenizer)
        if metrics is None:
            rewards = self.measured.judge(rows.samples)
        else:
            order = stable_order(rows)
            batch.reorder(order)
            rows = rows.select(order)
            rewards = self._score(rows)
        at_end = [torch.zeros(len(ids)) for ids in rows.responses]
        for row, reward in zip(at_end, rewards, strict=True):
            row[-1:] = reward
        scores = tu.get_tensordict({"rm_scores": torch.nested.as_nested_tensor(at_end, layout=torch.jagged)})
        tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=scores)
        return batch

    def _score(self, rows: Rows) -> list[float]:
        limit = self.settings.max_completion_length
        self.clipped = sum(len(ids) >= limit for ids in rows.responses) / len(rows.responses)
        whole = whole_groups(rows, self.settings.num_generations)
        if not whole:
            raise CooperError(
                f"step {self.global_steps}: every prompt lacks rollouts; look at the rollout servers' log"
            )
        self.scored = self.cooper.score([rows.samples[i] for i in whole], self.global_steps)
        return rewards_of(self.scored, whole, len(rows.samples))

    def _step_once(self, metrics: dict[str, Any], timing_raw: dict[str, float], sample_batch_size: int) -> Any:
        """verl's step, then stage 2: what it changes is seen by the next step's rewards."""
        batch = super()._step_once(metrics, timing_raw, sample_batch_size)
        scored, self.scored = self.scored, None
        assert scored is not None
        self.report = self.cooper.learn(scored, saving=self._is_due(self.config.trainer.save_freq))
        skipped = is_dropped(metrics)
        self.cooper.skips.count("policy", skipped)
        rewards = torch.tensor([reward for reward in scored.rewards if reward is not None])
        metrics.update(self.report.metrics)
        metrics.update({"reward": rewards.mean().item(), "policy/skipped": float(skipped)})
        metrics.update({"reward_std": rewards.std().item(), "time/score_seconds": scored.seconds})
        metrics["completions/clipped_ratio"] = self.clipped
        metrics["rollouts/missing"] = float(self._count_expected() - len(scored.rewards))
        return batch

    def _count_expected(self) -> int:
        return int(self.config.data.train_batch_size) * self.settings.num_generations

    def _is_due(self, every: int) -> bool:
        last = self.global_steps >= self.total_training_steps
        return every > 0 and (last or self.global_steps % every == 0)

    def on_step_end(self) -> None:
        """Writes a checkpoint where the alarm stops the run; then verl hands the new weights to the rollout servers."""
        if self.report.stop and self.saved != self.global_steps:
            self._save_checkpoint()
        super().on_step_end()

    def _validate(self) -> dict[str, float]:
        """verl's validation, whose completions are the held-out measurement."""
        self.measured.begin()
        found: dict[str, float] = super()._validate()
        wanted = len(self.val_dataset) * int(self.config.actor_rollout_ref.rollout.val_kwargs.n)
        missing = max(0, wanted - len(self.measured.answers))
        if missing:
            logger.warning(
                "the held-out measurement lacks %d of %d completions: their requests failed", missing, wanted
            )
        return found | self.measured.of_policy() | {"eval/missing": float(missing)}

    def _compute_metrics(
        self, batch: Any, metrics: dict[str, Any], timing_raw: Mapping[str, float], global_steps: int, epoch: int
    ) -> None:
        """verl's metrics, and the step's line in metrics.jsonl. It is the last thing of a step before its log line."""
        super()._compute_metrics(batch, metrics, timing_raw, global_steps=global_steps, epoch=epoch)
        if self._is_due(self.settings.heldout_steps) or global_steps >= self.total_training_steps:
            metrics.update(self.measured.of_reward_model(self.cooper.reward_model))
        self.cooper.journal.log(global_steps, {**row_of(metrics, timing_raw), **self.report.metrics})
        self.cooper.journal.log_heldout(global_steps, self.measured.take_outcomes())
        if self.saved == global_steps:  # not before: a resumed run does not write the line of this step again
            run_files.finish_checkpoint(self._folder(), global_steps, self.settings.save_total_limit)
        if self.report.stop and global_steps < self.total_training_steps:
            raise CooperError(
                f"{self.settings.output_dir}: the hacking alarm stopped the run after step {global_steps}, with a"
                " checkpoint; look at the report, then continue with --resume --alarm_action log (or hybrid)"
            )

    def _folder(self) -> Path:
        return Path(self.config.trainer.default_local_dir).absolute() / f"{run_files.PREFIX}{self.global_steps}"

    def _save_checkpoint(self) -> None:
        """The method's part first, then verl's. The mark that the folder is complete follows the step's metrics."""
        self.cooper.save(self._folder())
        super()._save_checkpoint()
        self.saved = self.global_steps
