"""Cooper in plain torch, to be read from top to bottom: sample, reward, GRPO step, stage 2. One process.

The settings are those of the TRL engine (`engines/config.py`). What this engine does not support is refused.
GRPO's two equations are the functions `advantages` and `grpo_loss` (paper, section 3.3; DeepSeekMath, arXiv 2402.03300,
equations 3 and 4).
Shapes: B samples of a step, P prompts, G samples of a prompt (B = P * G), T tokens.
"""

from __future__ import annotations

import copy
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, get_scheduler, set_seed

from cooper_rl.checkpoints import complete_checkpoint
from cooper_rl.distributed import own_device
from cooper_rl.engines.config import CooperConfig
from cooper_rl.engines.loading import Parts, environment, load_parts, place_model, resolve_recipe, settings_of
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.fast.decode import complete
from cooper_rl.generation import conversation
from cooper_rl.generation.in_process import TransformersGenerator, own_settings_aside, render_chat
from cooper_rl.method.build import make_cooper, make_verifier
from cooper_rl.method.monitor import mean_reward
from cooper_rl.method.negatives import Assistant
from cooper_rl.packing import pad
from cooper_rl.records import Batch, Problem, Sample
from cooper_rl.settings.train import TrainSettings

# Settings for which this engine supports one value only.
ONLY: Mapping[str, Any] = {
    **{"loss_type": "grpo", "scale_rewards": "group", "num_iterations": 1, "gradient_accumulation_steps": 1},
    **{"steps_per_generation": 1, "use_vllm": False, "bf16": False, "fp16": False, "reward_model_sharded": False},
    "use_bias_correction_kl": False,
}
# Fields of TRL's that this engine reads.
READ = (
    *("adam_beta1", "adam_beta2", "adam_epsilon", "weight_decay", "max_grad_norm", "epsilon", "epsilon_high"),
    *("lr_scheduler_type", "lr_scheduler_kwargs", "warmup_steps", "temperature", "top_p", "top_k"),
)


def run_training(recipe: Mapping[str, Any], *, resume: bool = False) -> None:
    """`cooper train --engine plain`: one run into a run folder, with one checkpoint at its end.

    Raises:
        BadInputError: the recipe asks for something that this engine does not support.
        CooperError: the hacking alarm stopped the run.
    """
    named, config = settings_of(recipe)
    check_supported(named, config, resume=resume)
    trainer = PlainTrainer(load_parts(named, config), config, named.system_prompt)
    trainer.cooper.journal.begin(resolve_recipe(recipe, config, config.max_steps), environment(config.seed), -1)
    with trainer.verifier:
        trainer.train()


class PlainTrainer:
    """A policy, its frozen reference and the method."""

    def __init__(self, parts: Parts, config: CooperConfig, system_prompt: str | None = None) -> None:
        set_seed(config.seed)
        self.parts, self.config, self.system_prompt = parts, config, system_prompt
        self.tokenizer = AutoTokenizer.from_pretrained(parts.policy)
        self.policy = AutoModelForCausalLM.from_pretrained(parts.policy, dtype=torch.float32).to(own_device())
        self.ref_policy = copy.deepcopy(self.policy).requires_grad_(False)
        betas = (config.adam_beta1, config.adam_beta2)
        self.optimizer = torch.optim.AdamW(
            self.policy.parameters(), config.learning_rate, betas, config.adam_epsilon, config.weight_decay
        )
        warmup, kwargs = config.get_warmup_steps(config.max_steps), config.lr_scheduler_kwargs
        self.scheduler = get_scheduler(config.lr_scheduler_type, self.optimizer, warmup, config.max_steps, kwargs)
        self.verifier = make_verifier(config)
        given = parts.reward_model
        reward_model = None if given is None else place_model(given, config, updates=config.max_steps)
        assistant = parts.assistant or TransformersGenerator(self.ref_policy, self.tokenizer)
        self.cooper = make_cooper(
            config,
            self.verifier,
            reward_model,
            assistant=lambda: Assistant(assistant, config.max_completion_length, config.seed),
            rehearsal=parts.rehearsal,
            anchors=parts.anchors,
        )
        self.credit = None
        if config.credit != "outcome":
            from cooper_rl.credit import Credit

            self.credit = Credit(self.cooper, self.tokenizer, lambda: self.policy)

    def train(self) -> None:
        """The joint loop (paper, section 3.3)."""
        started, last = time.monotonic(), self.config.max_steps
        self.cooper.journal.log(0, self.measure(0))
        self.cooper.begin()
        for step, problems in zip(range(1, last + 1), self.batches(), strict=False):
            times = [time.perf_counter()]
            prompts, completions, texts = self.sample(problems)
            times.append(time.perf_counter())
            samples = [Sample.of(*pair) for pair in zip(problems, texts, strict=True)]
            if self.credit:
                self.credit.prompts = prompts
            batch = self.cooper.score(samples, step)
            metrics = self.policy_step(prompts, completions, batch)  # stage 1: the policy
            times.append(time.perf_counter())
            report = self.cooper.learn(batch, saving=step == last)  # stage 2: the reward model
            metrics |= {
                **{"reward": mean_reward(batch.rollouts), "completions/mean_length": mean(map(len, completions))},
                "time/generate_seconds": times[1] - times[0],
                "time/score_seconds": batch.seconds,
                "time/policy_seconds": times[2] - times[1] - batch.seconds,
            }
            self.cooper.journal.log(step, {**metrics, **report.metrics, **self.measure(step)})
            if report.stop:
                self.save(step)
                told = f"{self.config.output_dir}: the hacking alarm stopped the run after step {step}"
                raise CooperError(f"{told}, with a checkpoint; look at the report")
        self.save(step)
        self.cooper.journal.finish(step, time.monotonic() - started)

    def batches(self) -> Iterator[list[Problem]]:
        """The problems of each step, each G times in a row, reshuffled every epoch."""
        rng, problems = random.Random(self.config.seed), list(self.parts.problems)
        size = self.config.per_device_train_batch_size // self.config.num_generations
        if len(problems) < size:
            raise BadInputError(f"{len(problems)} problems: a step needs {size}; set dataset_size or a smaller batch")
        while True:
            order = rng.sample(problems, len(problems))
            for start in range(0, len(order) - size + 1, size):
                yield [problem for problem in order[start : start + size] for _ in range(self.config.num_generations)]

    def sample(self, problems: Sequence[Problem]) -> tuple[list[list[int]], list[list[int]], list[str]]:
        """Token ids of prompts and completions (with their end), and the completions' texts."""
        messages = [conversation(problem.question, self.system_prompt) for problem in problems]
        prompts = self.tokenizer(render_chat(self.tokenizer, messages), add_special_tokens=False)["input_ids"]
        config, end, empty = self.config, self.tokenizer.eos_token_id, self.tokenizer.pad_token_id
        chosen = {"temperature": config.temperature, "top_p": config.top_p, "top_k": config.top_k, "do_sample": True}
        chosen |= {"max_new_tokens": config.max_completion_length, "eos_token_id": end, "pad_token_id": empty}
        self.policy.eval()
        with torch.no_grad(), own_settings_aside(self.policy):
            completions = complete(self.policy, prompts, empty, [end], **chosen)
        return prompts, completions, self.tokenizer.batch_decode(completions, skip_special_tokens=True)

    def policy_step(self, prompts: list[list[int]], completions: list[list[int]], batch: Batch) -> dict[str, float]:
        """One GRPO step on completions that this policy has just sampled."""
        config = self.config
        logprobs_B_T, mask_B_T = self.logprobs(self.policy, prompts, completions)
        rewards_B = torch.tensor([torch.nan if reward is None else reward for reward in batch.rewards])
        own = advantages(rewards_B, config.num_generations)
        if self.credit:  # each step of a completion has its own
            own_B_K = self.credit.share_over_tokens(batch, completions, own, max(map(len, completions)))
            own = torch.zeros_like(logprobs_B_T)
            for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
                first = len(prompt) - 1  # the prompt's last token predicts the completion's first
                own[row, first : first + len(completion)] = own_B_K[row, : len(completion)]
        with torch.no_grad():
            ref_logprobs_B_T, _ = self.logprobs(self.ref_policy, prompts, completions)
        loss, metrics = grpo_loss(
            logprobs_B_T,
            logprobs_B_T.detach(),
            ref_logprobs_B_T,
            mask_B_T,
            own.to(logprobs_B_T.device),
            beta=config.beta,
            epsilon_low=config.epsilon,
            epsilon_high=config.epsilon_high or config.epsilon,
        )
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.policy.parameters(), config.max_grad_norm or torch.inf)
        if torch.isfinite(norm) and not self.cooper.schedule.policy_waits():
            self.optimizer.step()
        self.cooper.skips.count("policy", not torch.isfinite(norm))
        metrics |= {"grad_norm": norm.item(), "learning_rate": self.scheduler.get_last_lr()[0]}
        self.scheduler.step()
        self.optimizer.zero_grad()
        return metrics

    def logprobs(self, model: Any, prompts: list[list[int]], completions: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Log-probability of each token given those before it, and which tokens belong to a completion; (B, T - 1)."""
        rows = [[*prompt, *completion] for prompt, completion in zip(prompts, completions, strict=True)]
        ids_B_T, mask_B_T = (each.to(model.device) for each in pad(rows, self.tokenizer.pad_token_id))
        logits_B_T = model(input_ids=ids_B_T, attention_mask=mask_B_T).logits[:, :-1] / self.config.temperature
        logprobs_B_T = torch.log_softmax(logits_B_T, dim=-1).gather(2, ids_B_T[:, 1:, None])[:, :, 0]
        starts_B = torch.tensor([len(prompt) for prompt in prompts], device=model.device)
        of_completion_B_T = torch.arange(1, ids_B_T.shape[1], device=model.device)[None] >= starts_B[:, None]
        return logprobs_B_T, (of_completion_B_T & mask_B_T[:, 1:].bool()).float()

    def measure(self, step: int) -> dict[str, float]:
        """The held-out measurements that are due after this step; empty where none are."""
        every = self.config.heldout_steps
        due = step in (0, self.config.max_steps) or (every and step % every == 0)
        if self.parts.heldout is None or not due:
            return {}
        found = self.parts.heldout.measure(self.policy, self.tokenizer, self.cooper.reward_model, self.verifier)
        self.cooper.journal.log_heldout(step, self.parts.heldout.last)
        return found

    def save(self, step: int) -> None:
        """Writes the policy, the reward model and the method's state, in the TRL engine's layout."""
        folder = Path(self.config.output_dir) / f"checkpoint-{step}"
        self.cooper.save(folder)
        self.policy.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        complete_checkpoint(folder, step)


def advantages(rewards_B: Tensor, group_size: int) -> Tensor:
    """A_i = (r_i - mean of the group) / (std of the group + 1e-4), shape (B,).

    A reward that is nan could not be judged: it is in no mean and no std, and its advantage is 0, as in TRL.

    Raises:
        ValueError: `rewards_B` is not a vector whose length is a multiple of `group_size`.
    """
    if rewards_B.dim() != 1 or len(rewards_B) % group_size:
        raise ValueError(f"advantages needs (B,) with B a multiple of {group_size}, got {tuple(rewards_B.shape)}")
    rewards_P_G = rewards_B.view(-1, group_size)
    centred_P_G = rewards_P_G - rewards_P_G.nanmean(1, keepdim=True)
    std_P_1 = rewards_P_G.std(1, keepdim=True)
    if rewards_B.isnan().any():
        judged_P = [own_G[~own_G.isnan()] for own_G in rewards_P_G]
        std_P_1 = torch.stack([r.std() if len(r) > 1 else r.new_tensor(torch.nan) for r in judged_P])[:, None]
    return torch.nan_to_num(centred_P_G / (std_P_1 + 1e-4)).flatten()


def grpo_loss(
    logprobs_B_T: Tensor,
    old_logprobs_B_T: Tensor,
    ref_logprobs_B_T: Tensor,
    mask_B_T: Tensor,
    advantages: Tensor,
    *,
    beta: float,
    epsilon_low: float,
    epsilon_high: float,
) -> tuple[Tensor, dict[str, float]]:
    """-min(rho A, clip(rho, 1 - e, 1 + e) A) + beta (exp(d) - d - 1), mean over tokens, then over completions.

    rho = exp(log pi - log pi_old) and d = log pi_ref - log pi; the last term is the k3 estimate of the KL divergence.

    Args:
        logprobs_B_T: log-probabilities under the policy, with gradient.
        old_logprobs_B_T: under the policy that sampled the completions.
        ref_logprobs_B_T: under the reference policy.
        mask_B_T: 1 where a token belongs to a completion, else 0.
        advantages: as the function `advantages` gives them, shape (B,), or those of single tokens, shape (B, T).
        beta: weight of the KL term.
        epsilon_low, epsilon_high: rho is clipped to [1 - epsilon_low, 1 + epsilon_high].

    Returns:
        The loss, a scalar, and the metrics `loss` and `kl` (mean over tokens).

    Raises:
        ValueError: the shapes are not (B, T), and (B,) or (B, T) for the advantages.
    """
    shapes = {tuple(t.shape) for t in (logprobs_B_T, old_logprobs_B_T, ref_logprobs_B_T, mask_B_T)}
    if len(shapes) != 1 or advantages.shape not in (logprobs_B_T.shape[:1], logprobs_B_T.shape):
        raise ValueError(f"grpo_loss needs (B, T) four times and (B,), got {sorted(shapes)}, {advantages.shape}")
    advantages_B_T = advantages if advantages.dim() == 2 else advantages[:, None]
    ratio_B_T = torch.exp(logprobs_B_T - old_logprobs_B_T)
    clipped_B_T = ratio_B_T.clamp(1 - epsilon_low, 1 + epsilon_high)
    gain_B_T = torch.minimum(ratio_B_T * advantages_B_T, clipped_B_T * advantages_B_T)
    difference_B_T = ref_logprobs_B_T - logprobs_B_T
    kl_B_T = torch.exp(difference_B_T) - difference_B_T - 1
    tokens_B = mask_B_T.sum(1).clamp(min=1)
    loss = (((beta * kl_B_T - gain_B_T) * mask_B_T).sum(1) / tokens_B).mean()
    kl = (kl_B_T * mask_B_T).sum() / mask_B_T.sum().clamp(min=1)
    return loss, {"loss": loss.item(), "kl": kl.item()}


def check_supported(named: TrainSettings, config: CooperConfig, *, resume: bool) -> None:
    """Refuses what this engine does not have.

    Raises:
        BadInputError: with the setting and the way out.
    """
    if named.bf16 is None:
        config.bf16 = False
    for what, wanted in {
        "--resume": resume,
        "lora_rank": named.lora_rank,
        "generation_batch_size": named.generation_batch_size,
        "torchrun": os.environ.get("WORLD_SIZE", "1") != "1",
    }.items():
        if wanted:
            raise BadInputError(f"{what}: the plain engine does not support it; use --engine trl")
    for name in named.trainer_kwargs:
        if name not in READ and name not in ONLY:
            raise BadInputError(f"{name}: the plain engine does not read it; leave it out, or use --engine trl")
    for name, value in ONLY.items():
        if getattr(config, name) != value:
            given = f"{name} = {getattr(config, name)!r}"
            raise BadInputError(f"{given}: the plain engine supports {value!r} only; set that, or use --engine trl")
    if config.max_steps < 1:
        raise BadInputError(f"max_steps = {config.max_steps}: the plain engine needs the number of steps, at least 1")
