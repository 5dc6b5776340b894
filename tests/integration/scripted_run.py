"""A short run whose rollouts are written, not sampled, so that any number of ranks has the same ones.

python scripted_run.py FOLDER PER_DEVICE_BATCH [fsdp2] [reward_model_sharded] [assistant] [resume], also below torchrun.
"""

from cooper_rl.distributed import RankExit

ENDING = RankExit()

import logging
import os
import sys

import torch
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedType

from cooper_rl import CooperConfig, CooperTrainer, VerifyRM
from cooper_rl.domains import load_problems
from cooper_rl.engines.trl.rows import training_rows
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.settings.files import EMBEDDED
from cooper_rl.verifyrm import sharding
from cooper_rl.verifyrm.triples import read_triples

STEPS, PROMPTS, GROUP = 5, 3, 8


def shard_on_cpus():
    """Makes accelerate shard the policy by FSDP2 on gloo ranks: by itself it does so on accelerators alone."""
    os.environ |= {
        "ACCELERATE_USE_FSDP": "true",
        "FSDP_VERSION": "2",
        "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
        "FSDP_STATE_DICT_TYPE": "FULL_STATE_DICT",
    }
    begin = AcceleratorState.__init__

    def init(self, *arguments, fsdp_plugin=None, **settings):
        begin(self, *arguments, fsdp_plugin=fsdp_plugin, **settings)
        self.fsdp_plugin = fsdp_plugin or self.fsdp_plugin
        self.distributed_type = DistributedType.FSDP

    AcceleratorState.__init__ = init


def text_of(reference, index, step):
    """Every fourth completion is right; in even steps those of the prompts 1 and 3 of the batch all are wrong."""
    group, member = index // GROUP, index % GROUP
    right = member % 4 == 0 and not (step % 2 == 0 and group % 2 == 1)
    return f"{'So' if member % 2 else 'Well'}, the answer is {reference if right else 1000 + member}."


def main():
    folder, per_device = sys.argv[1], int(sys.argv[2])
    logging.disable(logging.WARNING)
    if "fsdp2" in sys.argv:
        shard_on_cpus()
    problems = load_problems("nano", size=64, seed=0)
    references = {problem.question: problem.reference_answer for problem in problems}
    config = CooperConfig(
        output_dir=folder,
        arm="cooper",
        max_steps=STEPS,
        save_steps=3,
        per_device_train_batch_size=per_device,
        num_generations=GROUP,
        max_completion_length=40,
        learning_rate=1e-4,
        reward_model_learning_rate=1e-4,
        negative_sources={"assistant": 1} if "assistant" in sys.argv else {"perturb": 1, "mined": 2, "shuffle": 1},
        pairs_per_prompt=4,
        label_pairs=True,
        rehearsal_per_step=9,
        replay_per_step=6,
        reward_model_sharded="reward_model_sharded" in sys.argv,
        guard_steps=2,
        guard_sample=5,
        guard_probes=1,
        heldout_steps=3,
        heldout_temperature=0.0,  # so that how the problems are shared out does not matter
        verifier="math_verify",
        verifier_workers=1,
    )

    def rollouts(prompts, trainer):
        tokenizer, rank = trainer.processing_class, trainer.accelerator.process_index
        questions = [prompt[-1]["content"] for prompt in prompts]
        first = rank * len(prompts)
        texts = [
            text_of(references[question], first + i, trainer.state.global_step) for i, question in enumerate(questions)
        ]
        prompt_ids = [
            tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_dict=False) for prompt in prompts
        ]
        completion_ids = [
            [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id] for text in texts
        ]
        logprobs = [[0.0] * len(ids) for ids in completion_ids]
        return {"prompt_ids": prompt_ids, "completion_ids": completion_ids, "logprobs": logprobs}

    triples = EMBEDDED["nano"]["reward_model"]
    trainer = CooperTrainer(
        str(EMBEDDED["nano"]["policy"]),
        VerifyRM.from_pretrained(EMBEDDED["nano"]["reward_model"]),
        config,
        training_rows(problems),
        rehearsal=read_triples(triples / "train.jsonl.gz")[:100],
        anchors=read_triples(triples / "anchors.jsonl.gz")[:21],
        heldout=HeldOut(
            config, load_problems("nano", size=9, seed=1), triples=read_triples(triples / "anchors.jsonl.gz")[-21:]
        ),
        rollout_func=rollouts,
    )
    parameters = trainer.reward_model.parameters
    share = sum(sharding.own_part(p).numel() for p in parameters) / sum(p.numel() for p in parameters)
    assert share < 0.51 if config.reward_model_sharded else share == 1, "what each of two ranks holds of the weights"
    with trainer.verifier:
        trainer.train(resume_from_checkpoint=f"{folder}/checkpoint-3" if "resume" in sys.argv else None)
    assert restores(trainer.reward_model)
    ENDING.leave()


def restores(updater):
    """Whether the guard's way back gives each rank its weights, optimiser and scores again."""
    triple = ["How many?"], ["7"], ["The answer is 7."]
    kept, score = updater.snapshot(), updater.reward_model.score(*triple)
    for tensor in [*updater.parameters, *updater._optimizer_tensors().values()]:
        sharding.own_part(tensor).mul_(0.5)
    assert updater.reward_model.score(*triple) != score
    updater.restore(kept)
    same = all(torch.equal(value, kept[name]) for name, value in updater.snapshot().items())
    return same and len(kept) > 2 * len(updater.parameters) and updater.reward_model.score(*triple) == score


if __name__ == "__main__":
    main()
