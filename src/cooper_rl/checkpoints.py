"""Complete checkpoints: a run resumes from the newest one that no kill cut off and no disk corrupted."""

from __future__ import annotations

import errno
import json
import logging
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from cooper_rl.errors import CooperError
from cooper_rl.jsonl import write_atomically

logger = logging.getLogger(__name__)
AT_ONCE = 8  # files that are summed up together
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no room on the disk, in the quota, in a file
COMPLETE = "complete.json"  # a checkpoint folder without it was cut off by a kill


def complete_checkpoint(folder: Path, step: int) -> None:
    """Marks a checkpoint as written to its end, with the size and checksum of each of its files."""
    files = _fingerprints(folder, [str(path.relative_to(folder)) for path in _files(folder)])
    write_atomically(folder / COMPLETE, json.dumps({"step": step, "files": files}) + "\n")


def last_checkpoint(output_dir: str | Path, prefix: str = "checkpoint-") -> Path | None:
    """The newest checkpoint that is complete and not corrupted. A warning names each newer one that is left out.

    Args:
        prefix: the folders' names are this and the step.
    """
    for folder in reversed(checkpoints(output_dir, prefix)):
        damage = damage_of(folder)
        if not damage:
            return folder
        logger.warning("%s is left out: %s", folder, damage)
    return None


def step_of(checkpoint: Path) -> int:
    """The step after which a checkpoint was written."""
    return int(checkpoint.name.rpartition("-")[2])


def checkpoints(output_dir: str | Path, prefix: str = "checkpoint-") -> list[Path]:
    """The folders named `prefix` and a step, the oldest first. Others, such as `checkpoint-2-backup`, are left out."""
    steps = {path: path.name.removeprefix(prefix) for path in Path(output_dir).glob(f"{prefix}*")}
    return sorted((path for path, step in steps.items() if step.isdecimal()), key=lambda path: int(steps[path]))


def damage_of(folder: Path) -> str:
    """What is wrong with a checkpoint; empty where it is complete and not corrupted."""
    try:
        files = json.loads((folder / COMPLETE).read_text())["files"]
    except FileNotFoundError:
        return "it was not written to its end"
    except (json.JSONDecodeError, KeyError, TypeError):
        return f"{COMPLETE} cannot be read"
    if not files:
        return "it has no files"
    for name in files:
        if not (folder / name).is_file():
            return f"{name} is missing"
    changed = (name for name, found in _fingerprints(folder, list(files)).items() if found != files[name])
    return next((f"{name} is not what was written" for name in changed), "")


@contextmanager
def full_disk(folder: str | Path, resume_by: str, kind: type[CooperError] = CooperError) -> Iterator[None]:
    """Turns the errors of a run's writers on a full disk into one line, which names the folder.

    Args:
        folder: the run folder.
        resume_by: how the run goes on once there is room.
        kind: the error to raise.

    Raises:
        CooperError: a checkpoint could not be written to its end, or the disk has no room for another file.
    """
    try:
        yield
    except Exception as error:  # of a writer, or it goes on as it is
        by_torch = isinstance(error, RuntimeError) and "inline_container" in str(error)
        written = isinstance(error, OSError) or type(error).__name__ == "SafetensorError" or by_torch
        newest = next(reversed(checkpoints(folder)), None)
        if not isinstance(error, CooperError) and written and newest and not (newest / COMPLETE).is_file():
            told = f"{newest}: cannot be written ({error}); free disk space, then resume from the checkpoint before it"
        elif isinstance(error, OSError) and error.errno in FULL:
            told = f"{folder}: cannot be written ({error}); free disk space, then go on"
        else:
            raise
        raise kind(f"{told} with {resume_by}") from error


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != COMPLETE)


def _fingerprints(folder: Path, names: Sequence[str]) -> dict[str, list[int]]:
    """Of several files at a time: a sum takes a second for a gigabyte, and lets go of Python's lock."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return dict(zip(names, threads.map(lambda name: _fingerprint(folder / name), names), strict=True))


def _fingerprint(path: Path) -> list[int]:
    """Size in bytes and CRC-32."""
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return [path.stat().st_size, checksum]
