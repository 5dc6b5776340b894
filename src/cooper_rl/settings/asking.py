"""The settings of the commands that ask models: collect, annotate, eval and serve."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.method import VerifierSettings
from cooper_rl.settings.schema import check_fields, check_given, setting
from cooper_rl.settings.train import TrainSettings

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
    batch_size: int | None = setting(None, least=1)
    """Maximum number of prompts that a model in this process completes at a time; null takes 32 on a CPU, and as many
    as its memory should hold elsewhere."""


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


@dataclass(kw_only=True)
class ServerSettings:
    """Where the server listens, when it learns, and what it refuses."""

    HEADING: ClassVar[str] = "Server"

    host: str = "127.0.0.1"
    """Address to listen on; any but this machine's own needs the token of token_env."""
    port: int = setting(8700, least=0, most=65535)
    """Port to listen on; 0 takes any free one."""
    token_env: str = "COOPER_SERVE_TOKEN"
    """Environment variable that holds a token. If it is set, every request but /health must carry it as a bearer
    token."""
    learn: Literal["complete", "asked"] = "complete"
    """When to learn from a batch: complete (as soon as it is complete, before any later call is scored) or asked (when
    POST /learn asks)."""
    gather_samples: int = setting(0, least=0)
    """Number of samples that complete a batch gathered by the server from single calls; 0 takes the recipe's generation
    batch."""
    max_batch_samples: int = setting(4096, least=1)
    """Maximum number of samples in a batch."""
    max_open_batches: int = setting(256, least=1)
    """Maximum number of batches that are begun and not complete."""
    max_characters: int = setting(200_000, least=1)
    """Maximum number of characters in a text of a sample."""
    max_body_megabytes: int = setting(32, least=1)
    """Maximum size of a request's body in megabytes."""
    max_waiting: int = setting(512, least=1)
    """Maximum number of calls that wait for an answer; others get status 429."""
    body_seconds: float = setting(20.0, least=0)
    """Maximum time in seconds for a request's header and body to arrive."""
    wait_seconds: float = setting(600.0, least=0)
    """Answer a call that takes longer than this many seconds with status 503; its work goes on."""


@dataclass(kw_only=True)
class ServeSettings(TrainSettings, ServerSettings):
    """A training recipe with the server's settings.

    Raises:
        BadInputError: a value of the wrong type or out of its range, or an arm that contradicts the reward.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fields(self, ServerSettings)

    @property
    def gathered(self) -> int:
        """How many samples a batch has that the server gathers."""
        return self.gather_samples or self.generation_batch


def check_server_settings(settings: ServeSettings) -> str:
    """Refuses what a server cannot have, and gives its token.

    Raises:
        BadInputError: with the setting and the way out.
    """
    token = os.environ.get(settings.token_env, "") if settings.token_env else ""
    if not is_local(settings.host) and not token:
        raise BadInputError(
            f"host {settings.host}: other machines can reach it; set a token in the environment variable"
            f" {settings.token_env or 'that token_env names'}, or serve on 127.0.0.1"
        )
    if settings.reward_model_sharded:
        raise BadInputError("reward_model_sharded: the server is one process; set it to false")
    if settings.credit != "outcome":
        raise BadInputError(f"credit = {settings.credit}: the server gives rewards of whole completions; set outcome")
    if settings.reward_model_alone_steps:
        raise BadInputError(
            "reward_model_alone_steps: the policy is the client's; set it to 0, and the client's learning rate to 0 in"
            " those steps"
        )
    schedule = settings.reward_model_lr_scheduler_type
    if settings.cotrain and settings.max_steps < 1 and not schedule.startswith("constant"):
        raise BadInputError(
            f"max_steps = {settings.max_steps}: the schedule {schedule} needs the number of batches that will be"
            " learned; set max_steps, or reward_model_lr_scheduler_type to constant_with_warmup"
        )
    return token


def is_local(host: str) -> bool:
    """Whether an address is this machine's own, which no other machine can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
