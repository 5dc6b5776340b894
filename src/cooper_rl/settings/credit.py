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
        "Each step of a completion gets its advantage by this rule: outcome (that of the completion), first_error, "
        "centred, difference, shared_prefix, reference_gain or random; docs/algorithm.md has the equations.",
    )
    credit_weight: float = setting(
        0.5,
        "A step's own part is added to the advantage with this weight, in centred, difference, reference_gain and "
        "random.",
        least=0,
    )
    credit_steps: Literal["line", "sentence"] = setting(
        "sentence", "These are the steps of a completion, for credit and for prefix_weight."
    )
