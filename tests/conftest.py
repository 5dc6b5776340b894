"""Shared parts: the nano models that the package ships."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import gc
import sys
import threading

import pytest

from http_server import Server


def pytest_collection_finish():
    """Spares later garbage collections what the imports have made."""
    gc.collect()
    gc.freeze()


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


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A `cooper serve` with narrow limits, which all tests of a session may ask."""
    from served import Served

    limits = {"max_batch_samples": 40, "max_characters": 5000, "max_body_megabytes": 1, "body_seconds": 1.5}
    made = Served(tmp_path_factory.mktemp("served"), **limits)
    yield made
    made.stop()


@pytest.fixture
def calls_of():
    """Counts how often a call calls C functions of this name: work that must not grow with a text's length."""

    def counted(name, function, *arguments):
        found = []
        sys.setprofile(lambda _, event, called: found.append(called) if event == "c_call" else None)
        try:
            function(*arguments)
        finally:
            sys.setprofile(None)
        return sum(each.__name__ == name for each in found)

    return counted
