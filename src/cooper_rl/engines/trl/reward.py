"""Cooper as one reward function: a trainer of TRL's takes it beside others, and its callback does the rest."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from cooper_rl.devices import own_device
from cooper_rl.engines.parts import placed, resolve_triples
from cooper_rl.engines.trl.callback import CooperCallback
from cooper_rl.engines.trl.rows import group_size_of, samples_of
from cooper_rl.engines.world import TorchWorld
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.generation import Generator
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.method.build import check_parts, make_cooper
from cooper_rl.method.credit import PolicyValues
from cooper_rl.method.journal import Journal
from cooper_rl.method.loop import Cooper
from cooper_rl.method.negatives.assistant import Assistant
from cooper_rl.method.reward_model import RewardModel
from cooper_rl.records import Batch, LabelledCompletion, Sample
from cooper_rl.settings.method import CooperSettings, MethodSettings
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.triples import read_triples

logger = logging.getLogger(__name__)
Triples = Sequence[LabelledCompletion] | str | Path


class CooperReward:
    """The method as a reward function: `reward_funcs=[cooper, other], callbacks=[cooper.callback]`.

    Args:
        reward_model: a VerifyRM, its name, folder or hub id, a sequence classifier of transformers with one label, or a
            `method.reward_model.RewardModel` of your own. The arm `rule` needs none.
        settings: the method's settings. Each can be given by keyword too.
        verifier: the rule verifier; by default the one that the settings name.
        assistant: rewrites right completions into wrong ones. By default this is a copy of the policy as it was loaded.
        heldout: problems and triples to measure on.
        rehearsal: labelled triples of the reward model's own training, or their file, for `rehearsal_per_step`.
        anchors: labelled triples that nothing is trained on, or their file. Where given, the guard checks each update.
        reference_column: the data set's column of the reference answer; by default one of the usual names.
        bf16: True computes the reward model's forward passes in bfloat16; None leaves a VerifyRM as it was loaded.

    Raises:
        BadInputError: a setting is unknown or wrong, or the arm needs a reward model and there is none.
    """

    __name__ = "cooper"

    def __init__(
        self,
        reward_model: VerifyRM | RewardModel | PreTrainedModel | str | Path | None = None,
        settings: CooperSettings | None = None,
        *,
        verifier: RuleVerifier | None = None,
        assistant: Generator | None = None,
        heldout: HeldOut | None = None,
        rehearsal: Triples = (),
        anchors: Triples = (),
        reference_column: str | None = None,
        bf16: bool | None = None,
        **chosen: Any,
    ) -> None:
        self.settings = own = CooperSettings.given(settings, **chosen)
        check_parts(own)
        if reward_model is None and own.needs_reward_model:
            raise BadInputError(f"arm {own.arm or own.reward} needs a reward model; give its name, folder or hub id")
        self.verifier = verifier or RuleVerifier(
            own.verifier, workers=own.verifier_workers, deadline_seconds=own.verifier_deadline_seconds
        )
        self.given = loaded(reward_model) if own.needs_reward_model else None
        if bf16 is not None and isinstance(self.given, VerifyRM):
            self.given.autocast = torch.bfloat16 if bf16 else None
        if own.reward_model_sharded and getattr(self.given, "adapters", None) is not None:
            raise BadInputError("reward_model_sharded: low-rank adapters cannot be sharded; set it to false")
        self.assistant, self.heldout, self.reference_column = assistant, heldout, reference_column
        self.rehearsal, self.anchors = _triples(rehearsal, "train"), _triples(anchors, "anchors")
        self.callback = CooperCallback(self)
        self.policy_values: Callable[[Sequence[Any], Sequence[Sample]], PolicyValues] | None = None
        self.core: Cooper | None = None
        self.batch: Batch | None = None  # scored, but stage 2 has not learned from it yet
        self.completion_ids: Sequence[Sequence[int]] = ()  # of the batch, in its order
        self.calls, self.started = 0, 0.0
        self.metrics: dict[str, float] = {}  # of the last step
        self.stops = False  # whether the alarm wants the run to end

    def build(self, group_size: int = 16) -> Cooper:
        """The method, made when the trainer is known: its folder, seed, group size and device.

        Args:
            group_size: completions of a prompt, where no trainer tells.
        """
        if self.core is None:
            args = self.callback.args
            usual = {"output_dir": "", "seed": 42, "num_generations": group_size}
            run: dict[str, Any] = {name: getattr(args, name, value) for name, value in usual.items()}
            device = args.device if args else own_device()
            settings = MethodSettings(**run, **asdict(self.settings))
            world = TorchWorld(device)
            self.core = make_cooper(
                settings,
                self.verifier,
                None if self.given is None else placed(self.given, settings, device),
                assistant=lambda: self.make_assistant(settings),
                rehearsal=self.rehearsal,
                anchors=self.anchors,
                world=world,
                journal=Journal(settings.output_dir, writes=world.rank == 0 and args is not None),
            )
        return self.core

    def make_assistant(self, settings: MethodSettings) -> Assistant:
        """The negative source `assistant`: the generator that was given, or the policy's base model."""
        args = self.callback.args
        generator = self.assistant or self.callback.base_generator()
        if args is not None and self.assistant is None and isinstance(generator, TransformersGenerator):
            generator.template = getattr(args, "chat_template_kwargs", None)
        return Assistant(generator, getattr(args, "max_completion_length", None) or 512, settings.seed)

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        *,
        completion_ids: Sequence[Sequence[int]] = (),
        trainer_state: Any = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """The reward of each completion; None where nothing could be judged. TRL leaves those out of the baseline.

        Args:
            prompts, completions: texts or messages; the G completions of a prompt follow one another.
            columns: those of the data set, one value for each completion; the reference answer is among them.
        """
        self.calls, self.started = self.calls + 1, time.perf_counter()
        step = trainer_state.global_step + 1 if trainer_state is not None else self.calls
        core = self.core or self.build(group_size_of(prompts, TorchWorld()))
        learns = self.callback.before_call(step, log_metric)
        try:
            samples = samples_of(prompts, completions, columns, self.reference_column)
        except BadInputError as error:
            if learns:
                raise
            self.callback.warn_once(f"no reward in this evaluation: {error}")
            return [None] * len(prompts)
        values = self.policy_values(prompts, samples) if self.policy_values else None
        if not learns:  # an evaluation: no pairs are drawn, and stage 2 does not learn from it
            return [rollout.reward for rollout in core.judge(samples, values).rollouts]
        self.batch = core.score(samples, step, values)
        self.completion_ids = completion_ids
        return list(self.batch.rewards)

    def learn(self, *, saving: bool = False) -> dict[str, float]:
        """Stage 2 on the batch that was scored last; its metrics.

        Args:
            saving: a checkpoint follows.
        """
        assert self.core and self.batch
        report, self.batch = self.core.learn(self.batch, saving=saving), None
        self.stops, self.metrics = report.stop, dict(report.metrics)
        return dict(report.metrics)

    def check(self) -> None:
        """Refuses settings that need more than a reward function.

        Raises:
            BadInputError: the steps of a completion are to have advantages of their own.
        """
        if self.settings.credit != "outcome" and self.policy_values is None:
            raise BadInputError(
                f"credit = {self.settings.credit}: a reward function has one reward for a completion; use CooperTrainer"
            )

    def check_new(self) -> None:
        """Refuses to begin a run with a reward model that another run has trained.

        Raises:
            BadInputError: it has learned already.
        """
        updates = self.given.updates if isinstance(self.given, VerifyRM) else 0
        if updates:
            raise BadInputError(
                f"the reward model had {updates} updates in another run: load it anew, or save it and give its folder"
            )

    def save(self, folder: str | Path) -> None:
        """Writes the reward model and the method's state. Every rank calls it."""
        self.build().save(Path(folder))

    def load(self, folder: str | Path) -> None:
        """Restores what `save` wrote. Called before training, it names the folder that a resumed run goes on from."""
        self.callback.folder = Path(folder)
        self.build().load(Path(folder))


def loaded(reward_model: Any) -> VerifyRM | RewardModel:
    """The reward model that was given, by name or as an object."""
    if isinstance(reward_model, str | Path):
        return VerifyRM.from_pretrained(reward_model)
    if isinstance(reward_model, PreTrainedModel):
        return VerifyRM.from_model(reward_model)
    return reward_model  # type: ignore[no-any-return]


def _triples(given: Triples, part: str) -> Sequence[LabelledCompletion]:
    return read_triples(resolve_triples(str(given), part)) if isinstance(given, str | Path) else given
