"""The rule of this example: a stated number within 5 % of the reference answer is right."""

import re

from cooper_rl.records import Reason, Verdict, Verification

NUMBER = r"-?\d+(?:\.\d+)?"
STATED = re.compile(rf"(?:\bis|\bmakes|####|\\boxed\{{)\s*({NUMBER})")
TOLERANCE = 0.05


def explain(reference: str, completion: str) -> Verification:
    """Compares the last number that the completion states."""
    if not re.fullmatch(NUMBER, reference.strip()):
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    if not completion.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.NO_ANSWER)
    stated = STATED.findall(completion.replace(",", ""))
    if not stated:  # words, a number in another place: it may be right, so it is not called wrong
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM)
    distance = abs(float(stated[-1]) - float(reference))
    return Verification.compared(distance <= TOLERANCE * abs(float(reference)), reference, stated[-1])
