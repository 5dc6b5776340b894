"""verl's `compute_score`: 1 for CORRECT. `open` is the share that the verifier leaves open; verl logs it.

python -m verl.trainer.main_ppo ... \
    reward.custom_reward_function.path=examples/own-verifier/verl_score.py \
    reward.custom_reward_function.name=compute_score

python examples/own-verifier/verl_score.py

prints, without verl:

{'score': 1.0, 'open': 0.0}
"""

from typing import Any

from cooper_rl import RuleVerifier, Verdict

VERIFIER = RuleVerifier(workers=1)  # for each of verl's reward workers, which are processes; started when first asked


def compute_score(
    data_source: str, solution_str: str, ground_truth: str | list[str], extra_info: Any = None, **_: Any
) -> dict[str, float]:
    """The reward of one answer. Several ground truths are all right."""
    verdict = VERIFIER.verify(ground_truth, solution_str)
    judged = verdict in (Verdict.CORRECT, Verdict.INCORRECT)
    return {"score": float(verdict is Verdict.CORRECT), "open": float(not judged)}


if __name__ == "__main__":
    print(compute_score("gsm8k", r"So it is \boxed{0.5}.", "1/2"))
