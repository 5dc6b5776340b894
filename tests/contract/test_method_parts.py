"""Every part of ours keeps the contract that a user's own part has to keep."""

import random

import pytest

from cooper_rl.engines.config import CooperConfig
from cooper_rl.generation import Generation, Generator
from cooper_rl.method.alarm import HackingAlarm
from cooper_rl.method.guard import Guard
from cooper_rl.method.monitor import Audit
from cooper_rl.method.negatives import KNOWN, Assistant, NegativeSource, find_source
from cooper_rl.method.reward import KNOWN as REWARDS
from cooper_rl.method.reward import make_reward
from cooper_rl.records import LabelledCompletion
from cooper_rl.settings.files import resolve_model
from cooper_rl.testing import (
    check_monitor,
    check_negative_source,
    check_reward,
    check_reward_model,
    example_batch,
)
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.updater import RewardModelUpdater


class Shouter(Generator):
    """A language model that writes the prompt in capitals."""

    def stream(self, prompts, sampling, seeds=None):
        yield from ((i, Generation(prompt[-1]["content"].upper(), "stop")) for i, prompt in enumerate(prompts))


def updater(**settings):
    config = CooperConfig(output_dir="unused", num_generations=2, per_device_train_batch_size=2, **settings)
    return RewardModelUpdater(VerifyRM.from_pretrained(resolve_model("nano", "reward_model")), config), config


def guard():
    model, config = updater(guard_probes=1, guard_steps=7, guard_sample=4)
    rollouts = example_batch().rollouts
    anchors = [LabelledCompletion(r.question, r.reference_answer, r.completion, r.score > 0.75) for r in rollouts]
    return Guard(config, model, anchors)


@pytest.mark.parametrize("name", KNOWN)
def test_negative_sources(name):
    check_negative_source(Assistant(Shouter(), 40, 0) if name == "assistant" else find_source(name)())


@pytest.mark.parametrize("name", REWARDS)
@pytest.mark.parametrize("threshold", [None, 0.5])
def test_rewards(name, threshold):
    check_reward(make_reward(name, threshold))


@pytest.mark.parametrize(
    "make",
    [Audit, HackingAlarm, lambda: HackingAlarm("hybrid"), guard],
    ids=["audit", "alarm", "alarm that falls back", "guard"],
)
def test_monitors(make):
    check_monitor(make(), make())


def test_the_reward_model(tmp_path):
    settings = {"reward_model_learning_rate": 1e-4, "reward_model_warmup_steps": 2}
    check_reward_model(updater(**settings)[0], updater(**settings)[0], tmp_path)


class Eager(NegativeSource):
    """Wrong on purpose: it takes a right completion for a negative."""

    def propose(self, slots, batch, attempt):
        return [slot.positive for slot in slots]

    def accepts(self, verification):
        return True


class Forgetful(HackingAlarm):
    """Wrong on purpose: it does not keep its state."""

    def state(self):
        return {}


class Chance(type(make_reward("score"))):
    """Wrong on purpose: a reward by chance."""

    def of(self, verification, score):
        return random.random()


def test_the_checks_see_what_is_wrong():
    with pytest.raises(AssertionError, match="accepted as wrong"):
        check_negative_source(Eager())
    with pytest.raises(AssertionError, match="differs after a resume"):
        check_monitor(Forgetful(), Forgetful())
    with pytest.raises(AssertionError, match="two rewards"):
        check_reward(Chance())
