"""The settings of credit: what part of a completion's advantage each of its steps gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.settings.fields import setting

Credit = Literal["outcome", "first_error", "centred", "difference", "shared_prefix", "reference_gain", "random"]
VALUED_BY_MODEL = ("first_error", "centred", "difference", "random")  # kinds of credit with the reward model's values


@dataclass
class CreditSettings:
    """Process-level credit: the advantages of single steps."""

    HEADING: ClassVar[str] = "Credit of steps"

    credit: Credit = setting(
        "outcome",
        "Each step gets its advantage by this rule: outcome (its completion's), first_error (0 before the first bad "
        "step of a wrong completion), centred (and how far its value is above the group's mean), difference (and how "
        "much it raises the value), shared_prefix (the mean of the completions that begin so), reference_gain (as "
        "difference, by the policy's probability of the reference answer) or random (as centred, shuffled).",
    )
    credit_weight: float = setting(
        0.5,
        "In centred, difference, reference_gain and random, a step's own part is added to the advantage with this "
        "weight.",
        least=0,
    )
    credit_steps: Literal["line", "sentence"] = setting(
        "sentence", "These are the steps of a completion, for credit and for prefix_weight."
    )
