"""Shared parts: the nano models that the package ships."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest


@pytest.fixture(scope="session")
def nano_reward_model():
    from cooper_rl.recipe import resolve_model
    from cooper_rl.verifyrm import VerifyRM

    return VerifyRM.from_pretrained(resolve_model("nano", "reward_model"))
