"""What was answered and what was learned, in a database that a kill leaves whole.

A call's answers are written before the client gets them, and a batch is marked as learned together with its metrics.
So a batch that comes again is answered from here, and is never learned from twice. A run resumes from a checkpoint by
learning again from the batches after it; so rollouts stay until two checkpoints hold what was learned from them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.records import ROLLOUT_FIELDS, Batch, Rollout
from cooper_rl.serve.wire import Answer

FILE = "served.sqlite3"
TABLES = """
CREATE TABLE IF NOT EXISTS batches (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, stream TEXT NOT NULL,
    completed INTEGER UNIQUE, step INTEGER UNIQUE, version INTEGER, metrics TEXT, seconds REAL NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS samples (stream TEXT NOT NULL, id TEXT NOT NULL, batch INTEGER NOT NULL, place INTEGER NOT
    NULL, prompt TEXT NOT NULL, digest BLOB NOT NULL, version INTEGER NOT NULL, reward REAL, score REAL,
    verdict TEXT NOT NULL, reason TEXT NOT NULL, rollout TEXT, PRIMARY KEY (stream, id));
CREATE UNIQUE INDEX IF NOT EXISTS places ON samples (batch, place);
"""


@dataclass(frozen=True)
class Known:
    """A batch that the ledger has."""

    number: int
    id: str
    completed: int | None  # its place among the complete batches
    step: int | None  # the step that learned from it
    version: int | None  # of the reward model after that step
    metrics: Mapping[str, Any]
    seconds: float  # that judging and scoring took
    size: int  # how many samples it has

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Known:
        """The batch of a row of the table."""
        number, id, completed, step, version, metrics, seconds, size = row
        return cls(number, id, completed, step, version, json.loads(metrics) if metrics else {}, seconds, size)


@dataclass(frozen=True)
class Entry:
    """A sample as it is recorded."""

    id: str
    prompt: str
    digest: bytes
    answer: Answer
    rollout: Rollout


ANSWER = ", ".join(Answer._fields)
COLUMNS = "number, id, completed, step, version, metrics, seconds, size"


class Ledger:
    """One run's record. It is used by one thread.

    Raises:
        BadInputError: the file cannot be opened.
        CooperError: it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        with self._explain_errors(BadInputError):
            self.connection = sqlite3.connect(self.path, 1.0, isolation_level=None, check_same_thread=False)
            self.connection.execute("PRAGMA locking_mode=EXCLUSIVE")  # a second server on this folder is refused
            self.connection.execute("PRAGMA journal_mode=WAL")
            self.connection.execute("PRAGMA synchronous=FULL")
            self.connection.executescript(TABLES)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All that is written inside is there after a kill, or nothing of it."""
        with self._explain_errors():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    @contextmanager
    def _explain_errors(self, kind: type[CooperError] = CooperError) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            locked = "locked" in str(error)
            way_out = "another server uses this folder" if locked else "free disk space, then start again with --resume"
            raise kind(f"{self.path}: {error}; {way_out}") from error

    def batch(self, id: str) -> Known | None:
        """The batch of this id."""
        row = self.connection.execute(f"SELECT {COLUMNS} FROM batches WHERE id = ?", (id,)).fetchone()
        return Known.of(row) if row else None

    def open_batch(self, stream: str) -> Known | None:
        """The stream's batch that is not complete."""
        query = f"SELECT {COLUMNS} FROM batches WHERE stream = ? AND completed IS NULL"
        row = self.connection.execute(query, (stream,)).fetchone()
        return Known.of(row) if row else None

    def count(self, condition: str, *values: Any) -> int:
        """How many batches fulfil a condition of ours."""
        return int(self.connection.execute(f"SELECT COUNT(*) FROM batches WHERE {condition}", values).fetchone()[0])

    def find_answers(self, stream: str, ids: Sequence[str]) -> dict[str, tuple[bytes, Answer]]:
        """The fingerprint and the answer of each of these samples that was answered."""
        found = {}
        for start in range(0, len(ids), 500):
            some = ids[start : start + 500]
            marks = ",".join("?" * len(some))
            query = f"SELECT id, digest, {ANSWER} FROM samples WHERE stream = ? AND id IN ({marks})"
            for id, digest, *answer in self.connection.execute(query, (stream, *some)):
                found[id] = (digest, Answer(*answer))
        return found

    def begin(self, id: str, stream: str) -> Known:
        """Begins a batch."""
        self.connection.execute("INSERT INTO batches (id, stream) VALUES (?, ?)", (id, stream))
        found = self.batch(id)
        assert found
        return found

    def add(self, batch: Known, stream: str, entries: Sequence[Entry], seconds: float) -> None:
        """Adds samples to a batch, as it is now in the record."""
        rows = (
            (stream, e.id, batch.number, batch.size + i, e.prompt, e.digest, *e.answer, _text(e.rollout))
            for i, e in enumerate(entries)
        )
        self.connection.executemany("INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self.connection.execute(
            "UPDATE batches SET seconds = seconds + ?, size = size + ? WHERE number = ?",
            (seconds, len(entries), batch.number),
        )

    def complete(self, batch: Known) -> None:
        """Marks a batch as complete."""
        place = self.count("completed IS NOT NULL") + 1
        self.connection.execute("UPDATE batches SET completed = ? WHERE number = ?", (place, batch.number))

    def rollouts(self, batch: Known) -> Batch:
        """A complete batch as it was judged. Its groups are numbered in the order in which they came.

        Raises:
            CooperError: its rollouts are not kept any more.
        """
        query = "SELECT prompt, rollout, version FROM samples WHERE batch = ? ORDER BY place"
        rows = self.connection.execute(query, (batch.number,)).fetchall()
        numbers: dict[str, int] = {}
        rollouts, versions = [], []
        for prompt, text, version in rows:
            if text is None:
                raise CooperError(
                    f"{self.path}: the rollouts of batch {batch.id!r} are not kept any more, and no checkpoint after"
                    " them is complete; start in a new output_dir"
                )
            group = numbers.setdefault(prompt, len(numbers))
            rollout = _rollout(text)
            rollouts.append(replace(rollout, sample=replace(rollout.sample, group=group)))
            versions.append(version)
        return Batch(0, tuple(rollouts), version=min(versions, default=0), seconds=batch.seconds)

    def mark_learned(self, batch: Known, step: int, version: int, metrics: Mapping[str, Any]) -> None:
        """Marks a batch as learned from."""
        with self.writing():
            self.connection.execute(
                "UPDATE batches SET step = ?, version = ?, metrics = ? WHERE number = ?",
                (step, version, json.dumps(metrics), batch.number),
            )

    def after(self, step: int) -> list[Known]:
        """The batches that were learned from after this step, in their order."""
        rows = self.connection.execute(f"SELECT {COLUMNS} FROM batches WHERE step > ? ORDER BY step", (step,))
        return [Known.of(row) for row in rows.fetchall()]

    def waiting(self) -> list[Known]:
        """The complete batches that were not learned from, in the order in which they were completed."""
        query = f"SELECT {COLUMNS} FROM batches WHERE completed IS NOT NULL AND step IS NULL ORDER BY completed"
        return [Known.of(row) for row in self.connection.execute(query).fetchall()]

    def forget(self, step: int) -> None:
        """Drops the rollouts of the batches up to this step. Their answers stay."""
        with self.writing():
            self.connection.execute(
                "UPDATE samples SET rollout = NULL WHERE rollout IS NOT NULL AND batch IN"
                " (SELECT number FROM batches WHERE step <= ?)",
                (step,),
            )

    def close(self) -> None:
        """Closes the file."""
        self.connection.close()


def _text(rollout: Rollout) -> str:
    return json.dumps(list(rollout.to_record().values()))


def _rollout(text: str) -> Rollout:
    return Rollout.from_record(dict(zip(ROLLOUT_FIELDS, json.loads(text), strict=False)))  # older ones lack the last
