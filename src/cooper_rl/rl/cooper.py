"""Cooper's joint step on one page (paper, section 3.3): GRPO trains the policy, its rollouts train the reward model.

    for each generation batch:
        rollouts   = policy samples G completions a prompt
        rewards    = VerifyRM(question, reference answer, completion)     stage 1: `reward.CooperReward`
        policy    <- GRPO step on group-normalised rewards                stage 1: TRL's GRPOTrainer
        pairs      = (a rule-verified right rollout, verified wrong ones)  stage 2: `pairs.build_pairs`
        VerifyRM  <- step on -log sigmoid(z_pos - z_neg)                   stage 2: `reward_update.RewardModelUpdater`
        VerifyRM  <- taken back if it fell on the anchors or the probes    stage 2: `guard.Guard` (ours)

The rule verifier gives no reward here: it only chooses what is surely right and surely wrong.
"""

from __future__ import annotations

import logging
import random
import resource
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from accelerate.utils import gather_object
from transformers import TrainerCallback

from cooper_rl.errors import CooperError
from cooper_rl.records import Rollout
from cooper_rl.rl import run_files
from cooper_rl.rl.audit import rollout_metrics
from cooper_rl.rl.pairs import PairResult, assistant_requests, build_pairs, draw_slots

if TYPE_CHECKING:
    from cooper_rl.rl.trainer import CooperTrainer

logger = logging.getLogger(__name__)


def all_rollouts(trainer: CooperTrainer) -> tuple[list[Rollout], dict[int, str]]:
    """The rollouts of this generation batch on all ranks in TRL's order, groups numbered through, and the worked
    solutions of the groups' problems."""
    reward, size = trainer.reward, trainer.args.num_generations
    everyone = gather_object(list(zip(reward.rollouts, reward.worked_solutions, strict=True)))
    rollouts = [replace(rollout, group=i // size) for i, (rollout, _) in enumerate(everyone)]
    return rollouts, {i // size: text for i, (_, text) in enumerate(everyone) if text}


def begin_rewrites(trainer: CooperTrainer) -> None:
    """Sends an assistant that is a server its first requests as soon as the rewards are there; stage 2 draws alike."""
    assert trainer.rewrite
    seed = f"{trainer.args.seed}-{trainer.state.global_step + 1}"
    share = (trainer.accelerator.process_index, trainer.accelerator.num_processes)
    trainer.rewrite.begin(assistant_requests(draw_slots(*all_rollouts(trainer), trainer.args, seed, share)))


def reward_model_stage(
    trainer: CooperTrainer, rollouts: list[Rollout], worked_solutions: dict[int, str]
) -> dict[str, float]:
    """Stage 2 on the rollouts of this generation batch; returns its metrics.

    Draws depend on the seed and the step alone, so that a resumed run draws what the straight one did, and several
    ranks together what one would.
    """
    config, step = trainer.args, trainer.state.global_step
    rank, ranks = trainer.accelerator.process_index, trainer.accelerator.num_processes
    seed = f"{config.seed}-{step}"
    started = time.perf_counter()
    own = build_pairs(rollouts, worked_solutions, config, trainer.verifier, trainer.rewrite, seed, share=(rank, ranks))
    paired = time.perf_counter()
    count = min(config.rehearsal_per_step, len(trainer.rehearsal))
    rehearsal = random.Random(seed).sample(trainer.rehearsal, count)[rank::ranks]
    metrics = trainer.reward_model_updater.step(own.pairs, rehearsal)
    updated = time.perf_counter()
    result = PairResult.together(gather_object([own]))
    if trainer.accelerator.is_main_process:
        run_files.write_records(run_files.step_file(config.output_dir, "pairs", step), step, result.pairs)
    if trainer.guard:
        trainer.guard.tried += result.pairs
    times = {"time/pairs_seconds": paired - started, "time/reward_model_seconds": updated - paired}
    assistant = trainer.rewrite.end_step() if trainer.rewrite else {}
    return {**metrics, **result.metrics(), **assistant, **times}


def guard_stage(trainer: CooperTrainer, *, whole: bool) -> dict[str, float]:
    """Keeps the updates since the last approved state or takes them back, with their pairs in `rolled_back/`."""
    assert trainer.guard
    metrics, taken_back = trainer.guard.check(whole=whole)
    if taken_back and trainer.accelerator.is_main_process:
        step = trainer.state.global_step
        run_files.write_records(run_files.step_file(trainer.args.output_dir, "rolled_back", step), step, taken_back)
    return metrics


def peak_bytes(device: torch.device) -> int:
    """The most memory so far: of the accelerator, or of this process on a CPU."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class CooperCallback(TrainerCallback):  # type: ignore[misc]
    """Runs the audit, stage 2 and the held-out measurements between the policy's step and its log line."""

    def __init__(self, trainer: CooperTrainer) -> None:
        self.trainer = trainer
        self.step_started = time.perf_counter()
        self.skipped: Counter[str] = Counter()  # steps in a row without a finite gradient

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        trainer = self.trainer
        if state.global_step == 0 and trainer.heldout:
            before = trainer.measure()
            if trainer.accelerator.is_main_process:
                run_files.append_metrics(args.output_dir, 0, before)
        if state.global_step == 0 and trainer.guard:
            trainer.guard.begin()
        for row in run_files.read_metrics(args.output_dir):  # of the steps before, where a run goes on
            if 0 < row["step"] <= state.global_step:
                self.sound_alarm(row)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.step_started = time.perf_counter()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A policy gradient that is not finite is dropped before the optimiser sees it."""
        device = self.trainer.accelerator.device
        parameters = [p for p in self.trainer.model.parameters() if p.grad is not None]  # none below DeepSpeed
        spoiled = torch.zeros((), device=device)
        for parameter in parameters:
            grad = parameter.grad.to_local() if hasattr(parameter.grad, "to_local") else parameter.grad
            spoiled += (~torch.isfinite(grad).all()).to(device)
        dropped = self.trainer.accelerator.reduce(spoiled, "sum").item() > 0
        if dropped:
            for parameter in parameters:
                parameter.grad = None
        self.trainer.add_metrics({"policy/skipped": float(dropped)})
        self.count_skipped("policy", dropped)

    def count_skipped(self, which: str, skipped: bool) -> None:
        """Ends the run where too many steps in a row had to be skipped."""
        self.skipped[which] = self.skipped[which] + 1 if skipped else 0
        if self.skipped[which] > self.trainer.args.max_skipped_steps:
            raise CooperError(
                f"{self.skipped[which]} steps in a row had a {which} gradient that is not finite; the last checkpoint"
                " is from before: go on from it with --resume and a lower learning rate"
            )

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        trainer, metrics = self.trainer, {}
        reward, now = trainer.reward, time.perf_counter()
        fresh = bool(reward.rollouts)
        if fresh:  # a step on an old batch (num_iterations > 1) has no fresh rollouts, and no stage 2
            rollouts, worked_solutions = all_rollouts(trainer)
            reward.rollouts = []
            metrics.update(rollout_metrics(rollouts, args.rule_misses_per_hit))
            metrics["time/score_seconds"] = reward.seconds
            metrics["time/generate_seconds"] = reward.started - self.step_started
            metrics["time/policy_seconds"] = now - reward.started - reward.seconds
            if trainer.accelerator.is_main_process:
                path = run_files.step_file(args.output_dir, "rollouts", state.global_step)
                run_files.write_records(path, state.global_step, rollouts)
            if trainer.reward_model:
                metrics["hacking/alarm"] = float(self.sound_alarm(metrics))
            if args.arm == "cooper":
                metrics.update(reward_model_stage(trainer, rollouts, worked_solutions))
                self.count_skipped("reward model", metrics.get("reward_model/skipped", 0.0) > 0)
        if trainer.stop_asked() and state.global_step % args.steps_of_a_batch == 0:
            control.should_save = control.should_training_stop = True
        if trainer.guard and (fresh or control.should_save):  # only an approved reward model is saved
            metrics.update(guard_stage(trainer, whole=control.should_save))
        due = state.global_step == state.max_steps or (
            args.heldout_steps and state.global_step % args.heldout_steps == 0
        )
        if trainer.heldout and due:
            metrics.update(trainer.measure())
        metrics["memory/peak_gigabytes"] = peak_bytes(trainer.accelerator.device) / 1e9
        trainer.add_metrics(metrics)

    def sound_alarm(self, metrics: dict[str, float]) -> bool:
        """Whether the alarm rings after this step; the first time it does what `alarm_action` says."""
        trainer = self.trainer
        rings = trainer.alarm.add(metrics)
        if rings and not trainer.alarmed:
            trainer.alarmed = True
            logger.warning(
                "hacking alarm: the reward model's false-positive rate is %.2f (%.2f to %.2f) and grows faster than"
                " rule accuracy; action: %s",
                *(metrics[f"hacking/false_positive_rate{part}"] for part in ("", "_low", "_high")),
                trainer.args.alarm_action,
            )
            if trainer.args.alarm_action == "hybrid":
                trainer.reward.arm = "hybrid"
        return rings
