"""The settings of the rule verifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.settings.fields import setting


@dataclass(kw_only=True)
class VerifierSettings:
    """The rule that judges completions, and its worker processes."""

    HEADING: ClassVar[str] = "Verifier"

    verifier: str = setting(
        "math",
        "This rule judges completions: math, text, auto, math_verify, exact, choice, gsm8k_strict, gsm8k_flexible, "
        "reasoning_gym:TASK or module:function.",
    )
    verifier_workers: int = setting(2, "The verifier works in this many processes.", least=1)
