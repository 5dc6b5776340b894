"""Reward models that are adapters without their base: what they go on, and what they are not."""

import json
import logging
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import peft
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from cooper_rl.errors import BadInputError
from cooper_rl.settings.files import check_policy_folder, is_adapters, resolve_model
from cooper_rl.settings.train import TrainSettings
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.updater import RewardModelUpdater

TRIPLE = {"question": "1 + 1?", "reference": "2", "completion": "The answer is 2."}


@pytest.fixture
def base(tmp_path, monkeypatch):
    """A VerifyRM whose adapters are saved in `small`; what they go on is a hub's model that is in models/ here."""
    monkeypatch.chdir(tmp_path)
    found = VerifyRM.from_backbone(resolve_model("nano", "policy"))
    Path("models").mkdir()
    Path("models", "nano-policy").symlink_to(resolve_model("nano", "policy"))
    found.add_adapters(4, base="Somebody/Nano-Policy")
    for parameter in found.adapters.parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter, std=0.1)
    found.save_pretrained("small")
    return found


def test_adapters_are_a_reward_model_and_no_policy(base):
    columns = [[TRIPLE[key]] for key in ("question", "reference", "completion")]
    assert torch.allclose(VerifyRM.from_pretrained("small").score(*columns), base.score(*columns), atol=1e-5)
    with pytest.raises(BadInputError, match=r"model_name_or_path: small: adapters of a reward model; name a causal"):
        check_policy_folder("small", "model_name_or_path")


def test_a_new_head_is_no_finding(base):
    """transformers reports it as missing, and as in need of training; the adapters have it."""
    said = StringIO()
    transformers.logging.add_handler(handler := logging.StreamHandler(said))
    VerifyRM.from_pretrained("small")
    transformers.logging.remove_handler(handler)
    assert "score.weight" not in said.getvalue()


def test_a_backbone_without_all_of_its_weights_is_refused(tmp_path):
    shutil.copytree(resolve_model("nano", "policy"), tmp_path / "broken")
    weights = load_file(tmp_path / "broken" / "model.safetensors")
    weights.pop("model.layers.0.input_layernorm.weight")
    save_file(weights, tmp_path / "broken" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BadInputError, match="broken: its weights lack model"):
        VerifyRM.from_backbone(tmp_path / "broken")


def test_a_policy_s_adapters_are_no_reward_model(tmp_path):
    """As peft saves them, and in the folder where a VerifyRM has its own."""
    policy = AutoModelForCausalLM.from_pretrained(resolve_model("nano", "policy"))
    adapted = peft.get_peft_model(policy, peft.LoraConfig(task_type="CAUSAL_LM", target_modules="all-linear"))
    for folder in (tmp_path / "policy", tmp_path / "moved" / "adapters"):
        adapted.save_pretrained(folder)
    for name in ("policy", "moved"):
        with pytest.raises(BadInputError, match=f"{name}: adapters of the task CAUSAL_LM, and no VerifyRM"):
            VerifyRM.from_pretrained(tmp_path / name)
    (tmp_path / "policy" / "adapter_config.json").write_text("{")
    with pytest.raises(BadInputError, match="policy: cannot be loaded"):
        VerifyRM.from_pretrained(tmp_path / "policy")


@pytest.mark.slow
def test_without_a_hub_the_message_says_where_their_base_belongs(base):
    Path("models", "nano-policy").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "cooper_rl.cli", "score", "--model", "small"],
        input=json.dumps(TRIPLE),
        capture_output=True,
        text=True,
        env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(Path.cwd())},
    )
    assert done.returncode == 2 and not done.stdout
    message = done.stderr.splitlines()[-1]
    assert "small: the adapters' base: Somebody/Nano-Policy: not available from the hub (" in message
    assert message.endswith("; you can save it as models/nano-policy in the current folder")


def test_the_optimiser_beside_a_checkpoint_s_adapters_is_no_model(base):
    """As a run writes it: what its checkpoint holds loads and scores as in the run."""
    RewardModelUpdater(base, TrainSettings.from_recipe({"arm": "rule"}), 2).save(Path("checkpoint"))
    assert Path("checkpoint", "optimizer.safetensors").is_file() and is_adapters("checkpoint")
    columns = [[TRIPLE[key]] for key in ("question", "reference", "completion")]
    again = VerifyRM.from_pretrained("checkpoint")
    assert torch.allclose(again.score(*columns), base.score(*columns), atol=1e-5)


def test_a_policy_that_keeps_its_adapters_beside_its_weights_is_not_a_reward_model(base):
    """As scripts/short_start.py writes it; a reward model is trained on it as on any other."""
    assert is_adapters("small")
    Path("small", "model.safetensors").write_bytes(b"")
    assert not is_adapters("small")


def test_a_shipped_reward_model_has_a_name_in_python_too(base):
    named, by_path = (VerifyRM.from_pretrained(n) for n in ("nano", resolve_model("nano", "reward_model")))
    assert torch.equal(named.model.score.weight, by_path.model.score.weight)


def test_a_missing_run_is_not_taken_from_models(base):
    """`models/` is searched for a hub's names alone; `runs/nano-policy` is a path where there is a folder `runs`."""
    Path("runs").mkdir()
    assert resolve_model("runs/nano-policy", "policy") == "runs/nano-policy"
    assert resolve_model("somebody/nano-policy", "policy") == str(Path("models", "nano-policy"))
