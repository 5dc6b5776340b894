"""The settings of the commands that ask language models for completions: `cooper collect`, `annotate` and `eval`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.errors import BadInputError
from cooper_rl.settings.method import VerifierSettings
from cooper_rl.settings.schema import check_fields, check_given, setting

BENCHMARKS = ["gsm8k", "svamp", "math500", "olympiadbench", "odyssey", "aqua"]
SYSTEM_PROMPT = "Solve the problem step by step and put the final answer in \\boxed{}."


@dataclass(kw_only=True)
class BackendSettings:
    """How models are asked. All fields but `batch_size` apply to servers; `batch_size` to models in this process."""

    HEADING: ClassVar[str] = "Asking models"

    concurrency: int = setting(16, least=1)
    """Maximum number of requests to a server at a time."""
    timeout_seconds: float = 120.0
    """Fail a request to a server after this many seconds."""
    retries: int = setting(4, least=0)
    """Retry a failed request up to N times, each time after a longer pause."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds a server's API key."""
    batch_size: int = setting(32, least=1)
    """Number of prompts that a model in this process completes at a time."""


@dataclass(kw_only=True)
class AskingConfig(BackendSettings):
    """How models are asked, and when a command stops because a server does not answer."""

    HEADING: ClassVar[str] = "Asking models"

    stop_after_failures: int = setting(16, least=1)
    """Stop after this many failed records in a row, since the server seems to be down."""


@dataclass(kw_only=True)
class SamplingSettings:
    """How completions are drawn. The defaults are the paper's evaluation protocol."""

    HEADING: ClassVar[str] = "Sampling"

    temperature: float = setting(0.7, least=0)
    """Sampling temperature."""
    top_p: float = setting(0.95, least=0, most=1)
    """Top-p: sample from the likeliest tokens whose probabilities add up to this number."""
    seed: int = 0
    """Seed for sampling completions."""
    dataset_seed: int = 0
    """Seed for drawing problems."""


@dataclass
class CollectConfig(SamplingSettings, AskingConfig):
    """Problems x models -> completions."""

    HEADING: ClassVar[str] = "Problems, models and completions"

    models: list[str] = setting([])
    """Models to ask: NAME@http://HOST:PORT/v1, vllm:NAME, a folder, a hub id, a .gguf file, worked_solutions or
    written_answers."""
    dataset_names: list[str] = setting([])
    """Sets of problems, each named as dataset_name of `cooper train`."""
    output: str = ""
    """JSONL file to write completions to."""
    dataset_config: str | None = None
    """Configuration (subset) of each set, if it is a hub data set; null takes its default."""
    dataset_split: str = "train"
    """Split of each set of problems."""
    dataset_size: int | None = setting(None, least=1)
    """Number of problems to draw from each set, with dataset_seed; null takes all."""
    reference_column: str | None = None
    """Column of each set, a file or hub data set, that has the reference answers; null takes the usual names."""
    num_generations: int = setting(1, least=1)
    """Number of completions per problem and model."""
    max_new_tokens: int = setting(512, least=1)
    """Maximum number of tokens in a completion."""
    system_prompt: str | None = None
    """System message before each problem; null means none."""
    label_by_scorer: bool = False
    """Label completions by their data set's own scorer, where it has one (reasoning-gym's tasks); its worked solutions
    are right. `cooper annotate` takes the label in place of a judge's vote."""

    def __post_init__(self) -> None:
        check_fields(self, CollectConfig, "collect")
        check_given(self, "collect", "models", "dataset_names", "output")
        check_plain(self.output, "collect")
        names = [model.partition("@")[0] for model in self.models]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise BadInputError(f"collect: models: {twice} is given twice; its completions could not be told apart")


@dataclass
class AnnotateConfig(VerifierSettings, AskingConfig):
    """Completions -> labelled triples on which the rule and the judge agree."""

    HEADING: ClassVar[str] = "Completions, judge and triples"

    input_files: list[str] = setting([])
    """Files of completions, as `cooper collect` writes them, or hub data sets."""
    output: str = ""
    """JSONL file to write the kept triples to; *.dropped.jsonl, *.votes.jsonl and *.statistics.json are written beside
    it."""
    judge: str | None = None
    """Language model that judges, named as in models of `cooper collect`; null takes the label that a record has, or
    the rule's verdict where it has none."""
    keep_undecided: bool = False
    """Keep a completion that the rule cannot judge, with the judge's vote as its label; false drops it, as in the
    paper."""
    judge_max_new_tokens: int = setting(256, least=1)
    """Maximum number of tokens that the judge writes on one completion."""
    deduplicate: float = setting(0.9, least=0, most=1)
    """Keep one of two completions of a problem that share at least this part of their word 5-grams; 0 keeps all."""
    decontaminate_against: list[str] = setting(BENCHMARKS)
    """Benchmarks whose questions are removed; by default all benchmarks of `cooper eval`."""
    ngram: int = setting(13, least=1)
    """Remove a question that shares this many words in a row with a benchmark's question."""

    def __post_init__(self) -> None:
        check_fields(self, AnnotateConfig, "annotate")
        check_given(self, "annotate", "input_files", "output")
        check_plain(self.output, "annotate")


@dataclass
class EvalConfig(VerifierSettings, SamplingSettings, AskingConfig):
    """A model on benchmarks. The defaults are the paper's protocol: mean of 8 at temperature 0.7, top-p 0.95."""

    HEADING: ClassVar[str] = "Model, benchmarks and results"

    model: str = ""
    """Model to measure: NAME@http://HOST:PORT/v1, vllm:NAME, a folder, a hub id or a .gguf file."""
    benchmarks: list[str] = setting(BENCHMARKS)
    """Benchmarks to measure on, by default the paper's and aqua; each is named as dataset_name of `cooper train`."""
    output: str = ""
    """Folder for samples, judged samples and results.json."""
    dataset_config: str | None = None
    """Configuration (subset) of each benchmark, if it is a hub data set; null takes its default."""
    split: str = "test"
    """Split of each benchmark."""
    size: int | None = setting(None, least=1)
    """Number of problems to draw from each benchmark, with dataset_seed; null takes all."""
    reference_column: str | None = None
    """Column of each benchmark, a file or hub data set, that has the reference answers; null takes the usual names."""
    num_samples: int = setting(8, least=1)
    """Number of completions per problem."""
    max_new_tokens: int = setting(1024, least=1)
    """Maximum number of tokens in a completion."""
    greedy: bool = False
    """Add one more completion of each problem, at temperature 0."""
    system_prompt: str | None = SYSTEM_PROMPT
    """System message before each problem, which by default asks for the answer in a box; null means none."""
    verifier: str | None = None  # type: ignore[assignment]
    """Rule that judges completions, named as in `cooper verify`; null means choice for aqua, the task's own scorer for
    reasoning_gym:TASK, and math for all others."""
    against: str | None = None
    """Output folder of another model on the same problems to compare the results with; null compares with none."""
    bootstrap_samples: int = setting(2000, least=1)
    """Number of resamples that intervals are computed from."""

    def __post_init__(self) -> None:
        check_fields(self, EvalConfig, "eval")
        check_given(self, "eval", "model", "benchmarks", "output")


def check_plain(output: str, command: str) -> None:
    """Refuses an output whose name says that it is compressed: lines are appended to plain text."""
    if output.endswith(".gz"):
        raise BadInputError(f"{command}: output: {output} would be plain text; give a name without .gz")
