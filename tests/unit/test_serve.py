"""The parts of the server: its gate, its desk, its record, and what it is started with."""

import asyncio
import json
import threading
from types import SimpleNamespace

import httpx
import pytest
from pydantic import ValidationError

from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.method.reward import make_reward
from cooper_rl.records import Batch, Reason, Rollout, Verdict, Verification
from cooper_rl.serve import wire
from cooper_rl.serve.app import make_app
from cooper_rl.serve.http import Gate
from cooper_rl.serve.learner import Desk
from cooper_rl.serve.ledger import Entry, Ledger
from cooper_rl.serve.scorer import Scorer
from cooper_rl.serve.wire import Answer, LearnAnswer, RefusedError, ScoreBody, join_answers
from cooper_rl.settings.asking import ServerSettings, ServeSettings, check_server_settings, is_local
from rollouts import make_rollout

ANSWER = Answer(3, 1.0, 0.5, "CORRECT", "match")


def call(*ids, **rest):
    sample = {"question": "q", "reference_answer": "1", "completion": "1"}
    return ScoreBody(samples=[{**sample, "id": id} for id in ids], **rest)


class Learner:
    """Stands in for the core: it notes what it does, and can be held or made to fail."""

    def __init__(self):
        self.scorer, self.version, self.step, self.metrics, self.done = self, 3, 0, {}, []
        self.hold, self.entered, self.fails, self.completed = threading.Event(), threading.Event(), {}, []
        self.hold.set()

    def score(self, calls):
        self.entered.set()
        assert self.hold.wait(10)
        for each in calls:
            if each.batch in self.fails:
                raise self.fails[each.batch]
        self.done.append([each.batch for each in calls])
        self.completed += [each.batch for each in calls if each.last]
        return [join_answers([ANSWER] * len(each.samples), 3) for each in calls]

    def due(self):
        found, self.completed = self.completed, []
        return found

    def learn(self, batch):
        if f"learn {batch}" in self.fails:
            raise self.fails[f"learn {batch}"]
        self.done.append(f"learn {batch}")
        return LearnAnswer(version=4, step=1, metrics={})

    def save(self):
        self.done.append("save")
        return LearnAnswer(version=4, step=1, metrics={})

    def close(self):
        self.done.append("close")


def held_desk(limit=100):
    """A desk whose first call is being scored until it is let go."""
    learner = Learner()
    desk = Desk(learner, limit)
    learner.hold.clear()
    first = desk.score(call("0", batch="first"))
    assert learner.entered.wait(10)
    return learner, desk, first


def test_calls_that_wait_are_scored_together_and_whole_batches_alone():
    learner, desk, first = held_desk()
    futures = [desk.score(call("a", batch="a")), desk.score(call("b", batch="b"))]
    futures += [desk.score(call("c", batch="c", last=True)), desk.score(call("d", batch="d")), desk.learn("a")]
    futures += [desk.score(call("e", batch="e"))]
    learner.hold.set()
    assert all(future.result(10) for future in [first, *futures])
    desk.close()
    # c is complete after d and e have come, so it is learned behind them
    assert learner.done == [["first"], ["a", "b"], ["c"], ["d"], "learn a", ["e"], "learn c", "close"]


def test_too_many_calls_are_refused_and_the_others_answered():
    learner, desk, first = held_desk(limit=2)
    waiting = [desk.score(call("a")), desk.save()]
    with pytest.raises(RefusedError, match="2 calls wait already") as refusal:
        desk.score(call("b"))
    assert refusal.value.status == 429
    learner.hold.set()
    assert first.result(10).rewards == [1.0] and all(future.result(10) for future in waiting)
    desk.close()
    with pytest.raises(RefusedError, match="stopping"):
        desk.learn("a")


def test_a_call_that_fails_spoils_no_other():
    learner, desk, first = held_desk()
    learner.fails["bad"] = RuntimeError("out of\nmemory")
    good, bad = desk.score(call("a", batch="good")), desk.score(call("b", batch="bad"))
    learner.hold.set()
    assert first.result(10) and good.result(10).rewards == [1.0]
    with pytest.raises(RefusedError, match="RuntimeError: out of memory"):
        bad.result(10)
    assert desk.score(call("c")).result(10) and not desk.stopped
    desk.close()


def test_learning_that_fails_stops_the_run_and_every_call_gets_the_reason():
    learner = Learner()
    desk = Desk(learner, 10)
    learner.fails["learn x"] = CooperError("the hacking alarm stopped the run")
    with pytest.raises(RefusedError, match="the run has stopped: the hacking alarm"):
        desk.learn("x").result(10)
    with pytest.raises(RefusedError, match="hacking alarm") as refusal:
        desk.score(call("a"))
    assert refusal.value.status == 503 and not refusal.value.again
    health = asked(make_app(desk, ServerSettings()), "GET", "/health")
    told = "the run has stopped: the hacking alarm stopped the run"
    assert health.status_code == 503 and health.json() == {"status": "stopped", "version": 3, "step": 0, "error": told}
    desk.close()
    assert learner.done == []  # a checkpoint of a model that may have changed in part is not written


def asked(app, method, path, **rest):
    async def ask():
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as client:
            return await client.request(method, path, **rest)

    return asyncio.run(ask())


def test_a_call_that_takes_too_long_is_told_so_and_its_work_goes_on():
    learner, desk, first = held_desk()
    app = make_app(desk, ServerSettings(wait_seconds=0.05))
    late = asked(app, "POST", "/score", json=call("a").model_dump())
    assert (
        late.status_code == 503 and "send the same call again" in late.json()["error"] and late.headers["Retry-After"]
    )
    learner.hold.set()
    first.result(10)
    desk.close()
    assert learner.done[1:] == [[""], "close"]


def test_the_token_is_asked_for():
    desk = Desk(Learner(), 10)
    settings = ServerSettings()
    app = Gate(make_app(desk, settings), settings, "secret")
    for given in ("", "Bearer wrong", "secret", "Basic secret", "Bearer", "Bearer secret x", "Bearersecret"):
        refused = asked(app, "GET", "/metrics", headers={"Authorization": given})
        assert refused.status_code == 401 and refused.headers["WWW-Authenticate"] == "Bearer"
    for given in ("Bearer secret", "bearer secret", "BEARER  secret"):
        assert asked(app, "GET", "/metrics", headers={"Authorization": given}).status_code == 200
    assert asked(app, "GET", "/health").status_code == 200
    assert app.answers == {401: 7, 200: 4} and app.held == 0
    desk.close()


def test_bodies_are_limited_each_and_together():
    desk = Desk(Learner(), 10)
    settings = ServerSettings(max_body_megabytes=1)
    app = Gate(make_app(desk, settings), settings)
    kind = {"Content-Type": "application/json"}

    async def parts():
        for _ in range(3):
            yield b" " * 600_000

    too_large = asked(app, "POST", "/score", content=parts(), headers=kind)  # without a Content-Length
    assert too_large.status_code == 413 and app.held == 0
    app.held = 8_000_000
    full = asked(app, "POST", "/score", content=b"{}", headers=kind)
    assert full.status_code == 429 and app.held == 8_000_000
    desk.close()


def test_names_are_limited_in_characters():
    assert call("😀" * 200, batch="é" * 200)
    with pytest.raises(ValidationError, match="at most 200 characters"):
        call("😀" * 201)


def test_only_calls_count_as_waiting():
    """What the server has to learn by itself takes no client's place."""
    learner, desk, first = held_desk(limit=2)
    learner.completed = [f"b{number}" for number in range(5)]
    desk._schedule()
    assert desk.waiting == 0
    waiting = [desk.score(call(id)) for id in "ab"]
    with pytest.raises(RefusedError, match="2 calls wait already"):
        desk.score(call("c"))
    learner.hold.set()
    assert all(each.result(10) for each in (first, *waiting))
    desk.close()


def test_the_description_has_the_statuses_that_are_answered():
    desk = Desk(Learner(), 10)
    app = Gate(make_app(desk, ServerSettings()), ServerSettings())
    page = asked(app, "GET", "/openapi.json").json()
    described = {path: set(*[one["responses"] for one in of.values()]) for path, of in page["paths"].items()}
    always = {"200", "400", "401", "413", "429", "503"}
    of_batches = {"/score": {"409"}, "/learn": {"404", "409"}}
    paths = ("/score", "/learn", "/save", "/openrlhf", "/slime", "/health", "/metrics")
    assert described == {path: always | of_batches.get(path, set()) for path in paths}
    for path in ("/score", "/learn", "/openrlhf", "/slime"):
        answer = asked(app, "POST", path, json={"wrong": 1})
        (operation,) = page["paths"][path].values()
        reference = operation["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]["$ref"]
        fields = page["components"]["schemas"][reference.rpartition("/")[2]]["properties"]
        assert answer.status_code == 400 and answer.json().keys() == fields.keys() == {"error"}
    assert "ValidationError" not in str(page)
    desk.close()


def test_other_addresses_need_a_token(monkeypatch):
    monkeypatch.delenv("COOPER_SERVE_TOKEN", raising=False)
    assert [is_local(host) for host in ("127.0.0.1", "localhost", "::1")] == [True] * 3
    assert [is_local(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", "")] == [False] * 5
    assert check_server_settings(ServeSettings()) == ""
    with pytest.raises(BadInputError, match="set a token in the environment variable COOPER_SERVE_TOKEN"):
        check_server_settings(ServeSettings(host="0.0.0.0"))
    monkeypatch.setenv("COOPER_SERVE_TOKEN", "secret")
    assert check_server_settings(ServeSettings(host="0.0.0.0")) == "secret"
    with pytest.raises(BadInputError, match="reward_model_sharded"):
        check_server_settings(ServeSettings(reward_model_sharded=True))
    with pytest.raises(BadInputError, match="credit = centred: the server gives rewards of whole completions"):
        check_server_settings(ServeSettings(credit="centred"))
    with pytest.raises(BadInputError, match="reward_model_alone_steps: the policy is the client's"):
        check_server_settings(ServeSettings(reward_model_alone_steps=3))
    with pytest.raises(BadInputError, match="max_steps = -1: the schedule linear"):
        check_server_settings(ServeSettings(reward_model_lr_scheduler_type="linear"))


def entry(id, text="1"):
    rollout = make_rollout("q", "1", text, 0.1 + 0.2, Verdict.INCORRECT, Reason.MISMATCH, 0.25, 0, answer=None)
    return Entry(id, f"p{len(id)}", text.encode(), Answer.of(rollout, 7), rollout)


def test_the_record_gives_back_what_was_written(tmp_path):
    ledger = Ledger(tmp_path)
    with ledger.writing():
        batch = ledger.begin("one", "s")
        ledger.add(batch, "s", [entry("a"), entry("bb"), entry("c")], 0.5)
        ledger.complete(batch)
    with pytest.raises(RuntimeError), ledger.writing():
        ledger.add(ledger.batch("one"), "s", [entry("d")], 0.5)
        raise RuntimeError
    ledger.close()
    ledger = Ledger(tmp_path)
    (waiting,) = ledger.waiting()
    judged = ledger.rollouts(waiting)
    assert [rollout.group for rollout in judged.rollouts] == [0, 1, 0] and judged.rollouts[0] == entry("a").rollout
    assert (judged.version, judged.seconds, waiting.size) == (7, 0.5, 3)
    assert ledger.find_answers("s", ["a", "d"]) == {"a": (b"1", entry("a").answer)}
    ledger.mark_learned(waiting, 1, 8, {"loss": 0.1, "none": None})
    assert not ledger.waiting() and [each.metrics for each in ledger.after(0)] == [{"loss": 0.1, "none": None}]
    ledger.forget(1)
    with pytest.raises(CooperError, match="not kept any more"):
        ledger.rollouts(waiting)
    assert ledger.find_answers("s", ["a"])["a"][1].score == 0.1 + 0.2
    ledger.close()


def test_batches_that_are_not_complete_are_limited(tmp_path):
    verified = Verification(Verdict.CORRECT, Reason.MATCH)

    def judge_alone(samples, step):
        return Batch(0, tuple(Rollout(sample, verified, 0.5, 1.0) for sample in samples))

    core = SimpleNamespace(judge_alone=judge_alone, reward=make_reward("score"), reward_model=None)
    scorer = Scorer(core, Ledger(tmp_path), ServeSettings(max_open_batches=1, gather_samples=2))
    first, second, gathered = scorer.score([call("a", batch="x"), call("a", batch="x"), call("b", gather="z")])
    assert first == second and gathered.rewards == [1.0]  # both were begun in one round
    for refused in scorer.score([call("a", batch="y"), call("c", gather="w")]):
        assert refused.status == 429 and "complete one of them first" in str(refused)
    done = scorer.score([call("a", batch="y", last=True), call("c", gather="z"), call("d", batch="x")])
    assert all(answer.rewards == [1.0] for answer in done) and scorer.completed == ["y", "gather:z:1"]
    assert scorer.ledger.batch("x").size == 2
    scorer.ledger.close()


def test_a_batch_that_is_too_large_for_a_new_gather_size_is_complete(tmp_path):
    verified = Verification(Verdict.CORRECT, Reason.MATCH)

    def judge_alone(samples, step):
        return Batch(0, tuple(Rollout(sample, verified, 0.5, 1.0) for sample in samples))

    core = SimpleNamespace(judge_alone=judge_alone, reward=make_reward("score"), reward_model=None)
    ledger = Ledger(tmp_path)
    before = Scorer(core, ledger, ServeSettings(gather_samples=4))
    before.score([call(letter, gather="z") for letter in "abc"])
    after = Scorer(core, ledger, ServeSettings(gather_samples=2))
    after.score([call(letter, gather="z") for letter in "de"])
    assert after.completed == ["gather:z:1", "gather:z:2"]
    assert [ledger.batch(f"gather:z:{number}").size for number in (1, 2)] == [3, 2]
    ledger.close()


def test_a_folder_has_one_server(tmp_path):
    ledger = Ledger(tmp_path)
    with pytest.raises(CooperError, match="database is locked; another server uses this folder"):
        Ledger(tmp_path)
    ledger.close()
    Ledger(tmp_path).close()


def test_a_record_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "served.sqlite3").write_bytes(b"no database at all" * 100)
    with pytest.raises(CooperError, match=r"served.sqlite3: file is not a database; free disk space"):
        Ledger(tmp_path)


def test_every_error_is_an_object_with_one_line():
    desk = Desk(Learner(), 10)
    app = make_app(desk, ServerSettings())
    for method, path in (("GET", "/nothing"), ("GET", "/score"), ("PUT", "/health")):
        found = asked(app, method, path)
        assert found.status_code == 404 and list(json.loads(found.text)) == ["error"]
    desk.close()
    assert asked(app, "POST", "/save").status_code == 503


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It is 4.<|im_end|>\n</s> <eos>", "It is 4."),
        ("It is <|4|> now", "It is <|4|> now"),
        (" " * 200_000 + "x<end_of_turn>", " " * 200_000 + "x"),  # in a moment, since it holds the whole server up
    ],
)
def test_a_completion_loses_its_special_tokens_at_the_end(text, kept):
    assert wire.strip_end(text) == kept


@pytest.mark.parametrize(("label", "reference"), [(1234567.0, "1234567"), (0.3333333333, "0.3333333333"), (3, "3")])
def test_a_number_as_a_label_keeps_its_digits(label, reference):
    body = wire.SlimeBody(prompt="q", response="r", label=label)
    assert wire.of_slime(body).samples[0].reference_answer == reference


def test_an_empty_prompt_is_the_clients_mistake():
    body = wire.OpenRLHFBody(query=["a"], prompts=[""], labels=["1"])
    with pytest.raises(RefusedError) as refused:
        wire.of_openrlhf(body)
    assert refused.value.status == 400
