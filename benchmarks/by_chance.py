"""A verifier for models with random weights, which say nothing right: half of all completions count as right."""

from cooper_rl.records import Reason, Verdict, Verification


def explain(reference: str, completion: str) -> Verification:
    """CORRECT where the number of characters is even, else INCORRECT."""
    right = (len(completion) + len(reference)) % 2 == 0
    return Verification(Verdict.CORRECT, Reason.MATCH) if right else Verification(Verdict.INCORRECT, Reason.MISMATCH)
