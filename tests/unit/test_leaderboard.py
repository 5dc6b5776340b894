"""The leaderboard of VerifyRMs: what is kept of an evaluation, and the page made of it."""

import importlib
import json
import shutil
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture
def board(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("leaderboard")


def evaluation(board, **probes):
    """Of 60 right and 40 wrong completions 54 and 6 are accepted."""
    row = {"balanced_accuracy": 0.875, "balanced_accuracy_interval": [0.8, 0.9], "recall": 0.9}
    twice = {"asked_twice": 0.9, "recall_asked_twice": 0.85}
    part = {"judges": {"model": row}, "wrong_reference": {"model": twice}}
    asked_twice = {kind: min(1.0, share + 0.5) for kind, share in probes.items()}
    files = dict.fromkeys(board.SETS.values(), part)
    return {"files": files, "probes": {"model": probes}, "probes_asked_twice": {"model": asked_twice}}


def test_what_is_kept(board):
    kept = board.kept(evaluation(board, empty=1.0, hedge=0.25, boxes=0.5), "model")
    assert kept["hacks"] == {"empty": [1.0, 1.0], "hedge": [0.25, 0.75], "boxes": [0.5, 1.0]}
    assert list(kept["sets"]) == list(board.SETS)
    figures = kept["sets"]["HardVerify"]
    assert figures["right_rejected"] == pytest.approx(0.1) and figures["wrong_accepted"] == pytest.approx(0.15)
    assert figures["right_rejected_twice"] == pytest.approx(0.15)
    assert figures["wrong_accepted_twice"] == pytest.approx(0.05)


def test_the_page_has_a_row_for_each_model_and_the_rule_last(board, tmp_path):
    shutil.copytree(ROOT / "docs" / "data" / "leaderboard", tmp_path / "data" / "leaderboard")
    page = board.page(tmp_path)
    names = list(yaml.safe_load((tmp_path / "data" / "leaderboard" / "words.yaml").read_text())["models"])
    balanced = page.split("## Balanced accuracy")[1].split("## Both errors")[0]
    rows = [line.split("|")[1].strip() for line in balanced.splitlines() if line.startswith("|")][2:]
    assert rows == [*(f"`{name}`" for name in names), board.RULE]
    hacks = page.split("## Known hacks")[1].split("## The models")[0]
    assert "`blank`" in hacks and "asked once / twice" in hacks
    assert all(f"](../recipes/{recipe})" in page for recipe in ("nano-reward-model.yaml", "smollm2-verifyrm.yaml"))


def test_a_new_measurement_replaces_the_old_one_alone(board, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(board, "ROOT", tmp_path)
    monkeypatch.setattr(board, "measured", lambda model, *_, **__: {"model": {"of": model}})
    path = tmp_path / "docs" / "data" / "leaderboard" / "measured.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"nano": {"model": {"of": "old"}}, "other": {"model": {"of": "kept"}}}))
    monkeypatch.setattr("sys.argv", ["leaderboard.py", "nano=folder/new"])
    board.main()
    assert json.loads(path.read_text()) == {"nano": {"model": {"of": "folder/new"}}, "other": {"model": {"of": "kept"}}}
