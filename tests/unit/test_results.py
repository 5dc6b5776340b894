"""The pages of the results: they are what the data make, and they are short."""

import importlib
import json
import math
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from cooper_rl.errors import BadInputError
from cooper_rl.report.runs import Run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def results(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("rebuild_results")


def test_the_pages_are_what_the_script_writes(results):
    files = results.written()
    assert [
        path for path, text in files.items() if not path.is_file() or path.read_text() != text
    ] == []  # make results
    made = {path for path in files if path.parent.name in ("experiments", "figures")}
    others = ("joint-step", "architecture")  # which other scripts draw
    drawings = {path for path in (ROOT / "docs" / "figures").glob("*.svg") if not path.name.startswith(others)}
    assert made == {*(ROOT / "docs" / "experiments").glob("*"), *drawings}
    readme = (ROOT / "README.md").read_text()
    default, alone = (results.Experiment(name, ROOT / "docs") for name in ("default", "arithmetic"))
    for arm in ("rule", "static", "cooper"):
        (row,) = re.findall(rf"^\| `{arm}` \|.*$", readme, re.MULTILINE)
        accuracies = [default.mean(arm, metric) for metric in ("base", "true accuracy end")]
        assert f"| {' | '.join(accuracies)} |" in row
        if arm != "rule":
            assert f"| {', '.join(default.mean(arm, f'RM accuracy {when}') for when in ('start', 'end'))} |" in row
    assert f"Cooper ends {default.difference('cooper', 'rule').lstrip('+')} above the rule" in readme
    assert f"the difference is {alone.difference('cooper', 'rule')}." in readme


def test_results_are_short_and_their_words_hold_no_figure_of_the_runs():
    text = (ROOT / "docs" / "results.md").read_text()
    assert len(text.splitlines()) <= 150
    for path in (ROOT / "docs" / "data").glob("*.yaml"):
        words = yaml.safe_load(path.read_text())
        assert f"](experiments/{path.stem}.md)" in text or not path.with_suffix(".json").is_file(), path.name
        assert all(isinstance(text, str) for text in (*words["findings"], *words["limits"])), path.name
        for key in ("question", "answer", "claim", "effect"):
            assert not re.search(r"\d\.\d{2}", re.sub(r"{{.*?}}", "", words[key], flags=re.DOTALL)), (path.name, key)


def test_a_page_follows_its_data_and_is_left_out_without_them(tmp_path, results):
    page, data = tmp_path / "experiments" / "misjudged.md", tmp_path / "data" / "misjudged.json"
    data.parent.mkdir()
    for name in ("arithmetic", "domain", "guard-30", "misjudged"):  # docs/results.md names an aim of each of these
        for path in (ROOT / "docs" / "data").glob(f"{name}.*"):
            if path.name != data.name:
                shutil.copy(path, data.parent)
    files = results.written(tmp_path)
    assert page not in files and "experiments/misjudged.md" not in files[tmp_path / "results.md"]
    variants = [
        "static",
        "cooper-0",
        *(f"{arm}-{rate}" for rate in (3, 10, 30) for arm in ("rule", "before", "cooper")),
        *(f"{arm}-{rate}-closed" for rate in (10, 30) for arm in ("before", "cooper")),
    ]
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
    # cooper-30 is the eleventh: 0.5 + 10 / 50 + 0.1 / 2; before-30 the tenth, rule-30 the ninth
    assert (
        "| cooper-30 | 2 | 0.400 | 0.750 ± 0.635 |" in files[page]
        and "| cooper-30 - before-30 | +0.020 | +0.020 | +0.020 |" in files[page]
    )
    assert "percent of the right answers" in files[tmp_path / "figures" / "misjudged-recall-of-misjudged.svg"]
    assert "![recall of misjudged](../figures/misjudged-recall-of-misjudged.svg)" in files[page]
    data.write_text(json.dumps(runs[:4]))
    with pytest.raises(ValueError, match=r"misjudged\.json has no run of 'cooper-30', which misjudged\.yaml names"):
        results.written(tmp_path)
    assert "Against the rule arm true accuracy is +0.040." in files[tmp_path / "results.md"].replace("\n", " ")


def test_the_step_that_reaches_a_level(results):
    reached = importlib.import_module("results_experiment").reached
    measured = [[0, 0.4], [20, 0.6], [40, 0.8], [60, 0.5]]
    assert reached(measured, 0.65) == pytest.approx(25)
    assert reached(measured, 0.3) == 0 and reached(measured, 0.8) == 40 and reached(measured, 0.81) is None


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("hybrid=arithmetic/cooper", "has no run of 'hybrid', which hybrid.yaml names"),
        (
            "misjudged=arithmetic",
            "misjudged: its records are made by the script that docs/experiments/misjudged.md names",
        ),
        ("hybird=arithmetic", "hybird: docs/data has no hybird.yaml"),
    ],
)
def test_nothing_is_written_where_a_page_cannot_be(word, message, tmp_path, results, monkeypatch):
    shutil.copytree(ROOT / "docs" / "data", tmp_path / "data")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    monkeypatch.setattr(results, "DOCS", tmp_path)
    monkeypatch.setattr("sys.argv", ["rebuild_results.py", word])
    with pytest.raises(BadInputError, match=message):
        results.main()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()} == before


def test_new_records_take_the_place_of_the_old_ones(tmp_path, results, monkeypatch):
    shutil.copytree(ROOT / "docs" / "data", tmp_path / "data")
    monkeypatch.setattr(results, "DOCS", tmp_path)
    monkeypatch.setattr("sys.argv", ["rebuild_results.py", "hybrid=hybrid,again:arithmetic/rule"])
    results.main()
    assert {run["arm"] for run in results.data_of("hybrid")} == {"cooper", "hybrid", "rule", "static", "again"}
    assert "| again | 5 |" in (tmp_path / "experiments" / "hybrid.md").read_text()


def test_the_whole_step_is_timed(results):
    data = importlib.import_module("results_data")
    trl = {"step_time": 3.0, "time/generate_seconds": 1.0, "time/score_seconds": 1.0, "time/policy_seconds": 1.0}
    stage_2 = {"time/pairs_seconds": 0.5, "time/reward_model_seconds": 1.0, "time/guard_seconds": 0.5}
    plain = {name: value for name, value in trl.items() if name != "step_time"}
    rows = [{"step": 0}, trl, trl | stage_2, plain | stage_2, {"time/score_seconds": 1.0} | stage_2]
    assert data.step_seconds(Run(Path("run"), {}, {}, rows)) == [3.0, 5.0, 5.0]


def test_accepted_wrong_rollouts_are_counted_by_fifty_steps(results, tmp_path):
    data = importlib.import_module("results_data")
    step = [({"score": score}, None, true) for score, true in ((0.9, False), (0.1, False), (0.9, True), (None, False))]
    blocks = data.wrong_in_blocks([step] * 60)
    assert blocks == [[50, 100, 50], [60, 20, 10]]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "one.json").write_text(json.dumps([{"arm": "static", "seed": 0, "wrong_in_blocks": blocks}]))
    (tmp_path / "data" / "one.yaml").write_text("title: One\n")
    experiment = importlib.import_module("results_experiment").Experiment("one", tmp_path)
    assert experiment.wrong_accepted("static", 0, 50) == "50.0% (50 of 100)"
    assert experiment.wrong_accepted("static", 50, 250) == "50.0% (10 of 20)"


def test_the_tutorial_on_reading_a_run_has_the_figures_of_the_kept_runs():
    entries = json.loads((ROOT / "docs" / "data" / "default.json").read_text())
    page = (ROOT / "docs" / "tutorials" / "reading-a-run.md").read_text()
    for title, arm in (("Healthy", "cooper"), ("Hacked", "static")):
        (run,) = (entry for entry in entries if (entry["arm"], entry["seed"]) == (arm, 0))
        series = {name: dict(map(tuple, points)) for name, points in run["series"].items()}
        section = page.split(f"## {title}\n")[1].split("\n## ")[0]
        rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", section, re.MULTILINE)
        assert len(rows) >= 4
        for step, *shown in ((int(row[0]), *row[1:]) for row in rows):
            rewards = [series["reward"][at] for at in range(step - 3, step + 4) if at in series["reward"]]
            rates = (series["eval/true_accuracy"][step], series["eval/reward_model_accuracy"][step])
            assert shown == [f"{sum(rewards) / len(rewards):.2f}", *(f"{rate:.3f}" for rate in rates)], (arm, step)


def test_the_alarms_are_counted_by_page_in_hacked_runs_and_in_others(results, tmp_path):
    def record(arm, lost, alarm, **more):
        return {"arm": arm, "loss_step": lost, "alarm_step": alarm, **more}

    old = [record("static", 20, 25), record("cooper", None, 30), record("rule", None, 5)]
    asked = [record("static", 40, None, rule_alarm_step=15), record("cooper", None, None, rule_alarm_step=None)]
    (tmp_path / "old.json").write_text(json.dumps(old))
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    (tmp_path / "own.json").write_text(json.dumps(old))
    (tmp_path / "other.json").write_text(json.dumps([{"variant": "x"}]))
    _, *rows = importlib.import_module("results_alarms").alarms_by_page(tmp_path, without="own")
    assert rows == [
        ("[asked](asked.md)", "1 of 1", "0 of 1", "0 of 1", "0 of 1"),
        ("[old](old.md)", "1 of 1", "1 of 1", "-", "-"),
        ("all", "2 of 2", "1 of 2", "0 of 1", "0 of 1"),
    ]


def test_records_of_other_runs_are_kept(results, tmp_path, capsys):
    show, out = importlib.import_module("misjudged_results").show, tmp_path / "steps.json"
    old = [{"variant": "outcome", "seed": seed, "x": 1.0} for seed in (1, 0)]
    show(old, {"x": "x"}, out)
    show([{"variant": "outcome", "seed": 1, "x": 4.0}, {"variant": "centred", "seed": 1, "x": 2.0}], {"x": "x"}, out)
    found = [tuple(record.values()) for record in json.loads(out.read_text())]
    assert found == [("centred", 1, 2.0), ("outcome", 0, 1.0), ("outcome", 1, 4.0)]
    assert "| outcome | 2 | 2.500" in capsys.readouterr().out


def test_a_grid_has_the_simplest_arm_that_is_not_shown_to_be_below_the_best(results):
    grid = importlib.import_module("results_grid")
    lines = {
        "rule": {50: "rule-50", 100: "rule-100"},
        "asked": {50: "a", 100: "a"},
        "cooper": {50: "c-50", 100: "c-100"},
    }
    runs = {
        "rule-50": [0.5, 0.52],
        "rule-100": [0.8, 0.78],
        "a": [0.6, 0.61],
        "c-50": [0.7, 0.71],
        "c-100": [0.8, 0.79],
    }
    words = {"simplest_first": ["rule", "asked", "cooper"], "rows": {100: "all", 50: "half", "none": "nothing"}}
    full, half, nothing = grid.cells(lines, words, runs.__getitem__).values()
    pooled_half = 2.57 * math.sqrt(0.00055 / 5)  # of 5 arms with 2 seeds each; both means of a difference have 2 values
    assert full == ("rule", pytest.approx(0.79), "cooper", pytest.approx(-0.005), pytest.approx(pooled_half))
    assert half == ("cooper", pytest.approx(0.705), "rule", pytest.approx(0.195), pytest.approx(pooled_half))
    assert (nothing.name, nothing.other) == ("asked", "")  # a line of one arm needs no rule
    one_seed = grid.cells(lines, words, lambda arm: runs[arm][:1])[50]
    assert (one_seed.name, one_seed.other, one_seed.half) == ("rule", "cooper", math.inf)
    words |= {"columns": {"strong": "<0.9>"}, "across": "VerifyRM", "down": "the rule reads"}
    drawing = grid.grid_drawing({"strong": {"lines": lines}}, words, runs.__getitem__)
    assert "+0.195 ± 0.027 to<" in drawing and "&lt;0.9&gt;" in drawing
