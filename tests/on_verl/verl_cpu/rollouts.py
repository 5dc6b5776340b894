"""A rollout server whose completions depend on weights, prompt and seed alone, not on when a request arrives."""

import asyncio
import hashlib
import os
from collections import Counter

import ray
import torch
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

TOGETHER_SECONDS = 0.1  # requests that arrive within it are generated in one batch
AT_ONCE = 256
MODES = "wake_up sleep abort_all_requests resume_generation clear_kv_cache release_kv_cache resume_kv_cache"


class SeededServer:
    """A Ray actor with a copy of the policy. The k-th request for a prompt draws with seed, step, prompt and k."""

    def __init__(self, path, length, seed):
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(1)
        self.model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(path)
        self.pad, self.eos = tokenizer.pad_token_id, tokenizer.eos_token_id
        self.length, self.seed = length, seed
        self.step, self.asked, self.waiting, self.task = 0, Counter(), [], None

    async def ready(self):
        return True

    async def generate(self, request_id, *, prompt_ids, sampling_params, **_):
        future = asyncio.get_running_loop().create_future()
        prompt = tuple(prompt_ids)
        name = f"{self.seed} {self.step} {prompt} {self.asked[prompt]}"
        self.asked[prompt] += 1
        self.waiting.append((prompt, sampling_params.get("temperature", 1.0), name, future))
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.work())
        return await future

    async def work(self):
        await asyncio.sleep(TOGETHER_SECONDS)
        while self.waiting:
            some, self.waiting = self.waiting[:AT_ONCE], self.waiting[AT_ONCE:]
            try:
                written = await asyncio.to_thread(self.write, [request[:3] for request in some])
            except Exception as error:
                for *_, future in some:
                    future.set_exception(error)
                raise
            for (*_, future), (ids, log_probs) in zip(some, written, strict=True):
                output = TokenOutput(token_ids=ids, log_probs=log_probs, stop_reason="completed")
                output.extra_fields["global_steps"] = self.step
                future.set_result(output)

    @torch.no_grad()
    def write(self, requests):
        """Token ids of a completion of each request, and their log-probabilities: a uniform number for each token."""
        width = max(len(prompt) for prompt, _, _ in requests)
        ids = torch.tensor([[self.pad] * (width - len(prompt)) + list(prompt) for prompt, _, _ in requests])
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt, _, _ in requests])
        drawn = torch.stack([self.uniform(name) for _, _, name in requests])
        temperature = torch.tensor([t for _, t, _ in requests])[:, None]
        rows, done, cache = [([], []) for _ in requests], torch.zeros(len(requests), dtype=torch.bool), None
        for place in range(self.length):
            positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
            out = self.model(
                input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True
            )
            logits, cache = out.logits[:, -1].double(), out.past_key_values
            probs = (logits / temperature.clamp(min=1e-6)).softmax(-1)
            sums = probs.cumsum(-1)
            chosen = (sums < drawn[:, place, None] * sums[:, -1:]).sum(-1).clamp(max=logits.shape[-1] - 1)
            chosen = torch.where(temperature[:, 0] > 0, chosen, logits.argmax(-1))
            told = probs.gather(1, chosen[:, None])[:, 0].log()
            for row, (token, log_prob, ended) in enumerate(
                zip(chosen.tolist(), told.tolist(), done.tolist(), strict=True)
            ):
                if not ended:
                    rows[row][0].append(token)
                    rows[row][1].append(log_prob)
            done |= chosen == self.eos
            if done.all():
                break
            ids = chosen[:, None]
            mask = torch.cat([mask, torch.ones(len(requests), 1, dtype=mask.dtype)], 1)
        return rows

    def uniform(self, name):
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
        return torch.rand(self.length, generator=torch.Generator().manual_seed(number), dtype=torch.float64)

    async def set_weights(self, weights, step):
        self.step = self.step if step is None else step
        self.asked.clear()
        if os.environ.get("COOPER_TEST_FROZEN"):  # then every run has the same rollouts, however it trains
            return
        missing, unexpected = self.model.load_state_dict(weights, strict=False)
        assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
        self.model.tie_weights()

    async def nothing(self, *_, **__):
        pass

    locals().update(dict.fromkeys([*MODES.split(), "start_profile", "stop_profile"], nothing))


def server_name(replica):
    return f"seeded_server_{replica}"


class SeededReplica(RolloutReplica):
    """One server, however many ranks make up the replica."""

    async def launch_servers(self):
        options = {"name": server_name(self.replica_rank), "num_cpus": 0, "max_concurrency": self.max_concurrency}
        made = ray.remote(SeededServer).options(**options)
        server = made.remote(self.model_config.path, self.config.response_length, self.config.seed)
        await server.ready.remote()
        self.servers, self._server_handle, self._server_address = [server], server, server_name(self.replica_rank)


class SeededAdapter(BaseRollout):
    """In the policy's ranks: sends the server the new weights after each step."""

    async def resume(self, tags):
        pass

    async def release(self):
        pass

    async def update_weights(self, weights, global_steps=None, **_):
        whole = {name: tensor.detach().cpu().clone() for name, tensor in weights}  # all ranks gather each tensor
        replica, place = divmod(torch.distributed.get_rank(), self.config.tensor_model_parallel_size)
        if place == 0:
            await ray.get_actor(server_name(replica)).set_weights.remote(whole, global_steps)
