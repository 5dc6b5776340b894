"""A reward function of TRL's GRPOTrainer: 1 for CORRECT, None for what was not judged, which then teaches nothing.

GRPOTrainer(model, reward_funcs=[correct], ...)     the data set has a column `answer`
python examples/own-verifier/trl_reward.py

prints, without TRL:

[1.0, 0.0]
"""

from typing import Any

from cooper_rl import RuleVerifier, Verdict

VERIFIER = RuleVerifier(workers=2)  # of each training process; started when first asked
REWARDS = {Verdict.CORRECT: 1.0, Verdict.TIMEOUT: None, Verdict.ERROR: None}


def correct(completions: list[Any], answer: list[str], **_: Any) -> list[float | None]:
    """The rewards of a batch. A completion is a text, or a list of messages; the last one is the answer."""
    said = [each if isinstance(each, str) else each[-1]["content"] for each in completions]
    return [REWARDS.get(verdict, 0.0) for verdict in VERIFIER.verify_many(answer, said)]


if __name__ == "__main__":
    print(correct([r"So it is \boxed{0.5}.", [{"role": "assistant", "content": "It is 13."}]], answer=["1/2", "12"]))
