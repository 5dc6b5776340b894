"""What a run on verl measures and writes: held-out measurements, lines of metrics, environment.json and checkpoints."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from cooper_rl.checkpoints import COMPLETE, checkpoints, complete_checkpoint, last_checkpoint
from cooper_rl.engines.loading import environment
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.heldout import Answer, HeldOut
from cooper_rl.method.monitor import STATE
from cooper_rl.method.protocols import RewardModel
from cooper_rl.records import Problem, Sample, Verdict
from cooper_rl.settings.train import TrainSettings
from cooper_rl.verifiers import RuleVerifier

PREFIX = "global_step_"  # of the folders of checkpoints
NAMES = {  # ours: verl's
    "loss": "actor/loss",
    "kl": "actor/kl_loss",
    "entropy": "actor/entropy",
    "grad_norm": "actor/grad_norm",
    "learning_rate": "actor/lr",
    "completions/mean_length": "response_length/mean",
    "completions/max_length": "response_length/max",
}
POLICY = ("old_log_prob", "ref", "adv", "update_actor")  # verl's times that make up the policy's step
PACKAGES = ("verl", "ray", "vllm", "TransferQueue", "tensordict")


class Validation:
    """Collects the judged completions of a validation, which verl hands over in one or several batches.

    Args:
        heldout: the recipe's; None where it names none. Then the rule judges the user's own validation problems.
    """

    def __init__(self, heldout: HeldOut | None, settings: TrainSettings, verifier: RuleVerifier) -> None:
        self.heldout = heldout or HeldOut(settings, [])
        self.known = {problem.question: problem for problem in self.heldout.problems}
        self.place = {question: place for place, question in enumerate(self.known)}
        self.verifier = verifier
        self.answers: list[Answer] = []
        self.asked: list[str] = []
        self.outcomes: dict[str, Any] = {}  # of the measurement that no line has yet

    def judge(self, samples: Sequence[Sample]) -> list[float]:
        """1 for each completion that the rule finds CORRECT, else 0; verl shows them as its validation's rewards."""
        problems = [
            self.known.get(s.question) or Problem(s.question, s.reference_answer, aliases=s.aliases) for s in samples
        ]
        found = self.heldout.judge(problems, [s.completion for s in samples], self.verifier)
        self.answers += found
        self.asked += [s.question for s in samples]
        return [float(answer.verdict is Verdict.CORRECT) for answer in found]

    def begin(self) -> None:
        """A validation begins."""
        self.answers, self.asked, self.outcomes = [], [], {}

    def of_policy(self) -> dict[str, float]:
        """The metrics of the last validation. Which problems were solved is known where each was asked once."""
        order = sorted(range(len(self.asked)), key=lambda i: self.place.get(self.asked[i], -1))
        metrics = self.heldout.metrics_of([self.answers[i] for i in order], None)
        if [self.asked[i] for i in order] == [problem.question for problem in self.heldout.problems]:
            self.outcomes |= self.heldout.last
        return metrics

    def of_reward_model(self, reward_model: RewardModel | None) -> dict[str, float]:
        """The reward model's accuracy on the held-out triples; empty where there are none."""
        metrics = self.heldout.metrics_of([], reward_model)
        self.outcomes |= self.heldout.last
        return metrics

    def take_outcomes(self) -> dict[str, Any]:
        """What `Journal.log_heldout` takes; empty where it was taken before."""
        taken, self.outcomes = self.outcomes, {}
        return taken


def row_of(metrics: Mapping[str, Any], times: Mapping[str, float]) -> dict[str, float]:
    """The metrics of a step as numbers.

    Args:
        metrics: verl's own.
        times: verl's `timing_raw`, in seconds.
    """
    own = {name: float(value) for name, value in metrics.items() if _is_number(value)}
    found = {name: own[of_verl] for name, of_verl in NAMES.items() if of_verl in own}
    found["time/generate_seconds"] = times.get("gen", 0.0)
    found["time/policy_seconds"] = sum(times.get(name, 0.0) for name in POLICY)
    return {**own, **found}


def is_dropped(metrics: Mapping[str, Any]) -> bool:
    """Whether verl has dropped the policy's gradient because it was not finite."""
    return not math.isfinite(float(metrics.get("actor/grad_norm", 0.0)))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str)


def environment_of(seed: int, config: Any) -> dict[str, Any]:
    """As of the other engines, with verl's versions, and the devices that it was given."""
    found = environment(seed)
    for name in PACKAGES:
        try:
            found["versions"][name] = version(name)
        except PackageNotFoundError:
            continue
    trainer = config.trainer
    return {**found, "engine": "verl", "nodes": int(trainer.nnodes), "devices_per_node": int(trainer.n_gpus_per_node)}


def choose_checkpoint(config: Any) -> None:
    """Makes verl resume from the newest complete checkpoint, where it would take the one that it last began to write.

    Args:
        config: verl's configuration, which is changed: `resume_mode` auto becomes resume_path or disable.

    Raises:
        BadInputError: `resume_from_path` names a checkpoint without the method's part, or the run would begin anew in
            a folder that holds another run's checkpoints.
    """
    trainer = config.trainer
    folder = Path(trainer.default_local_dir).absolute()
    there = checkpoints(folder, PREFIX)
    if trainer.resume_mode == "disable" and there:
        raise BadInputError(f"{there[-1]}: an older run's checkpoint; choose another folder, or resume that run")
    if trainer.resume_mode == "auto":
        found = last_checkpoint(folder, PREFIX)
        others = [path for path in there if (path / "data.pt").is_file() and not (path / STATE).is_file()]
        if not found and others:
            raise BadInputError(f"{others[-1]}: no {STATE}; it is another trainer's checkpoint, choose another folder")
        trainer.resume_mode = "resume_path" if found else "disable"
        trainer.resume_from_path = str(found) if found else None
    elif trainer.resume_mode == "resume_path" and not (Path(trainer.resume_from_path) / STATE).is_file():
        raise BadInputError(f"{trainer.resume_from_path}: no {STATE}; it is no checkpoint of the trainer cooper")


def finish_checkpoint(folder: Path, step: int, keep: int | None) -> None:
    """Marks a checkpoint as complete. Of it and the run's older ones the newest `keep` stay (None: all of them)."""
    complete_checkpoint(folder, step)
    found = [path for path in checkpoints(folder.parent, PREFIX) if (path / COMPLETE).is_file()]
    older = found[: found.index(folder)]
    for old in older[: len(older) + 1 - keep] if keep else []:
        shutil.rmtree(old, ignore_errors=True)
