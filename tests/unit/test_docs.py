"""The documents against the code: recipes are listed, links lead somewhere, the site builds."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCUMENTS = [path for place in ("", "docs/**/", "examples/**/") for path in sorted(ROOT.glob(f"{place}*.md"))]
KINDS_OF_CHANGE = ("Added", "Changed", "Fixed", "Removed")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # where dataclasses look
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


@pytest.mark.slow  # 80 seconds; links and docstrings have fast tests
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
        'class S:\n    a: int = setting(2, least=1)\n    """One sentence."""\n    b: int = 3\n    c: int = other(2)\n'
    )
    extensions = griffe.load_extensions(ROOT / "scripts" / "site_settings.py")
    found = griffe.load("small", search_paths=[str(tmp_path)], extensions=extensions)["S"]
    assert found["a"].docstring.value == "One sentence." and found["a"].value == "2"
    assert not found["b"].has_docstring and not found["c"].has_docstring and str(found["c"].value) == "other(2)"


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
