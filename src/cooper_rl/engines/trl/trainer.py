"""CooperTrainer: TRL's GRPOTrainer with the method's reward, and stage 2 after each generation batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from safetensors import SafetensorError
from torch.utils.data import Sampler
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl.models import unwrap_model_for_generation

from cooper_rl.checkpoints import complete_checkpoint
from cooper_rl.engines.credit import token_advantages
from cooper_rl.engines.parts import placed
from cooper_rl.engines.trl.callback import CooperCallback
from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.engines.trl.lean import LeanGRPOTrainer
from cooper_rl.engines.trl.reward import CooperReward
from cooper_rl.engines.world import TorchWorld
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.generation import Generator, conversation
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.method.build import make_cooper
from cooper_rl.method.journal import Journal
from cooper_rl.method.negatives.assistant import Assistant
from cooper_rl.method.reward_model import RewardModel
from cooper_rl.records import LabelledCompletion
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.trainer import take_up
from cooper_rl.verifyrm.updater import RewardModelUpdater


class CooperTrainer(LeanGRPOTrainer):
    """Trains a policy with GRPO and, in the `cooper` arm, its reward model along with it.

    Args:
        model: path or hub id of the policy.
        reward_model: a VerifyRM, or a `method.reward_model.RewardModel` of your own; the `rule` arm needs none.
        args: a CooperConfig.
        train_dataset: columns `prompt` (text or messages) and `reference_answer`. The columns `question`,
            `problem_id` and `worked_solution` are optional.
        assistant: rewrites right completions into wrong ones. By default this is the policy's base model.
        heldout: problems and triples to measure on.
        rehearsal: labelled triples of the reward model's own training, for `rehearsal_per_step`.
        anchors: labelled triples that nothing is trained on. Where given, the guard checks the reward model's updates.

    Raises:
        BadInputError: the arm needs a reward model, or the data set is empty or lacks a column.
    """

    signalled = 0  # the number of the signal that this rank has received: SIGTERM or SIGINT
    alarm_stops = False  # the alarm ends the run
    stopped_by = ""  # "signal" or "alarm" where one of them ended the run
    checked = False  # the guard has checked the reward model of this step, as before each checkpoint

    def __init__(
        self,
        model: str,
        reward_model: VerifyRM | RewardModel | None = None,
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
        if reward_model is None and args.needs_reward_model:
            raise BadInputError(f"arm {args.arm or args.reward} needs a reward model: set reward_model_name_or_path")
        if args.reward_model_sharded and getattr(reward_model, "adapters", None) is not None:
            raise BadInputError(
                "reward_model_sharded: low-rank adapters cannot be sharded; set reward_model_sharded to false, or"
                " reward_model_lora_rank to 0"
            )
        self.verifier = verifier or RuleVerifier(
            args.verifier, workers=args.verifier_workers, deadline_seconds=args.verifier_deadline_seconds
        )
        self.reward = CooperReward()
        self.heldout = heldout
        if args.model_init_kwargs is None and not (args.bf16 or args.fp16):
            args.model_init_kwargs = {"dtype": "float32"}
        super().__init__(model=model, reward_funcs=[self.reward], args=args, train_dataset=train_dataset, **kwargs)
        check_credit(args.credit, sharded=self.is_fsdp_enabled or self.is_deepspeed_enabled)
        self.reward.trainer = self
        self.add_callback(CooperCallback(self))
        used = reward_model if args.needs_reward_model else None
        self.reward_model = None if used is None else placed(used, args, self.accelerator.device)
        world = TorchWorld(self.accelerator.device)
        self.journal = Journal(args.output_dir, writes=world.rank == 0)
        self.cooper = make_cooper(
            args,
            self.verifier,
            self.reward_model,
            assistant=lambda: self._assistant(assistant),
            rehearsal=rehearsal,
            anchors=anchors,
            world=world,
            journal=self.journal,
        )

    def _assistant(self, generator: Generator | None) -> Assistant:
        """The assistant on the given generator, or on the policy's base model, which is GRPO's reference policy.

        A sharded reference policy would make the ranks wait for one another in each pass, and they do not ask it alike
        often. Then each rank has a copy of its own.
        """
        sharded = self.is_fsdp_enabled or self.is_deepspeed_enabled
        if generator is None:
            if self.ref_model is None or sharded:
                own = TransformersGenerator.from_pretrained(self.model.config._name_or_path)
            else:
                reference = self.accelerator.unwrap_model(self.ref_model)
                own = TransformersGenerator(reference, self.processing_class, bf16=self.args.bf16)
            own.template, generator = self.args.chat_template_kwargs, own
        return Assistant(generator, self.args.max_completion_length, self.args.seed)

    def measure(self) -> dict[str, float]:
        """Makes the held-out measurements and returns their metrics."""
        assert self.heldout is not None
        with (
            unwrap_model_for_generation(self.model_wrapped, self.accelerator) as policy,  # gathers a sharded policy
            self.accelerator.autocast(),
        ):
            return self.heldout.measure(policy, self.processing_class, self.reward_model, self.verifier)

    def signalled_anywhere(self) -> bool:
        """Whether any rank has received SIGTERM or SIGINT. Every rank must call this."""
        return self.cooper.world.add_up([float(self.signalled > 0)])[0] > 0

    def add_metrics(self, metrics: dict[str, float]) -> None:
        """Adds metrics to the next log line."""
        for name, value in metrics.items():
            self._metrics["train"][name].append(value)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        super().log(logs, start_time)
        if any(name.startswith("eval_") for name in logs):  # an evaluation after the step's line
            self.journal.add(self.state.global_step, logs)
        elif "train_runtime" not in logs:
            self.journal.log(self.state.global_step, logs)

    def _get_train_sampler(self, dataset: Dataset | None = None) -> Any:
        return SameOrderAgain(super()._get_train_sampler(dataset), lambda: int(self.state.epoch or 0))

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        if isinstance(self.reward_model, RewardModelUpdater):
            self.reward_model.create_scheduler(num_training_steps // self.args.steps_of_a_batch)
        return super().create_scheduler(num_training_steps, optimizer)

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        """TRL's generation batch; its advantages become those of tokens, (B, T), where steps have a credit."""
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self.args.credit == "outcome" or self.reward.batch is None:
            return output
        steps = self.cooper.credit.of(self.reward.batch, output["advantages"].tolist())
        length = output["completion_ids"].shape[1]
        output["advantages"] = token_advantages(
            self.processing_class, self.reward.completion_ids, steps, output["advantages"], length
        )
        return output

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Writes the method's part first, then the policy, then the mark that the folder is complete."""
        folder = Path(self.args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        if not self.checked:  # a callback of the user's asked for this checkpoint after the guard's turn
            self.cooper.before_save(self.state.global_step)
        try:
            self.cooper.save(folder)
            super()._save_checkpoint(model, trial)
            self.accelerator.wait_for_everyone()
            if self.accelerator.is_main_process:
                complete_checkpoint(folder, self.state.global_step)
        except (OSError, SafetensorError, RuntimeError) as error:  # the errors of the three writers on a full disk
            if isinstance(error, RuntimeError) and "inline_container" not in str(error):  # torch.save's file writer
                raise
            raise CooperError(
                f"{folder}: cannot be written ({error}); free disk space, then resume from the checkpoint before it"
                " with --resume"
            ) from error

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            take_up(self.lr_scheduler)
            self.cooper.load(Path(checkpoint))


class SameOrderAgain(Sampler[int]):  # type: ignore[misc]
    """TRL's order of the problems. A resumed run has that of its epoch, where TRL's would begin with the first again.

    Args:
        own: TRL's sampler.
        epoch: the number of the epoch that begins.
    """

    def __init__(self, own: Any, epoch: Callable[[], int]) -> None:
        self.own, self.epoch = own, epoch

    def __len__(self) -> int:
        return len(self.own)

    def __iter__(self) -> Iterator[int]:
        if self.own.shuffle:
            self.own.generator.manual_seed(self.own.seed)
            for _ in range(self.epoch()):  # the orders of the epochs before
                torch.randperm(self.own.num_samples, generator=self.own.generator)
        return iter(self.own)


def check_dataset(dataset: Dataset | None) -> None:
    """Refuses an empty data set or one without the columns that the reward reads."""
    if dataset is not None and not hasattr(dataset, "__len__"):
        raise BadInputError("the training data set is a stream; give one of known length (datasets.Dataset)")
    if dataset is None or len(dataset) == 0:
        raise BadInputError("the training data set is empty")
    missing = {"prompt", "reference_answer"} - set(dataset.column_names)
    if missing:
        raise BadInputError(f"the training data set lacks {sorted(missing)}; it has {sorted(dataset.column_names)}")
    for row, reference in enumerate(dataset["reference_answer"]):
        if reference is None or not str(reference).strip():
            raise BadInputError(f"the training data set: row {row} has no reference_answer; leave it out")


def check_credit(credit: str, *, sharded: bool) -> None:
    """Refuses a credit that needs the whole policy on each rank, where it is sharded."""
    if credit == "reference_gain" and sharded:
        raise BadInputError(
            "credit = reference_gain: a sharded policy values no steps; run it without FSDP and DeepSpeed"
        )


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
