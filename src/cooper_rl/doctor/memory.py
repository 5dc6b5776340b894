"""Estimates the memory that a training run needs on each device, by part; `cooper doctor --config R` shows it.

The estimate is computed from the models' configurations, without loading weights. In TRL and in plain torch it holds
for data-parallel runs. Sharding the policy or the reward model divides its weights, gradients and optimiser by the
number of ranks. On CUDA TRL computes the loss's logits in tiles; plain torch and verl are counted with all of them.

On verl, policy and rollout server take turns on a device. The policy is sharded over all devices by FSDP2, and its
shards stay on the device while the server generates. The server sleeps while the models are trained. verl keeps the
reference policy in main memory. Not counted: what CUDA needs in each of the three processes on a device, and the
layers that FSDP2 gathers for a pass.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cooper_rl.engines.verl.limits import value_of
from cooper_rl.engines.verl.translate import ROLLOUT, computes_in_bfloat16, devices
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.settings.files import base_of, resolve_model
from cooper_rl.settings.train import TrainSettings

FLOAT = 4  # bytes; master weights, gradients and Adam's moments are float32
# A layer keeps 20 x hidden size float32 values per token for its backward pass, gated MLP included: measured are 81
# bytes, also under bfloat16 autocast, where residuals, norms and rotary embeddings stay float32.
KEPT_PER_LAYER = 20
HALF = 2  # bytes of a weight's copy under bfloat16 autocast
LOGITS_COPIES = 3  # logits, their log-softmax and its gradient
# TRL 1.16 (`trl.kernels.chunked_logprob`) makes the logits of so many tokens and words at a time. With Triton, which
# torch brings for CUDA, each tile becomes its own log-softmax and gradient.
TILE_TOKENS, TILE_WORDS = 4096, 32_768
PROMPT_TOKENS = 256  # tokens assumed for a prompt where the data cannot be read here
SAMPLE = 256  # problems whose prompts are counted
GIB = 2**30
MAIN_MEMORY = "main memory"
LIBRARIES = "libraries"  # the part that is this process without models
IN_MAIN_MEMORY = "(in main memory)"  # the end of the name of a part that is not on the device
WARMED_UP = 0.2 * GIB  # thread pools, kernels and the C library's arenas after the first passes; fitted to those runs
KEPT_ON_CPU = 0.5  # share of freed memory that the C library keeps; fitted to the runs in docs/speed.md
VLLM = "vLLM's share of the device"  # its own weights and key-value cache
VLLM_ASLEEP = "vLLM's share, asleep while training"  # with `vllm_enable_sleep_mode`
VLLM_SHARE = 0.3  # TRL's default of vllm_gpu_memory_utilization
SERVER_SHARE = 0.5  # verl's default of gpu_memory_utilization
PASSING = ("policy activations", "key-value cache", "reward model activations", VLLM_ASLEEP)  # these follow one another
OFFLOADED = "reward model optimiser, in its step"  # in main memory between its steps (`reward_model_offload`)
BUCKETS = "policy gradients' copy, for DDP"
SHARDED = ("weights", "gradients and optimiser", "copy")
SERVER = "rollout server, awake"
POOL = "reward.reward_model"  # where `enable_resource_pool` gives the reward model devices of its own
APART = "(on its own devices)"


@dataclass(frozen=True)
class Shape:
    """The sizes in a model's configuration that decide how much memory it needs."""

    parameters: int
    layers: int
    hidden: int
    vocabulary: int
    kv_width: int  # key-value heads x head size


def shape_of(path: str) -> Shape:
    """Sizes of a causal language model from its configuration.

    Raises:
        BadInputError: the configuration cannot be read.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        config = AutoConfig.from_pretrained(base_of(path))
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: the model configuration cannot be read: {str(error).splitlines()[0]}") from error
    config = getattr(config, "text_config", None) or config
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    count = sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())
    return Shape(count, config.num_hidden_layers, config.hidden_size, config.vocab_size, heads * head)


def estimate(
    settings: TrainSettings, *, device_gib: float = 0.0, runtime_bytes: int | None = None, engine: str = "trl"
) -> dict[str, float]:
    """GiB by part, for one device. Not all parts exist at the same time; `total` gives the peak.

    Args:
        engine: trl or plain.
        device_gib: the device's memory. vLLM in the training process takes a share of it.
        runtime_bytes: what the libraries need besides models; by default measured in this process.
    """
    if engine == "plain" and settings.bf16 is None:
        settings = replace(settings, bf16=False)  # as that engine takes it
    policy = shape_of(resolve_model(settings.model_name_or_path, "policy"))
    tokens = prompt_tokens(settings) + settings.max_completion_length
    ranks, on_device = int(os.environ.get("WORLD_SIZE", "1")), available()[0] != MAIN_MEMORY
    parts = {
        LIBRARIES: float(runtime_bytes if runtime_bytes is not None else library_bytes()),
        **policy_bytes(settings, policy, tokens, ranks=ranks, in_tiles=on_device and engine == "trl"),
    }
    known = settings.reward_model_type == "verifyrm"  # the sizes of any other type are not known
    if known and settings.needs_reward_model and settings.reward_model_name_or_path:
        reward = shape_of(resolve_model(settings.reward_model_name_or_path, "reward_model"))
        parts["reward model weights"] = FLOAT * reward.parameters
        if settings.cotrain:
            parts |= cotraining_bytes(settings, reward, tokens, ranks=ranks, on_device=on_device)
            assistant = settings.assistant_model  # without one, the reference policy is the assistant, if there is one
            in_process = settings.asks_assistant and not settings.assistant_base_url
            if in_process and (assistant or not parts["reference policy"]):
                shape = shape_of(resolve_model(assistant, "policy")) if assistant else policy
                parts["assistant weights"] = FLOAT * shape.parameters
    found = {name: value / GIB for name, value in parts.items()}
    if settings.trainer_kwargs.get("use_vllm"):
        del found["key-value cache"]
        found |= vllm_gib(settings, device_gib)
    return found


def vllm_gib(settings: TrainSettings, device_gib: float) -> dict[str, float]:
    """What TRL's vLLM takes of a training device: nothing where it is a server on devices of its own."""
    own = settings.trainer_kwargs
    if own.get("vllm_mode", "colocate") == "server":
        return {}
    name = VLLM_ASLEEP if own.get("vllm_enable_sleep_mode") else VLLM
    return {name: float(own.get("vllm_gpu_memory_utilization", VLLM_SHARE)) * device_gib}


def policy_bytes(
    settings: TrainSettings,
    policy: Shape,
    tokens: int,
    *,
    ranks: int = 1,
    in_tiles: bool = False,
    by_autocast: bool = True,
) -> dict[str, float]:
    """Bytes of the policy and the reference policy.

    Args:
        tokens: the length of a prompt with its completion.
        ranks: on several of them torch's DDP has a copy of the gradients, unless the policy is sharded.
        in_tiles: the logits are not all made at once.
        by_autocast: bfloat16 comes by autocast, which leaves half of what is computed in float32.
    """
    batch, trained = settings.per_device_train_batch_size, _count_trained(policy, settings.lora_rank)
    small = HALF if computes_in_bfloat16(settings) else FLOAT
    of_layers = _activation_bytes(batch * tokens, policy, bool(settings.gradient_checkpointing))
    cached = count_generated_at_once(settings) * tokens * policy.layers * policy.kv_width
    return {
        "policy weights": FLOAT * policy.parameters,
        "policy gradients and optimiser": 3 * FLOAT * trained,
        **({BUCKETS: FLOAT * trained} if ranks > 1 and not _is_sharded(settings) else {}),
        "reference policy": FLOAT * policy.parameters if settings.beta and trained == policy.parameters else 0,
        "policy activations": (of_layers + _copy_bytes(settings, policy) if by_autocast else of_layers * small / FLOAT)
        + _head_bytes(settings, policy, in_tiles),
        "key-value cache": cached * (FLOAT + small),  # rotary embeddings leave keys in float32
    }


def count_generated_at_once(settings: TrainSettings) -> int:
    """How many completions a device generates at once; `generation_batch_size` is that of all devices."""
    if settings.generation_batch_size:
        return -(-settings.generation_batch_size // int(os.environ.get("WORLD_SIZE", "1")))
    return settings.per_device_train_batch_size * settings.generation_batches


def cotraining_bytes(
    settings: TrainSettings, reward: Shape, tokens: int, *, ranks: int, on_device: bool
) -> dict[str, float]:
    """Bytes that training the reward model needs besides its weights.

    Args:
        tokens: length of a prompt and its completion.
        ranks: they share the copies in main memory out.
        on_device: it is not trained on a CPU.
    """
    own = _count_trained(reward, settings.reward_model_lora_rank)
    pairs = max(1, count_generated_at_once(settings) // settings.num_generations) * settings.pairs_per_prompt
    at_once = min(pairs, settings.reward_model_pairs_per_pass or pairs)
    labelled = settings.rehearsal_per_step + settings.replay_per_step
    sequences = 2 * at_once + labelled * at_once // pairs
    own_tokens = sequences * tokens // 2  # half: prefixes are shared, and few completions have the full length
    own_tokens = min(own_tokens, max(settings.reward_model_tokens_per_pass, 2 * tokens))
    given = settings.reward_model_gradient_checkpointing
    away = settings.reward_model_offload and on_device
    parts = {
        "reward model gradients and optimiser": float((1 if away else 3) * FLOAT * own),
        **({OFFLOADED: float(2 * FLOAT * own)} if away else {}),
        "reward model activations": _activation_bytes(own_tokens, reward, on_device if given is None else given)
        + _copy_bytes(settings, reward),
    }
    if settings.anchor_triples and settings.guard_steps:
        parts[f"guard's copy {IN_MAIN_MEMORY}"] = 3 * FLOAT * own / ranks
    if settings.reads_doubt:
        parts[f"start copy {IN_MAIN_MEMORY}"] = FLOAT * own / ranks
    return parts


def _is_sharded(settings: TrainSettings) -> bool:
    """Whether the recipe or accelerate's launcher shards the policy."""
    launched = (os.environ.get(f"ACCELERATE_USE_{name}", "").lower() for name in ("FSDP", "DEEPSPEED"))
    return "true" in launched or any(settings.trainer_kwargs.get(name) for name in ("fsdp", "deepspeed"))


def _head_bytes(settings: TrainSettings, policy: Shape, in_tiles: bool) -> int:
    """What the completions' log-probabilities need beside the layers: their logits, or one tile of them.

    With tiles these are one tile, the completions' hidden states, their gradient, and the head's gradient of one tile.
    """
    tokens = settings.per_device_train_batch_size * settings.max_completion_length
    if not in_tiles:
        return tokens * LOGITS_COPIES * policy.vocabulary * FLOAT
    tile = min(tokens, TILE_TOKENS) * TILE_WORDS * (HALF if computes_in_bfloat16(settings) else FLOAT)
    of_head = 0 if settings.lora_rank else policy.vocabulary
    return tile + FLOAT * policy.hidden * (2 * tokens + of_head)


def _activation_bytes(tokens: int, shape: Shape, recomputed: bool) -> float:
    """What the layers keep for a backward pass; where they are computed again, their inputs and all of one of them."""
    kept = shape.layers + KEPT_PER_LAYER if recomputed else shape.layers * KEPT_PER_LAYER
    return float(FLOAT * tokens * shape.hidden * kept)


def _copy_bytes(settings: TrainSettings, shape: Shape) -> int:
    """The weights' copies that a forward pass under autocast makes."""
    return HALF * shape.parameters if computes_in_bfloat16(settings) else 0


def prompt_tokens(settings: TrainSettings) -> int:
    """The length in tokens of the longest prompt in a sample of the recipe's problems."""
    from transformers import AutoTokenizer

    from cooper_rl.domains import load_problems
    from cooper_rl.generation import conversation

    try:
        tokenizer = AutoTokenizer.from_pretrained(resolve_model(settings.model_name_or_path, "policy"))
        problems = load_problems(
            settings.dataset_name,
            split=settings.dataset_split,
            size=SAMPLE,
            config=settings.dataset_config,
            reference_column=settings.reference_column,
        )
    except (OSError, CooperError):
        return PROMPT_TOKENS
    texts = [
        tokenizer.apply_chat_template(
            conversation(p.question, settings.system_prompt), add_generation_prompt=True, tokenize=False
        )
        for p in problems
    ]
    return max(len(ids) for ids in tokenizer(texts)["input_ids"])


def total(parts: Mapping[str, float], kept: float = 0.0) -> float:
    """The peak: the parts that stay, and the largest of the parts in `PASSING`, which follow one another.

    Args:
        kept: share of the other passing parts that is not freed; `KEPT_ON_CPU` for a process without accelerator.
    """
    passing = sorted(size for name, size in parts.items() if name in PASSING)
    return sum(parts.values()) - (1 - kept) * sum(passing[:-1])


def _count_trained(shape: Shape, lora_rank: int) -> int:
    """How many parameters are trained. For adapters this is roughly rank x (in + out) of a layer's seven matrices."""
    return 14 * shape.layers * shape.hidden * lora_rank if lora_rank else shape.parameters


def library_bytes() -> int:
    """Bytes that this process holds once training's libraries are imported, plus what they set up in use."""
    import cooper_rl.engines.trl.cooper_trainer  # noqa: F401

    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") + int(WARMED_UP)


def available() -> tuple[str, float]:
    """The device that a run here would use, and its memory in GiB."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0), torch.cuda.get_device_properties(0).total_memory / GIB
    return MAIN_MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB


def estimate_on_verl(settings: TrainSettings, device_gib: float) -> dict[str, float]:
    """GiB by part, for one device.

    Args:
        device_gib: the device's memory. The rollout server takes a share of it.
    """
    policy = shape_of(resolve_model(settings.model_name_or_path, "policy"))
    tokens = prompt_tokens(settings) + settings.max_completion_length
    count, parts = devices(settings), policy_bytes(settings, policy, tokens, by_autocast=False)
    del parts["key-value cache"]  # the rollout server's
    found = {name: size / count if _is_state(name) else size for name, size in parts.items()}
    found[f"reference policy {IN_MAIN_MEMORY}"] = found.pop("reference policy") / count
    name = settings.reward_model_name_or_path
    if settings.reward_model_type == "verifyrm" and settings.needs_reward_model and name:
        shape = shape_of(resolve_model(name, "reward_model"))
        own = {"reward model weights": float(FLOAT * shape.parameters)}
        apart, ranks = bool(settings.verl.get(f"{POOL}.enable_resource_pool")), count
        if apart:
            ranks = int(settings.verl.get(f"{POOL}.n_gpus_per_node", 8)) * int(settings.verl.get(f"{POOL}.nnodes", 1))
        if settings.cotrain:
            own |= cotraining_bytes(settings, shape, tokens, ranks=ranks, on_device=True)
        ranks = ranks if settings.reward_model_sharded else 1
        own = {n: size / ranks if _is_state(n) and IN_MAIN_MEMORY not in n else size for n, size in own.items()}
        found |= {f"{name} {APART}" if apart else name: size for name, size in own.items()}
    found = {name: size / GIB for name, size in found.items()}
    share = settings.verl.get(f"{ROLLOUT}.gpu_memory_utilization", value_of(settings, "vllm_gpu_memory_utilization"))
    return {**found, SERVER: float(share or SERVER_SHARE) * device_gib}


def peaks(parts: Mapping[str, float]) -> dict[str, float]:
    """GiB on a device while it generates and while the models are trained, and on the reward model's own devices."""
    on_device = {name: size for name, size in parts.items() if IN_MAIN_MEMORY not in name and APART not in name}
    states = sum(size for name, size in on_device.items() if _is_state(name))
    passing = max(size for name, size in on_device.items() if name in PASSING)
    apart = [size for name, size in parts.items() if APART in name and IN_MAIN_MEMORY not in name]
    own = {"on the reward model's own devices": sum(apart)} if apart else {}
    training = states + on_device.get(OFFLOADED, 0.0) + passing
    return {"while generating": states + on_device[SERVER], "while training": training, **own}


def _is_state(name: str) -> bool:
    return any(part in name for part in SHARDED)
