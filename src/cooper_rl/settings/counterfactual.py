"""The settings of counterfactual references: wrong references that accepted completions are asked under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.fields import setting

USES = ("reward", "negatives", "monitor")


@dataclass
class CounterfactualSettings:
    """What accepted completions are asked under wrong references for."""

    HEADING: ClassVar[str] = "Counterfactual references"

    counterfactual_references: int = setting(
        0,
        "An accepted completion is asked under this many wrong references, which are answers of other questions; 0 "
        "asks none. Without a reward_threshold, a score up to 0.5 is then not paid.",
        least=0,
    )
    counterfactual_uses: list[str] = setting(
        ["reward", "negatives", "monitor"],
        "Use reward does not pay what is accepted under a wrong reference too. Use negatives teaches the reward model "
        "that it is wrong there. Use monitor raises an alarm when it becomes more frequent.",
    )
    counterfactual_form: Literal["refused", "margin", "best_fit"] = setting(
        "refused",
        "With refused, a completion is paid where it is refused under each wrong reference. With margin, its score has "
        "to be higher by counterfactual_margin under its own. With best_fit, its own has to score highest, also "
        "against its group's wrong answers.",
    )
    counterfactual_margin: float = setting(
        0.25,
        "With the form margin, the score under the right reference must be higher by more than this.",
        least=0,
        most=1,
    )
    counterfactual_per_step: int = setting(
        24,
        "Each update also trains the reward model on this many accepted completions under wrong references, half of "
        "them those that score highest there.",
        least=0,
    )
    counterfactual_answers: str = setting(
        "", "Wrong references are drawn from this text file, one answer a line, in addition to the run's own answers."
    )


def check_counterfactual(settings: CounterfactualSettings) -> None:
    """Checks that the uses are known.

    Raises:
        BadInputError: one is not.
    """
    for use in settings.counterfactual_uses:
        if use not in USES:
            raise BadInputError(f"counterfactual_uses: {use!r} is not one of {', '.join(USES)}")
