"""`cooper eval-rm`: measures a reward model, the rule, a judge and a constant "no" on labelled triples and probes."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cooper_rl.distributed import start_precision
from cooper_rl.domains.own_data import local_copy
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.judges import (
    Judge,
    best_of_references,
    judge_scores,
    measure_twice,
    rule_scores,
    share_rejected,
    under_near_wrong_references,
    under_wrong_references,
)
from cooper_rl.evaluation.metrics import Bools, Floats, bootstrap, metrics_of
from cooper_rl.evaluation.process import PROCESSBENCH, evaluate_process, load_process, process_lines
from cooper_rl.records import LabelledCompletion, Problem
from cooper_rl.synthesis.augment import probe_triples
from cooper_rl.tables import check_table, from_hub, read_records
from cooper_rl.verifiers.math.reader import form_of
from cooper_rl.verifiers.math.stated import is_solution
from cooper_rl.verifyrm.triples import read_triples

if TYPE_CHECKING:
    from cooper_rl.verifyrm import VerifyRM

logger = logging.getLogger(__name__)

WITH_INTERVAL = ("accuracy", "balanced_accuracy", "f1", "auroc")
MAX_REFERENCE = 60  # characters; probes are made of short reference answers, not of worked solutions
MIN_GROUP = 10  # a type or source with fewer records gets no metrics of its own


@dataclass
class EvalSettings:
    """The settings of an evaluation: what is measured, and on how much."""

    model: str | None = None
    verifier: str | None = "math"
    judge: str | None = None
    size: int | None = None  # draw this many records of each file at random; None takes all
    heldout: float | None = None  # only the questions that train-rm holds out with this heldout_fraction and seed
    aliases: bool = True  # score under the alias that a completion fits best, where the record has aliases
    probes: bool = True
    bf16: bool | None = None  # compute the model's forward passes in bfloat16; None: where the GPU has it
    probe_problems: int = 100
    bootstrap_samples: int = 1000
    seed: int = 0
    judges: dict[str, Judge] = field(default_factory=dict)  # further judges, for callers from Python


def evaluate_files(files: Sequence[str], settings: EvalSettings) -> dict[str, Any]:
    """Metrics of every judge on every file, and each judge's pass rate on each kind of probe.

    Raises:
        MissingFileError: a file or model does not exist.
        BadInputError: a file or model cannot be used.
    """
    sets = {
        name: draw(select_heldout(load_labelled(name), settings), settings) for name in files if name != PROCESSBENCH
    }
    solutions = draw(load_process(PROCESSBENCH), settings) if PROCESSBENCH in files else []
    model = load_model(settings)
    judges = make_judges(settings, model)
    steps = partial(evaluate_process, samples=settings.bootstrap_samples, probes=settings.probes)
    found: dict[str, Any] = {"files": {}}
    if solutions:
        if model is None:
            raise BadInputError(f"{PROCESSBENCH}: only a VerifyRM values steps; give --model")
        found["process"] = steps(solutions, model.step_values)
    for name, triples in sets.items():
        found["files"][name] = measure_set(triples, judges, settings)
        if model and all(triple.first_error is not None for triple in triples):
            found["files"][name]["process"] = steps(triples, model.step_values)
    if settings.probes and sets:
        problems = [
            Problem(t.question, t.reference_answer)
            for triples in sets.values()
            for t in triples
            if len(t.reference_answer) <= MAX_REFERENCE and not is_solution(t.reference_answer)
        ]
        if not problems:
            logger.warning("no probes: no reference answer has at most %d characters", MAX_REFERENCE)
            return found
        rng = np.random.default_rng(settings.seed)
        chosen = rng.permutation(len(problems))[: settings.probe_problems]
        probes = probe_triples([problems[i] for i in chosen], settings.seed)
        names = [name for name in judges if name != "always wrong"]
        rows = {
            name: {kind: share_rejected(judges[name], own, settings.seed) for kind, own in probes.items()}
            for name in names
        }
        for place, key in enumerate(("probes", "probes_asked_twice")):
            found[key] = {name: {kind: shares[place] for kind, shares in row.items()} for name, row in rows.items()}
    return found


def measure_set(triples: list[LabelledCompletion], judges: dict[str, Judge], settings: EvalSettings) -> dict[str, Any]:
    """Every judge's metrics on one set, and what it accepts there under wrong references."""
    correct_B = np.array([t.correct for t in triples])
    asked = {judge: best_of_references(ask) if settings.aliases else ask for judge, ask in judges.items()}
    scores = {judge: ask(triples) for judge, ask in asked.items()}
    far, near = (make(triples, settings.seed) for make in (under_wrong_references, under_near_wrong_references))
    return {
        "records": len(triples),
        "right": int(correct_B.sum()),
        "with_aliases": sum(bool(t.aliases) for t in triples) if settings.aliases else 0,
        "judges": {judge: with_intervals(s, correct_B, settings) for judge, s in scores.items()},
        "wrong_reference": ask_twice(far, judges, scores, correct_B),
        "near_reference": ask_twice(near, judges, scores, correct_B),
        "by_type": by_group([answer_type(t.reference_answer) for t in triples], scores, correct_B),
        "by_source": by_group([t.source for t in triples], scores, correct_B),
    }


def ask_twice(
    other: dict[int, LabelledCompletion], judges: dict[str, Judge], scores: dict[str, Floats], correct_B: Bools
) -> dict[str, Any]:
    """What each judge that reads the reference accepts under wrong ones too; nothing where no triple has one."""
    readers = [judge for judge in judges if other and judge != "always wrong"]
    under_other = {judge: dict(zip(other, judges[judge]([*other.values()]), strict=True)) for judge in readers}
    return {judge: measure_twice(scores[judge], under_other[judge], correct_B) for judge in readers}


def select_heldout(triples: list[LabelledCompletion], settings: EvalSettings) -> list[LabelledCompletion]:
    """The triples whose questions `cooper train-rm` holds out with `settings.heldout` as its heldout_fraction."""
    if settings.heldout is None:
        return triples
    from cooper_rl.verifyrm.train_rm import split_by_question

    return split_by_question(triples, settings.heldout, settings.seed)[1]


def draw(triples: list[LabelledCompletion], settings: EvalSettings) -> list[LabelledCompletion]:
    """`settings.size` of the triples, drawn at random and kept in their order."""
    if settings.size is None or settings.size >= len(triples):
        return triples
    return [triples[i] for i in sorted(random.Random(settings.seed).sample(range(len(triples)), settings.size))]


def load_model(settings: EvalSettings) -> VerifyRM | None:
    """The model that the settings name, if they name one."""
    if not settings.model:
        return None
    from cooper_rl.verifyrm import VerifyRM

    return VerifyRM.from_pretrained(settings.model, bf16=start_precision(settings.bf16))


def make_judges(settings: EvalSettings, model: VerifyRM | None) -> dict[str, Judge]:
    """The judges by name. Each is a function from triples to scores from 0 to 1."""
    judges: dict[str, Judge] = {}
    if model:
        judges["model"] = lambda triples: model.score_records(triples).double().numpy()
    if settings.verifier:
        judges["rule"] = lambda triples: rule_scores(str(settings.verifier), triples)
    if settings.judge:
        judges["judge"] = lambda triples: judge_scores(str(settings.judge), triples)
    judges["always wrong"] = lambda triples: np.zeros(len(triples))
    return judges | settings.judges


def with_intervals(scores_B: Floats, correct_B: Bools, settings: EvalSettings) -> dict[str, Any]:
    """The metrics. Those that are used for comparisons have 95 % bootstrap intervals.

    An interval is NaN where all resampled values are equal, as without any error: then it would claim certainty.
    """
    found: dict[str, Any] = dict(metrics_of(scores_B, correct_B))
    for name in WITH_INTERVAL:

        def metric(s: Floats, c: Bools, name: str = name) -> float:
            return metrics_of(s, c)[name]

        low, high = bootstrap(metric, scores_B, correct_B, samples=settings.bootstrap_samples, seed=settings.seed)
        found[f"{name}_interval"] = [low, high] if low < high else [float("nan")] * 2
    return found


def by_group(groups: Sequence[str], scores: dict[str, Floats], correct_B: Bools) -> dict[str, Any]:
    """Accuracy and balanced accuracy of each judge in each group that is large enough."""
    found: dict[str, Any] = {}
    for group in sorted(set(groups)):
        inside = np.array([g == group for g in groups])
        if inside.sum() < MIN_GROUP:
            continue
        found[group] = {"records": int(inside.sum())}
        for judge, scores_B in scores.items():
            own = metrics_of(scores_B[inside], correct_B[inside])
            found[group][judge] = {name: own[name] for name in ("accuracy", "balanced_accuracy")}
    return found


def answer_type(reference_answer: str) -> str:
    """The form in which the rule verifier reads a reference answer: number, expression, words, group, ..."""
    form = form_of(reference_answer)
    return form.kind if form is not None else "other"


def wrong_reference_lines(part: dict[str, Any]) -> list[str]:
    """What a set's figures say of its references, as lines of text."""
    aliases = part["with_aliases"]
    lines = [f"  {aliases} with aliases, each scored under the one that it fits best"] if aliases else []
    for key, kind in (("wrong_reference", "a wrong reference"), ("near_reference", "a near wrong reference")):
        for judge, row in part[key].items():
            low, high = row["accepted_interval"]
            lines.append(
                f"  counterfactual acceptance by {judge}: {row['accepted']:.3f} ({low:.3f} to {high:.3f}) of"
                f" {row['right']} right completions under {kind}; balanced accuracy when asked twice"
                f" {row['asked_twice']:.3f}"
            )
    return lines


def as_lines(found: dict[str, Any]) -> list[str]:
    """The metrics as lines of text."""
    lines = []
    names = ("accuracy", "balanced_accuracy", "precision", "recall", "f1", "auroc", "calibration_error")
    for file, part in found["files"].items():
        lines += [
            f"{file}: {part['records']} triples, {part['right']} right",
            " " * 14 + "".join(f"{n:>19}" for n in names),
        ]
        for judge, row in part["judges"].items():
            lines.append(f"{judge:<14}" + "".join(f"{row[n]:>19.3f}" for n in names))
            low, high = row["balanced_accuracy_interval"]
            lines.append(f"{'':<14}{f'balanced accuracy 95 %: {low:.3f} to {high:.3f}':>60}")
        lines += wrong_reference_lines(part)
        for title in ("by_type", "by_source"):
            for group, row in part[title].items():
                shares = ", ".join(f"{judge} {row[judge]['accuracy']:.3f}" for judge in part["judges"] if judge in row)
                lines.append(f"  {title[3:]} {group} ({row['records']}): accuracy {shares}")
        lines += process_lines(file, part["process"]) if "process" in part else []
    lines += process_lines(PROCESSBENCH, found["process"]) if "process" in found else []
    for judge, rates in found.get("probes", {}).items():
        lines.append(f"probes rejected by {judge}: " + ", ".join(f"{kind} {rate:.2f}" for kind, rate in rates.items()))
        twice = found["probes_asked_twice"][judge]
        more = [f"{kind} {twice[kind]:.2f}" for kind, rate in rates.items() if twice[kind] > rate]
        lines += [f"  when asked twice: {', '.join(more)}"] if more else []
    return lines


Convert = Callable[[dict[str, Any]], Iterator[LabelledCompletion]]


def _verifybench(record: dict[str, Any]) -> Iterator[LabelledCompletion]:
    """One completion with a human label."""
    question, answer, completion = (str(record[name]) for name in ("question", "answer", "completion"))
    source = str(record.get("source", "verifybench"))
    yield LabelledCompletion(question, answer, completion, bool(record["gold_correct"]), source)


def _hardverify(record: dict[str, Any]) -> Iterator[LabelledCompletion]:
    """A right answer that rules call wrong, and a wrong answer."""
    for name, correct in (("fn_output", True), ("tn_output", False)):
        question, answer, completion = (str(record[key]) for key in ("question", "ground_truth", name))
        yield LabelledCompletion(question, answer, completion, correct, "hardverify_math")


@dataclass(frozen=True)
class Published:
    """The place of a set: its file's name in COOPER_DATA_DIR, and its id and file on the hub."""

    convert: Convert
    local: str
    hub: str
    hub_file: str | None = None


PUBLISHED = {
    "verifybench": Published(_verifybench, "verify_bench.jsonl", "ZJU-REAL/VerifyBench", "verify_bench.jsonl"),
    "verifybench_hard": Published(
        _verifybench, "verify_bench_hard.jsonl", "ZJU-REAL/VerifyBench", "verify_bench_hard.jsonl"
    ),
    "hardverify_math": Published(_hardverify, "HardVerify-Math.json", "zhangchenxu/HardVerify-Math"),
}


def load_labelled(name: str) -> list[LabelledCompletion]:
    """The triples of a published set, of a file, or of a hub data set.

    Raises:
        MissingFileError: there is no such file.
        BadInputError: a record lacks a field.
        BackendError: neither a local copy nor the hub could be read.
    """
    known = PUBLISHED.get(name)
    if known is None:
        return read_triples(name)
    path = local_copy(known.local)
    records: Iterable[dict[str, Any]]
    if path:
        records = (record for _, record in read_records(path))
    else:
        records = from_hub(known.hub, None, "train", data_files=known.hub_file)
    triples: list[LabelledCompletion] = []
    for number, record in enumerate(records, 1):
        try:
            triples += known.convert(record)
        except KeyError as error:
            raise BadInputError(f"{path or known.hub}: record {number} has no field {error}") from error
    return triples


def check_labelled(name: str) -> None:
    """Checks the name of a set, file or hub data set before a model is loaded.

    Raises:
        MissingFileError: there is neither a published set nor a file of this name.
    """
    if name not in (*PUBLISHED, PROCESSBENCH):
        check_table(name, f"labelled triples (by name: {', '.join([*PUBLISHED, PROCESSBENCH])})")
