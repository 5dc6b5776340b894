"""`cooper annotate`: completions -> triples on which the rule verifier and a judge agree (paper, section 3.2).

The judge is a language model. For a record that has a label already, that label can take the judge's place.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cooper_rl.columns import aliases_of
from cooper_rl.domains import load_problems
from cooper_rl.errors import BadInputError
from cooper_rl.generation import Sampling, load_generator
from cooper_rl.jsonl import (
    COMPLETION_FIELDS,
    REFERENCE_FIELDS,
    has_label,
    label_of,
    line_of,
    read_written,
    text_field,
    write_atomically,
)
from cooper_rl.labelling.candidate import (
    Candidate,
    Decontamination,
    disagreement,
    judge_prompt,
    near_duplicates,
    read_vote,
    statistics,
)
from cooper_rl.labelling.collect import ask
from cooper_rl.settings.asking import AnnotateConfig
from cooper_rl.settings.files import resolve_model
from cooper_rl.tables import read_table
from cooper_rl.verifiers import RuleVerifier

logger = logging.getLogger(__name__)

CHUNK = 2048
Progress = Callable[..., object]


@dataclass
class Clock:
    """Seconds spent in each stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds the seconds spent in the `with` block to a stage."""
        started = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


def annotate(config: AnnotateConfig, *, resume: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    """Writes the kept triples, the dropped records with their reasons, and the statistics. Returns the statistics.

    Raises:
        MissingFileError: an input file does not exist.
        BadInputError: the input cannot be used, or the output exists and `resume` is false.
        BackendError: the judge does not answer. Its votes so far are kept and are not asked for again.
    """
    output = Path(config.output)
    votes = output.with_suffix(".votes.jsonl")
    if (output.exists() or votes.exists()) and not resume:
        there = output if output.exists() else votes
        raise BadInputError(f"{there}: already exists; continue it with --resume, or give another --output")
    output.parent.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    with clock.stage("read"):
        candidates = read_candidates(config)
    with clock.stage("overlap"):
        drop_overlaps(candidates, config)
    with clock.stage("rule"):
        add_verdicts(candidates, config, progress)
    if config.judge:
        with clock.stage("judge"):
            add_votes(candidates, config, votes, progress)
    for candidate in candidates:
        candidate.reason = candidate.reason or disagreement(candidate, keep_undecided=config.keep_undecided)
    found = statistics(candidates, clock.seconds)
    kept = [{**c.record, "correct": c.correct, "rule": c.verdict, "judge": c.vote} for c in candidates if not c.reason]
    dropped = [{**c.record, "rule": c.verdict, "judge": c.vote, "reason": c.reason} for c in candidates if c.reason]
    write_atomically(output.with_suffix(".dropped.jsonl"), "".join(map(line_of, dropped)))
    write_atomically(output.with_suffix(".statistics.json"), json.dumps(found, indent=2) + "\n")
    write_atomically(output, "".join(map(line_of, kept)))
    return found


def read_candidates(config: AnnotateConfig) -> list[Candidate]:
    """Every record of the files or hub data sets. Without a judge model, the label that a record has is its vote.

    Raises:
        MissingFileError: there is no such file.
        BadInputError: a record is bad, or there is no record.
    """
    candidates = []
    for name in config.input_files:
        for place, record in read_table(name, "completions"):
            question, completion = (text_field(record, f, place) for f in (("question",), COMPLETION_FIELDS))
            reference = text_field(record, REFERENCE_FIELDS, place)
            vote = label_of(record, place) if not config.judge and has_label(record) else None
            judged = bool(config.judge) or vote is not None
            aliases = tuple(aliases_of(record, place))
            candidates.append(Candidate(record, question, reference, completion, judged, vote=vote, aliases=aliases))
    if not candidates:
        raise BadInputError(f"{', '.join(config.input_files)}: no completion in it; give output of `cooper collect`")
    return candidates


def drop_overlaps(candidates: Sequence[Candidate], config: AnnotateConfig) -> None:
    """Drops completions whose question is in a benchmark, then near-duplicate completions of the same problem."""
    benchmarks = {
        name: [problem.question for problem in load_problems(name, split="test")]
        for name in config.decontaminate_against
    }
    decontamination = Decontamination(benchmarks, config.ngram)
    owner = {question: decontamination.benchmark_of(question) for question in {c.question for c in candidates}}
    groups: dict[tuple[str, str], list[Candidate]] = {}
    for candidate in candidates:
        if benchmark := owner[candidate.question]:
            candidate.reason = f"contaminated:{benchmark}"
        else:
            groups.setdefault((candidate.question, candidate.reference_answer), []).append(candidate)
    for group in groups.values() if config.deduplicate else ():
        for index in near_duplicates([c.completion for c in group], config.deduplicate):
            group[index].reason = "near_duplicate"


def add_verdicts(candidates: Sequence[Candidate], config: AnnotateConfig, progress: Progress | None) -> None:
    """Adds the rule's verdict to every candidate that is not dropped."""
    waiting = [c for c in candidates if not c.reason]
    with RuleVerifier(config.verifier, workers=config.verifier_workers) as verifier:
        for start in range(0, len(waiting), CHUNK):
            chunk = waiting[start : start + CHUNK]
            verdicts = verifier.verify_many([c.references for c in chunk], [c.completion for c in chunk])
            for candidate, verdict in zip(chunk, verdicts, strict=True):
                candidate.verdict = verdict
            if progress:
                progress(completed=start + len(chunk), total=len(waiting), description="rule")


def add_votes(candidates: Sequence[Candidate], config: AnnotateConfig, votes: Path, progress: Progress | None) -> None:
    """Adds the judge's votes: one greedy request per triple. Each vote is written at once and not asked for again."""
    judge = str(config.judge).partition("@")[0]  # without its address, which may change
    known: dict[str, bool | None] = {}
    for place, row in read_written(votes) if votes.exists() else ():
        if row.get("judge", judge) != judge:
            raise BadInputError(f"{place}: a vote of {row['judge']}, not of {judge}; give another --output")
        if not {"key", "vote"} <= row.keys():
            raise BadInputError(f"{place}: not a judge's vote; give another --output")
        known[str(row["key"])] = row["vote"]
    waiting = [c for c in candidates if not c.reason and c.key not in known]
    prompts = [judge_prompt(c.question, " or ".join(c.references), c.completion) for c in waiting]
    settings, seeds = Sampling(config.judge_max_new_tokens), [0] * len(prompts)
    if waiting:
        generator = load_generator(resolve_model(str(config.judge), "policy"), config)
        with votes.open("a", encoding="utf-8") as file:
            answers = ask(generator, prompts, settings, seeds, stop_after=config.stop_after_failures)
            for count, (index, generation) in enumerate(answers, 1):
                if generation.text is not None:
                    key = waiting[index].key
                    known[key] = vote = read_vote(generation.text, cut_off=generation.finish_reason == "length")
                    row = {"key": key, "vote": vote, "judge": judge, "answer": generation.text[-400:]}
                    file.write(line_of(row))
                    file.flush()
                if progress:
                    progress(completed=count, total=len(waiting), description="judge")
    failed = 0
    for candidate in candidates:
        candidate.vote = known.get(candidate.key) if not candidate.reason else None
        if not candidate.reason and candidate.key not in known:
            candidate.reason, candidate.judged, failed = "judge_failed", False, failed + 1
    if failed:
        logger.warning("%s gave no answer for %d completions; ask again with --resume", config.judge, failed)
