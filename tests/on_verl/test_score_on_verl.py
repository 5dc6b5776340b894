"""examples/own-verifier/verl_score.py in verl's own reward manager."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("verl", reason="verl is not installed: run make verl-env, then make test-verl")

import torch
from omegaconf import OmegaConf
from verl import DataProto
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
from verl.trainer.ppo.reward import get_custom_reward_fn

pytestmark = [pytest.mark.verl]
EXAMPLE = Path(__file__).parents[2] / "examples" / "own-verifier" / "verl_score.py"


class Bytes:
    """A tokenizer whose tokens are characters."""

    def decode(self, ids, skip_special_tokens=True):
        return "".join(chr(i) for i in ids)


def asked(answer, truth):
    ids = torch.tensor([[ord(c) for c in answer]])
    other = {"data_source": ["x"], "reward_model": [{"ground_truth": truth}], "extra_info": [{}]}
    return DataProto.from_dict({"responses": ids, "attention_mask": torch.ones_like(ids)}, other)


def test_the_score_in_verls_reward_manager():
    given = {"path": str(EXAMPLE), "name": "compute_score"}
    config = OmegaConf.create({"reward": {"custom_reward_function": given}})

    async def scored():
        manager = NaiveRewardManager(config, Bytes(), get_custom_reward_fn(config))
        right, wrong = asked(r"\boxed{0.5}", "1/2"), asked("It is 13.", "12")
        several = asked(r"\boxed{0.5}", ["7", "1/2"])
        return await asyncio.gather(*map(manager.run_single, [right, wrong, several] * 20))

    found = asyncio.run(scored())
    assert [each["reward_score"] for each in found] == [1.0, 0.0, 1.0] * 20
    assert found[0]["reward_extra_info"] == {"score": 1.0, "open": 0.0}
