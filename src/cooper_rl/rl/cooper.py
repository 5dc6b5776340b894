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

import random
import time
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

from cooper_rl.rl import run_files
from cooper_rl.rl.pairs import build_pairs

if TYPE_CHECKING:
    from cooper_rl.rl.trainer import CooperTrainer


def reward_model_stage(trainer: CooperTrainer) -> dict[str, float]:
    """Stage 2 on the rollouts of this generation batch; returns its metrics.

    Draws depend on the seed, the step and the rank alone, so that a resumed run draws what the straight one did.
    """
    config, step = trainer.args, trainer.state.global_step
    rng = random.Random(f"{config.seed}-{step}-{trainer.accelerator.process_index}")
    started = time.perf_counter()
    result = build_pairs(
        trainer.reward.rollouts,
        trainer.reward.worked_solutions,
        config,
        trainer.verifier,
        trainer.rewrite,
        rng,
    )
    paired = time.perf_counter()
    rehearsal = rng.sample(trainer.rehearsal, min(config.rehearsal_per_step, len(trainer.rehearsal)))
    metrics = trainer.reward_model_updater.step(result.pairs, rehearsal)
    updated = time.perf_counter()
    if trainer.accelerator.is_main_process:
        run_files.write_records(run_files.step_file(config.output_dir, "pairs", step), step, result.pairs)
    if trainer.guard:
        trainer.guard.tried += result.pairs
    times = {"time/pairs_seconds": paired - started, "time/reward_model_seconds": updated - paired}
    return {**metrics, **result.metrics(), **times}


def guard_stage(trainer: CooperTrainer, *, whole: bool) -> dict[str, float]:
    """Keeps the updates since the last approved state or takes them back, with their pairs in `rolled_back/`."""
    assert trainer.guard
    metrics, taken_back = trainer.guard.check(whole=whole)
    if taken_back and trainer.accelerator.is_main_process:
        step = trainer.state.global_step
        run_files.write_records(run_files.step_file(trainer.args.output_dir, "rolled_back", step), step, taken_back)
    return metrics


class CooperCallback(TrainerCallback):  # type: ignore[misc]
    """Runs stage 2 and the held-out measurements between the policy's step and its log line."""

    def __init__(self, trainer: CooperTrainer) -> None:
        self.trainer = trainer
        self.step_started = time.perf_counter()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 0 and self.trainer.heldout and self.trainer.accelerator.is_main_process:
            run_files.append_metrics(args.output_dir, 0, self.trainer.measure())
        if state.global_step == 0 and self.trainer.guard:
            self.trainer.guard.begin()

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.step_started = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        trainer, metrics = self.trainer, {}
        reward, now = trainer.reward, time.perf_counter()
        fresh = bool(reward.rollouts)
        if fresh:  # a step on an old batch (num_iterations > 1) has no fresh rollouts, and no stage 2
            metrics["time/score_seconds"] = reward.seconds
            metrics["time/generate_seconds"] = reward.started - self.step_started
            metrics["time/policy_seconds"] = now - reward.started - reward.seconds
            if trainer.accelerator.is_main_process:
                path = run_files.step_file(args.output_dir, "rollouts", state.global_step)
                run_files.write_records(path, state.global_step, reward.rollouts)
            if args.arm == "cooper":
                metrics.update(reward_model_stage(trainer))
            reward.rollouts = []
        if trainer.guard and (fresh or control.should_save):  # only an approved reward model is saved
            metrics.update(guard_stage(trainer, whole=control.should_save))
        due = state.global_step == state.max_steps or (
            args.heldout_steps and state.global_step % args.heldout_steps == 0
        )
        if trainer.heldout and due:
            metrics.update(trainer.measure())
        trainer.add_metrics(metrics)
