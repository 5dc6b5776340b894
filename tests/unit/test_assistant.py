"""The assistant on a real server: asked in the background, left alone where it is down, never in the run's way."""

import random
import time

import pytest

from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.generation import OpenAIServer
from cooper_rl.method.negatives.assistant import FAILED_STEPS, PAUSE_STEPS, Assistant
from cooper_rl.method.pairs import assistant_requests, build_pairs, draw_slots
from cooper_rl.records import Reason, Rollout, Verdict
from cooper_rl.verifiers import RuleVerifier
from http_server import echo, said

REQUESTS = [("What is 2 + 2?", "It is 4."), ("What is 3 + 3?", "It is 6.")]


def assistant(server, **settings):
    settings = {"retries": 0, "timeout_seconds": 2, **settings}
    return Assistant(OpenAIServer(getattr(server, "url", server), "m", **settings), max_new_tokens=7, seed=0)


def test_it_is_asked_for_wrong_rewrites(serve):
    server = serve(echo)
    (answer,) = assistant(server)(REQUESTS[:1], 1)
    assert "IT IS 4." in answer and "WHAT IS 2 + 2?" in answer
    assert server.requests[0][1]["max_tokens"] == 7


def test_what_was_begun_is_not_asked_again_and_hardly_waited_for(serve):
    def slow(body, count):
        time.sleep(1)
        return echo(body, count)

    server = serve(slow)
    rewrite = assistant(server)
    rewrite.begin(REQUESTS)
    while len(server.requests) < 2 or server.busy:  # the policy's step
        time.sleep(0.05)
    texts = rewrite(REQUESTS, 0)
    assert all(texts) and len(server.requests) == 2
    assert rewrite.end_step()["time/assistant_wait_seconds"] < 0.8
    rewrite.begin(REQUESTS)
    assert len(rewrite(REQUESTS[:1], 0)) == 1  # other requests than those begun: asked for themselves
    end = rewrite.end_step()
    assert end.pop("time/assistant_wait_seconds") > 0.9
    assert end == {"pairs/assistant_failure_rate": 0.0, "pairs/assistant_paused": 0.0}


def test_a_server_that_is_down_is_left_alone_and_tried_again(serve):
    up = [False]
    server = serve(lambda body, count: echo(body, count) if up[0] else (503, {}))
    rewrite = assistant(server)
    paused = []
    for _ in range(FAILED_STEPS + PAUSE_STEPS + 1 + PAUSE_STEPS):
        rewrite.begin(REQUESTS)
        assert rewrite(REQUESTS, 0) == [None, None]
        paused.append(rewrite.end_step()["pairs/assistant_paused"])
    tried = [0.0] * FAILED_STEPS + [1.0] * PAUSE_STEPS + [0.0] + [1.0] * PAUSE_STEPS
    assert paused == tried and len(server.requests) == 2 * tried.count(0.0)
    up[0] = True
    assert all(rewrite(REQUESTS, 0)) and rewrite.end_step()["pairs/assistant_failure_rate"] == 0.0
    up[0] = False
    assert rewrite(REQUESTS, 0) == [None, None]
    assert rewrite.end_step()["pairs/assistant_paused"] == 0.0 and rewrite.pause == 0


RIGHT = [
    Rollout("What is 6 + 6?", "12", f"So it is {w}. The answer is 12.", 0.9, Verdict.CORRECT, Reason.MATCH, 1.0, 0)
    for w in ("twelve", "a dozen")
]
MISBEHAVIOURS = {
    "outage": lambda body, count: (503, {}),
    "garbage": lambda body, count: (200, b"<html>not json"),
    "no text": lambda body, count: (200, {"choices": []}),
    "ten megabytes": lambda body, count: (200, said("9" * 10_000_000)),
    "a refusal": lambda body, count: (200, said("I cannot help with that.")),
    "still right": lambda body, count: (200, said("The answer is 12.")),
}


@pytest.mark.parametrize("kind", [*MISBEHAVIOURS, "hang", "nobody there"])
def test_a_misbehaving_assistant_masks_the_prompt_or_the_next_source_takes_over(serve, kind):
    def hang(body, count):
        time.sleep(3)
        return echo(body, count)

    server = "http://127.0.0.1:9/v1" if kind == "nobody there" else serve(MISBEHAVIOURS.get(kind, hang))
    settings = {
        "num_generations": 2,
        "per_device_train_batch_size": 2,
        "negative_sources": {"assistant": 1},
        "pairs_per_prompt": 1,
    }
    with RuleVerifier() as verifier:
        for fallback, expected in (("none", []), ("perturb", ["perturb"])):
            config = CooperConfig(output_dir="unused", negative_fallback=fallback, negative_tries=2, **settings)
            rewrite = assistant(server, timeout_seconds=0.2, batch_seconds=0.5)
            rewrite.begin(assistant_requests(draw_slots(RIGHT, {}, config, "0")))
            result = build_pairs(RIGHT, {}, config, verifier, rewrite, "0")
            assert [pair.negative_source for pair in result.pairs] == expected
            assert result.metrics()["pairs/fallback"] == len(expected)
            told = rewrite.end_step()["pairs/assistant_failure_rate"]
            assert told == (0.0 if kind in ("a refusal", "still right") else 1.0)


def test_a_server_that_goes_down_in_the_middle(serve):
    server = serve(lambda body, count: (200, said(f"The answer is {40 + count}.")) if count < 4 else (500, {}))
    groups = [
        Rollout(f"What is {g} + 6?", str(g + 6), f"The answer is {g + 6}.", 0.9, Verdict.CORRECT, Reason.MATCH, 1.0, g)
        for g in range(8)
    ]
    random.Random(0).shuffle(groups)
    sources = {"negative_sources": {"assistant": 1}, "pairs_per_prompt": 1}
    config = CooperConfig(output_dir="unused", num_generations=2, per_device_train_batch_size=2, **sources)
    with RuleVerifier() as verifier:
        result = build_pairs(groups, {}, config, verifier, assistant(server), "0")
    assert len(result.pairs) == 3 and result.metrics()["pairs/yield"] == 3 / 8
