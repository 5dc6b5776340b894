"""The verifier in a Ray actor. The actor answers many calls at once, and the workers of its pool end with it.

pip install ray
python examples/own-verifier/ray_actor.py

prints:

CORRECT INCORRECT
"""

import ray

from cooper_rl import RuleVerifier


@ray.remote
class Judge:
    """An actor with a pool of its own."""

    def __init__(self, workers: int = 2) -> None:
        self.verifier = RuleVerifier(workers=workers)

    async def judge(self, references: list[str], completions: list[str]) -> list[str]:
        """The verdicts as texts: who asks need not have the package."""
        return [verdict.value for verdict in await self.verifier.averify_many(references, completions)]


if __name__ == "__main__":
    ray.init(num_cpus=1, include_dashboard=False, logging_level="error")
    print(*ray.get(Judge.remote().judge.remote(["1/2", "12"], [r"\boxed{0.5}", "The answer is 13."])))
    ray.shutdown()
