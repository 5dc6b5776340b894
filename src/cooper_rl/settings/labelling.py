"""The settings of `cooper collect` and `cooper annotate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
        "The models that are asked: NAME@http://HOST:PORT/v1, vllm:NAME, a folder, a hub id, a .gguf file, "
        "worked_solutions or written_answers.",
    )
    dataset_names: list[str] = setting([], "The sets of problems, each named as dataset_name of `cooper train`.")
    output: str = setting("", "The JSONL file that completions are written to.")
    dataset_split: str = setting("train", "The split of each set.")
    dataset_size: int | None = setting(
        None, "How many problems of each set are drawn, with dataset_seed; null takes all.", least=1
    )
    num_generations: int = setting(1, "How many completions each model writes for each problem.", least=1)
    max_new_tokens: int = setting(512, "How many tokens a completion may have.", least=1)
    system_prompt: str | None = setting(None, "A system message before each problem; null gives none.")

    def __post_init__(self) -> None:
        check_fields(self, CollectConfig, "collect")
        check_given(self, "collect", "models", "dataset_names", "output")


@dataclass
class AnnotateConfig(VerifierSettings, AskingConfig):
    """Completions -> labelled triples on which the rule and the judge agree."""

    HEADING: ClassVar[str] = "Completions, judge and triples"

    input_files: list[str] = setting([], "The files of completions that `cooper collect` wrote.")
    output: str = setting(
        "",
        "The JSONL file of the triples that are kept; *.dropped.jsonl, *.votes.jsonl and *.statistics.json are written "
        "beside it.",
    )
    judge: str | None = setting(
        None,
        "The language model that judges, named as in models of `cooper collect`; null takes a record's own label where "
        "it has one, else the rule alone.",
    )
    judge_max_new_tokens: int = setting(256, "How many tokens the judge may write on one completion.", least=1)
    deduplicate: float = setting(
        0.9,
        "The share of common word 5-grams from which on two completions of a problem count as one; 0 keeps all.",
        least=0,
        most=1,
    )
    decontaminate_against: list[str] = setting(
        BENCHMARKS, "The benchmarks whose questions are taken out; by default all that `cooper eval` has."
    )
    ngram: int = setting(13, "How many words in a row shared with a benchmark's question take a question out.", least=1)

    def __post_init__(self) -> None:
        check_fields(self, AnnotateConfig, "annotate")
        check_given(self, "annotate", "input_files", "output")
