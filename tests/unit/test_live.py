"""The live page: on hostile text, on a run with 100,000 rollouts, reachable from here alone."""

import json
import re
import time

import httpx
import pytest
from test_report import HOSTILE

from cooper_rl.errors import BadInputError
from cooper_rl.report.live import SHOWN, Monitor, overview, rollouts
from cooper_rl.report.runs import read_run


def write_run(folder, steps, rollouts_a_step, arm="static"):
    (folder / "rollouts").mkdir(parents=True)
    (folder / "config.yaml").write_text(json.dumps({"arm": arm, "seed": 0, "max_steps": 2 * steps}))
    with (folder / "metrics.jsonl").open("w") as file:
        for step in range(1, steps + 1):
            row = {"step": step, "reward": step / steps, "accuracy/rule": 0.3, "hacking/alarm": float(step > steps / 2)}
            file.write(json.dumps(row) + "\n")
    verdicts = [("CORRECT", "match", 0.9), ("INCORRECT", "mismatch", 0.9), ("UNPARSEABLE", "no_answer", 0.8)]
    for step in range(1, steps + 1):
        with (folder / "rollouts" / f"step_{step:06d}.jsonl").open("w") as file:
            for i in range(rollouts_a_step):
                verdict, reason, score = verdicts[i % 3]
                text = HOSTILE[i % len(HOSTILE)]
                record = {"step": step, "question": text, "reference_answer": text, "completion": f"{text} {i}"}
                record |= {"verdict": verdict, "reason": reason, "score": score, "reward": 1}
                file.write(json.dumps(record) + "\n")
    return folder


@pytest.fixture
def monitor(background):
    return lambda folder: background(Monitor(folder))


def test_its_parts(tmp_path, monitor):
    server = monitor(write_run(tmp_path / "run", 6, 60))
    page = httpx.get(server.url)
    assert "script-src 'self'" in page.headers["content-security-policy"] and "onerror" not in page.text
    parts = httpx.get(f"{server.url}overview").text
    assert "step 6 of 12" in parts and "hacking alarm from step 4" in parts
    (run,) = httpx.get(f"{server.url}charts").json()["runs"]
    assert run["alarm"] == 4 and run["series"]["reward"]["step"] == [1, 2, 3, 4, 5, 6]
    assert httpx.get(f"{server.url}plotly.js").headers["content-type"].startswith("text/javascript")
    shown = httpx.get(f"{server.url}rollouts").text
    assert shown.count('class="rollout') == SHOWN and "1 to 20 of 60" in shown and "step 6" in shown
    assert "<script" not in shown and "<img" not in shown and "&lt;script&gt;" in shown
    fooled = httpx.get(f"{server.url}rollouts", params={"step": 2, "cell": "fooled", "offset": 20}).text
    assert fooled.count("cell-fooled") == 20 and "21 to 40 of 40" in fooled and "cell-right" not in fooled
    wrong = httpx.get(f"{server.url}rollouts", params={"step": 2, "verdict": "INCORRECT"}).text
    assert "1 to 20 of 20" in wrong and wrong.count('class="INCORRECT"') == 20 and 'id="source"' not in wrong
    assert httpx.get(
        f"{server.url}rollouts", params={"step": "x", "cell": "<b>", "offset": "-1", "kind": "../"}
    ).is_success
    assert httpx.get(f"{server.url}../../etc/passwd").status_code == 404


def test_search_over_all_steps(tmp_path, monitor):
    folder = write_run(tmp_path / "run", 6, 60)
    with (folder / "rollouts" / "step_000006.jsonl").open("a") as file:
        file.write('{"step": 6, "completion": "cut of')  # the job is in the middle of a line
    server = monitor(folder)

    def found(**query):
        return httpx.get(f"{server.url}rollouts", params=query).text

    assert "1 to 20 of 360" in found(step="all")
    assert "1 to 18 of 18" in found(step="all", text="JAVASCRIPT:alert(1) 4")  # 4, 44 and 49 in each of six steps
    assert "1 to 3 of 3" in found(step="3", text="javascript:alert(1) 4")
    assert "1 to 6 of 6" in found(step="all", text="javascript:alert(1) 3", cell="right")  # 39; 34 is fooled
    assert "1 to 20 of 72" in found(step="all", text='" onmouse')  # its quotation mark is escaped in the file
    assert "0 to 0 of 0" in found(step="all", text='completion": ') and "0 to 0 of 0" in found(text="cut of")
    assert '<a href="#static-seed0/3/50">' in found(step="3", text="javascript:alert(1) 4")
    last = found(step="all", text='" onmouse', offset=60)
    assert last.count('class="rollout') == 12 and "61 to 72 of 72" in last


def test_it_follows_the_files(tmp_path, monitor):
    server = monitor(write_run(tmp_path / "run", 3, 3))
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "reward": 0.5}\n{"step": 5, "rew')  # the job is in the middle of a line
    assert "step 4 of 6, running or stopped" in httpx.get(f"{server.url}overview").text
    (tmp_path / "run" / "finished.json").write_text("{}")
    assert "finished" in httpx.get(f"{server.url}overview").text


def test_it_listens_on_loopback_and_to_its_own_name(tmp_path, monitor):
    server = monitor(write_run(tmp_path / "run", 1, 1))
    assert server.server_address[0] == "127.0.0.1"
    assert httpx.get(server.url, headers={"Host": "evil.example"}).status_code == 403
    with pytest.raises(BadInputError, match="no run in it"):
        Monitor(tmp_path)


def test_no_mean_is_told_of_few_held_out_measurements(tmp_path):
    folder = write_run(tmp_path / "run", 3, 1)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write("".join(f'{{"step": {s}, "eval/true_accuracy": {v}}}\n' for s, v in ((4, 0.5), (5, 0.0))))
    rows = re.findall(r"<tr>.*?</tr>", overview(read_run(folder)))
    cells = {row[0]: row[1:] for row in ([*re.findall(r"<span>(.*?)</span>", row)] for row in rows) if row}
    assert cells["eval/true_accuracy"] == ["0", "-", "0.5"] and cells["reward"] == ["1", "0.6667", "0.3333"]


def test_a_long_run_opens_at_once(tmp_path):
    """What a page needs does not grow with the rollouts: it reads the metrics and one step's file."""
    folder = write_run(tmp_path / "run", 200, 500)  # 100,000 rollouts
    started = time.monotonic()
    assert overview(read_run(folder)) and rollouts(read_run(folder), {}).count('class="rollout') == SHOWN
    assert time.monotonic() - started < 20  # it takes some 0.1 s; reading every step's file would take minutes of them
