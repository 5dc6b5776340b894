"""`cooper serve`: the same method as in training, each batch once, whatever clients and kills do."""

import concurrent.futures
import json
import os
import resource
import socket
import subprocess

import pytest
import torch
from safetensors.torch import load_file

from cooper_rl.checkpoints import last_checkpoint
from cooper_rl.method.journal import read_metrics
from cooper_rl.report.runs import find_runs
from cooper_rl.report.write import write_report
from cooper_rl.serve.http import make_core
from cooper_rl.settings.asking import ServeSettings
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.verifiers import RuleVerifier
from served import Served, bodies, samples, words

STEPS = 6


@pytest.fixture(scope="module")
def in_process(tmp_path_factory):
    """The run of one process: its folder, and each step's batch and report."""
    folder = tmp_path_factory.mktemp("in-process")
    recipe = load_recipe("recipes/quickstart.yaml", words(folder), command="serve")
    settings = ServeSettings.from_recipe(recipe)
    with RuleVerifier(settings.verifier, workers=1) as verifier:
        cooper = make_core(settings, verifier)
        cooper.begin()
        steps = []
        for step in range(1, STEPS + 1):
            batch = cooper.score(samples(step), step)
            steps.append((batch, cooper.learn(batch, saving=step % 2 == 0)))
        cooper.save(folder / "checkpoint-6")
    return folder, steps


def assert_same_step(answer, report):
    """A step's metrics are those of one process, to the last digit."""
    for name, value in report.metrics.items():
        if not name.startswith("time/"):
            assert answer["metrics"][name] == value, name


def same_weights(ours, theirs):
    found, expected = (load_file(folder / "reward_model" / "model.safetensors") for folder in (ours, theirs))
    return found.keys() == expected.keys() and all(torch.equal(found[key], expected[key]) for key in expected)


def test_killed_it_learns_each_batch_once_as_in_one_process(in_process, tmp_path):
    _, steps = in_process
    served = Served(tmp_path)
    answers = {}
    for step in range(1, STEPS + 1):
        sent = {"samples": bodies(step), "batch": f"step {step}", "last": True}
        answers[step] = served.client.post("/score", json=sent).json()
        if step == 6:  # step 5 was learned after the last checkpoint, step 6 is being learned
            assert served.learn("step 5").json()["version"] == 5
            served.kill()
            served = Served(tmp_path, "--resume")
            assert served.client.post("/score", json=sent).json() == answers[step]
        assert answers[step]["rewards"] == list(steps[step - 1][0].rewards)
        assert answers[step]["scores"] == [rollout.score for rollout in steps[step - 1][0].rollouts]
        assert answers[step]["version"] == steps[step - 1][0].version == step - 1
    for step in (*range(1, STEPS + 1), 2):  # asking again changes nothing
        learned = served.learn(f"step {step}").json()
        assert (learned["version"], learned["step"]) == (step, step)
        assert_same_step(learned, steps[step - 1][1])
        assert learned["metrics"]["serve/staleness"] == 0
    assert served.stop() != 0 and last_checkpoint(tmp_path).name == "checkpoint-6"
    assert same_weights(tmp_path / "checkpoint-6", in_process[0] / "checkpoint-6")
    rows = read_metrics(tmp_path)
    assert [row["step"] for row in rows] == list(range(STEPS + 1))
    for kind in ("rollouts", "pairs"):
        ours, theirs = (sorted((folder / kind).iterdir()) for folder in (tmp_path, in_process[0]))
        assert [path.read_text() for path in ours] == [path.read_text() for path in theirs]
    assert find_runs([tmp_path]) == [tmp_path] and write_report([tmp_path], tmp_path / "report.html")


def test_a_batch_in_several_calls_is_learned_once_and_answered_from_the_record(server):
    whole = bodies(50)
    first = server.score(whole[:6], batch="parts").json()
    assert server.learn("parts").status_code == 409
    assert server.score(whole[:6], batch="parts").json() == first
    second = server.score(whole[4:], batch="parts", last=True).json()
    assert second["rewards"][:2] == first["rewards"][4:] and len(second["rewards"]) == 12
    learned = server.learn("parts").json()
    assert learned["metrics"]["serve/samples"] == 16
    assert server.score(whole, batch="parts", last=True).json()["rewards"] == first["rewards"] + second["rewards"][2:]
    assert server.learn("parts").json() == learned
    assert server.client.get("/health").json()["step"] == learned["step"]
    changed = [{**whole[0], "completion": "The answer is 1."}]
    assert server.score(changed, batch="parts").status_code == 409
    assert server.score([{**whole[0], "id": "new"}], batch="parts").status_code == 409
    assert server.learn("no such").status_code == 404


def test_calls_without_a_batch_are_scored_and_not_recorded(server):
    step = server.client.get("/health").json()["step"]
    found = server.score(bodies(51)).json()
    assert set(found["rewards"]) == {0.0, 1.0} and set(found["verdicts"]) == {"CORRECT", "INCORRECT"}
    assert set(found["reasons"]) == {"match", "mismatch"}
    assert server.client.get("/health").json()["step"] == step


def test_an_alias_is_as_right_as_the_reference_answer(server):
    sample = {**bodies(54)[0], "reference_answer": "7", "completion": "The answer is 1000."}
    assert server.score([sample]).json()["verdicts"] == ["INCORRECT"]
    assert server.score([{**sample, "aliases": ["", "1,000"]}]).json()["verdicts"] == ["CORRECT"]
    first = server.score([sample], batch="aliases")
    assert first.status_code == 200
    changed = server.score([{**sample, "aliases": ["1,000"]}], batch="aliases")  # of the same id
    assert changed.status_code == 409
    assert server.score([sample], batch="aliases", last=True).json()["rewards"] == first.json()["rewards"]
    assert server.learn("aliases").status_code == 200


def test_samples_are_gathered_into_batches(server):
    step = server.client.get("/health").json()["step"]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        calls = [pool.submit(server.score, [body], gather="one by one") for body in [*bodies(52), bodies(53)[0]]]
        assert {call.result().status_code for call in calls} == {200, 409}  # the last has the first one's id
    assert server.learn("gather:one by one:2").json()["metrics"]["serve/samples"] == 8
    assert server.client.get("/health").json()["step"] == step + 2


def test_concurrent_clients_lose_no_batch(server):
    step = server.client.get("/health").json()["step"]
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        sent = [(f"c{number % 5}", bodies(100 + number % 5)) for number in range(10)]  # each batch twice
        answers = list(pool.map(lambda each: server.score(each[1], batch=each[0], last=True).json(), sent))
    assert answers[:5] == answers[5:]
    learned = [server.learn(f"c{number}").json() for number in range(5)]
    assert sorted(each["step"] for each in learned) == list(range(step + 1, step + 6))
    assert any(each["metrics"]["serve/staleness"] > 0 for each in learned)  # those scored before others were learned


BAD = [
    (b"{", 400, "not JSON"),
    (b"[" * 100_000, 400, "body"),
    (b"\xff\xfe", 400, "body"),
    (b"null", 400, "body"),
    (b'{"samples": 3}', 400, "samples"),
    (b'{"samples": []}', 400, "samples: empty"),
    (json.dumps({"samples": [{**bodies(1)[0], "extra": 1}]}).encode(), 400, "samples.0.extra"),
    (json.dumps({"samples": [{**bodies(1)[0], "completion": "\ud800"}]}).encode(), 400, "surrogate"),
    (json.dumps({"samples": [{**bodies(1)[0], "reference_answer": " "}]}).encode(), 400, "reference_answer"),
    (json.dumps({"samples": [{**bodies(1)[0], "completion": "x" * 5001}]}).encode(), 413, "5000 characters"),
    (json.dumps({"samples": [{**bodies(1)[0], "completion": "x" * 1_000_000}]}).encode(), 413, "1 megabytes"),
    (json.dumps({"samples": [{**bodies(1)[0], "aliases": "7"}]}).encode(), 400, "aliases"),
    (json.dumps({"samples": [{**bodies(1)[0], "aliases": ["x" * 5001]}]}).encode(), 413, "an alias has more than 5000"),
    (json.dumps({"samples": bodies(1) * 3}).encode(), 413, "at most 40"),
    (json.dumps({"samples": bodies(1)[:1] * 2}).encode(), 400, "two samples"),
    (json.dumps({"samples": bodies(1), "batch": "a", "gather": "b"}).encode(), 400, "not both"),
    (json.dumps({"samples": bodies(1), "last": True}).encode(), 400, "last"),
    (json.dumps({"samples": [], "batch": "empty", "last": True}).encode(), 400, "no sample"),
    (json.dumps({"samples": bodies(1), "batch": "gather:x:1"}).encode(), 400, "server's own"),
]


@pytest.mark.parametrize(("body", "status", "words"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_calls_are_refused_in_one_line(server, body, status, words):
    found = server.client.post("/score", content=body, headers={"Content-Type": "application/json"})
    assert found.status_code == status and words in found.json()["error"] and "\n" not in found.json()["error"]
    assert server.client.get("/health").json()["status"] == "ok"


def test_who_may_ask(server):
    body = json.dumps({"samples": bodies(1)[:1]}).encode()
    plain = server.client.post("/score", content=body, headers={"Content-Type": "text/plain"})
    assert plain.status_code == 400 and "Content-Type" in plain.json()["error"]
    other = server.client.get("/health", headers={"Host": "evil.example"})
    assert other.status_code == 401 and "own machine" in other.json()["error"]
    assert server.client.get("/score").status_code == 404 and "error" in server.client.get("/nothing").json()


@pytest.mark.parametrize("header", [{"Origin": "https://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_web_page_may_not_ask(server, header):
    answer = server.client.post("/save", headers={**header, "Content-Type": "text/plain"}, content="x")
    assert answer.status_code == 401 and "a web page may not ask" in answer.text


def test_metrics_are_prometheus_text(server):
    server.score(bodies(57), batch="measured", last=True)
    assert server.learn("measured").status_code == 200  # there is a step to show
    page = server.client.get("/metrics")
    assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    values = dict(line.rsplit(" ", 1) for line in page.text.splitlines() if not line.startswith("#"))
    assert float(values["cooper_version"]) == server.client.get("/health").json()["version"]
    assert all(float(value) == float(value) for value in values.values())
    assert 'cooper_step_metric{name="serve/staleness"}' in values and 'cooper_answers_total{status="200"}' in values


def test_save_writes_a_checkpoint(server):
    found = server.client.post("/save").json()
    assert found["step"] == server.client.get("/health").json()["step"]


@pytest.mark.slow
def test_a_port_in_use_leaves_no_half_begun_run(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(AssertionError, match=f"cooper: error: port = {port} of host 127.0.0.1: Address already in"):
            Served(tmp_path / "run", port=port)
    assert not (tmp_path / "run").exists()


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of its own, and a function that fills it but for so many bytes."""
    folder, filler = tmp_path / "disk", tmp_path / "disk" / "filler"
    folder.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m", "tmpfs", folder]).returncode:
        pytest.skip("needs the right to mount a small file system")

    def fill(but):
        free = os.statvfs(folder)
        filler.write_bytes(b"x" * (free.f_bavail * free.f_bsize - but))

    yield folder, fill
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.slow  # 18 seconds
def test_a_start_on_a_full_disk_is_one_line(small_disk):
    folder, fill = small_disk
    fill(0)
    with pytest.raises(AssertionError) as refused:
        Served(folder / "run")
    (line,) = [line for line in str(refused.value).splitlines() if "cooper: " in line]
    assert "error: " in line and f"{folder / 'run'}" in line and "free disk space" in line


def stopped_at_a_checkpoint(served, folder):
    """Sends the two batches before a checkpoint that cannot be written; it ends the run, not its record."""
    for step in (1, 2):
        assert served.score(bodies(step), batch=f"b{step}", last=True).status_code == 200
    line = served.learn("b2").json()["error"]
    assert line.startswith(f"the run has stopped: {folder / 'checkpoint-2'}: cannot be written") and "--resume" in line
    health, refused = served.client.get("/health"), served.score(bodies(3), batch="b3", last=True)
    assert health.status_code == refused.status_code == 503 and "Retry-After" not in refused.headers
    assert health.json() == {"status": "stopped", "version": 2, "step": 2, "error": line}
    assert served.stop() and served.errors[-1].strip() == line and "Traceback" not in "".join(served.errors)


@pytest.mark.slow
def test_a_full_disk_at_a_checkpoint_stops_the_run_and_health_says_so(small_disk):
    folder, fill = small_disk
    served = Served(folder / "run")
    fill(400_000)  # for the record and the step's files, and not for a model
    stopped_at_a_checkpoint(served, folder / "run")
    (folder / "filler").unlink()
    served = Served(folder / "run", "--resume")
    assert served.learn("b2").json()["step"] == 2 and served.client.get("/health").json()["status"] == "ok"
    served.stop()
    assert last_checkpoint(folder / "run").name == "checkpoint-2"


@pytest.mark.slow  # 10 seconds
def test_a_limit_on_files_is_as_a_full_disk(tmp_path):
    served = Served(tmp_path)
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    stopped_at_a_checkpoint(served, tmp_path)


def test_slow_and_hostile_clients_are_hung_up_on_and_others_are_answered(server):
    host, port = server.url.removeprefix("http://").split(":")
    start = f"POST /score HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    sent = [
        "",
        "POST /sco",
        start,
        f"{start}Content-Length: 1000\r\n\r\n{{",
        f"{start}Content-Length: 99999999\r\n\r\n",
    ]
    sent += ["\0\1\2\3\r\n\r\n", f"GET /health HTTP/1.1\r\nHost: {host}:{port}\r\nX: {'x' * 100_000}\r\n\r\n"]
    clients = [socket.create_connection((host, int(port)), timeout=20) for _ in sent * 20]
    for client, text in zip(clients, sent * 20, strict=True):
        client.sendall(text.encode())
    assert server.score(bodies(1)[:2]).status_code == 200
    answers = [b"".join(iter(lambda client=client: received(client), b"")) for client in clients]  # until hung up on
    # a header of 100,000 bytes is refused where it comes in parts, and read where it comes at once
    assert {answer.split(b" ")[1] for answer in answers if answer} - {b"200"} == {b"400", b"413"}
    assert answers[:2] == [b"", b""] and b"did not arrive within 1.5 seconds" in answers[3]
    assert server.client.get("/health").json()["status"] == "ok"


def received(client):
    try:
        return client.recv(65536)
    except ConnectionResetError:
        return b""


def test_a_client_that_hangs_up_loses_nothing(server):
    body = json.dumps({"samples": bodies(70), "batch": "hung up", "last": True}).encode()
    host, port = server.url.removeprefix("http://").split(":")
    head = (
        f"POST /score HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port))) as client:
        client.sendall(head.encode() + body)
    found = server.score(bodies(70), batch="hung up", last=True)
    assert found.status_code == 200 and server.learn("hung up").json()["metrics"]["serve/samples"] == 16
