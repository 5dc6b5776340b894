"""Cooper in plain torch, to be read from top to bottom: sample, reward, GRPO step, stage 2. One process.

The settings are those of the TRL engine (`engines/trl/config.py`). What this engine does not support is refused.
Shapes: B samples of a step, P prompts, G samples of a prompt (B = P * G), T tokens.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, get_scheduler, set_seed

from cooper_rl.checkpoints import complete_checkpoint
from cooper_rl.devices import own_device
from cooper_rl.engines.credit import reference_values, token_advantages
from cooper_rl.engines.grpo import advantages, grpo_loss
from cooper_rl.engines.parts import Parts, environment, load_parts, placed, resolved, settings_of
from cooper_rl.engines.plain_limits import check_supported
from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.fast.decode import complete
from cooper_rl.generation import conversation
from cooper_rl.generation.in_process import TransformersGenerator, own_settings_aside, rendered
from cooper_rl.method.audit import mean_reward
from cooper_rl.method.build import make_cooper
from cooper_rl.method.negatives.assistant import Assistant
from cooper_rl.packing import pad
from cooper_rl.records import Batch, Problem, Sample
from cooper_rl.verifiers import RuleVerifier


def run_training(recipe: Mapping[str, Any], *, resume: bool = False) -> None:
    """`cooper train --engine plain`: one run into a run folder, with one checkpoint at its end.

    Raises:
        BadInputError: the recipe asks for something that this engine does not support.
        CooperError: the hacking alarm stopped the run.
    """
    named, config = settings_of(recipe)
    check_supported(named, config, resume=resume)
    trainer = PlainTrainer(load_parts(named, config), config, named.system_prompt)
    trainer.cooper.journal.begin(resolved(recipe, config, config.max_steps), environment(config.seed), -1)
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
        self.verifier = RuleVerifier(
            config.verifier, workers=config.verifier_workers, deadline_seconds=config.verifier_deadline_seconds
        )
        given = parts.reward_model
        reward_model = None if given is None else placed(given, config, updates=config.max_steps)
        assistant = parts.assistant or TransformersGenerator(self.ref_policy, self.tokenizer)
        self.cooper = make_cooper(
            config,
            self.verifier,
            reward_model,
            assistant=lambda: Assistant(assistant, config.max_completion_length, config.seed),
            rehearsal=parts.rehearsal,
            anchors=parts.anchors,
        )

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
            values = partial(reference_values, self.policy, self.tokenizer, prompts, samples)
            batch = self.cooper.score(samples, step, values)
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
        """The problems of each step, each G times in a row, in an order that is drawn anew each epoch."""
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
        prompts = self.tokenizer(rendered(self.tokenizer, messages), add_special_tokens=False)["input_ids"]
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
        advantages_B = advantages(rewards_B, config.num_generations)
        steps = self.cooper.credit.of(batch, advantages_B.tolist())
        advantages_B_K = token_advantages(self.tokenizer, completions, steps, advantages_B, max(map(len, completions)))
        advantages_B_T = torch.zeros_like(logprobs_B_T)
        for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
            first = len(prompt) - 1  # the prompt's last token predicts the completion's first
            advantages_B_T[row, first : first + len(completion)] = advantages_B_K[row, : len(completion)]
        with torch.no_grad():
            ref_logprobs_B_T, _ = self.logprobs(self.ref_policy, prompts, completions)
        loss, metrics = grpo_loss(
            logprobs_B_T,
            logprobs_B_T.detach(),
            ref_logprobs_B_T,
            mask_B_T,
            advantages_B_T,
            beta=config.beta,
            epsilon_low=config.epsilon,
            epsilon_high=config.epsilon_high or config.epsilon,
        )
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.policy.parameters(), config.max_grad_norm or torch.inf)
        if torch.isfinite(norm):
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
        return self.parts.heldout.measure(self.policy, self.tokenizer, self.cooper.reward_model, self.verifier)

    def save(self, step: int) -> None:
        """Writes the policy, the reward model and the method's state, in the TRL engine's layout."""
        folder = Path(self.config.output_dir) / f"checkpoint-{step}"
        self.cooper.save(folder)
        self.policy.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        complete_checkpoint(folder, step)
