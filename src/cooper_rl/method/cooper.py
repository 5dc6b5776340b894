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
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from accelerate.utils import gather_object

from cooper_rl.method import run_files
from cooper_rl.method.audit import rollout_metrics
from cooper_rl.method.pairs import PairResult, assistant_requests, build_pairs, draw_slots
from cooper_rl.records import Rollout

if TYPE_CHECKING:
    from cooper_rl.engines.trl.trainer import CooperTrainer

logger = logging.getLogger(__name__)


def all_rollouts(trainer: CooperTrainer) -> tuple[list[Rollout], dict[int, str]]:
    """The rollouts of this generation batch on all ranks in TRL's order, groups numbered through, and the worked
    solutions of the groups' problems."""
    reward, size = trainer.reward, trainer.args.num_generations
    everyone = gather_object(list(zip(reward.rollouts, reward.worked_solutions, strict=True)))
    rollouts = [replace(rollout, group=i // size) for i, (rollout, _) in enumerate(everyone)]
    return rollouts, {i // size: text for i, (_, text) in enumerate(everyone) if text}


def after_policy_step(trainer: CooperTrainer) -> dict[str, float]:
    """What follows TRL's step on a fresh generation batch: audit, alarm, and in the `cooper` arm stage 2."""
    rollouts, worked_solutions = all_rollouts(trainer)
    trainer.reward.rollouts = []
    metrics = rollout_metrics(rollouts, trainer.args.rule_misses_per_hit)
    if trainer.accelerator.is_main_process:
        step = trainer.state.global_step
        run_files.write_records(run_files.step_file(trainer.args.output_dir, "rollouts", step), step, rollouts)
    if trainer.reward_model:
        metrics["hacking/alarm"] = float(sound_alarm(trainer, metrics))
    if trainer.args.arm == "cooper":
        metrics |= reward_model_stage(trainer, rollouts, worked_solutions)
    return metrics


def draws(trainer: CooperTrainer, step: int) -> tuple[str, tuple[int, int]]:
    """The seed of a step's draws, and which part of them this rank makes."""
    share = (trainer.accelerator.process_index, trainer.accelerator.num_processes)
    return f"{trainer.args.seed}-{step}", share


def begin_rewrites(trainer: CooperTrainer) -> None:
    """Sends an assistant that is a server its first requests as soon as the rewards are there; stage 2 draws alike."""
    assert trainer.rewrite
    seed, share = draws(trainer, trainer.state.global_step + 1)
    trainer.rewrite.begin(assistant_requests(draw_slots(*all_rollouts(trainer), trainer.args, seed, share)))


def reward_model_stage(
    trainer: CooperTrainer, rollouts: list[Rollout], worked_solutions: dict[int, str]
) -> dict[str, float]:
    """Stage 2 on the rollouts of this generation batch; returns its metrics.

    Draws depend on the seed and the step alone, so that a resumed run draws what the straight one did, and several
    ranks together what one would.
    """
    config, step = trainer.args, trainer.state.global_step
    seed, (rank, ranks) = draws(trainer, step)
    started = time.perf_counter()
    own = build_pairs(rollouts, worked_solutions, config, trainer.verifier, trainer.rewrite, seed, share=(rank, ranks))
    paired = time.perf_counter()
    count = min(config.rehearsal_per_step, len(trainer.rehearsal))
    labelled = random.Random(seed).sample(trainer.rehearsal, count)
    if trainer.replay:
        rng = random.Random(f"replay-{seed}")
        trainer.replay.add(rollouts, rng)
        labelled += trainer.replay.draw(config.replay_per_step, rng)
    metrics = trainer.reward_model_updater.step(own.pairs, labelled[rank::ranks])
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


def sound_alarm(trainer: CooperTrainer, metrics: dict[str, float]) -> bool:
    """Whether the alarm rings after this step; the first time it does what `alarm_action` says."""
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
