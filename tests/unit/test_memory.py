"""The estimate of a run's memory: by hand for its parts, and what of them is there at the same time."""

import inspect
import json
import re
from pathlib import Path

import pytest
import torch
from trl.kernels import chunked_logprob
from trl.trainer import utils as trl_utils

from cooper_rl.doctor.memory import (
    BUCKETS,
    GIB,
    TILE_TOKENS,
    TILE_WORDS,
    VLLM,
    VLLM_ASLEEP,
    Shape,
    estimate,
    estimate_on_verl,
    peaks,
    shape_of,
    total,
)
from cooper_rl.errors import BadInputError
from cooper_rl.settings.files import EMBEDDED
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.settings.train import TrainSettings

QUICKSTART = load_recipe("recipes/quickstart.yaml")


def parts_of(**settings):
    return estimate(TrainSettings.from_recipe({**QUICKSTART, **settings}), runtime_bytes=0)


def test_the_shape_of_the_shipped_policy():
    shape = shape_of(str(EMBEDDED["nano-weekdays"]["policy"]))
    assert (shape.layers, shape.hidden, shape.kv_width) == (4, 128, 128)
    weights = (EMBEDDED["nano-weekdays"]["policy"] / "model.safetensors").stat().st_size / 4
    assert shape.parameters == pytest.approx(weights, rel=0.01)  # float32, tied embeddings counted once
    assert isinstance(shape, Shape)
    with pytest.raises(BadInputError, match="the model configuration cannot be read"):
        shape_of("/nowhere/at/all")


def test_parts_by_hand():
    shape = shape_of(str(EMBEDDED["nano-weekdays"]["policy"]))
    parts = parts_of()
    assert parts["policy weights"] * GIB == 4 * shape.parameters
    assert parts["policy gradients and optimiser"] == 3 * parts["policy weights"] == 3 * parts["reference policy"]
    assert parts["guard's copy (in main memory)"] == parts["reward model gradients and optimiser"]
    assert parts_of(beta=0)["reference policy"] == 0
    assert "reward model weights" not in parts_of(arm="rule")
    assert "reward model gradients and optimiser" not in parts_of(arm="static")
    assert parts_of(lora_rank=4)["policy gradients and optimiser"] < parts["policy gradients and optimiser"] / 5
    activations = "reward model activations"
    in_passes = {"reward_model_pairs_per_pass": 8, "rehearsal_per_step": 0, "replay_per_step": 0}
    assert parts_of(**in_passes)[activations] < parts[activations] / 3
    reward = shape_of(str(EMBEDDED["nano-weekdays"]["reward_model"]))
    assert parts_of(bf16=True)[activations] == pytest.approx(parts[activations] + 2 * reward.parameters / GIB)
    assert parts_of(bf16=True)["key-value cache"] == pytest.approx(parts["key-value cache"] * 3 / 4)
    again = parts_of(reward_model_gradient_checkpointing=True)
    assert again[activations] == pytest.approx(parts[activations] * (4 + 20) / (4 * 20))  # four layers
    few = parts_of(reward_model_tokens_per_pass=300)
    assert few[activations] < parts[activations] and few[activations] * GIB >= 300 * 4 * 128 * 80
    assert parts["start copy (in main memory)"] == parts["reward model weights"]
    assert "start copy (in main memory)" not in parts_of(negative_sources={"perturb": 1}, replay_per_step=0)
    asked = {"negative_sources": {"assistant": 1}}
    assert "assistant weights" not in parts_of(**asked)  # the reference policy is it
    assert parts_of(**asked, beta=0)["assistant weights"] == parts["policy weights"]
    assert parts_of(**asked, assistant_model="nano-weekdays")["assistant weights"] == parts["policy weights"]
    assert "assistant weights" not in parts_of(**asked, assistant_model="m", assistant_base_url="http://h/v1")
    assert "assistant weights" not in parts_of(assistant_model="nano-weekdays")  # nobody asks it
    double = parts_of(per_device_train_batch_size=128)
    assert double["policy activations"] == 2 * parts["policy activations"]
    assert double["key-value cache"] == 2 * parts["key-value cache"]


@pytest.mark.parametrize(
    ("rows", "given", "width", "head"),
    [(128, {}, 4, 1), (128, {"bf16": True}, 2, 1), (128, {"lora_rank": 4}, 4, 0), (16, {}, 4, 1)],
)
def test_on_cuda_trl_makes_a_tile_of_the_logits(monkeypatch, rows, given, width, head):
    """By hand, with the tile of the TRL that is installed; a CPU and plain torch are counted with all logits."""
    assert (TILE_TOKENS, TILE_WORDS) == (chunked_logprob.TOKEN_CHUNK_SIZE, trl_utils._CHUNKED_LOGPROB_CHUNK_SIZE)
    given, tokens = {"per_device_train_batch_size": rows, **given}, rows * QUICKSTART["max_completion_length"]
    vocabulary = shape_of(str(EMBEDDED["nano-weekdays"]["policy"])).vocabulary
    whole = parts_of(**given)["policy activations"]
    monkeypatch.setattr("cooper_rl.doctor.memory.available", lambda: ("a device", 80.0))
    tile = min(tokens, 4096) * 32_768 * width
    freed = 3 * tokens * vocabulary * 4 - tile - 2 * tokens * 128 * 4 - head * vocabulary * 128 * 4
    assert parts_of(**given)["policy activations"] * GIB == pytest.approx(whole * GIB - freed)
    settings = TrainSettings.from_recipe({**QUICKSTART, **given})
    assert estimate(settings, runtime_bytes=0, engine="plain")["policy activations"] == whole


def test_ddp_has_a_copy_of_the_gradients(monkeypatch):
    assert BUCKETS not in parts_of()
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert parts_of()[BUCKETS] == parts_of()["policy weights"]
    assert parts_of(lora_rank=4)[BUCKETS] == parts_of(lora_rank=4)["policy gradients and optimiser"] / 3
    assert BUCKETS not in parts_of(fsdp="full_shard")
    on_verl = TrainSettings.from_recipe({**QUICKSTART, "verl": {"trainer.n_gpus_per_node": 2}})
    assert BUCKETS not in estimate_on_verl(on_verl, 10.0)
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    assert BUCKETS not in parts_of()


def test_the_estimate_follows_the_resolved_settings(monkeypatch):
    """It reads what a run would: the arm's pair, and defaults where they are written."""
    parts = parts_of(reward="hybrid", cotrain=True)
    assert parts == parts_of(arm="cooper") == parts_of(arm="hybrid+cotrain")
    assert parts_of(cotrain=False) == parts_of(arm="static") == parts_of(arm="hybrid")
    assert "guard's copy (in main memory)" not in parts_of(guard_steps=0)
    short = {key: value for key, value in QUICKSTART.items() if key != "per_device_train_batch_size"}
    before = estimate(TrainSettings.from_recipe(short), runtime_bytes=0)
    defaults = [*TrainSettings.__init__.__defaults__]
    defaults[[*inspect.signature(TrainSettings).parameters].index("per_device_train_batch_size")] = 32  # was 16
    monkeypatch.setattr(TrainSettings.__init__, "__defaults__", tuple(defaults))
    assert estimate(TrainSettings.from_recipe(short), runtime_bytes=0)["policy activations"] == (
        2 * before["policy activations"]
    )


def test_a_generation_batch_is_as_large_however_it_is_given():
    assert parts_of(steps_per_generation=16) == parts_of(generation_batch_size=1024) != parts_of()


def test_vllm_in_the_training_process_takes_its_share_of_the_device():
    """vLLM's share stays, follows the others where it sleeps, and is elsewhere with a server."""
    settings = TrainSettings.from_recipe({**QUICKSTART, "use_vllm": True})
    parts = estimate(settings, device_gib=80.0, runtime_bytes=0)
    assert parts[VLLM] == pytest.approx(24.0) and "key-value cache" not in parts
    asleep = {"use_vllm": True, "vllm_enable_sleep_mode": True, "vllm_gpu_memory_utilization": 0.5}
    settings = TrainSettings.from_recipe({**QUICKSTART, **asleep})
    own = estimate(settings, device_gib=80.0, runtime_bytes=0)
    assert own[VLLM_ASLEEP] == 40.0 and total(own) < total(parts) - 24.0 + 40.0
    settings = TrainSettings.from_recipe({**QUICKSTART, "use_vllm": True, "vllm_mode": "server"})
    assert not {VLLM, VLLM_ASLEEP, "key-value cache"} & estimate(settings, device_gib=80.0, runtime_bytes=0).keys()


def test_what_passes_is_not_added_up():
    parts = {"policy weights": 4.0, "policy activations": 2.0, "key-value cache": 1.0, "reward model activations": 3.0}
    assert total(parts) == 7.0 and total(parts, kept=0.5) == 8.5 and total(parts, kept=1.0) == 10.0


def test_doctor_names_the_extra_of_what_is_optional(monkeypatch):
    from cooper_rl import doctor as findings

    def missing(name):
        raise findings.PackageNotFoundError(name)

    monkeypatch.setattr(findings, "version", missing)
    found = findings.package("reasoning-gym", (0, 1, 25), None)
    assert found.state == "warn" and found.detail.endswith("in a clone of cooper-rl, pip install '.[reasoning-gym]'")
    assert findings.package("torch", (2, 8), None).state == "fail"


SETUPS = [  # settings on two GPUs, and what the last line names beside `never run`
    ({"bf16": True}, ["launcher"]),
    ({"bf16": False}, ["launcher", "bf16"]),
    ({"max_completion_length": 2048}, ["launcher", "generation"]),
    ({"use_vllm": True, "max_completion_length": 2048}, ["launcher", "vLLM"]),
    ({"use_vllm": True, "vllm_enable_sleep_mode": True}, ["launcher"]),
    ({"arm": "cooper", "negative_sources": {"assistant": 1}}, ["launcher", "assistant"]),
    ({"verifier_batch_seconds": 1800}, ["launcher", "verifier_batch_seconds"]),
    ({"verifier_batch_seconds": 1800, "ddp_timeout": 7200}, ["launcher"]),
]


@pytest.mark.parametrize(("chosen", "named"), SETUPS)
def test_doctor_warns_of_what_goes_wrong_or_crawls_on_gpus(monkeypatch, chosen, named):
    from cooper_rl import doctor as findings

    settings = TrainSettings.from_recipe({"arm": "rule", "output_dir": "out", **chosen})
    assert not list(findings.warn_of_setup(settings)), "this machine has no GPU"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    found = list(findings.warn_of_setup(settings))
    assert [finding.what for finding in found] == ["never run", *named]
    assert findings.conclude(found).detail == f"fits, as counted; look at: {', '.join(['never run', *named])}"
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "launcher" not in [finding.what for finding in findings.warn_of_setup(settings)]


@pytest.mark.parametrize(
    ("installed", "bf16", "warns"), [(True, True, False), (False, True, True), (True, False, True)]
)
def test_doctor_warns_where_verl_pads(monkeypatch, installed, bf16, warns):
    from cooper_rl import doctor as findings

    monkeypatch.setattr("cooper_rl.engines.verl.translate.find_spec", lambda name: name if installed else None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    settings = TrainSettings.from_recipe({"arm": "rule", "output_dir": "out", "bf16": bf16})
    told = {each.what: each.detail for each in findings.warn_of_setup(settings, "verl")}
    assert ("attention" in told) is warns and (not warns or "install flash-attn" in told["attention"])
    assert "attention" not in [each.what for each in findings.warn_of_setup(settings)]


def test_doctor_says_whether_it_fits(monkeypatch, capsys):
    from cooper_rl import doctor as findings
    from cooper_rl.doctor import memory

    monkeypatch.setattr(memory, "library_bytes", lambda: GIB)
    monkeypatch.setattr(memory, "available", lambda: (memory.MAIN_MEMORY, 24.0))
    assert findings.print_findings(QUICKSTART, as_json=False, dry_step=False) == 0
    assert "fits into 24 GiB of main memory; leave room for half as much again" in capsys.readouterr().out
    monkeypatch.setattr(memory, "available", lambda: ("a device", 24.0))
    assert findings.print_findings(QUICKSTART, as_json=False, dry_step=False) == 0
    said = capsys.readouterr().out
    assert "of a device\n" in said and said.splitlines()[-1].split() == ["ok", "verdict", "fits,", "as", "counted"]
    monkeypatch.setattr(memory, "available", lambda: ("a small device", 0.05))
    assert findings.print_findings(QUICKSTART, as_json=False, dry_step=False) == 1
    said = capsys.readouterr().out
    assert "does not fit into 0 GiB of a small device; try a smaller per_device_train_batch_size or" in said
    last = said.splitlines()[-1]
    assert re.search(
        r"^fail +verdict +does not fit, because at the peak it needs \S+ GiB, more than 95 % of the 0 GiB of", last
    )


QWEN = {  # the published configurations
    "1.5b": {"hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12, "num_key_value_heads": 2},
    "7b": {"hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_key_value_heads": 4},
}


def qwen(folder, size):
    """A folder with the configuration of Qwen2.5 of this size, without weights."""
    own = {**QWEN[size], "num_hidden_layers": 28, "vocab_size": 151936 if size == "1.5b" else 152064}
    own |= {"model_type": "qwen2", "tie_word_embeddings": size == "1.5b"}
    (folder / size).mkdir(exist_ok=True)
    (folder / size / "config.json").write_text(json.dumps(own))
    return str(folder / size)


@pytest.mark.parametrize("name", ["1.5b", "1.5b-2-nodes", "7b", "7b-2-nodes"])
def test_the_memory_in_the_headers_of_verls_recipes(name, tmp_path, monkeypatch):
    monkeypatch.setattr("cooper_rl.doctor.memory.prompt_tokens", lambda settings: 256)
    path = Path(f"recipes/verl-qwen2.5-{name}.yaml")
    models = {
        "model_name_or_path": qwen(tmp_path, name.split("-")[0]),
        "reward_model_name_or_path": qwen(tmp_path, "1.5b"),
    }
    parts = estimate_on_verl(TrainSettings.from_recipe({**load_recipe(path), **models}), 80.0)
    found = peaks(parts)
    told = f"doctor counts {found['while generating']:.0f} GiB on each device while it generates, and"
    assert f"{told} {found['while training']:.0f} GiB while it trains." in path.read_text()
    assert (
        f"| {found['while generating']:.0f} and {found['while training']:.0f} GiB |" in Path("docs/verl.md").read_text()
    )


def test_a_device_on_verl_by_hand():
    settings = {**QUICKSTART, "verl": {"trainer.n_gpus_per_node": 2, "trainer.nnodes": 2}}
    alone = parts_of()
    parts = estimate_on_verl(TrainSettings.from_recipe(settings), 10.0)
    assert parts["policy weights"] == alone["policy weights"] / 4
    assert parts["reward model weights"] == alone["reward model weights"]  # whole on each device
    assert parts["rollout server, awake"] == 5.0 and parts["reference policy (in main memory)"] > 0
    assert parts["guard's copy (in main memory)"] == alone["guard's copy (in main memory)"] / 4  # a share each
    sharded = estimate_on_verl(TrainSettings.from_recipe({**settings, "reward_model_sharded": True}), 10.0)
    assert sharded["guard's copy (in main memory)"] == parts["guard's copy (in main memory)"]
    assert sharded["reward model weights"] == alone["reward model weights"] / 4
    states = sum(parts[n] for n in parts if n.startswith(("policy", "reward model")) and "activations" not in n)
    assert peaks(parts)["while generating"] == pytest.approx(states + 5.0)
    activations = max(parts["policy activations"], parts["reward model activations"])
    assert peaks(parts)["while training"] == pytest.approx(states + activations)
    away = peaks(estimate_on_verl(TrainSettings.from_recipe({**settings, "reward_model_offload": True}), 10.0))
    moments = parts["reward model gradients and optimiser"] * 2 / 3
    assert away["while generating"] == pytest.approx(states + 5.0 - moments)
    assert away["while training"] == pytest.approx(states + activations)
