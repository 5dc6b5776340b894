"""Cooper as one reward function: a trainer of TRL's takes it beside others, and its callback does the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from cooper_rl.distributed import TorchRanks, own_device
from cooper_rl.engines.loading import Triples, place_model, take_reward_model, take_triples
from cooper_rl.engines.trl.callback import CooperCallback
from cooper_rl.engines.trl.rows import find_group_size, read_samples
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.generation import Generator
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.method.build import check_parts, make_cooper, make_verifier
from cooper_rl.method.journal import Journal
from cooper_rl.method.loop import Cooper
from cooper_rl.method.negatives import Assistant
from cooper_rl.method.protocols import RewardModel
from cooper_rl.records import Batch
from cooper_rl.settings.method import CooperSettings, MethodSettings
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm import VerifyRM

ALONE = {"output_dir": "", "seed": 42}  # of a run without a trainer that tells


class CooperReward:
    """The method as a reward function: `reward_funcs=[cooper, other], callbacks=[cooper.callback]`.

    Args:
        reward_model: a VerifyRM, its name, folder or hub id, a sequence classifier of transformers with one label, or a
            `method.protocols.RewardModel` of your own. The arm `rule` needs none.
        settings: the method's settings. Each can be given by keyword too.
        verifier: the rule verifier, by its name or as an object.
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
        verifier: RuleVerifier | str | None = None,
        assistant: Generator | None = None,
        heldout: HeldOut | None = None,
        rehearsal: Triples = (),
        anchors: Triples = (),
        reference_column: str | None = None,
        bf16: bool | None = None,
        **chosen: Any,
    ) -> None:
        if isinstance(verifier, str):
            verifier, chosen["verifier"] = None, verifier
        self.settings = own = CooperSettings.from_keywords(settings, **chosen)
        check_parts(own)
        self.given = take_reward_model(reward_model, own, bf16)
        self.verifier = verifier or make_verifier(own)
        self.assistant, self.heldout, self.reference_column = assistant, heldout, reference_column
        self.rehearsal, self.anchors = take_triples(rehearsal, "train"), take_triples(anchors, "anchors")
        self.callback = CooperCallback(self)
        self.credit: Any = None  # where a trainer gives steps advantages of their own (`credit.TrainerCredit`)
        self.core: Cooper | None = None
        self.batch: Batch | None = None  # scored, but stage 2 has not learned from it yet
        self.calls, self.started, self.stops = 0, 0.0, False
        self.metrics: dict[str, float] = {}  # of the last step

    def build(self, group_size: int = 16) -> Cooper:
        """The method, made when the trainer is known.

        Args:
            group_size: completions of a prompt, where no trainer tells.
        """
        if self.core is None:
            args, checkpoint = self.callback.args, self.callback.checkpoint
            self.core = self._make_core(args, getattr(args, "num_generations", group_size))
            if args is None and checkpoint is not None:
                self.core.load(checkpoint)
        return self.core

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
        step = self.calls if trainer_state is None else trainer_state.global_step + 1
        core = self.core or self.build(find_group_size(prompts, TorchRanks()))
        learns = self.callback.before_call(step, log_metric)
        try:
            samples = read_samples(prompts, completions, columns, self.reference_column)
        except BadInputError as error:
            if learns:
                raise
            self.callback.warn_once(f"no reward in this evaluation: {error}")
            return [None] * len(prompts)
        if self.credit:
            self.credit.take(prompts, completion_ids)
        if not learns:  # an evaluation: no pairs are drawn, and stage 2 does not learn from it
            return list(core.judge_alone(samples).rewards)
        self.batch = core.score(samples, step)
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

    def save(self, folder: str | Path) -> None:
        """Writes the reward model and the method's state. Every rank calls it."""
        self.build().save(Path(folder))

    def load(self, folder: str | Path) -> None:
        """Restores what `save` wrote. Called before training, it names the folder that a resumed run goes on from."""
        self.callback.checkpoint = Path(folder)
        if self.core is not None or self.callback.args is not None:
            self.build().load(Path(folder))

    def _make_core(self, args: Any, group_size: int) -> Cooper:
        """The method with the folder, seed and device of the trainer; without a trainer nothing is written."""
        run: dict[str, Any] = {name: getattr(args, name, usual) for name, usual in ALONE.items()}
        settings = MethodSettings(**run, num_generations=group_size, **asdict(self.settings))
        device = args.device if args else own_device()
        ranks = TorchRanks(device)
        return make_cooper(
            settings,
            self.verifier,
            None if self.given is None else place_model(self.given, settings, device),
            assistant=lambda: self._make_assistant(args, settings.seed),
            rehearsal=self.rehearsal,
            anchors=self.anchors,
            ranks=ranks,
            journal=Journal(settings.output_dir, ranks.rank == 0 and args is not None, settings.rollouts_steps),
        )

    def _make_assistant(self, args: Any, seed: int) -> Assistant:
        """The negative source `assistant`: the generator that was given, or the policy's base model."""
        generator = self.assistant
        if generator is None:
            base = self.callback.base_generator
            generator = base() if base else copy_policy(self.callback.model)
            if isinstance(generator, TransformersGenerator):
                generator.template = getattr(args, "chat_template_kwargs", None)
        return Assistant(generator, getattr(args, "max_completion_length", None) or 512, seed)


def copy_policy(model: Any) -> Generator:
    """The policy as it was loaded, which every rank has for itself.

    Raises:
        BadInputError: it was not loaded from anywhere.
    """
    name = getattr(getattr(model, "config", None), "_name_or_path", "")
    if not name:
        raise BadInputError(
            "negative source assistant: there is no model that could rewrite; give assistant=..., or other sources, as"
            " in negative_sources={'mined': 1, 'perturb': 1}"
        )
    return TransformersGenerator.from_pretrained(name)
