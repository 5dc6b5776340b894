"""Held-out measurements: true accuracy by the problems' scorers, rule accuracy, and the reward model's accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

from accelerate import PartialState
from accelerate.utils import gather_object

from cooper_rl.domains import Truth
from cooper_rl.generation import Sampling
from cooper_rl.generation.in_process import sample
from cooper_rl.method.protocols import RewardModel
from cooper_rl.records import LabelledCompletion, Problem, Verdict
from cooper_rl.settings.reward_model import MeasuringSettings
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm.triples import evaluate

TOKENS_AT_ONCE = 16384  # new tokens of a batch, unless the training's generation batch is larger


class Answer(NamedTuple):
    """A completion of a held-out problem, the rule's verdict, and whether the problem's scorer finds it right.

    Without a scorer `right` is False.
    """

    completion: str
    verdict: Verdict
    right: bool


class HeldOut:
    """Measures on fixed problems and labelled triples, with a fixed seed and without changing the training's state.

    Args:
        settings: a CooperConfig or another GRPOConfig: sizes, seed and, where it has them, how completions are sampled.
        problems: problems that nothing is trained on.
        truth: judges a completion by the problem's generator. None if only the rule can judge.
        triples: labelled triples that the reward model's balanced accuracy is measured on. They never change.
        system_prompt: the system message before each problem.
    """

    def __init__(
        self,
        settings: Any,
        problems: Sequence[Problem],
        truth: Truth | None = None,
        triples: Sequence[LabelledCompletion] = (),
        system_prompt: str | None = None,
    ) -> None:
        self.settings = settings
        self.problems = problems
        self.truth = truth
        self.triples = triples
        self.system_prompt = system_prompt
        self.last: dict[
            str, Any
        ] = {}  # which problems were solved in the last measurement, and by what; as `Journal.log_heldout` takes it
        usual = MeasuringSettings()
        self.temperature = getattr(settings, "heldout_temperature", usual.heldout_temperature)
        self.top_p = getattr(settings, "heldout_top_p", usual.heldout_top_p)

    def measure(
        self, policy: Any, tokenizer: Any, reward_model: RewardModel | None, verifier: RuleVerifier
    ) -> dict[str, float]:
        """Measures `eval/true_accuracy`, `eval/rule_accuracy` and `eval/reward_model_accuracy` (balanced), from 0 to 1.

        Every rank must call this. Each measures its share, and all get the metrics of the whole.
        """
        answers: list[Answer] = []
        if self.problems:
            answers = [
                found for _, found in sorted(dict(gather_object(self._judge(policy, tokenizer, verifier))).items())
            ]
        return self.metrics_of(answers, reward_model)

    def metrics_of(self, answers: Sequence[Answer], reward_model: RewardModel | None) -> dict[str, float]:
        """The metrics of `measure`, for an engine that has sampled the completions itself.

        Args:
            answers: `judge` of a completion of each problem; empty where no policy was measured.
        """
        metrics: dict[str, float] = {}
        self.last = self._outcomes(answers)
        if answers:
            by_rule = sum(answer.verdict is Verdict.CORRECT for answer in answers)
            metrics["eval/rule_accuracy"] = by_rule / len(answers)
            if self.truth:
                metrics["eval/true_accuracy"] = sum(answer.right for answer in answers) / len(answers)
        if reward_model is not None and self.triples:
            right = sum(triple.correct for triple in self.triples)
            self.last["triples"] = [right, len(self.triples) - right]
            found = evaluate(reward_model.score, self.triples)
            metrics["eval/reward_model_accuracy"] = found["balanced_accuracy"]
        return metrics

    def _outcomes(self, answers: Sequence[Answer]) -> dict[str, Any]:
        """What `Journal.log_heldout` takes. It takes the answers to be in the problems' order."""
        if not answers or len(answers) != len(self.problems):
            return {}
        asked = "\n".join(problem.question for problem in self.problems)
        found: dict[str, Any] = {
            "problems": f"{crc32(asked.encode()):08x}",
            "rule": "".join("01"[answer.verdict is Verdict.CORRECT] for answer in answers),
        }
        if self.truth:
            found["true"] = "".join("01"[answer.right] for answer in answers)
        return found | {"answers": list(map(self._record, self.problems, answers))}

    def _record(self, problem: Problem, answer: Answer) -> dict[str, Any]:
        """A line of the folder `heldout`."""
        return {
            "problem_id": problem.problem_id,
            "question": problem.question,
            "reference_answer": problem.reference_answer,
            **({"aliases": list(problem.aliases)} if problem.aliases else {}),
            "completion": answer.completion,
            "verdict": answer.verdict.value,
            "solved": answer.right if self.truth else None,
        }

    def judge(self, problems: Sequence[Problem], completions: Sequence[str], verifier: RuleVerifier) -> list[Answer]:
        """A completion of each problem, judged by the rule and by the truth."""
        verdicts = verifier.verify_many([p.references for p in problems], completions)
        right = [bool(self.truth and self.truth(*pair)) for pair in zip(problems, completions, strict=True)]
        return list(map(Answer, completions, verdicts, right))

    def _judge(self, policy: Any, tokenizer: Any, verifier: RuleVerifier) -> list[tuple[int, Answer]]:
        """The judged completions of this rank's problems, each with its problem's place."""
        ranks = PartialState()
        # A sharded policy must generate on all ranks. The shares therefore have the same size: the last problem is
        # repeated where needed.
        with ranks.split_between_processes(list(range(len(self.problems))), apply_padding=True) as own:
            problems = [self.problems[i] for i in own]
        length = self.settings.max_completion_length
        of_training = self.settings.per_device_train_batch_size * (self.settings.steps_per_generation or 1)
        completions = sample(
            policy,
            tokenizer,
            [problem.question for problem in problems],
            Sampling(length, self.temperature, self.top_p),
            seed=self.settings.seed + ranks.process_index,
            system_prompt=self.system_prompt,
            batch_size=max(of_training, TOKENS_AT_ONCE // length),
            template=getattr(self.settings, "chat_template_kwargs", None),  # a field of TRL's
        )
        return list(zip(own, self.judge(problems, completions, verifier), strict=True))
