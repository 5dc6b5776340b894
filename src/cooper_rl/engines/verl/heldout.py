"""The held-out measurements: verl's validation samples the completions, and they are judged here."""

from __future__ import annotations

from collections.abc import Sequence

from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.method.protocols import RewardModel
from cooper_rl.records import Problem, Sample
from cooper_rl.settings.train import TrainSettings
from cooper_rl.verifiers import RuleVerifier


class Measured:
    """Collects the judged completions of a validation, which verl hands over in one or several batches.

    Args:
        heldout: the recipe's; None where it names none. Then the rule judges the user's own validation problems.
    """

    def __init__(self, heldout: HeldOut | None, settings: TrainSettings, verifier: RuleVerifier) -> None:
        self.heldout = heldout or HeldOut(settings, [])
        self.known = {problem.question: problem for problem in self.heldout.problems}
        self.verifier = verifier
        self.judged: list[tuple[bool, bool]] = []

    def judge(self, samples: Sequence[Sample]) -> list[float]:
        """1 for each completion that the rule finds CORRECT, else 0; verl shows them as its validation's rewards."""
        problems = [
            self.known.get(s.question) or Problem(s.question, s.reference_answer, aliases=s.aliases) for s in samples
        ]
        found = self.heldout.judge(problems, [s.completion for s in samples], self.verifier)
        self.judged += found
        return [float(by_rule) for by_rule, _ in found]

    def begin(self) -> None:
        """A validation begins."""
        self.judged = []

    def of_policy(self) -> dict[str, float]:
        """The metrics of the last validation."""
        return self.heldout.metrics_of(self.judged, None)

    def of_reward_model(self, reward_model: RewardModel | None) -> dict[str, float]:
        """The reward model's accuracy on the held-out triples; empty where there are none."""
        return self.heldout.metrics_of([], reward_model)
