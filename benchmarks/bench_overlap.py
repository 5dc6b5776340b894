"""How much of a slow assistant's time is hidden behind the policy's update.

    python benchmarks/bench_overlap.py

A real HTTP server answers each request after `latency` seconds, all requests at once, and costs no computing, as an
assistant on another machine. In turn, in this process: steps with a server that answers at once, with a slow one, and
with a slow one that is asked only when its answers are needed. Hidden is the share of the latency that no step waits
for. With `negative_tries: 1` a step asks once.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from bench_step import settings, step_seconds

from cooper_rl.domains import load_problems
from cooper_rl.engines.config import CooperConfig
from cooper_rl.engines.trl.cooper_trainer import CooperTrainer
from cooper_rl.engines.trl.rows import training_rows
from cooper_rl.generation import OpenAIServer
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.verifyrm import VerifyRM

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from http_server import Server, said

RECIPE = Path(__file__).parents[1] / "recipes" / "experiments" / "arithmetic.yaml"


def config_of(steps: int, folder: str) -> CooperConfig:
    """Arithmetic alone, with the assistant's negatives alone."""
    own = {"negative_sources": {"assistant": 1}, "negative_tries": 1, "rehearsal_per_step": 0, "guard_steps": 0}
    return CooperConfig(**{**settings(load_recipe(RECIPE), steps, folder), **own})


def median_step(server: Server, steps: int, rows: Any, *, overlap: bool) -> float:
    """The median step of a cooper run whose negatives are the server's."""
    with tempfile.TemporaryDirectory() as folder:
        config = config_of(steps, folder)
        reward_model = VerifyRM.from_pretrained("nano")
        assistant = OpenAIServer(server.url, "wrong", concurrency=64)
        trainer = CooperTrainer(resolve_model("nano", "policy"), reward_model, config, rows, assistant=assistant)
        if not overlap:
            trainer.cooper.pairs.sources["assistant"].thread = None
        with trainer.verifier:
            return statistics.median(step_seconds(trainer))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    rows = training_rows(load_problems("nano", size=1000))
    latency = [0.0]

    def answer(body: Any, count: int) -> tuple[int, Any]:
        time.sleep(latency[0])
        return 200, said("The answer is 987654321.")

    server = Server(answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hidden = []
    for turn in range(arguments.turns):
        latency[0] = 0.0
        at_once = median_step(server, arguments.steps, rows, overlap=True)
        latency[0] = arguments.latency
        slow = median_step(server, arguments.steps, rows, overlap=True)
        waited = median_step(server, arguments.steps, rows, overlap=False)
        hidden.append(1 - (slow - at_once) / arguments.latency)
        print(
            f"turn {turn}: at once {at_once:.3f} s a step, after {arguments.latency} s {slow:.3f} s, asked at the end"
            f" {waited:.3f} s; hidden {hidden[-1]:.0%}"
        )
    spread = f"{min(hidden):.0%} to {max(hidden):.0%}"
    print(f"hidden of the assistant's {arguments.latency} s: median {statistics.median(hidden):.0%}, {spread}")
    server.shutdown()


if __name__ == "__main__":
    main()
