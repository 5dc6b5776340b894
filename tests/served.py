"""A real `cooper serve` in a process of its own, on the nano models, and batches to send it."""

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx

from cooper_rl.records import Sample

ROOT = Path(__file__).parents[1]
SETTINGS = {
    "save_steps": 2,
    "max_steps": 100,
    "per_device_train_batch_size": 8,
    "num_generations": 4,
    "heldout_steps": 0,
    "heldout_triples_size": 10,
    "anchor_triples_size": 20,
    "guard_probes": 1,
    "guard_sample": 8,
    "guard_steps": 3,
    "reward_model_warmup_steps": 1,
    "rehearsal_per_step": 8,
    "replay_per_step": 4,
    "counterfactual_references": 1,
}


def words(folder, **settings):
    values = {**SETTINGS, "output_dir": folder, **settings}
    return [word for key, value in values.items() for word in (f"--{key}", str(value))]


class Served:
    """Starts the server and waits until it says its address."""

    def __init__(self, folder, *extra, environment=None, **settings):
        python = os.environ.get(
            "COOPER_SERVER_PYTHON", sys.executable
        )  # where the tests run in a trainer's environment
        command = [python, "-m", "cooper_rl.cli", "serve", "--config", str(ROOT / "recipes/quickstart.yaml")]
        self.process = subprocess.Popen(
            [*command, *words(folder, port=settings.pop("port", 0), **settings), *extra],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        )
        line = self.process.stdout.readline()
        assert line.startswith("http://"), self.process.communicate(timeout=60)[1][-2000:]
        self.errors = []
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()
        self.url = line.split()[0]
        self.client = httpx.Client(base_url=self.url, timeout=250, headers={"Connection": "close"})

    def score(self, samples, **call):
        return self.client.post("/score", json={"samples": samples, **call})

    def learn(self, batch):
        return self.client.post("/learn", json={"batch": batch})

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def texts(number, groups=4, size=4):
    """(group, question, reference answer, completion) of a batch: right and wrong ones of each problem."""
    rng = random.Random(number)
    found = []
    for group in range(groups):
        a, b = rng.randint(1, 50), rng.randint(1, 50)
        offsets = [0, *(rng.choice([0, 0, 1, 2, 10]) for _ in range(size - 1))]
        for offset in offsets:
            said = f"{a} + {b} = {a + b + offset}. The answer is {a + b + offset}."
            found.append((group, f"What is {a} + {b}?", str(a + b), said))
    return found


def bodies(number, **shape):
    """The batch as the server gets it."""
    return [
        {"id": str(i), "group": f"g{group}", "question": question, "reference_answer": answer, "completion": said}
        for i, (group, question, answer, said) in enumerate(texts(number, **shape))
    ]


def samples(number, **shape):
    """The batch as an engine passes it to the method."""
    return [Sample(question, answer, said) for _, question, answer, said in texts(number, **shape)]
