"""The settings of `cooper collect` and `cooper annotate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.errors import BadInputError
from cooper_rl.settings.asking import AskingConfig, SamplingSettings
from cooper_rl.settings.fields import setting
from cooper_rl.settings.typecheck import check_fields, check_given
from cooper_rl.settings.verifier import VerifierSettings

BENCHMARKS = ["gsm8k", "svamp", "math500", "olympiadbench", "odyssey", "aqua"]


@dataclass
class CollectConfig(SamplingSettings, AskingConfig):
    """Problems x models -> completions."""

    HEADING: ClassVar[str] = "Problems, models and completions"

    models: list[str] = setting(
        [],
        "These models are asked: NAME@http://HOST:PORT/v1, vllm:NAME, a folder, a hub id, a .gguf file, "
        "worked_solutions or written_answers.",
    )
    dataset_names: list[str] = setting(
        [], "Problems come from these sets, each named as dataset_name of `cooper train`."
    )
    output: str = setting("", "Completions are written to this JSONL file.")
    dataset_config: str | None = setting(
        None,
        "Problems are taken from this configuration (subset) of each set, a hub data set; null takes its default.",
    )
    dataset_split: str = setting("train", "Problems are taken from this split of each set.")
    dataset_size: int | None = setting(
        None, "This many problems of each set are drawn, with dataset_seed; null takes all.", least=1
    )
    reference_column: str | None = setting(
        None,
        "The reference answers are in this column of each set, a file or hub data set; null takes the usual names.",
    )
    num_generations: int = setting(1, "Each model writes this many completions for each problem.", least=1)
    max_new_tokens: int = setting(512, "A completion has at most this many tokens.", least=1)
    system_prompt: str | None = setting(None, "This system message comes before each problem; null means none.")
    label_by_scorer: bool = setting(
        False,
        "Completions are labelled by their data set's own scorer, where it has one (reasoning-gym's tasks). "
        "Its worked solutions are right. "
        "`cooper annotate` takes the label in place of a judge's vote.",
    )

    def __post_init__(self) -> None:
        check_fields(self, CollectConfig, "collect")
        check_given(self, "collect", "models", "dataset_names", "output")
        check_plain(self.output, "collect")
        names = [model.partition("@")[0] for model in self.models]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise BadInputError(f"collect: models: {twice} is there twice; completions could not be told apart")


@dataclass
class AnnotateConfig(VerifierSettings, AskingConfig):
    """Completions -> labelled triples on which the rule and the judge agree."""

    HEADING: ClassVar[str] = "Completions, judge and triples"

    input_files: list[str] = setting(
        [], "Completions are read from these files, as `cooper collect` writes them, or from hub data sets."
    )
    output: str = setting(
        "",
        "The triples that are kept are written to this JSONL file; *.dropped.jsonl, *.votes.jsonl and "
        "*.statistics.json are written beside it.",
    )
    judge: str | None = setting(
        None,
        "This language model judges, named as in models of `cooper collect`; null takes the label that a record "
        "has, or the rule's verdict where it has none.",
    )
    keep_undecided: bool = setting(
        False,
        "True keeps a completion that the rule cannot judge, with the judge's vote as its label; false drops it, as "
        "in the paper.",
    )
    judge_max_new_tokens: int = setting(256, "The judge writes at most this many tokens on one completion.", least=1)
    deduplicate: float = setting(
        0.9,
        "Of two completions of a problem that share at least this part of their word 5-grams one is kept; 0 keeps all.",
        least=0,
        most=1,
    )
    decontaminate_against: list[str] = setting(
        BENCHMARKS, "Questions that occur in these benchmarks are removed; by default all benchmarks of `cooper eval`."
    )
    ngram: int = setting(
        13, "A question is removed if it shares this many words in a row with a benchmark's question.", least=1
    )

    def __post_init__(self) -> None:
        check_fields(self, AnnotateConfig, "annotate")
        check_given(self, "annotate", "input_files", "output")
        check_plain(self.output, "annotate")


def check_plain(output: str, command: str) -> None:
    """Refuses an output whose name says that it is compressed: lines are appended to plain text."""
    if output.endswith(".gz"):
        raise BadInputError(f"{command}: output: {output} would be plain text; take the name without .gz")
