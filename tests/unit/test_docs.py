"""The documents against the code: recipes are listed, links lead somewhere, the tutorial runs."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?://)([^)\s]+)\)", path.read_text()):
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.+)$", there.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}, target


def test_every_recipe_is_listed():
    text = (ROOT / "docs" / "recipes.md").read_text()
    for path in (ROOT / "recipes").glob("*.yaml"):
        assert f"(../recipes/{path.name})" in text, path.name


def test_every_command_is_in_the_readme():
    from cooper_rl.cli import app

    text = (ROOT / "README.md").read_text()
    names = {command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands}
    assert {name for name in names if f"`cooper {name}" not in text} == set()


def test_results_and_data_agree():
    spec = importlib.util.spec_from_file_location("rebuild_results", ROOT / "scripts" / "rebuild_results.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (ROOT / "docs" / "results.md").read_text()
    assert script.rebuilt(text) == text and text.count("<!-- table ") == text.count("<!-- end -->") > 5
    readme = (ROOT / "README.md").read_text()
    assert script.means(script.data_of("default")) in readme  # the table there is this one
    ends = {e["arm"]: [] for e in script.data_of("mined")}
    for entry in script.data_of("mined"):
        ends[entry["arm"]].append(entry["true_accuracy"]["end"])
    for values in ends.values():
        assert f"{min(values):.3f} to {max(values):.3f}" in readme
    assert script.rebuilt(text.replace("| cooper | 5 |", "| cooper | 6 |")) == text  # a changed figure is seen
    drawings = dict(script.figures())
    assert set(drawings) == set((ROOT / "docs" / "figures").glob("*.svg"))
    assert all(path.read_text() == drawing for path, drawing in drawings.items())


def test_the_tutorial_runs(tmp_path):
    from cooper_rl.settings.files import EMBEDDED

    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text(), re.DOTALL)
    names = {
        "output_dir": str(tmp_path / "run"),
        "policy": str(EMBEDDED["nano"]["policy"]),
        "reward_model": str(EMBEDDED["nano"]["reward_model"]),
    }
    exec(code, names)
    names["trainer"].verifier.close()
    rows = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert len(rows) == 2 and all('"pairs/yield"' in row and '"hacking/gap"' in row for row in rows)
