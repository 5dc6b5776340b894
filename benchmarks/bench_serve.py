"""The reward-model server against the same method in one process: the same figures, and what the way by HTTP costs.

    python benchmarks/bench_serve.py parity --folder runs/serve      # in process, through the server, killed 20 times
    python benchmarks/bench_serve.py load --folder runs/serve        # 200 clients at once, 20,000 samples
    python benchmarks/bench_serve.py single --folder runs/serve      # calls with one sample, turn by turn
    python benchmarks/bench_serve.py overhead --folder runs/serve    # step times, turn by turn

`parity` trains the quickstart three times with seed 0 and the same trainer of the policy. What is finished is not run
again. Each command adds its figures to docs/data/serve.json if `--write` is given.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import torch
from safetensors.torch import load_file
from transformers import TrainerCallback

from cooper_rl.jsonl import write_atomically
from cooper_rl.method.journal import read_metrics
from cooper_rl.settings.recipe import load_recipe

ROOT = Path(__file__).parents[1]
RECIPE = str(ROOT / "recipes" / "quickstart.yaml")
CLOCK = ("time", "runtime", "per_second", "memory", "epoch", "num_tokens")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
FURTHER = json.loads(os.environ.get("COOPER_BENCH_SETTINGS", "{}"))  # of the recipe, to try it on a smaller run
KILLS = 20
# `load` and `single`: a server that scores under the given reference alone, as the process that it is compared with
SCORING = {"arm": "static", "learn": "asked", "gather_samples": 2048, "counterfactual_references": 0}
HEAD = "POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
PLACES = ("server", "in_process")
CLIENTS, SAMPLES, PER_CALL = 200, 20_000, 8


def words(folder: Path, steps: int, **settings: Any) -> list[str]:
    """The quickstart's co-training arm with seed 0, as command-line words."""
    own = {"arm": "cooper", "seed": 0, "max_steps": steps, "save_steps": 20, "heldout_steps": 0}
    values = {**own, **FURTHER, "output_dir": folder, **settings}
    return ["--config", RECIPE, *(word for key, value in values.items() for word in (f"--{key}", str(value)))]


def cli(command: str, *rest: str) -> list[str]:
    """A command of cooper."""
    return [sys.executable, "-m", "cooper_rl.cli", command, *rest]


class Server:
    """`cooper serve` on one port, in one life after another."""

    def __init__(self, folder: Path, steps: int, **settings: Any) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.words = folder, words(folder, steps, port=self.port, **settings)
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts it, or starts it again, and waits until it answers."""
        log = self.folder.with_name(f"{self.folder.name}.log").open("ab")
        command = cli("serve", *self.words, "--resume")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=ENVIRONMENT, text=True)
        assert self.process.stdout and self.process.stdout.readline().startswith("http"), f"see {log.name}"

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """SIGTERM, which writes a checkpoint."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def peak_megabytes(self) -> float:
        """The most memory that it has had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1000


def killer(server: Server, steps: int, kills: int, told: list[str], done: threading.Event) -> None:
    """Kills the server at random moments: within a second after each of `kills` random steps.

    Args:
        told: the steps after which it was killed, in this and in an earlier life of the benchmark.
    """
    rng = random.Random(0)
    for step in sorted(rng.sample(range(1, steps), kills))[len(told) :]:
        while max((row["step"] for row in read_metrics(server.folder)), default=0) < step:
            if done.wait(0.1):
                return
        time.sleep(rng.uniform(0, 1))
        server.kill()
        told.append(f"step {step}")
        write_atomically(server.folder.parent / "kills.json", json.dumps(told))
        server.start()


class StepTimes(TrainerCallback):
    """When each step began, and when the last one ended."""

    def __init__(self, file: Path) -> None:
        self.file, self.begins = file, list[float]()

    @classmethod
    def of(cls, trainer: Any, folder: Path) -> StepTimes:
        """Watches a trainer; the times go into its folder."""
        times = cls(folder / "steps.json")
        trainer.add_callback(times)
        return times

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.begins.append(time.perf_counter())

    def write(self) -> None:
        """Writes the seconds from each step's begin to the next one's."""
        pairs = zip(self.begins, self.begins[1:], strict=False)
        write_atomically(self.file, json.dumps([after - before for before, after in pairs]))


def client_run(folder: Path, steps: int, url: str, **settings: Any) -> None:
    """Trains the policy with rewards from the server, in this process; writes metrics.jsonl and the policy."""
    from cooper_rl.engines.loading import load_parts, settings_of
    from cooper_rl.engines.trl.rows import training_rows
    from cooper_rl.fast.lean import LeanGRPOTrainer
    from cooper_rl.verifiers import RuleVerifier

    recipe = load_recipe(RECIPE, words(folder, steps, **settings)[2:])
    named, config = settings_of(recipe)
    parts = load_parts(named, config)
    config.model_init_kwargs = {"dtype": "float32"}
    rows = training_rows(parts.problems, named.system_prompt)
    size = config.num_generations

    async def cooper(prompts: Any, completions: Any, question: Any, reference_answer: Any, **rest: Any) -> list[float]:
        samples = [
            {
                **{"id": str(i), "group": str(i // size), "question": question[i]},
                **{"reference_answer": reference_answer[i], "completion": completions[i][-1]["content"]},
                "problem_id": rest["problem_id"][i],
            }
            for i in range(len(completions))
        ]
        call = {"batch": f"step {rest['trainer_state'].global_step + 1}", "last": True, "samples": samples}
        async with httpx.AsyncClient(timeout=600) as client:
            while True:
                try:
                    return (await client.post(f"{url}/score", json=call)).raise_for_status().json()["rewards"]
                except httpx.HTTPError:
                    await asyncio.sleep(0.1)  # it is being started again

    trainer = LeanGRPOTrainer(model=parts.policy, reward_funcs=[cooper], args=config, train_dataset=rows)
    times = StepTimes.of(trainer, folder)
    log, file = trainer.log, folder / "metrics.jsonl"

    def logged(logs: dict[str, Any], *rest: Any) -> None:
        with file.open("a") as lines:
            lines.write(json.dumps({"step": trainer.state.global_step, **logs}) + "\n")
        log(logs, *rest)

    trainer.log = logged
    last = max(folder.glob("checkpoint-*/trainer_state.json"), key=lambda path: path.stat().st_mtime, default=None)
    trainer.train(resume_from_checkpoint=str(last.parent) if last else None)
    times.write()
    assert parts.heldout
    with RuleVerifier(config.verifier) as verifier:
        held = parts.heldout.measure(trainer.model, trainer.processing_class, None, verifier)
    trainer.model.save_pretrained(folder / "policy")
    write_atomically(folder / "finished.json", json.dumps(held))


def alone(folder: Path, steps: int) -> None:
    """Trains as `cooper train` does, in this process, and notes the steps' times."""
    from cooper_rl.engines.loading import environment, resolve_recipe, settings_of
    from cooper_rl.engines.trl.cooper_trainer import build_trainer

    recipe = load_recipe(RECIPE, words(folder, steps)[2:])
    named, config = settings_of(recipe)
    trainer = build_trainer(named, config)
    trainer.cooper.journal.begin(resolve_recipe(recipe, config, config.max_steps), environment(config.seed), -1)
    times = StepTimes.of(trainer, folder)
    with trainer.verifier:
        trainer.train()
    times.write()


def served(folder: Path, steps: int, kills: int) -> None:
    """One run through the server. A run that was cut off goes on from the client's last checkpoint.

    The server then gets batches again that it has answered before.
    """
    if (folder / "client" / "finished.json").is_file():
        return
    (folder / "client").mkdir(parents=True, exist_ok=True)
    kept = folder / "kills.json"
    told: list[str] = json.loads(kept.read_text()) if kept.is_file() else []
    server, done = Server(folder / "server", steps), threading.Event()
    killing = threading.Thread(target=killer, args=(server, steps, kills, told, done))
    killing.start()
    client = [sys.executable, __file__, "client", "--folder", str(folder / "client"), "--steps", str(steps)]
    with (folder / "client.log").open("ab") as log:
        code = subprocess.run([*client, "--url", server.url], env=ENVIRONMENT, stdout=log, stderr=log).returncode
    done.set()
    killing.join()
    last = httpx.post(f"{server.url}/learn", json={"batch": f"step {steps}"}, timeout=600).json()
    server.stop()
    if code or last.get("step") != steps:
        sys.exit(f"{folder}: the run failed ({code}, {last}); see client.log and server.log")


def same_tensors(ours: Path, theirs: Path) -> bool:
    """Whether two files hold the same tensors, to the last bit; a tied copy of one may be missing."""
    found, expected = load_file(ours), load_file(theirs)
    return all(torch.equal(found[key], expected[key]) for key in found.keys() & expected.keys()) and bool(found)


def compared(run: Path, straight: Path, steps: int) -> dict[str, Any]:
    """What of a run through the server is the run in one process, to the last digit."""
    ours = {row["step"]: row for row in read_metrics(run / "server")}
    clients = {row["step"]: row for row in read_metrics(run / "client") if "grad_norm" in row}
    theirs = {row["step"]: row for row in read_metrics(straight)}
    compared, differing = 0, set()
    for step in range(1, steps + 1):
        for name, value in theirs[step].items():
            if any(word in name for word in CLOCK) or name.startswith(("eval/", "policy/", "memory/")):
                continue
            found = [rows[step][name] for rows in (ours, clients) if name in rows[step]]
            compared += len(found)
            if any(each != value and not (each != each and value is None) for each in found) and name != "step":
                differing.add(name)
    files = {
        kind: all(
            path.read_text() == (straight / kind / path.name).read_text() for path in (run / "server" / kind).iterdir()
        )
        for kind in ("rollouts", "pairs")
    }
    end = f"checkpoint-{steps}"
    return {
        "kills": len(json.loads((run / "kills.json").read_text())) if (run / "kills.json").is_file() else 0,
        "figures_compared": compared,
        "figures_that_differ": sorted(differing),
        "rollouts_equal": files["rollouts"],
        "pairs_equal": files["pairs"],
        "reward_model_equal": same_tensors(
            run / "server" / end / "reward_model" / "model.safetensors",
            straight / end / "reward_model" / "model.safetensors",
        ),
        "policy_equal": same_tensors(
            run / "client" / "policy" / "model.safetensors", straight / end / "model.safetensors"
        ),
        "true_accuracy": json.loads((run / "client" / "finished.json").read_text())["eval/true_accuracy"],
        "reward_model_versions": ours[steps]["serve/version"],
        "staleness_max": max(ours[step]["serve/staleness"] for step in range(1, steps + 1)),
    }


def parity(folder: Path, steps: int, kills: int) -> dict[str, Any]:
    """The three runs, and what is equal."""
    straight = folder / "in-process"
    if not (straight / "finished.json").is_file():
        command = cli("train", *words(straight, steps), *(["--resume"] if straight.exists() else []))
        with (folder / "in-process.log").open("ab") as log:
            subprocess.run(command, env=ENVIRONMENT, stdout=log, stderr=log, check=True)
    served(folder / "served", steps, 0)
    served(folder / "killed", steps, kills)
    last = read_metrics(straight)[-1]
    return {
        "steps": steps,
        "in_process": {"true_accuracy": last["eval/true_accuracy"]},
        "served": compared(folder / "served", straight, steps),
        "killed": compared(folder / "killed", straight, steps),
    }


def load_samples(count: int) -> list[dict[str, str]]:
    """Samples of many problems, eight completions each."""
    from cooper_rl.domains import load_problems

    rng, found = random.Random(0), []
    for problem in load_problems("nano-weekdays", size=count // 8):
        for k in range(8):
            said = f"{rng.randint(1, 99)} + {rng.randint(1, 99)} = {rng.randint(1, 99)}. " * rng.randint(0, 3)
            answer = problem.reference_answer if k % 2 else str(rng.randint(1, 99))
            sample = {"question": problem.question, "reference_answer": problem.reference_answer}
            found.append({"id": str(len(found)), **sample, "completion": f"{said}The answer is {answer}."})
    return found


async def ask_all(port: int, calls: list[list[dict[str, str]]], clients: int) -> list[float]:
    """Sends the calls from so many clients at once; gives the rewards in the samples' order.

    The clients share the server's cores, so they speak bare HTTP: a call by httpx costs as much as the server's part.
    """
    waiting = iter(enumerate(calls))
    answers: dict[int, list[float]] = {}

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for place, call in waiting:
            body = json.dumps({"samples": call, "gather": "load"}).encode()
            head = f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode()
            while place not in answers:
                writer.write(head + body)
                told = await reader.readuntil(b"\r\n\r\n")
                length = next(line for line in told.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                answer = await reader.readexactly(int(length.split(b":")[1]))
                status = int(told.split()[1])
                if status == 200:
                    answers[place] = json.loads(answer)["rewards"]
                elif status in (429, 503):
                    await asyncio.sleep(0.5)
                else:
                    raise RuntimeError(f"{status}: {answer.decode()}")
        writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return [reward for place in range(len(calls)) for reward in answers[place]]


def load(folder: Path, samples: int, verifier: str, turns: int) -> dict[str, Any]:
    """Many clients at once against one process, turn by turn on the same samples.

    The process scores, and does so again while it also judges by rule, as the server does.
    """
    found = [load_turn(folder, samples, verifier) for _ in range(turns)]
    ratios, judged = ([each[name] for each in found] for name in ("ratio", "ratio_judged"))
    middle = found[ratios.index(statistics.median_low(ratios))]
    return {**middle, "turns": turns, "ratios": ratios, "ratios_judged": judged}


def load_turn(folder: Path, samples: int, verifier: str) -> dict[str, Any]:
    """One turn: the server, then the same samples in this process."""
    from cooper_rl.records import Triple
    from cooper_rl.verifiers import RuleVerifier
    from cooper_rl.verifyrm import VerifyRM

    bodies = load_samples(samples)
    calls = [bodies[start : start + PER_CALL] for start in range(0, len(bodies), PER_CALL)]
    subprocess.run(["rm", "-rf", str(folder / "load")], check=True)
    folder.mkdir(parents=True, exist_ok=True)
    server = Server(folder / "load", 1, verifier=verifier, **SCORING)
    model = VerifyRM.from_pretrained("nano-weekdays")
    triples = [Triple(b["question"], b["reference_answer"], b["completion"]) for b in bodies]
    parts = [triples[start : start + 1024] for start in range(0, len(triples), 1024)]
    before = server.peak_megabytes()
    started = time.perf_counter()
    rewards = asyncio.run(ask_all(server.port, calls, CLIENTS))
    through = time.perf_counter() - started
    started = time.perf_counter()
    scores = [score for part in parts for score in model.score_records(part).tolist()]
    alone = time.perf_counter() - started
    with RuleVerifier(verifier, workers=1) as rule:  # as many as the server has
        rule.verify("1", "1")
        started = time.perf_counter()
        for part in parts:
            verdicts = rule.begin_many([t.reference_answer for t in part], [t.completion for t in part])
            model.score_records(part).tolist()
            verdicts()
        judged = time.perf_counter() - started
    right = sum(abs(r - float(s > 0.5)) < 1e-6 for r, s in zip(rewards, scores, strict=True))
    peak = server.peak_megabytes()
    server.stop()
    recorded = sqlite3.connect(folder / "load" / "served.sqlite3").execute("SELECT COUNT(*) FROM samples").fetchone()[0]
    return {
        **{"clients": CLIENTS, "samples": len(bodies), "samples_per_call": PER_CALL, "verifier": verifier},
        **{"answered": len(rewards), "recorded": recorded, "rewards_equal": right},
        "samples_per_second": {
            name: len(bodies) / seconds
            for name, seconds in (("server", through), ("in_process", alone), ("in_process_judged", judged))
        },
        "ratio": alone / through,
        "ratio_judged": judged / through,
        "memory_megabytes": {"before": before, "peak": peak},
    }


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has had, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def single(folder: Path, turns: int, verifier: str, calls: int = 100) -> dict[str, Any]:
    """Calls with one sample each from one client, and the same samples in this process, block after block.

    Times of the clock and, since other work may run beside, the processor's of the two processes that score.
    """
    from cooper_rl.records import Triple
    from cooper_rl.verifyrm import VerifyRM

    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["rm", "-rf", str(folder / "single")], check=True)
    server = Server(folder / "single", 1, verifier=verifier, **SCORING)
    model, bodies = VerifyRM.from_pretrained("nano-weekdays"), load_samples(calls * (turns + 1))
    times: dict[str, list[float]] = {f"{what} {where}": [] for what in ("ms", "cpu_ms") for where in PLACES}
    for turn in range(turns + 1):  # the first one warms up
        block = bodies[turn * calls : (turn + 1) * calls]
        clock, cpu = time.perf_counter(), cpu_seconds(server.process.pid)
        asyncio.run(ask_all(server.port, [[body] for body in block], 1))
        found = [time.perf_counter() - clock, cpu_seconds(server.process.pid) - cpu]
        clock, cpu = time.perf_counter(), cpu_seconds(os.getpid())
        for body in block:
            model.score_records([Triple(body["question"], body["reference_answer"], body["completion"])]).tolist()
        found += [time.perf_counter() - clock, cpu_seconds(os.getpid()) - cpu]
        for name, seconds in zip(
            ("ms server", "cpu_ms server", "ms in_process", "cpu_ms in_process"), found, strict=True
        ):
            times[name] += [1000 * seconds / calls] * (turn > 0)
    server.stop()
    ratios = {
        what: sorted(b / a for a, b in zip(*(times[f"{what} {where}"] for where in PLACES), strict=True))
        for what in ("ms", "cpu_ms")
    }
    return {"turns": turns, "calls": calls, "verifier": verifier, "per_call": times, "ratios": ratios}


def overhead(folder: Path, steps: int, turns: int) -> dict[str, Any]:
    """Step times in one process and through the server, turn by turn."""
    ratios = []
    seconds: dict[str, list[float]] = {"in_process": [], "server": []}
    for turn in range(turns):
        here = folder / f"overhead-{turn}"
        subprocess.run(["rm", "-rf", str(here)], check=True)
        here.mkdir(parents=True)
        command = [sys.executable, __file__, "alone", "--folder", str(here / "alone"), "--steps", str(steps)]
        with (here / "log").open("ab") as log:
            subprocess.run(command, env=ENVIRONMENT, stdout=log, stderr=log, check=True)
        served(here / "through", steps, 0)
        files = {"in_process": here / "alone" / "steps.json", "server": here / "through" / "client" / "steps.json"}
        for name, file in files.items():
            seconds[name].append(statistics.median(json.loads(file.read_text())[1:]))  # the first step warms up
        ratios.append(seconds["server"][-1] / seconds["in_process"][-1])
    return {
        "turns": turns,
        "steps": steps,
        "step_seconds": seconds,
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["parity", "load", "single", "overhead", "client", "alone", "served"])
    parser.add_argument("--folder", type=Path, help="for the runs; by default a new temporary one, which is kept")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--verifier", default="math")
    parser.add_argument("--url", default="")
    parser.add_argument("--write", action="store_true", help="add the figures to docs/data/serve.json")
    a = parser.parse_args()
    a.folder = a.folder or Path(tempfile.mkdtemp(prefix="bench-serve-"))
    if a.what == "client":
        client_run(a.folder, a.steps, a.url)
        return
    if a.what == "alone":
        alone(a.folder, a.steps)
        return
    if a.what == "served":
        served(a.folder, a.steps, a.kills)
        return
    runs = {
        "parity": lambda: parity(a.folder, a.steps, a.kills),
        "load": lambda: load(a.folder, a.samples, a.verifier, a.turns),
        "single": lambda: single(a.folder, a.turns, a.verifier),
        "overhead": lambda: overhead(a.folder, a.steps, a.turns),
    }
    a.folder.mkdir(parents=True, exist_ok=True)
    found = {
        **runs[a.what](),
        "settings": FURTHER,
        "hardware": f"{os.cpu_count()} CPU cores, {platform.machine()}, 1 thread a process",
    }
    print(json.dumps(found, indent=1))
    if a.write:
        path = ROOT / "docs" / "data" / "serve.json"
        data = json.loads(path.read_text()) if path.is_file() else {}
        write_atomically(path, json.dumps({**data, a.what: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
