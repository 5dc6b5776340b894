"""The pages of the site and the examples: short sentences, pictures and lists that are current, tutorials that run."""

import functools
import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise

import pytest
import yaml
from datasets import Dataset
from test_docs import ROOT, script
from typer.testing import CliRunner

DOCS = ROOT / "docs"
PAGES = [
    *(DOCS / f"{name}.md" for name in ("concepts", "tutorial", "clusters", "faults", "long-runs", "run-folder")),
    *(DOCS / f"{name}.md" for name in ("settings", "recipes", "metrics", "evaluation", "verifyrm", "extending")),
    *(
        DOCS / f"{name}.md"
        for name in ("extending-forms", "verifier", "algorithm", "verl", "report", "results", "speed")
    ),
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "docs/cooper-in-your-trainer.md")),
    *sorted((DOCS / "tutorials").glob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SMALL = {  # what makes a command of a page small enough for a test
    "train": "--max_steps 2 --dataset_size 16 --per_device_train_batch_size 8 --num_generations 4 --save_steps 2"
    " --max_completion_length 24 --heldout_steps 0 --heldout_dataset_size 4 --heldout_triples_size 8"
    " --anchor_triples null --rehearsal_triples null --rehearsal_per_step 0",
    "collect": "--dataset_size 40 --num_generations 2 --max_new_tokens 24",
    "train-rm": "--max_steps 2",
    "eval-rm": "--size 20 --no-probes",
}


def sentences(text):
    """The sentences of a page: of its paragraphs, list items and table cells."""
    text = re.sub(r"<!--.*?-->|<[^>]+>", "", FENCED.sub("", text), flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"^(#.*)$", r"\1\n", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) )", text):
        for cell in block.split(" | "):
            yield from re.split(r"(?<=[.!?])\s+", " ".join(cell.split()))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_and_lines_are_short(path):
    text = path.read_text()
    assert [line for line in text.splitlines() if len(line) > 200] == []
    assert [sentence for sentence in sentences(text) if len(sentence.split()) > 30] == []


def test_a_long_sentence_is_found():
    long = "word " * 31
    assert max(len(sentence.split()) for sentence in sentences(f"# Title\n\nShort.\n\n- {long}.\n")) == 33
    assert max(len(sentence.split()) for sentence in sentences(f"```\n{long}\n```\n\n| a | b c |\n")) < 5


def test_the_picture_of_the_joint_step_is_current():
    drawn = script("joint_step_figure").pictures()
    assert {path.name for path in drawn} == {"joint-step-light.svg", "joint-step-dark.svg"}
    for path, picture in drawn.items():
        assert path.read_text() == picture, "run python scripts/joint_step_figure.py"


def test_the_picture_of_the_architecture_is_current():
    drawing = script("architecture_picture")
    assert drawing.TARGET.read_text() == drawing.picture(), "run python scripts/architecture_picture.py"


def test_every_room_of_the_picture_is_described():
    drawing = script("architecture_picture")
    edges, _ = drawing.read_package()
    rooms = edges.keys() - drawing.ground_floor(edges)
    text = (DOCS / "architecture.md").read_text()
    assert len(rooms) > 10 and {room for room in rooms if f"| `{room}` |" not in text} == set()


def test_the_arrows_of_the_picture_point_down():
    drawing = script("architecture_picture")
    edges = {"a": {"b", "c"}, "b": {"c"}, "c": set(), "d": set(), "e": {"a", "d"}}
    short = drawing.without_detours(edges)
    assert short == {"a": {"b"}, "b": {"c"}, "c": set(), "d": set(), "e": {"a", "d"}}
    storeys = drawing.storeys_of(short)
    assert storeys == {"c": 0, "b": 1, "a": 2, "d": 2, "e": 3}
    centres, ways = drawing.place({**short, "e": {"a", "d", "c"}}, storeys)
    assert all(centres[one][1] < centres[other][1] for way in ways for one, other in pairwise(way))


def test_a_picture_follows_the_theme_of_the_site():
    site = script("site_pages")
    text = site.themed((DOCS / "concepts.md").read_text())
    assert "<picture" not in text
    assert text.count("-light.svg#only-light)") == text.count("-dark.svg#only-dark)") == 1
    for_home = (
        '<picture>\n  <source srcset="docs/figures/a-dark.svg">\n  <img src="docs/figures/a.svg" alt="A">\n</picture>'
    )
    images = "![A](figures/a.svg#only-light)\n![A](figures/a-dark.svg#only-dark)"
    assert site.PICTURE.fullmatch(for_home) and site.themed(for_home) == images.replace("(", "(docs/")


def test_the_list_of_settings_is_current():
    settings = script("settings_page")
    assert settings.TARGET.read_text() == settings.page(), "run python scripts/settings_page.py"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder that has the examples and recipes of the repository and none of its runs."""
    for name in ("examples", "recipes", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "examples" / "own-verifier"), prepend=os.pathsep)
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "own-verifier"))
    return tmp_path


def run_page(page):
    """Runs the Python blocks and the commands of a page from top to bottom; returns the names that the blocks made."""
    names = {}
    for language, code in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        if language == "python" and not code.startswith("# "):  # which is a file that is shown
            exec(code, names)
        elif language == "":
            for line in code.replace("\\\n", " ").splitlines():
                run_command(shlex.split(line, comments=True))
    return names


def run_command(words):
    """Runs one line of a page: a command of Cooper in this process, small, or a script."""
    from cooper_rl.cli import app

    if words[:1] == ["cooper"] and words[1] != "monitor":
        done = CliRunner().invoke(app, [*words[1:], *SMALL.get(words[1], "").split()])
        assert done.exit_code == 0, (words, done.output[-500:], done.exception)
    elif words[:1] == ["python"]:
        subprocess.run([sys.executable, *words[1:]], check=True)


def test_the_lines_of_the_readme_run(tmp_path, monkeypatch):
    from trl import GRPOConfig

    from cooper_rl.settings.files import resolve_model

    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    small = {"max_steps": 1, "max_completion_length": 8, "report_to": "none", "bf16": False, "use_cpu": True}
    rows = [{"prompt": f"What is 1 + {n}?", "reference_answer": str(n + 1)} for n in range(4)]
    code = code.replace("from trl import GRPOConfig, GRPOTrainer", "from trl import GRPOTrainer")
    code = code.replace("HuggingFaceTB/SmolLM2-135M-Instruct", str(resolve_model("nano", "policy")))
    code = code.replace("smollm2-135m", "nano")
    given = {"dataset": Dataset.from_list(rows), "short": lambda completions, **_: [-len(c) / 9 for c in completions]}
    exec(code, {**given, "GRPOConfig": functools.partial(GRPOConfig, **small)})
    assert json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])["step"] == 1


def test_the_table_of_data_sets_has_each_name_and_file():
    from cooper_rl.domains.problems import KNOWN, find_domain

    _, _, table = (DOCS / "recipes.md").read_text().partition("## Data sets by name")
    table, _, _ = table.partition("\n## ")
    for name in KNOWN:
        domain = find_domain(name)
        files = getattr(domain, "local", {}).values()
        places = [place.id for place in getattr(domain, "hub", {}).values()]
        assert [word for word in (name, *files, *places) if f"`{word}`" not in table] == []


@pytest.mark.slow  # 26 seconds; the lines of the tutorial and the README run in the fast tests
def test_the_notebook_runs(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "examples" / "notebook" / "cooper.ipynb", as_version=4)
    (settings,) = (cell for cell in notebook.cells if cell.source.startswith("ARMS"))
    settings.source = 'ARMS, STEPS, HELDOUT = ["cooper"], 2, 4'
    NotebookClient(notebook, timeout=280, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("true accuracy" in output.get("text", "") for output in shown)
    assert any("<iframe srcdoc=" in output.get("data", {}).get("text/html", "") for output in shown)
    assert (tmp_path / "runs" / "notebook" / "report.html").is_file()


@pytest.mark.slow  # 20 seconds: a process of its own
def test_the_example_from_python_runs(tmp_path):
    command = [sys.executable, ROOT / "examples" / "grpo" / "train.py", "--steps", "2", "--heldout", "4"]
    done = subprocess.run([*command, "--output_dir", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert "true_accuracy" in done.stdout and "arm: cooper" in (tmp_path / "config.yaml").read_text()


def metrics_of(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_the_tutorial_from_trl_runs(here):
    run_page(DOCS / "tutorial.md")
    for name in ("three-lines", "shell"):
        lines = metrics_of(here / "runs" / name)
        assert len(lines) == 4 and all("pairs/yield" in row and "hacking/gap" in row for row in lines)
        begun = yaml.safe_load((here / "runs" / name / "config.yaml").read_text())
        assert begun["arm"] == "cooper" and begun["max_steps"] == 4
    assert "rewards/short/mean" in metrics_of(here / "runs" / "three-lines")[-1]
    assert (here / "runs" / "three-lines" / "report.html").is_file()


def test_the_tutorial_on_own_data_runs(here):
    page = DOCS / "tutorials" / "own-data.md"
    shown = re.search(r"```python\n# verifier\.py\n(.*?)```", page.read_text(), re.DOTALL)[1]
    assert shown == (ROOT / "examples" / "own-verifier" / "verifier.py").read_text()
    run_page(page)
    run = here / "runs" / "own-verifier" / "run"
    assert "accuracy/rule" in metrics_of(run)[-1]
    check_run_folder(run, (DOCS / "run-folder.md").read_text())


def check_run_folder(run, text):
    """Checks that the page names every file of this run, and the fields of its rollouts and pairs."""

    def unnumbered(name):
        return re.sub(r"\d+", "N", name)

    named = [unnumbered(name) for name in re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)]
    files = [unnumbered(str(path.relative_to(run))) for path in run.rglob("*") if path.is_file()]
    assert [f for f in files if not any(f == name or (name[-1] == "/" and f.startswith(name)) for name in named)] == []

    def fields_below(heading):
        part = text.partition(heading)[2].partition("\n#")[0]
        return {name for row in re.findall(r"^\| (`.*?) \|", part, re.MULTILINE) for name in re.findall("`(.+?)`", row)}

    for kind in ("rollouts", "pairs"):
        fields, some = fields_below(f"### A line of `{kind}/`"), fields_below("### Fields that only some runs have")
        rows = [json.loads(line) for path in (run / kind).iterdir() for line in path.read_text().splitlines()]
        assert {name for row in rows for name in row} <= fields | some and (not rows or fields <= set(rows[0]))


def test_the_tutorial_on_a_reward_model_runs(here):
    run_page(DOCS / "tutorials" / "reward-model.md")
    assert (here / "runs" / "reward-model" / "model" / "verifyrm.json").is_file()


def test_the_tutorial_on_reading_a_run_runs(here):
    run_page(DOCS / "tutorials" / "reading-a-run.md")
    report = (here / "runs" / "reading" / "report.html").read_text()
    assert "static" in report and "cooper" in report
