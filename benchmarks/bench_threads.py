"""How waiting threads cost time beside other work: OMP_WAIT_POLICY as it is, PASSIVE, and one thread.

    python benchmarks/bench_threads.py --busy 2                               # beside two busy processes
    python benchmarks/bench_threads.py --busy 0 --model models/smollm2-135m-instruct

Times a training step and the decoding of 32 rows of 24 tokens, medians of one process, turn by turn. `cooper` sets
PASSIVE unless the user sets something else.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

WAYS = {
    "2 threads, default": {"OMP_NUM_THREADS": "2"},
    "2 threads, PASSIVE": {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE"},
    "1 thread": {"OMP_NUM_THREADS": "1"},
}
BUSY = "import torch\na = torch.randn(512, 512)\nwhile True: a @ a"


def median(work: Callable[[], object], times: int) -> float:
    """Seconds of a call, the median after one that warms up."""
    work()
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def measure(model_name: str, rows: int) -> dict[str, float]:
    """Seconds of a training step on `rows` texts of 60 tokens, and of decoding, in this process."""
    import torch
    from transformers import AutoModelForCausalLM

    from cooper_rl.settings.files import resolve_model

    model = AutoModelForCausalLM.from_pretrained(resolve_model(model_name, "policy"), dtype=torch.float32)
    ids = torch.randint(5, 900, (rows, 60), generator=torch.Generator().manual_seed(0))

    def train() -> None:
        model(input_ids=ids, labels=ids).loss.backward()
        model.zero_grad()

    def decode() -> None:
        with torch.no_grad():
            model.generate(ids[:, :20].repeat(32 // rows, 1), max_new_tokens=24, min_new_tokens=24, do_sample=False)

    return {"train": median(train, 5), "decode": median(decode, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description="OMP_WAIT_POLICY beside other work.")
    parser.add_argument("--model", default="nano")
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--busy", type=int, default=0, help="processes that are busy meanwhile")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure(arguments.model, arguments.rows)))
        return
    busy = [
        subprocess.Popen([sys.executable, "-c", BUSY], env={**os.environ, "OMP_NUM_THREADS": "1"})
        for _ in range(arguments.busy)
    ]
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    try:
        for _ in range(arguments.turns):
            for way, settings in WAYS.items():
                command = [
                    sys.executable,
                    __file__,
                    "--child",
                    "--model",
                    arguments.model,
                    "--rows",
                    str(arguments.rows),
                ]
                done = subprocess.run(
                    command, env={**os.environ, **settings}, capture_output=True, text=True, check=True
                )
                found[way].append(json.loads(done.stdout.splitlines()[-1]))
    finally:
        for process in busy:
            process.kill()
    for way, turns in found.items():
        cells = [
            f"{name} {statistics.median(turn[name] for turn in turns):.3f} s"
            f" ({min(turn[name] for turn in turns):.3f} to {max(turn[name] for turn in turns):.3f})"
            for name in turns[0]
        ]
        print(f"{way:<20}", *cells, sep="  ")


if __name__ == "__main__":
    main()
