"""The settings of `cooper eval`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.settings.asking import AskingConfig, SamplingSettings
from cooper_rl.settings.fields import setting
from cooper_rl.settings.labelling import BENCHMARKS
from cooper_rl.settings.typecheck import check_fields, check_given
from cooper_rl.settings.verifier import VerifierSettings

SYSTEM_PROMPT = "Solve the problem step by step and put the final answer in \\boxed{}."


@dataclass
class EvalConfig(VerifierSettings, SamplingSettings, AskingConfig):
    """A model on benchmarks. The defaults are the paper's protocol: mean of 8 at temperature 0.7, top-p 0.95."""

    HEADING: ClassVar[str] = "Model, benchmarks and results"

    model: str = setting(
        "", "This model is measured: NAME@http://HOST:PORT/v1, vllm:NAME, a folder, a hub id or a .gguf file."
    )
    benchmarks: list[str] = setting(
        BENCHMARKS,
        "The model is measured on these benchmarks, by default the paper's and aqua; each is named as dataset_name of"
        " `cooper train`.",
    )
    output: str = setting("", "Samples, judged samples and results.json go into this folder.")
    dataset_config: str | None = setting(
        None,
        "Problems are taken from this configuration (subset) of each benchmark, a hub data set; null takes its"
        " default.",
    )
    split: str = setting("test", "Problems are taken from this split of each benchmark.")
    size: int | None = setting(
        None, "This many problems of each benchmark are drawn, with dataset_seed; null takes all.", least=1
    )
    reference_column: str | None = setting(
        None,
        "The reference answers are in this column of each benchmark, a file or hub data set; null takes the usual"
        " names.",
    )
    num_samples: int = setting(8, "This many completions of each problem are drawn.", least=1)
    max_new_tokens: int = setting(1024, "A completion has at most this many tokens.", least=1)
    greedy: bool = setting(False, "True adds one more completion of each problem, at temperature 0.")
    system_prompt: str | None = setting(
        SYSTEM_PROMPT,
        "This system message comes before each problem, and by default asks for the answer in a box; null means none.",
    )
    verifier: str | None = setting(  # type: ignore[assignment]
        None,
        "This rule judges completions, named as in `cooper verify`; null means choice for aqua, the task's own scorer "
        "for reasoning_gym:TASK, and math for all others.",
    )
    against: str | None = setting(
        None,
        "The results are compared with those in this output folder, of another model on the same problems; null "
        "compares with none.",
    )
    bootstrap_samples: int = setting(2000, "Intervals are computed from this many resamples.", least=1)

    def __post_init__(self) -> None:
        check_fields(self, EvalConfig, "eval")
        check_given(self, "eval", "model", "benchmarks", "output")
