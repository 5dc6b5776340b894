"""The live page: in a real browser, on hostile text, on a run with 100,000 rollouts, reachable from here alone."""

import json
import shutil
import time

import httpx
import pytest
from test_report import HOSTILE

from cooper_rl.errors import BadInputError
from cooper_rl.report.live import SHOWN, Monitor, overview, rollouts
from cooper_rl.report.runs import read_run
from cooper_rl.report.write import write_report

needs_browser = pytest.mark.skipif(not shutil.which("chromium"), reason="needs a browser: Debian's chromium")


def write_run(folder, steps, rollouts_a_step):
    (folder / "rollouts").mkdir(parents=True)
    (folder / "config.yaml").write_text(json.dumps({"arm": "static", "seed": 0, "max_steps": 2 * steps}))
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
    assert "step 6 of 12" in parts and "hacking alarm from step 4" in parts and "<svg" in parts
    shown = httpx.get(f"{server.url}rollouts").text
    assert shown.count('class="rollout') == SHOWN and "1 to 20 of 60" in shown and "step 6" in shown
    assert "<script" not in shown and "<img" not in shown and "&lt;script&gt;" in shown
    fooled = httpx.get(f"{server.url}rollouts", params={"step": 2, "cell": "fooled", "offset": 20}).text
    assert fooled.count("cell-fooled") == 20 and "21 to 40 of 40" in fooled and "cell-right" not in fooled
    assert httpx.get(
        f"{server.url}rollouts", params={"step": "x", "cell": "<b>", "offset": "-1", "kind": "../"}
    ).is_success
    assert httpx.get(f"{server.url}../../etc/passwd").status_code == 404


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


def test_a_long_run_opens_at_once(tmp_path):
    """What a page needs does not grow with the rollouts: it reads the metrics and one step's file."""
    folder = write_run(tmp_path / "run", 200, 500)  # 100,000 rollouts
    started = time.monotonic()
    assert overview(read_run(folder)) and rollouts(read_run(folder), {}).count('class="rollout') == SHOWN
    assert time.monotonic() - started < 20  # it takes some 0.1 s; reading every step's file would take minutes of them


@pytest.fixture
def browser_page():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.complaints = []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        yield page
        browser.close()


@needs_browser
def test_the_live_page_in_a_browser(tmp_path, monitor, browser_page):
    page, server = browser_page, monitor(write_run(tmp_path / "run", 4, 60))
    page.goto(server.url)
    page.wait_for_selector("body[data-state=live]")
    assert "hacking alarm from step 3" in page.text_content("#overview")
    assert page.locator(".rollout").count() == SHOWN
    page.click("button[data-offset='20']")
    page.wait_for_selector("text=21 to 40 of 60")
    page.select_option("#cell", "right")
    page.wait_for_selector("text=1 to 20 of 20")
    assert page.locator(".cell-right").count() == page.locator(".rollout").count() == 20
    page.select_option("#step", "2")
    page.wait_for_selector("text=step 2 · reference")
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 5, "reward": 0.5}\n')
    page.wait_for_selector("text=step 5 of 8", timeout=15_000)  # the page follows the job
    server.shutdown()
    server.server_close()
    page.wait_for_selector("body[data-state=gone]", timeout=15_000)  # and says when it cannot
    assert page.title() == "Cooper: run"
    assert not [c for c in page.complaints if "ERR_CONNECTION_REFUSED" not in c]


@needs_browser
def test_the_report_in_a_browser(tmp_path, browser_page):
    page = browser_page
    page.goto(write_report([write_run(tmp_path / "run", 4, 60)], tmp_path / "report.html").as_uri())
    page.click("text=step 4")
    rollouts = page.locator("details[open] .rollout")
    assert rollouts.count() == 40 and page.locator("details[open] .rollout:visible").count() == 40
    page.check("details[open] input[value=fooled]")
    visible = page.locator("details[open] .rollout:visible")
    assert visible.count() == page.locator("details[open] .cell-fooled").count() > 0
    assert "hacking alarm" in page.text_content("main") and page.title() == "Cooper report"
    assert page.locator("script, img").count() == 0 and page.complaints == []
