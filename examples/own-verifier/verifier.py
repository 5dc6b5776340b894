"""The rule of this example: a stated number within 5 % of the reference answer is right."""

import re

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math.stated import has_answer

NUMBER = r"-?\d+(?:\.\d+)?"
STATED = re.compile(rf"(?:\bis|\bmakes|####|\\boxed\{{)\s*({NUMBER})")
TOLERANCE = 0.05


def explain(reference: str, completion: str) -> Verification:
    """Compares the last number that the completion states."""
    if not re.fullmatch(NUMBER, reference.strip()):
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    stated = STATED.findall(completion.replace(",", ""))
    if not stated:  # words or a number in another place may be right; "####" alone is no answer
        reason = Reason.UNKNOWN_FORM if has_answer(completion, reference) else Reason.NO_ANSWER
        return Verification(Verdict.UNPARSEABLE, reason)
    distance = abs(float(stated[-1]) - float(reference))
    return Verification.compared(distance <= TOLERANCE * abs(float(reference)), reference, stated[-1])
