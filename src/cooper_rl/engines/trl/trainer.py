"""CooperTrainer: TRL's GRPOTrainer with VerifyRM as its reward, and stage 2 after each generation batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from safetensors import SafetensorError
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl.models import unwrap_model_for_generation

from cooper_rl.engines.trl.callback import CooperCallback
from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.engines.trl.lean import LeanGRPOTrainer
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.generation import Generator, conversation
from cooper_rl.jsonl import write_atomically
from cooper_rl.method import run_files
from cooper_rl.method.audit import HackingAlarm
from cooper_rl.method.cooper import begin_rewrites
from cooper_rl.method.guard import Guard
from cooper_rl.method.negatives.assistant import Assistant
from cooper_rl.method.replay import Replay
from cooper_rl.method.reward import CooperReward
from cooper_rl.records import LabelledCompletion
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm import VerifyRM, sharding
from cooper_rl.verifyrm.trainer import take_up
from cooper_rl.verifyrm.updater import RewardModelUpdater


class CooperTrainer(LeanGRPOTrainer):
    """Trains a policy with GRPO and, in the `cooper` arm, its reward model along with it.

    Args:
        model: path or hub id of the policy.
        reward_model: a VerifyRM; the `rule` arm needs none.
        args: a CooperConfig.
        train_dataset: columns `prompt` (text or messages) and `reference_answer`; `question`, `problem_id` and
            `worked_solution` are used where they are there.
        assistant: writes wrong rewrites of right completions; the policy's base model by default.
        heldout: problems and triples to measure on.
        rehearsal: labelled triples of the reward model's own training, for `rehearsal_per_step`.
        anchors: labelled triples that nothing is trained on; with them updates of the reward model are guarded.

    Raises:
        BadInputError: the arm needs a reward model, or the data set is empty or lacks a column.
    """

    def __init__(
        self,
        model: str,
        reward_model: VerifyRM | None = None,
        args: CooperConfig | None = None,
        train_dataset: Dataset | None = None,
        *,
        assistant: Generator | None = None,
        heldout: HeldOut | None = None,
        verifier: RuleVerifier | None = None,
        rehearsal: Sequence[LabelledCompletion] = (),
        anchors: Sequence[LabelledCompletion] = (),
        **kwargs: Any,
    ) -> None:
        args = args or CooperConfig(output_dir="cooper-run")
        check_dataset(train_dataset)
        if reward_model is None and args.arm != "rule":
            raise BadInputError(f"arm {args.arm} needs a reward model: set reward_model_name_or_path")
        if args.reward_model_sharded and reward_model is not None and reward_model.adapters is not None:
            raise BadInputError("reward_model_sharded: low-rank adapters are small enough to be whole on every rank")
        self.verifier = verifier or RuleVerifier(
            args.verifier, workers=args.verifier_workers, deadline_seconds=args.verifier_deadline_seconds
        )
        self.reward_model = None if args.arm == "rule" else reward_model
        self.reward = CooperReward(args, self.verifier, self.reward_model)
        self.heldout = heldout
        self.rehearsal = rehearsal
        if args.model_init_kwargs is None and not (args.bf16 or args.fp16):
            args.model_init_kwargs = {"dtype": "float32"}
        super().__init__(model=model, reward_funcs=[self.reward], args=args, train_dataset=train_dataset, **kwargs)
        self.add_callback(CooperCallback(self))
        self.rewrite: Assistant | None = None
        self.guard: Guard | None = None
        self.replay: Replay | None = None
        self.alarm = HackingAlarm()
        self.alarmed = False
        self.signalled = False  # SIGTERM came
        if self.reward_model is not None:
            self.reward_model.model.to(self.accelerator.device)
            self.reward_model.autocast = torch.bfloat16 if args.bf16 else None
            if args.reward_model_sharded and self.accelerator.num_processes > 1:
                sharding.shard(self.reward_model.model)
        if args.arm == "cooper":
            assert self.reward_model is not None
            self.reward_model_updater = RewardModelUpdater(self.reward_model, args, self.accelerator)
            if args.replay_per_step:
                self.replay = Replay(args.positive_label_noise)
            if anchors and args.guard_steps:
                self.guard = Guard(self.reward_model_updater, args, anchors)
            if args.asks_assistant:
                self.rewrite = Assistant.of(self, assistant)
                if self.rewrite.thread:
                    self.reward.rewarded = partial(begin_rewrites, self)

    def measure(self) -> dict[str, float]:
        """The held-out measurements now."""
        assert self.heldout is not None
        with unwrap_model_for_generation(self.model_wrapped, self.accelerator) as policy:  # gathers a sharded one
            return self.heldout.measure(policy, self.processing_class, self.reward_model, self.verifier)

    @property
    def stopped_by_alarm(self) -> bool:
        """Whether the alarm rang and is to end the run."""
        return self.alarmed and self.args.alarm_action == "stop"

    def stop_asked(self) -> bool:
        """Whether a signal on any rank, or the alarm, asks for a checkpoint and the end."""
        if self.stopped_by_alarm:
            return True
        if self.accelerator.num_processes == 1:
            return self.signalled
        flag = torch.tensor(float(self.signalled), device=self.accelerator.device)
        return bool(self.accelerator.reduce(flag, "sum").item())

    def add_metrics(self, metrics: dict[str, float]) -> None:
        """Puts figures among those of the next log line."""
        for name, value in metrics.items():
            self._metrics["train"][name].append(value)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        super().log(logs, start_time)
        if self.accelerator.is_main_process and "train_runtime" not in logs:
            run_files.append_metrics(self.args.output_dir, self.state.global_step, logs)

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        if self.args.arm == "cooper":
            self.reward_model_updater.create_scheduler(num_training_steps // self.args.steps_of_a_batch)
        return super().create_scheduler(num_training_steps, optimizer)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """The reward model first, then the policy, then the mark that the folder is complete."""
        folder = Path(self.args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        try:
            if self.args.arm == "cooper":
                self.reward_model_updater.save(folder / "reward_model")
            if self.accelerator.is_main_process and self.args.arm == "cooper":
                if self.replay:
                    self.replay.save(folder / "reward_model")
                if self.guard:
                    write_atomically(folder / "reward_model" / "guard.json", json.dumps(self.guard.state()) + "\n")
            super()._save_checkpoint(model, trial)
            self.accelerator.wait_for_everyone()
            if self.accelerator.is_main_process:
                run_files.complete_checkpoint(folder, self.state.global_step)
        except (OSError, SafetensorError, RuntimeError) as error:  # what a full disk looks like to the three writers
            if isinstance(error, RuntimeError) and "inline_container" not in str(error):  # torch.save's file writer
                raise
            raise CooperError(
                f"{folder}: cannot be written ({error}); make room and go on from the checkpoint before with --resume"
            ) from error

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        take_up(self.lr_scheduler)
        if self.args.arm == "cooper":
            folder = Path(checkpoint) / "reward_model"
            self.reward_model_updater.load(folder)
            if self.replay:
                self.replay.load(folder)
            if self.guard and (folder / "guard.json").is_file():
                self.guard.resume(json.loads((folder / "guard.json").read_text()))
            elif self.guard:  # the run had none so far
                self.guard.begin()


def check_dataset(dataset: Dataset | None) -> None:
    """Refuses an empty data set or one without the columns that the reward reads."""
    if dataset is None or len(dataset) == 0:
        raise BadInputError("the training data set is empty")
    missing = {"prompt", "reference_answer"} - set(dataset.column_names)
    if missing:
        raise BadInputError(f"the training data set lacks {sorted(missing)}; it has {sorted(dataset.column_names)}")


def training_rows(problems: Sequence[Any], system_prompt: str | None = None) -> Dataset:
    """Problems as the trainer's data set."""
    return Dataset.from_list(
        [
            {
                "prompt": conversation(problem.question, system_prompt),
                "question": problem.question,
                "reference_answer": problem.reference_answer,
                "problem_id": problem.problem_id,
                "worked_solution": str(problem.metadata.get("worked_solution", "")),
            }
            for problem in problems
        ]
    )
