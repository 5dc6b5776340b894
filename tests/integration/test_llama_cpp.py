"""Collecting from a real llama.cpp server and from its GGUF file in process.

Needs LLAMA_SERVER=<binary> and COOPER_TEST_GGUF=<an instruct model>; `python -m pytest -q -m slow` runs it then.
"""

import json
import os
import shutil
import socket
import subprocess
import time

import httpx
import pytest

from cooper_rl.errors import BackendError
from cooper_rl.labelling.collect import collect
from cooper_rl.settings.asking import CollectConfig

BINARY = os.environ.get("LLAMA_SERVER") or shutil.which("llama-server")
GGUF = os.environ.get("COOPER_TEST_GGUF")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BINARY or not GGUF, reason="needs LLAMA_SERVER and COOPER_TEST_GGUF"),
]


@pytest.fixture
def server():
    """Starts a server on a free port of the loopback; a second call starts it again on the same one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = []

    def start():
        command = [BINARY, "-m", GGUF, "--host", "127.0.0.1", "--port", str(port), "--parallel", "2", "-c", "2048"]
        processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        for _ in range(600):
            try:
                if httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200:
                    return processes[-1]
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        raise TimeoutError("the server does not start")

    start.url = f"http://127.0.0.1:{port}/v1"
    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "problems.jsonl"
    rows = [{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(8)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_server_that_is_killed_and_comes_back(server, problems, tmp_path):
    config = CollectConfig(
        [f"m@{server.url}"],
        [problems],
        str(tmp_path / "out.jsonl"),
        max_new_tokens=48,
        concurrency=1,
        retries=0,
        stop_after_failures=2,
    )
    process = server()
    killed = []

    def kill_after_three(completed, **_):
        if completed == 3 and not killed:
            process.kill()
            killed.append(completed)

    with pytest.raises(BackendError, match="2 requests in a row failed"):
        collect(config, progress=kill_after_three)
    before = (tmp_path / "out.jsonl").read_text().count("\n")
    assert before >= 3
    server()
    counts = collect(config, resume=True)[f"m@{server.url}"]
    assert counts == {"before": before, "collected": 8 - before, "failed": 0, "refused": 0}
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").open()]
    assert {r["question"] for r in records} == {f"What is {i} + {i}?" for i in range(8)}
    assert all(r["completion"] and r["finish_reason"] in ("stop", "length") for r in records)


def test_a_gguf_file_in_process(problems, tmp_path):
    config = CollectConfig([GGUF], [problems], str(tmp_path / "out.jsonl"), max_new_tokens=24, dataset_size=3)
    assert collect(config)[GGUF]["collected"] == 3
    assert all(json.loads(line)["completion"] for line in (tmp_path / "out.jsonl").open())
