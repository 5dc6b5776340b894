"""The settings of `cooper collect` and `cooper annotate`; imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, field

from cooper_rl.errors import BadInputError
from cooper_rl.generation.backends import BackendSettings
from cooper_rl.settings.recipe import as_list

BENCHMARKS = ["gsm8k", "svamp", "math500", "olympiadbench", "odyssey", "aqua"]


@dataclass(kw_only=True)
class AskingConfig(BackendSettings):
    """How models are asked, and when a server is taken for gone."""

    stop_after_failures: int = 16  # in a row


@dataclass
class CollectConfig(AskingConfig):
    """Problems x models -> completions. The sampling defaults are the paper's evaluation protocol."""

    # NAME@http://HOST:PORT/v1, vllm:NAME, folder, hub id, *.gguf, worked_solutions or written_answers
    models: list[str] = field(default_factory=list)
    dataset_names: list[str] = field(default_factory=list)  # as for `cooper train`
    output: str = ""  # the file of completions
    dataset_split: str = "train"
    dataset_size: int | None = None  # of each data set
    dataset_seed: int = 0
    num_generations: int = 1  # of each model for each problem
    temperature: float = 0.7
    top_p: float = 0.95
    max_new_tokens: int = 512
    system_prompt: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self.models, self.dataset_names = as_list(self.models), as_list(self.dataset_names)
        for name in ("models", "dataset_names", "output"):
            if not getattr(self, name):
                raise BadInputError(f"collect: {name} is not set; give it in the recipe or as --{name}")
        if self.num_generations < 1 or self.max_new_tokens < 1 or self.concurrency < 1:
            raise BadInputError("collect: num_generations, max_new_tokens and concurrency must be at least 1")


@dataclass
class AnnotateConfig(AskingConfig):
    """Completions -> triples on which rule and judge agree."""

    input_files: list[str] = field(default_factory=list)  # what `collect` wrote
    output: str = ""  # the kept triples; beside it *.dropped.jsonl, *.votes.jsonl and *.statistics.json
    verifier: str = "math"  # the rule
    verifier_workers: int = 2  # processes
    judge: str | None = None  # as in `collect`; without one, the label of a record that has one, else the rule alone
    judge_max_new_tokens: int = 256
    deduplicate: float = (
        0.9  # share of common word 5-grams from which two completions of a problem are one; 0: keep all
    )
    decontaminate_against: list[str] = field(default_factory=lambda: list(BENCHMARKS))  # by default all that `eval` has
    ngram: int = 13  # words that a question may not share with a benchmark's

    def __post_init__(self) -> None:
        self.input_files, self.decontaminate_against = as_list(self.input_files), as_list(self.decontaminate_against)
        for name in ("input_files", "output"):
            if not getattr(self, name):
                raise BadInputError(f"annotate: {name} is not set; give it in the recipe or as --{name}")
        if not 0 <= self.deduplicate <= 1:
            raise BadInputError(f"annotate: deduplicate {self.deduplicate} is not in [0, 1]")
