"""The report: hostile text stays text, nothing is fetched, known scripts run alone, runs are told apart."""

import base64
import gzip
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser

import pytest

from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.intervals import wilson
from cooper_rl.report.curves import all_series, charts, colours_of
from cooper_rl.report.page import CHARTS, PLOTLY
from cooper_rl.report.rollouts import SCRIPT, Shelf, select_files, source_of
from cooper_rl.report.runs import find_runs, label_apart, read_run
from cooper_rl.report.write import write_report

HOSTILE = [
    "<script>document.title='owned'</script>",
    "</pre></details><img src=x onerror=\"document.title='owned'\">",
    "\" onmouseover=\"document.title='owned'",
    "<!-- \u202e\x00 ]]> &lt;script&gt;",
    "javascript:alert(1)",
]
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "div", "span", "i"),
    *("table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre"),
    *("label", "input", "select", "option"),
    *("b", "a", "section", "script", "noscript", "button"),
}


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "static-seed0"
    (folder / "rollouts").mkdir(parents=True)
    (folder / "config.yaml").write_text(json.dumps({"arm": "static", "seed": 0, "note": HOSTILE[0]}))
    (folder / "environment.json").write_text(json.dumps({"commit": HOSTILE[1]}))
    rows = [
        {"step": s, "reward": s / 10, "kl": None if s < 3 else 0.1 * s, "eval/true_accuracy": 0.3} for s in range(11)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 11, "rew')
    records = [
        {
            "step": 1,
            "question": text,
            "reference_answer": text,
            "completion": text,
            "score": 0.9,
            "verdict": "INCORRECT",
            "reward": 0.9,
        }
        for text in HOSTILE
    ]
    (folder / "rollouts" / "step_000001.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    return folder


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text.append(data)


def test_hostile_text_stays_text(run_folder, tmp_path):
    page = write_report([run_folder], tmp_path / "report.html").read_text()
    assert page.count(PLOTLY) == 1
    page = page.replace(PLOTLY, "")  # which has addresses in it that it never asks for
    found = Elements()
    found.feed(page)
    assert found.tags <= ALLOWED
    assert not [name for name in found.attributes if name.startswith("on") or name in ("src", "srcset")]
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)', page))
    assert HOSTILE[0] in "".join(found.text)  # shown, not dropped
    assert "http://" not in page and "https://" not in page
    assert "default-src 'none'" in page


def test_known_scripts_run_and_no_other(run_folder, tmp_path):
    page = write_report([run_folder], tmp_path / "report.html").read_text()
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    run = [text for attributes, text in scripts if not attributes]
    assert run == [PLOTLY, CHARTS, SCRIPT]
    hashed = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in run]
    assert "script-src " + " ".join(f"'sha256-{each}'" for each in hashed) + "; base-uri 'none'" in page
    data = [text for attributes, text in scripts if attributes]
    assert len(data) == 3 and all('type="text/plain"' in attributes for attributes, _ in scripts if attributes)
    (rows,) = json.loads(gzip.decompress(base64.b64decode(data[2])))  # of one step
    assert [row[2] for row in rows] == HOSTILE and {row[4] for row in rows} == {"fooled"}
    assert not [code for code in run[1:] if "innerHTML" in code or "eval(" in code]
    assert "new Function" not in PLOTLY and re.search(r"[^\w.$]eval\(", PLOTLY) is None


def test_runs_of_one_arm_and_seed_stay_apart(run_folder, tmp_path):
    other = tmp_path / "again" / "static-seed0"
    shutil.copytree(run_folder, other)
    config = json.loads((other / "config.yaml").read_text())
    (other / "config.yaml").write_text(json.dumps({**config, "learning_rate": 1}))
    runs = label_apart([read_run(run_folder), read_run(other)])
    assert [run.arm for run in runs] == [f"static ({tmp_path.name})", "static (again)"]
    page = write_report([run_folder, other], tmp_path / "report.html").read_text()
    assert "static (again), seed 0" in page and "After 10 steps true accuracy is 0.30 (static" in page
    renamed = shutil.copytree(run_folder, tmp_path / "slow")
    assert [run.arm for run in label_apart([read_run(run_folder), read_run(renamed)])] == [
        "static",
        "static (slow)",
    ]
    assert label_apart([read_run(run_folder)])[0].arm == "static"
    other_arm = shutil.copytree(run_folder, tmp_path / "rule-seed0")
    (other_arm / "config.yaml").write_text(json.dumps({**config, "arm": "rule", "hub_token": "hf_secret"}))
    three = label_apart([read_run(path) for path in (run_folder, renamed, other_arm)])
    assert [run.arm for run in three] == ["static", "static (slow)", "rule"]
    assert "hf_secret" not in write_report([other_arm], tmp_path / "report.html").read_text()
    assert find_runs([run_folder, tmp_path / "again" / ".." / "static-seed0"]) == [
        tmp_path / "again" / ".." / "static-seed0"
    ]


def test_a_report_that_would_be_too_large_leaves_steps_out(run_folder, tmp_path, monkeypatch):
    first = run_folder / "rollouts" / "step_000001.jsonl"
    for step in range(2, 11):
        shutil.copy(first, first.with_name(f"step_{step:06d}.jsonl"))
    shelf = Shelf(read_run(run_folder))
    assert len(select_files([shelf])) == 10
    kept = select_files([shelf], most=4 * first.stat().st_size)
    assert sorted(path.stem[-2:] for path in kept) == ["01", "04", "07", "10"]
    monkeypatch.setattr("cooper_rl.report.rollouts.PACKED_BYTES", 4 * first.stat().st_size)
    page = write_report([run_folder], tmp_path / "report.html").read_text()
    assert "the rollouts of 4 of 10 steps; cooper monitor" in page
    assert "0.00 of 5" in page  # while what is counted comes from all steps


def test_folders_that_are_no_runs(tmp_path):
    with pytest.raises(MissingFileError, match="no such run folder"):
        find_runs([tmp_path / "none"])
    with pytest.raises(BadInputError, match=r"metrics\.jsonl is missing"):
        find_runs([tmp_path])


def test_accuracies_have_the_interval_that_is_known(run_folder):
    config = json.loads((run_folder / "config.yaml").read_text())
    (run_folder / "config.yaml").write_text(json.dumps({**config, "heldout_dataset_size": 50}))
    rows = [{"step": s, "eval/true_accuracy": s / 50, "rate": 0.5, "rate_low": 0.4, "rate_high": 0.7} for s in (0, 20)]
    (run_folder / "metrics.jsonl").write_text("".join(json.dumps({**row, "loss": 0.1}) + "\n" for row in rows))
    found = all_series(read_run(run_folder))
    assert found.keys() == {"eval/true_accuracy", "rate", "loss"} and found["loss"].keys() == {"step", "value"}
    assert found["rate"] == {"step": [0, 20], "value": [0.5, 0.5], "low": [0.4, 0.4], "high": [0.7, 0.7]}
    low, high = wilson(20, 50)
    assert (round(low, 3), round(high, 3)) == (0.276, 0.538)  # as published for 20 of 50
    assert found["eval/true_accuracy"]["low"] == [0, pytest.approx(low, rel=1e-5)]
    assert found["eval/true_accuracy"]["high"] == [pytest.approx(0.0713, abs=1e-4), pytest.approx(high, rel=1e-5)]
    rows[1]["eval/true_accuracy"] = 0.41  # no share of 50 problems, so their number is not known
    (run_folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "low" not in all_series(read_run(run_folder))["eval/true_accuracy"]


def test_bands_are_of_samples_and_hold_no_impossible_value(run_folder):
    rows = [{"step": s, "grad_norm": float(s == 3), "loss": float(s == 3), "learning_rate": s / 9} for s in range(1, 7)]
    (run_folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = all_series(read_run(run_folder))
    assert min(found["grad_norm"]["low"]) == 0 < max(found["grad_norm"]["high"])
    assert min(found["loss"]["low"]) < 0  # a policy's loss may be negative
    assert "low" not in found["learning_rate"]


def test_every_metric_can_be_chosen(run_folder):
    (run_folder / "metrics.jsonl").write_text('{"step": 1, "my/own": 1.5, "words": "x", "loss": 0.1}\n')
    curves = {curve["key"]: curve for curve in json.loads(charts([read_run(run_folder)]))["curves"]}
    assert curves["loss"]["first"] and curves["grad_norm"]["first"] and not curves["my/own"]["first"]
    shares = [curves[key]["share"] for key in ("reward", "eval/true_accuracy", "learning_rate", "loss", "kl")]
    assert shares == [True, True, False, False, False] and not curves["reward_model/learning_rate"]["share"]
    assert "words" not in curves and "step" not in curves


def test_where_problems_come_from():
    known = {
        "chain_sum-4190-427": "chain_sum",
        "gsm8k/train/12": "gsm8k/train",
        "7": "",
        None: "",
        "math-a1b": "math-a1b",
    }
    assert {key: source_of({"problem_id": key}) for key in known} == known


def test_no_two_of_eight_arms_share_a_colour():
    named = colours_of(["rule", "static", "cooper"])
    found = colours_of(["cooper", "cooper-250", "published", "rule", "static", "static-250", "seventh", "eighth"])
    assert len(set(found.values())) == 8
    assert {arm: found[arm] for arm in named} == named
    assert len(colours_of([str(i) for i in range(20)])) == 20
