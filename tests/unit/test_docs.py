"""The documents against the code: recipes are listed, links lead somewhere, the tutorial runs."""

import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
KINDS_OF_CHANGE = ("Added", "Changed", "Fixed", "Removed")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_site(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", config, "--site-dir", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


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


def results_script(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")  # the script imports its neighbours
    return script("rebuild_results")


def test_results_and_data_agree(monkeypatch):
    results = results_script(monkeypatch)
    files = results.written()
    assert [
        path for path, text in files.items() if not path.is_file() or path.read_text() != text
    ] == []  # make results
    made = {path for path in files if path.parent.name in ("experiments", "figures")}
    assert made == {*(ROOT / "docs" / "experiments").glob("*"), *(ROOT / "docs" / "figures").glob("*.svg")}
    readme = (ROOT / "README.md").read_text()
    assert results.means(results.data_of("default")) in readme  # the table there is this one
    mined = results.Experiment("mined", ROOT / "docs")
    assert mined.span("perturbed") in readme and mined.span("mined-and-perturbed") in readme


def test_results_are_short_and_their_words_hold_no_figure_of_the_runs():
    text = (ROOT / "docs" / "results.md").read_text()
    assert len(text.splitlines()) <= 150
    for path in (ROOT / "docs" / "data").glob("*.yaml"):
        words = yaml.safe_load(path.read_text())
        assert f"](experiments/{path.stem}.md)" in text or not path.with_suffix(".json").is_file(), path.name
        assert all(isinstance(text, str) for text in (*words["findings"], *words["limits"])), path.name
        for key in ("question", "answer", "claim", "effect"):
            assert not re.search(r"\d\.\d{2}", re.sub(r"{{.*?}}", "", words[key], flags=re.DOTALL)), (path.name, key)


def test_a_page_follows_its_data_and_is_left_out_without_them(tmp_path, monkeypatch):
    results = results_script(monkeypatch)
    page, data = tmp_path / "experiments" / "misjudged.md", tmp_path / "data" / "misjudged.json"
    data.parent.mkdir()
    for name in ("arithmetic", "domain", "guard-30", "misjudged"):  # docs/results.md names an aim of each of these
        for path in (ROOT / "docs" / "data").glob(f"{name}.*"):
            if path.name != data.name:
                shutil.copy(path, data.parent)
    files = results.written(tmp_path)
    assert page not in files and "experiments/misjudged.md" not in files[tmp_path / "results.md"]
    variants = ["static", *(f"{arm}-{rate}" for rate in (3, 10, 30) for arm in ("rule", "before", "cooper"))]
    runs = []
    for place, variant in enumerate(variants):
        for seed in (0, 1):
            accuracy = 0.5 + place / 50 + seed / 10
            run = {"variant": variant, "seed": seed, "commit": "0000000", "true_accuracy_start": 0.4}
            run |= {"true_accuracy": accuracy, "alarm_step": None, "rolled_back": 0.0}
            if variant[:4] in ("befo", "coop"):
                run |= {name: accuracy for name in ("recall_misjudged", "recall_misjudged_start", "recall_others")}
                run |= {"mined_pure": accuracy, "replayed_pure": math.nan}
            runs.append(run)
    data.write_text(json.dumps(runs))
    files = results.written(tmp_path)
    # cooper-30 is the tenth: 0.5 + 9 / 50 + 0.1 / 2; before-30 the ninth, rule-30 the eighth
    assert (
        "| cooper-30 | 2 | 0.400 | 0.730 ± 0.635 |" in files[page]
        and "| cooper-30 - before-30 | +0.020 | +0.020 | +0.020 |" in files[page]
    )
    assert "percent of the right answers" in files[tmp_path / "figures" / "misjudged-recall-of-misjudged.svg"]
    assert "![recall of misjudged](../figures/misjudged-recall-of-misjudged.svg)" in files[page]
    data.write_text(json.dumps(runs[:4]))
    with pytest.raises(ValueError, match=r"misjudged\.json has no run of 'cooper-30', which misjudged\.yaml names"):
        results.written(tmp_path)
    assert "Against the rule arm true accuracy is +0.040." in files[tmp_path / "results.md"].replace("\n", " ")


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


def test_the_site_builds_with_a_page_for_each_module_and_document(tmp_path):
    done = build_site(ROOT / "mkdocs.yml", tmp_path)
    assert done.returncode == 0, done.stderr
    for path in (ROOT / "src" / "cooper_rl").rglob("*.py"):
        page = path.relative_to(ROOT / "src").with_suffix(".html")
        page = page.with_name(page.name.replace("__init__", "index"))
        assert page.name.startswith("_") or (tmp_path / "reference" / page).is_file(), page
    for path in (ROOT / "docs").rglob("*.md"):
        page = path.relative_to(ROOT / "docs").with_suffix(".html")
        assert (tmp_path / page.with_name(page.name.replace("README", "index"))).is_file(), page
    api = (tmp_path / "reference" / "cooper_rl" / "index.html").read_text()
    for name in ("CooperConfig", "CooperTrainer", "RuleVerifier", "Verdict", "VerifyRM"):
        assert re.search(rf'href="[^"]+\.{name}"', api), name  # leads to where it is documented
    assert "UNPARSEABLE" in (tmp_path / "reference" / "cooper_rl" / "records.html").read_text()
    assert 'href="docs/' not in (tmp_path / "index.html").read_text()  # README's links lead to pages


@pytest.mark.parametrize(("text", "problem"), [("fine", ""), ("[x](gone.md)", "gone.md"), ("[x](#gone)", "#gone")])
def test_the_site_is_not_built_with_a_broken_link(tmp_path, text, problem):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Home\n\n{text}\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\nnav: [index.md]\nhooks: []\nplugins: []\n")
    done = build_site(config, tmp_path / "site")
    assert (done.returncode == 0) == (not problem) and problem in done.stderr, done.stderr


def test_a_public_name_without_a_docstring_is_found(tmp_path):
    import griffe

    (tmp_path / "small.py").write_text(
        '"""A module."""\n\n\ndef told():\n    """Is told."""\n\n\ndef untold(): ...\n\n\ndef _private(): ...\n\n\n'
        'class Told(dict):\n    """Is told."""\n\n    def update(self): ...\n\n\n'
        'class Alone:\n    """Is told."""\n\n    def untold(self): ...\n'
    )
    found = list(script("site_pages").undocumented(griffe.load("small", search_paths=[str(tmp_path)])))
    assert found == ["small.untold", "small.Alone.untold"]


def test_a_setting_is_documented_by_its_sentence(tmp_path):
    import griffe

    (tmp_path / "small.py").write_text(
        'class S:\n    a: int = setting(2, "One " "sentence.", least=1)\n    b: int = 3\n    c: int = other(2, "No.")\n'
    )
    extensions = griffe.load_extensions(ROOT / "scripts" / "site_settings.py")
    found = griffe.load("small", search_paths=[str(tmp_path)], extensions=extensions)["S"]
    assert found["a"].docstring.value == "One sentence." and found["a"].value == "2"
    assert not found["b"].has_docstring and not found["c"].has_docstring


def test_the_changelog_has_one_line_an_entry_by_kind():
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert {line for line in lines if line.startswith("### ")} <= {f"### {kind}" for kind in KINDS_OF_CHANGE}
    assert [line for line in lines if line.startswith("  ") or len(line) > 150] == []


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert citation["references"][0]["url"] == "https://arxiv.org/abs/2508.05613"


def test_the_hooks_run_tools_that_the_environment_has():
    """The hooks need no network, and the Makefile's environment has what they call."""
    development = " ".join(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"]
    )
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        tool = Path(hook["entry"].split()[0])
        assert tool.parent == Path(".venv/bin") and Path(sys.executable).with_name(tool.name).is_file(), hook["id"]
    assert "pre-commit>" in development and "pre-commit-hooks>" in development
