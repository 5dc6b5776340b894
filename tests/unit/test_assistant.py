"""The assistant on a real server: asked in the background, left alone where it is down, never in the run's way."""

import random
import time

import pytest

from cooper_rl.engines.config import CooperConfig
from cooper_rl.generation import OpenAIServer
from cooper_rl.method.negatives import FAILED_STEPS, PAUSE_STEPS, Assistant, Slot, find_source
from cooper_rl.method.pairs import Pairs
from cooper_rl.records import Batch, Reason, Verdict
from cooper_rl.verifiers import RuleVerifier
from http_server import echo, said
from rollouts import make_rollout


def slot(question, answer, positive):
    one = make_rollout(question, answer, positive, 0.9, Verdict.CORRECT, Reason.MATCH, 1.0, 0)
    return Slot([one], positive, "rollout", "assistant", random.Random(0))


SLOTS = [slot("What is 2 + 2?", "4", "It is 4."), slot("What is 3 + 3?", "6", "It is 6.")]


def assistant(server, **settings):
    settings = {"retries": 0, "timeout_seconds": 2, **settings}
    return Assistant(OpenAIServer(getattr(server, "url", server), "m", **settings), max_new_tokens=7, seed=0)


def test_it_is_asked_for_wrong_rewrites(serve):
    server = serve(echo)
    (answer,) = assistant(server).propose(SLOTS[:1], None, 1)
    assert "IT IS 4." in answer and "WHAT IS 2 + 2?" in answer
    assert server.requests[0][1]["max_tokens"] == 7


def test_what_was_begun_is_not_asked_again_and_hardly_waited_for(serve):
    def slow(body, count):
        time.sleep(1)
        return echo(body, count)

    server = serve(slow)
    rewrite = assistant(server)
    rewrite.begin(SLOTS)
    while len(server.requests) < 2 or server.busy:  # the policy's step
        time.sleep(0.05)
    texts = rewrite.propose(SLOTS, None, 0)
    assert all(texts) and len(server.requests) == 2
    assert rewrite.end_step()["time/assistant_wait_seconds"] < 0.8
    rewrite.begin(SLOTS)
    added = slot("What is 4 + 4?", "8", "It is 8.")
    texts = rewrite.propose([SLOTS[0], added], None, 0)  # one that was begun and one that was not
    assert "IT IS 4." in texts[0] and "IT IS 8." in texts[1] and len(server.requests) == 5
    end = rewrite.end_step()
    assert end.pop("time/assistant_wait_seconds") > 0.9
    assert end == {"pairs/assistant_failure_rate": 0.0, "pairs/assistant_paused": 0.0}


def test_a_server_that_is_down_is_left_alone_and_tried_again(serve):
    up = [False]
    server = serve(lambda body, count: echo(body, count) if up[0] else (503, {}))
    rewrite = assistant(server)
    paused = []
    for _ in range(FAILED_STEPS + PAUSE_STEPS + 1 + PAUSE_STEPS):
        rewrite.begin(SLOTS)
        assert rewrite.propose(SLOTS, None, 0) == [None, None]
        paused.append(rewrite.end_step()["pairs/assistant_paused"])
    tried = [0.0] * FAILED_STEPS + [1.0] * PAUSE_STEPS + [0.0] + [1.0] * PAUSE_STEPS
    assert paused == tried and len(server.requests) == 2 * tried.count(0.0)
    up[0] = True
    assert all(rewrite.propose(SLOTS, None, 0)) and rewrite.end_step()["pairs/assistant_failure_rate"] == 0.0
    up[0] = False
    assert rewrite.propose(SLOTS, None, 0) == [None, None]
    assert rewrite.end_step()["pairs/assistant_paused"] == 0.0 and rewrite.pause == 0


RIGHT = [
    make_rollout("What is 6 + 6?", "12", f"So it is {w}. The answer is 12.", 0.9, Verdict.CORRECT, Reason.MATCH, 1.0, 0)
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
    batch = Batch(1, tuple(RIGHT), (1.0, 1.0))
    with RuleVerifier() as verifier:
        for fallback, expected in (("none", []), ("perturb", ["perturb"])):
            config = CooperConfig(output_dir="unused", negative_fallback=fallback, negative_tries=2, **settings)
            rewrite = assistant(server, timeout_seconds=0.2, batch_seconds=0.5)
            pairs = Pairs(config, verifier, {"assistant": rewrite, "perturb": find_source("perturb")()})
            pairs.prepare(batch)
            result = pairs.build(batch)
            assert [pair.negative_source for pair in result.pairs] == expected
            assert result.metrics()["pairs/fallback"] == len(expected)
            told = pairs.end_step()["pairs/assistant_failure_rate"]
            assert told == (0.0 if kind in ("a refusal", "still right") else 1.0)


def test_a_server_that_goes_down_in_the_middle(serve):
    server = serve(lambda body, count: (200, said(f"The answer is {40 + count}.")) if count < 4 else (500, {}))
    groups = [
        make_rollout(
            f"What is {g} + 6?", str(g + 6), f"The answer is {g + 6}.", 0.9, Verdict.CORRECT, Reason.MATCH, 1.0, g
        )
        for g in range(8)
    ]
    random.Random(0).shuffle(groups)
    sources = {"negative_sources": {"assistant": 1}, "pairs_per_prompt": 1}
    config = CooperConfig(output_dir="unused", num_generations=2, per_device_train_batch_size=2, **sources)
    with RuleVerifier() as verifier:
        pairs = Pairs(config, verifier, {"assistant": assistant(server)})
        result = pairs.build(Batch(1, tuple(groups), (1.0,) * 8))
    assert len(result.pairs) == 3 and result.metrics()["pairs/yield"] == 3 / 8


def test_a_refused_worked_solution_does_not_throw_the_other_rewrites_away(serve):
    """Slots are matched one by one: what the server wrote for the other prompts is used."""
    server = serve(lambda body, count: (200, said(f"The answer is {40 + count}.")))
    wrong = [
        make_rollout(
            f"q{g}", str(g), "The answer is 99.", 0.1, Verdict.INCORRECT, Reason.MISMATCH, 0.0, g, "", solution
        )
        for g, solution in enumerate(["The answer is 0.", "The answer is 7.", "The answer is 2."])
    ]
    settings = {"negative_sources": {"assistant": 1}, "pairs_per_prompt": 1, "positive_fallback": "worked_solution"}
    config = CooperConfig(output_dir="unused", num_generations=2, per_device_train_batch_size=2, **settings)
    batch = Batch(1, tuple(wrong), (0.0,) * 3)
    with RuleVerifier() as verifier:
        pairs = Pairs(config, verifier, {"assistant": assistant(server)})
        pairs.prepare(batch)
        result = pairs.build(batch)
    assert [pair.question for pair in result.pairs] == ["q0", "q2"] and len(server.requests) == 2
