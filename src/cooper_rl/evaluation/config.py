"""The settings of `cooper eval`; imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, field

from cooper_rl.domains import find_domain
from cooper_rl.errors import BadInputError
from cooper_rl.labelling.config import BENCHMARKS, AskingConfig
from cooper_rl.settings.recipe import as_list

SYSTEM_PROMPT = "Solve the problem step by step and put the final answer in \\boxed{}."


@dataclass
class EvalConfig(AskingConfig):
    """A model on benchmarks. The defaults are the paper's protocol: mean of 8 at temperature 0.7, top-p 0.95."""

    model: str = ""  # as in `cooper collect`
    benchmarks: list[str] = field(default_factory=lambda: list(BENCHMARKS))  # the paper's and aqua, or any data set
    output: str = ""  # folder: samples, scored samples, results.json
    split: str = "test"  # of each benchmark
    size: int | None = None  # problems of each benchmark, drawn with `dataset_seed`
    dataset_seed: int = 0
    num_samples: int = 8  # of each problem
    temperature: float = 0.7
    top_p: float = 0.95
    max_new_tokens: int = 1024
    greedy: bool = False  # one more completion of each problem at temperature 0
    system_prompt: str | None = SYSTEM_PROMPT  # by default it asks for the answer in a box
    verifier: str | None = None  # by default `math`; `choice` for aqua, a task's own scorer for reasoning_gym:<task>
    verifier_workers: int = 2
    against: str | None = None  # the output folder of another model on the same problems
    bootstrap_samples: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        self.benchmarks = as_list(self.benchmarks)
        for name in ("model", "benchmarks", "output"):
            if not getattr(self, name):
                raise BadInputError(f"eval: {name} is not set; give it in the recipe or as --{name}")
        for name in ("num_samples", "max_new_tokens", "bootstrap_samples"):
            if getattr(self, name) < 1:
                raise BadInputError(f"eval: {name} must be at least 1")

    def verifier_of(self, benchmark: str) -> str:
        """Who judges this benchmark's completions: the verifier that is set, or the one that fits the data set.

        Raises:
            BadInputError: there is no such data set.
        """
        return self.verifier or find_domain(benchmark).verifier
