"""How the method's own work on the host grows: seconds over size, with the slope in a log-log picture (1 is linear).

    python benchmarks/bench_scale.py
    python benchmarks/bench_scale.py step --most 4096
    python benchmarks/bench_scale.py problems mapped --least 1000000 --repeats 1

The second makes one curve, up to a size, and the third one point of two curves. The last columns are seconds of this
process's processor time, and by how many megabytes its own memory grew (without the files that it maps).

Curves, each by the size in brackets:

- `step` (rollouts of about 2,000 tokens): all of a joint step but the models' passes
- `doubt` (rollouts): which of those that count as wrong are probably right, beside 20 steps of others
- `pad` (tokens): token ids to a batch of 1,024 rows
- `workers` (processes): a verifier pool from nothing to its first verdict
- `hangs` (completions): a batch that hangs all over, 16 to a reference, with limits of 0.1 s for each and 3 s for all
- `problems` (lines): reading and checking a JSONL file
- `mapped` (lines): the same file as the next process finds it
- `credit` (tokens): the tokens where the steps of a completion end
- `sums` (megabytes): a checkpoint's checksums

Each point is the best of `--repeats`. Bar: a step of 1,024 rollouts takes at most 1 s, and grows near linearly to
16,384.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import datasets
from transformers import AutoTokenizer

from cooper_rl.checkpoints import complete_checkpoint
from cooper_rl.domains import training_problems
from cooper_rl.method.build import make_cooper
from cooper_rl.method.doubt import Doubt
from cooper_rl.packing import pad
from cooper_rl.records import Reason, Rollout, Sample, Verdict, Verification
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.method import MethodSettings
from cooper_rl.settings.train import TrainSettings
from cooper_rl.steps import step_ends, tokens_before
from cooper_rl.verifiers import RuleVerifier

GROUP = 16
FILLER = "We add the two numbers and carry the one, which gives the next digit of the sum. "  # about 20 tokens
Timed = Callable[[], float]


class Noise:
    """A reward model without a model: seeded scores, so that only the method's own work is timed."""

    version = 0

    def score(self, triples: Sequence[Any]) -> list[float]:
        rng = random.Random(len(triples))
        return [rng.random() for _ in triples]

    start_scores = score

    def update(self, pairs: Sequence[Any], labelled: Sequence[Any]) -> dict[str, float]:
        return {"reward_model/loss": 0.0} if pairs else {}

    def snapshot(self) -> None: ...

    def restore(self, snapshot: None) -> None: ...

    def save(self, folder: Path) -> None: ...

    def load(self, folder: Path) -> None: ...


def samples_of(size: int, step: int) -> list[Sample]:
    """Groups of 16 completions of about 2,000 tokens each: a quarter right, the others wrong by a seeded number."""
    rng = random.Random(step)
    made = []
    for row in range(size):
        total = row // GROUP + step
        stated = total if rng.random() < 0.25 else total + rng.randrange(1, 9)
        made.append(Sample(f"What is {total} + 0?", str(total), FILLER * 100 + f"The answer is \\boxed{{{stated}}}."))
    return made


@contextmanager
def step_of(size: int) -> Iterator[Timed]:
    """A joint step of this many rollouts, after one that is not timed."""
    with tempfile.TemporaryDirectory() as folder, RuleVerifier("math", workers=2, deadline_seconds=60) as verifier:
        settings = MethodSettings(
            output_dir=folder,
            num_generations=GROUP,
            negative_sources={"mined": 1},
            verifier_workers=2,
            counterfactual_references=1,
        )
        cooper, steps = make_cooper(settings, verifier, Noise()), iter(range(1, 1000))  # type: ignore[arg-type]
        cooper.begin()

        def once() -> float:
            step = next(steps)
            samples = samples_of(size, step)
            started = time.perf_counter()
            cooper.learn(cooper.score(samples, step))
            return time.perf_counter() - started

        once()
        yield once


@contextmanager
def doubt_of(size: int) -> Iterator[Timed]:
    rng = random.Random(0)
    doubt = Doubt(0.005, 0.5)
    doubt.seen = [
        (step, rng.random() < 0.3, round(rng.gauss(0, 4), 1), rng.randrange(1, GROUP + 1) / GROUP)
        for step in range(1, 20)
        for _ in range(size)
    ]
    wrong = Verification(Verdict.INCORRECT, Reason.MISMATCH)
    right = Verification(Verdict.CORRECT, Reason.MATCH)
    rollouts = [
        Rollout(replace(sample, group=row // GROUP), right if rng.random() < 0.3 else wrong, rng.random(), 0.0)
        for row, sample in enumerate(samples_of(size, 20))
    ]

    def once() -> float:
        started = time.perf_counter()
        doubt.weigh(rollouts, 20)
        return time.perf_counter() - started

    yield once


@contextmanager
def pad_of(size: int) -> Iterator[Timed]:
    rng = random.Random(0)
    ids = [[7] * rng.randrange(size // 2, size + 1) for _ in range(1024)]

    def once() -> float:
        started = time.perf_counter()
        pad(ids, 0)
        return time.perf_counter() - started

    yield once


@contextmanager
def workers_of(size: int) -> Iterator[Timed]:
    def once() -> float:
        started = time.perf_counter()
        with RuleVerifier("math", workers=size, deadline_seconds=60) as verifier:
            verifier.verify_many(["1"] * size, ["1"] * size)
        return time.perf_counter() - started

    yield once


@contextmanager
def hangs_of(size: int) -> Iterator[Timed]:
    with tempfile.TemporaryDirectory() as folder:
        lines = "import time", "def explain(reference, completion):", "    time.sleep(60)"
        Path(folder, "hanging_rules.py").write_text("\n".join(lines) + "\n")
        sys.path.insert(0, folder)

        def once() -> float:
            with RuleVerifier("hanging_rules:explain", workers=2, deadline_seconds=0.1, batch_seconds=3) as verifier:
                started = time.perf_counter()
                verifier.verify_many([str(row // GROUP) for row in range(size)], ["1"] * size)
                return time.perf_counter() - started

        yield once
        sys.path.remove(folder)


@contextmanager
def credit_of(size: int) -> Iterator[Timed]:
    tokenizer = AutoTokenizer.from_pretrained(resolve_model("nano", "policy"))
    line = "We add 12 and 7. So we get 19.\n"
    text = line * (size // len(tokenizer(line, add_special_tokens=False)["input_ids"]))
    ids, ends = tokenizer(text, add_special_tokens=False)["input_ids"], step_ends(text, "sentence")

    def once() -> float:
        started = time.perf_counter()
        tokens_before(tokenizer, ids, ends)
        return time.perf_counter() - started

    yield once


@contextmanager
def sums_of(size: int) -> Iterator[Timed]:
    with tempfile.TemporaryDirectory() as folder:
        for part in range(4):
            Path(folder, f"part-{part}").write_bytes(bytes(size * 250_000))

        def once() -> float:
            started = time.perf_counter()
            complete_checkpoint(Path(folder), 1)
            return time.perf_counter() - started

        yield once


@contextmanager
def problems_of(size: int, *, anew: bool = True) -> Iterator[Timed]:
    with tempfile.TemporaryDirectory() as folder:
        datasets.config.HF_DATASETS_CACHE = Path(folder)
        datasets.disable_progress_bars()
        path = Path(folder) / "problems.jsonl"
        with path.open("w") as file:
            for number in range(size):
                record = {"question": f"What is {number} + 1? {FILLER}", "answer": str(number + 1)}
                file.write(json.dumps(record) + "\n")
        times, kept = iter(range(1, 1000)), list[Any]()

        def once() -> float:
            if anew:
                os.utime(path, (next(times),) * 2)  # a changed file is read again
            kept.clear()
            started = time.perf_counter()
            kept.append(training_problems(TrainSettings(dataset_name=str(path))))  # so that its memory is seen
            len(kept[0])
            return time.perf_counter() - started

        if not anew:
            once()
        yield once


CURVES: dict[str, tuple[Callable[[int], Any], tuple[int, ...], str]] = {
    "step": (step_of, (256, 1024, 4096, 16384), "rollouts"),
    "doubt": (doubt_of, (256, 1024, 4096, 16384), "rollouts"),
    "pad": (pad_of, (512, 2048, 8192), "tokens"),
    "workers": (workers_of, (1, 4, 16, 64), "processes"),
    "hangs": (hangs_of, (64, 256, 1024), "completions"),
    "problems": (problems_of, (10_000, 100_000, 1_000_000), "lines"),
    "mapped": (partial(problems_of, anew=False), (200_000, 1_000_000), "lines"),
    "credit": (credit_of, (512, 2048, 8192), "tokens"),
    "sums": (sums_of, (10, 100, 1000), "megabytes"),
}


def slope(points: Sequence[tuple[int, float]]) -> float:
    """The least-squares slope of log seconds over log size."""
    xs, ys = [math.log(size) for size, _ in points], [math.log(seconds) for _, seconds in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def own_megabytes() -> float:
    """The memory of this process that is not mapped from files."""
    pages = [int(word) for word in Path("/proc/self/statm").read_text().split()]
    return (pages[1] - pages[2]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curves", nargs="*", help=f"of {', '.join(CURVES)}; all if left out")
    parser.add_argument("--most", type=int, default=10**9, help="leave out larger sizes")
    parser.add_argument("--least", type=int, default=0, help="leave out smaller sizes")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    sys.stdout.write("| curve | size | seconds | slope so far | processor | MB |\n|---|---|---|---|---|---|\n")
    for name in arguments.curves or CURVES:
        make, sizes, unit = CURVES[name]
        points: list[tuple[int, float]] = []
        for size in (each for each in sizes if arguments.least <= each <= arguments.most):
            with make(size) as once:
                before, used = own_megabytes(), time.process_time()
                points.append((size, min(once() for _ in range(arguments.repeats))))
                grown, used = own_megabytes() - before, (time.process_time() - used) / arguments.repeats
            found = f"{slope(points):.2f}" if len(points) > 1 else ""
            sys.stdout.write(
                f"| {name} | {size:,} {unit} | {points[-1][1]:.3f} | {found} | {used:.1f} | {grown:.0f} |\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
