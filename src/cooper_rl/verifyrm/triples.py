"""Labelled triples: read from files, encoded to train on, scored as they stream in, and how well they are told apart.

Every error names file, record and field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from accelerate import PartialState
from accelerate.utils import gather_object

from cooper_rl.columns import aliases_of
from cooper_rl.errors import BadInputError
from cooper_rl.jsonl import (
    COMPLETION_FIELDS,
    REFERENCE_FIELDS,
    has_label,
    in_batches,
    label_of,
    line_of,
    records,
    text_field,
)
from cooper_rl.packing import IntRows
from cooper_rl.records import THRESHOLD, LabelledCompletion, Scorable, Triple
from cooper_rl.steps import step_ends
from cooper_rl.tables import read_table
from cooper_rl.verifyrm.template import places_of

if TYPE_CHECKING:
    from cooper_rl.verifyrm.model import VerifyRM

BATCH = 512  # records that are scored or encoded at once
BETWEEN = "\n\n"  # what comes between steps that a record has one by one
MEASURES: tuple[str, ...] = ("count", "accuracy", "balanced_accuracy", "precision", "recall")
MEASURES += ("true_positives", "false_positives", "false_negatives", "true_negatives")


def read_triples(name: str | Path) -> list[LabelledCompletion]:
    """Labelled triples of a JSONL, JSON, CSV (.gz too) or parquet file, here or in COOPER_DATA_DIR, or of the hub.

    Raises:
        MissingFileError: there is no such file.
        BadInputError: a record is bad (the message names file, record and field), or there is no record.
        BackendError: the hub cannot be read.
    """
    triples = [read_labelled(record, place) for place, record in read_table(name, "labelled triples")]
    if not triples:
        raise BadInputError(f"{name}: the file has no labelled triple")
    return triples


def read_labelled(record: dict[str, Any], place: str) -> LabelledCompletion:
    """A file's record as a labelled triple. `steps` may take the place of the completion, `first_error` of the label.

    The steps of a `completion` end at `step_ends`, where the record has them.

    Raises:
        BadInputError: a field is missing or bad.
    """
    ends: tuple[int, ...] = ()
    first_error = record.get("first_error")
    if record.get("steps") is not None and (first_error is not None or "completion" not in record):
        completion, ends = join_steps(record["steps"], place)
        if record.get("completion", completion) != completion:
            raise BadInputError(f"{place}: completion and steps differ; give one of them, or step_ends for the steps")
        record = {**record, "completion": completion}
    elif record.get("step_ends") is not None:
        ends = check_ends(record["step_ends"], text_field(record, COMPLETION_FIELDS, place), place)
    if first_error is not None and record.get("steps") is None and record.get("step_ends") is None:
        raise BadInputError(f"{place}: first_error needs steps, or a completion with step_ends")
    if first_error is not None and (type(first_error) is not int or not -1 <= first_error < max(1, len(ends))):
        raise BadInputError(f"{place}: first_error is {first_error!r}, where there are {len(ends)} steps; -1: none")
    right = label_of(record, place) if has_label(record) or first_error is None else first_error == -1
    source, problem_id = str(record.get("source", "")), str(record.get("problem_id", ""))
    triple = triple_of(record, place)
    aliases = tuple(each for each in dict.fromkeys(aliases_of(record, place)) if each != triple.reference_answer)
    return LabelledCompletion(*triple, right, source, problem_id, ends, first_error, aliases)


def join_steps(steps: Any, place: str) -> tuple[str, tuple[int, ...]]:
    """(completion, ends): the steps as one text with a blank line between them, and the offsets just after each.

    Raises:
        BadInputError: the steps are no list of texts, or there is none.
    """
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) for step in steps):
        raise BadInputError(f"{place}: field 'steps' must be a list of texts")
    lengths = accumulate(len(step) + len(BETWEEN) for step in steps)
    return BETWEEN.join(steps), tuple(length - len(BETWEEN) for length in lengths)


def check_ends(ends: Any, completion: str, place: str) -> tuple[int, ...]:
    """The offsets just after a completion's steps.

    Raises:
        BadInputError: they are not rising whole numbers that end with the completion's length.
    """
    numbers = isinstance(ends, list) and all(type(end) is int and end > 0 for end in ends)
    if not numbers or ends != sorted(set(ends)) or (ends and ends[-1] != len(completion)):
        raise BadInputError(
            f"{place}: field 'step_ends' must be rising offsets; the last is the completion's length, {len(completion)}"
        )
    return tuple(ends)


def triple_of(record: dict[str, Any], place: str) -> Triple:
    """The triple to score in a file's record.

    Raises:
        BadInputError: a field is missing or is not text.
    """
    return Triple(
        text_field(record, ("question",), place),
        text_field(record, REFERENCE_FIELDS, place),
        text_field(record, COMPLETION_FIELDS, place),
    )


def score_stream(
    lines: Iterable[str],
    write: Callable[[str], object],
    reward_model: VerifyRM,
    *,
    spans: str | None = None,
    source: str = "<stdin>",
) -> int:
    """Copies JSONL triples with a `score` added, in order and in constant memory. Returns how many.

    Args:
        spans: `line` or `sentence` also adds `step_ends` and `step_values`, the values of the prefixes that end there.
    """
    count = 0
    rows = ((record, triple_of(record, place)) for place, record in records(lines, source))
    for batch in in_batches(rows, BATCH):
        added = score_rows(reward_model, [triple for _, triple in batch], spans)
        for (record, _), fields in zip(batch, added, strict=True):
            write(line_of({**record, **fields}))
        count += len(batch)
    return count


def score_rows(reward_model: VerifyRM, triples: Sequence[Triple], spans: str | None) -> Iterator[dict[str, Any]]:
    """What is added to each record: its score, and with `spans` the values after its steps, from the same pass."""
    if spans is None:
        yield from ({"score": score} for score in reward_model.score_records(triples).tolist())
        return
    ends = [step_ends(triple.completion, spans) for triple in triples]
    # a completion without steps is asked for as one, since the value after the last step is the score of the whole
    asked = [ends_S or [len(triple.completion)] for triple, ends_S in zip(triples, ends, strict=True)]
    values = reward_model.step_values(triples, asked)
    for ends_S, values_S in zip(ends, values, strict=True):
        yield {"score": values_S[-1].item(), "step_ends": ends_S, "step_values": values_S.tolist()[: len(ends_S)]}


class Examples(Sequence[dict[str, Any]]):
    """Triples as a Trainer's data set: of each its token ids and its label, and where prefixes are taught, theirs.

    Args:
        steps: what ends a step where a triple does not say it: `line` or `sentence`. None teaches no prefixes.
    """

    def __init__(self, reward_model: VerifyRM, triples: Sequence[LabelledCompletion], steps: str | None) -> None:
        self.steps, self.labels = steps, [float(triple.correct) for triple in triples]
        self.ids, self.places, self.step_labels = IntRows(), IntRows(), IntRows()
        for batch in in_batches(triples, BATCH):
            ids_B_T = reward_model.encode(batch)
            for ids_T in ids_B_T:
                self.ids.append(ids_T)
            for places, labels in prefix_targets(reward_model, batch, ids_B_T, steps) if steps else ():
                self.places.append(places)
                self.step_labels.append(labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: Any) -> Any:
        """`ids`, `label`, and with `steps` also `places` and `step_labels` of one triple."""
        example = {"ids": self.ids[row], "label": self.labels[row]}
        return example | {"places": self.places[row], "step_labels": self.step_labels[row]} if self.steps else example


def prefix_targets(
    reward_model: VerifyRM, triples: Sequence[LabelledCompletion], ids_B_T: Sequence[Sequence[int]], kind: str
) -> list[tuple[list[int], list[int]]]:
    """For each triple the places in `ids_B_T` that its steps but the last end in, and the prefixes' labels, 1 or 0.

    The last step's prefix is the whole completion, which has a loss of its own.

    Args:
        kind: what ends a step where a triple does not say it: `line` or `sentence`.
    """
    ends = [list(t.ends) or step_ends(t.completion, kind) for t in triples]
    settings = reward_model.settings
    places = places_of(reward_model.tokenizer, triples, ends, ids_B_T, with_reference=settings.with_reference)
    return [(own[:-1], triple.prefix_labels(len(own) - 1)) for triple, own in zip(triples, places, strict=True)]


def evaluate(
    score: Callable[[Sequence[Scorable]], Iterable[float]],
    triples: Sequence[LabelledCompletion],
    *,
    threshold: float = THRESHOLD,
) -> dict[str, float]:
    """Accuracy, balanced accuracy, precision, recall and the counts behind them, as fractions from 0 to 1.

    A metric whose denominator is 0 is 0. With several ranks, every rank must call this. Each scores its share of the
    triples, and all get the metrics of the whole.

    Args:
        score: a reward model's scores of records, from 0 to 1: `VerifyRM.score_records`, or any `RewardModel.score`.
        threshold: a score above it calls the completion right.
    """
    ranks = PartialState()
    own = triples[ranks.process_index :: ranks.num_processes]
    scores = map(float, score(own))
    judged = gather_object([(score > threshold, t.correct) for score, t in zip(scores, own, strict=True)])
    called_right_B, correct_B = torch.tensor(judged, dtype=torch.bool).reshape(-1, 2).unbind(1)
    found = Confusion.of(called_right_B, correct_B, of_nothing=0.0)
    return {name: getattr(found, name) for name in MEASURES}


@dataclass(frozen=True)
class Confusion:
    """The number of judgements of each kind.

    Args:
        of_nothing: the value of a metric whose denominator is 0: NaN for "not known", or 0.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    of_nothing: float = nan

    @classmethod
    def of(cls, said_B: Any, correct_B: Any, *, of_nothing: float = nan) -> Confusion:
        """Counts two bool arrays or tensors of shape (B,): what was said, and what is true."""
        cells = (said_B & correct_B, said_B & ~correct_B, ~said_B & correct_B, ~said_B & ~correct_B)
        tp, fp, fn, tn = (int(cell_B.sum()) for cell_B in cells)
        return cls(tp, fp, fn, tn, of_nothing)

    @property
    def count(self) -> int:
        """All judgements."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    @property
    def accuracy(self) -> float:
        """The share of judgements that agree with the truth."""
        return self._share(self.true_positives + self.true_negatives, self.count)

    @property
    def recall(self) -> float:
        """The share of right ones that are called right."""
        return self._share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def specificity(self) -> float:
        """The share of wrong ones that are called wrong."""
        return self._share(self.true_negatives, self.true_negatives + self.false_positives)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of recall and specificity. It is 0.5 for a judge who always says the same."""
        return (self.recall + self.specificity) / 2

    @property
    def precision(self) -> float:
        """The share of right ones among those that are called right."""
        return self._share(self.true_positives, self.true_positives + self.false_positives)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        hits = 2 * self.true_positives
        return self._share(hits, hits + self.false_positives + self.false_negatives)

    def _share(self, part: int, whole: int) -> float:
        return part / whole if whole else self.of_nothing
