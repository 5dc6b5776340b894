"""The client of OpenAI-compatible servers, against a real HTTP server that can be told to misbehave."""

import asyncio
import socket
import time

import pytest

from cooper_rl.generation import OpenAIServer, Sampling
from http_server import echo, said


def ask(server, *texts, **settings):
    client = OpenAIServer(server if isinstance(server, str) else server.url, "m", backoff_seconds=0.01, **settings)
    prompts = [[{"role": "user", "content": text}] for text in texts]
    return client.generate_or_none(prompts, Sampling(5, 0.5), seed=3)


def test_answers_come_in_order_with_the_settings_sent(serve):
    def slower_first(body, _):
        time.sleep(0.1 if body["messages"][0]["content"] == "a" else 0)
        return echo(body, _)

    server = serve(slower_first)
    assert ask(server, "a", "b", "c") == ["A", "B", "C"]
    path, body = next(r for r in server.requests if r[1]["messages"][0]["content"] == "b")
    assert path == "/v1/chat/completions"
    assert (body["model"], body["max_tokens"], body["temperature"], body["seed"]) == ("m", 5, 0.5, 4)


def test_no_more_requests_at_once_than_allowed(serve):
    def slow(body, _):
        time.sleep(0.03)
        return echo(body, _)

    server = serve(slow)
    assert ask(server, *"abcdefghijkl", concurrency=3) == list("ABCDEFGHIJKL")
    assert server.most_busy == 3


def test_an_overloaded_server_is_asked_again(serve):
    server = serve(lambda body, count: (503, {}) if count < 3 else echo(body, count))
    assert ask(server, "a") == ["A"] and len(server.requests) == 3


@pytest.mark.parametrize(
    "answer",
    [b"<html>", {"choices": []}, {"error": "x"}, said(None), [1]],
    ids=["html", "none", "error", "null", "list"],
)
def test_garbage_is_none_for_its_prompt_alone(serve, answer):
    server = serve(lambda body, count: (200, answer) if body["messages"][0]["content"] == "b" else echo(body, count))
    assert ask(server, "a", "b", "c", retries=1) == ["A", None, "C"]
    assert len(server.requests) == 4  # "b" twice


def test_a_refusal_is_not_repeated(serve):
    server = serve(lambda body, count: (400, {"error": "bad"}))
    assert ask(server, "a") == [None] and len(server.requests) == 1


def test_a_hanging_server_and_one_that_is_gone(serve):
    def hang(body, count):
        time.sleep(10)
        return echo(body, count)

    started = time.monotonic()
    assert ask(serve(hang), "a", timeout_seconds=0.1, retries=1) == [None]
    assert time.monotonic() - started < 10
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    assert ask(f"http://127.0.0.1:{port}/v1", "a", retries=1) == [None]


def test_the_key_comes_from_the_environment_and_is_not_logged(serve, monkeypatch, caplog):
    monkeypatch.setenv("MY_KEY", "s3cret")
    server = serve(lambda body, count: (400, {}))
    caplog.set_level("DEBUG")
    ask(server, "a", api_key_env="MY_KEY")
    assert server.headers[0]["Authorization"] == "Bearer s3cret" and "s3cret" not in caplog.text
    ask(server, "a", api_key_env="NOT_SET")
    assert "Authorization" not in server.headers[1]


def test_inside_a_running_event_loop(serve):
    server = serve(echo)

    async def main():
        return ask(server, "a")

    assert asyncio.run(main()) == ["A"]


def test_an_answer_that_is_too_long_or_dribbles_or_comes_too_late(serve):
    huge = serve(lambda body, count: (200, said("x" * 10_000_000)))
    assert ask(huge, "a") == [None] and len(huge.requests) == 1

    def some_hang(body, count):
        if body["messages"][-1]["content"] == "slow":
            time.sleep(10)
        return echo(body, count)

    started = time.monotonic()
    server = serve(some_hang)
    assert ask(server, "a", "slow", "b", batch_seconds=1) == ["A", None, "B"]
    assert time.monotonic() - started < 10


def test_an_address_that_is_none(serve):
    assert ask("http://127.0.0.1:not-a-port/v1", "a", retries=0) == [None]
