"""Shared parts: the nano models that the package ships."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import threading

import pytest

from http_server import Server


@pytest.fixture(scope="session")
def nano_reward_model():
    from cooper_rl.settings.files import resolve_model
    from cooper_rl.verifyrm import VerifyRM

    return VerifyRM.from_pretrained(resolve_model("nano", "reward_model"))


@pytest.fixture
def background():
    """Starts servers, each in a thread, and ends them with the test."""
    servers = []

    def start(server):
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def serve(background):
    return lambda behave: background(Server(behave))
