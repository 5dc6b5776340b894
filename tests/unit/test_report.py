"""The report: hostile text stays text, nothing is fetched, nothing runs; a browser shows it where there is one."""

import json
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.report.runs import find_runs
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
    *("svg", "line", "text", "polygon", "polyline", "circle", "label", "input"),
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
    found = Elements()
    found.feed(page)
    assert found.tags <= ALLOWED
    assert not [name for name in found.attributes if name.startswith("on") or name in ("src", "href")]
    assert HOSTILE[0] in "".join(found.text)  # shown, not dropped
    assert "http://" not in page and "https://" not in page
    assert "default-src 'none'" in page


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs a browser: Debian's chromium")
def test_a_browser_shows_it(run_folder, tmp_path):
    page = write_report([run_folder], tmp_path / "report.html")
    command = "chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --dump-dom"
    done = subprocess.run(
        [*command.split(), f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "<title>Cooper report</title>" in done.stdout and done.stdout.count("<svg") >= 3
    assert "<script" not in done.stdout and "<img" not in done.stdout


def test_folders_that_are_no_runs(tmp_path):
    with pytest.raises(MissingFileError, match="no such run folder"):
        find_runs([tmp_path / "none"])
    with pytest.raises(BadInputError, match=r"metrics\.jsonl is missing"):
        find_runs([tmp_path])
