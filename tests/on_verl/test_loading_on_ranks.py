"""Loading on two real ranks below FSDP's efficient loading, with a transformers before 5.23, as verl's."""

import os
import subprocess
import sys

import pytest
import transformers

pytestmark = [pytest.mark.verl, pytest.mark.slow]

LOADED = """
import sys
import torch.distributed as dist
from transformers import AutoModelForCausalLM
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.settings.files import resolve_model
from cooper_rl.verifyrm import VerifyRM
dist.init_process_group("gloo")
def total(model):
    return sum(float(each.detach().double().abs().sum()) for each in model.parameters())
policy, rank = resolve_model("nano", "policy"), dist.get_rank()
sys.stdout.write(f"bare {rank} {total(AutoModelForCausalLM.from_pretrained(policy)):.6f}\\n")
sys.stdout.write(f"assistant {rank} {total(TransformersGenerator.from_pretrained(policy).model):.6f}\\n")
for name, path in (("reward model", "nano"), ("backbone", policy)):
    load = VerifyRM.from_backbone if name == "backbone" else VerifyRM.from_pretrained
    sys.stdout.write(f"{name} {rank} {total(load(path).model):.6f}\\n")
dist.destroy_process_group()
"""


@pytest.mark.skipif(
    tuple(map(int, transformers.__version__.split(".")[:2])) >= (5, 23), reason="this transformers loads whole"
)
def test_models_beside_the_policy_are_whole_on_every_rank(tmp_path):
    """A bare load shows that the fault is there: without weights on the second rank."""
    script = tmp_path / "script.py"
    script.write_text(LOADED)
    switches = {"ACCELERATE_USE_FSDP": "true", "FSDP_CPU_RAM_EFFICIENT_LOADING": "true", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", str(script)]
    done = subprocess.run(command, env={**os.environ, **switches}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert float(found["bare 0"]) > 0 == float(found["bare 1"])
    for name in ("assistant", "reward model", "backbone"):
        assert found[f"{name} 0"] == found[f"{name} 1"] and float(found[f"{name} 0"]) > 0
