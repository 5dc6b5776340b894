"""The reward models that are shipped as adapters: what they belong to, and what they go on."""

import hashlib
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForSequenceClassification

from cooper_rl.doctor import check_adapters
from cooper_rl.errors import BadInputError
from cooper_rl.settings.files import ADAPTED, check_policy_folder, resolve_model
from cooper_rl.settings.recipe import read_recipe

RECIPES = Path(__file__).parents[2] / "recipes"


def written(name):
    """peft's settings of shipped adapters."""
    return json.loads((ADAPTED[name] / "adapters" / "adapter_config.json").read_text())


@pytest.mark.parametrize("name", ADAPTED)
def test_adapters_belong_to_their_recipe(name):
    record = json.loads((ADAPTED[name] / "recipe.json").read_text())
    weights = ADAPTED[name] / "adapters" / "adapter_model.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == record["sha256"]
    assert sum(file.stat().st_size for file in ADAPTED[name].rglob("*") if file.is_file()) <= 12_000_000
    settings = read_recipe(RECIPES / f"{name}-verifyrm.yaml")
    settings.pop("output_dir")
    assert {key: record["recipe"][key] for key in settings} == settings
    base = settings.get("adapters_base") or settings["model_name_or_path"]
    assert written(name)["base_model_name_or_path"] == base


@pytest.mark.parametrize("name", ADAPTED)
def test_smollm2_adapters_fit_its_published_sizes(name):
    config = LlamaConfig(
        vocab_size=49_152,
        hidden_size=576,
        intermediate_size=1_536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        num_labels=1,
    )
    with torch.device("meta"):
        model = LlamaForSequenceClassification(config)
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    stored = load_file(ADAPTED[name] / "adapters" / "adapter_model.safetensors")
    rank, layers = written(name)["r"], {key.partition(".lora_")[0] for key in stored if ".lora_" in key}
    for layer in layers:
        outputs, inputs = shapes[layer.removeprefix("base_model.model.") + ".weight"]
        assert stored[f"{layer}.lora_A.weight"].shape == (rank, inputs)
        assert stored[f"{layer}.lora_B.weight"].shape == (outputs, rank)
    assert len(layers) == 30 * 7 and stored["base_model.model.score.weight"].shape == (1, 576)


@pytest.mark.parametrize("name", ADAPTED)
def test_its_name_is_a_reward_model_and_no_policy(name):
    assert resolve_model(name, "reward_model") == str(ADAPTED[name])
    with pytest.raises(BadInputError, match=f"model_name_or_path: .*{name}: adapters of a reward model; name a causal"):
        check_policy_folder(resolve_model(name, "policy"), "model_name_or_path")


def test_the_doctor_says_where_the_base_comes_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finding, *_ = check_adapters()
    assert finding.state == "ok" and "SmolLM2-135M-Instruct, from the hub" in finding.detail
    Path("models", "smollm2-135m-instruct").mkdir(parents=True)
    finding, *_ = check_adapters()
    assert finding.detail.endswith("on models/smollm2-135m-instruct")
