"""Figures by hand, probes that hold no right answer, and eval-rm through the command line."""

import json

import numpy as np
import pytest

from cooper_rl.cli import app
from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.evaluation.eval_rm import EvalSettings, answer_type, check_labelled, draw, evaluate_files, load_labelled
from cooper_rl.evaluation.metrics import auroc, bootstrap, calibration_error, metrics_of
from cooper_rl.records import LabelledCompletion, Problem, Verdict
from cooper_rl.synthesis.augment import PROBES, probe_triples
from cooper_rl.synthesis.wrong_numbers import wrong_answer
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm.triples import Confusion

SCORES = np.array([0.9, 0.8, 0.4, 0.6, 0.2, 0.1])
CORRECT = np.array([True, True, True, False, False, False])


def test_figures_by_hand():
    found = metrics_of(SCORES, CORRECT)
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["balanced_accuracy"] == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert found["precision"] == found["recall"] == found["f1"] == pytest.approx(2 / 3)
    assert found["auroc"] == pytest.approx(8 / 9)  # one of nine pairs is the wrong way round
    assert found["calibration_error"] == pytest.approx((0.1 + 0.2 + 0.6 + 0.6 + 0.2 + 0.1) / 6)


def test_a_confusion_by_hand():
    found = Confusion(true_positives=3, false_positives=1, false_negatives=2, true_negatives=4)
    assert (found.count, found.accuracy, found.recall, found.specificity) == (10, 0.7, 0.6, 0.8)
    assert (found.balanced_accuracy, found.precision, found.f1) == (pytest.approx(0.7), 0.75, pytest.approx(6 / 9))
    said, correct = (np.array([bool(int(digit)) for digit in digits]) for digits in ("1110000110", "1110000001"))
    assert Confusion.of(said, correct) == Confusion(3, 2, 1, 4)
    assert Confusion.of(said[:0], correct[:0], of_nothing=0.0).accuracy == 0.0


def test_ties_count_half_and_what_is_not_known_is_nan():
    assert auroc(np.array([0.5, 0.5]), np.array([True, False])) == 0.5
    assert np.isnan(auroc(np.array([0.5, 0.5]), np.array([True, True])))
    assert np.isnan(metrics_of(np.zeros(3), CORRECT[:3])["precision"])
    assert calibration_error(np.array([1.0, 1.0]), np.array([True, True])) == 0


def test_calibration_is_over_bins_not_records():
    assert calibration_error(np.full(4, 0.75), np.array([True, True, True, False])) == pytest.approx(0)


def test_the_interval_covers_the_figure_and_narrows():
    rng = np.random.default_rng(1)
    correct = rng.random(2000) < 0.5
    scores = np.where(rng.random(2000) < 0.8, correct, ~correct).astype(float)

    def accuracy(s, c):
        return metrics_of(s, c)["accuracy"]

    few, many = (bootstrap(accuracy, scores[:n], correct[:n], samples=300) for n in (100, 2000))
    assert few[0] < 0.8 < few[1] and many[0] < 0.8 < many[1]
    assert many[1] - many[0] < (few[1] - few[0]) / 2
    assert bootstrap(accuracy, scores, correct, samples=50) == bootstrap(accuracy, scores, correct, samples=50)


PROBLEMS = [Problem(f"What is {i} + 3?", str(i + 3)) for i in range(15)] + [Problem("Which day?", "Monday")]


def test_no_probe_is_a_right_answer():
    """By the rule: not one is CORRECT, whatever it says besides."""
    probes = probe_triples(PROBLEMS)
    assert len(probes) >= 13 and set(probes) == set(PROBES)
    with RuleVerifier() as rule:
        for kind, triples in probes.items():
            verdicts = rule.verify_many([t.reference_answer for t in triples], [t.completion for t in triples])
            assert Verdict.CORRECT not in verdicts, (kind, triples[verdicts.index(Verdict.CORRECT)])
    assert probes == probe_triples(PROBLEMS) != probe_triples(PROBLEMS, seed=1)


@pytest.mark.parametrize("reference", ["12", "3/4", r"\frac{1}{2}", "Monday", "x^2", "1,234", "-5"])
def test_a_wrong_answer_is_wrong(reference):
    import random

    with RuleVerifier(workers=1) as rule:
        for seed in range(5):
            wrong = wrong_answer(reference, random.Random(seed))
            assert rule.verify(reference, f"\\boxed{{{wrong}}}") is not Verdict.CORRECT, wrong


@pytest.fixture
def labelled(tmp_path):
    path = tmp_path / "labelled.jsonl"
    records = [
        {"question": p.question, "reference": p.reference_answer, "completion": f"#### {a}", "correct": right}
        for p in PROBLEMS[:15]
        for a, right in ((p.reference_answer, True), (f"{p.reference_answer}0", False))
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


@pytest.mark.slow  # 45 seconds: every probe, every interval
def test_evaluate_files(labelled):
    def perfect(triples):
        return np.array([float(t.completion == f"#### {t.reference_answer}") for t in triples])

    settings = EvalSettings(bootstrap_samples=50, probe_problems=5, judges={"perfect": perfect})
    found = evaluate_files([str(labelled)], settings)
    part = found["files"][str(labelled)]
    assert part["records"] == 30 and part["right"] == 15
    assert part["judges"]["rule"]["accuracy"] == part["judges"]["perfect"]["accuracy"] == 1.0
    assert part["judges"]["always wrong"]["balanced_accuracy"] == 0.5
    assert part["by_type"]["number"]["rule"]["accuracy"] == 1.0
    assert set(found["probes"]) == {"rule", "perfect"} and set(found["probes"]["perfect"].values()) == {1.0}


@pytest.mark.slow  # 49 seconds: a process of its own for each call
def test_the_command(labelled, capsys):
    app(["eval-rm", "--model", "nano", str(labelled), "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    low, high = found["files"][str(labelled)]["judges"]["model"]["accuracy_interval"]
    assert 0 <= low <= found["files"][str(labelled)]["judges"]["model"]["accuracy"] <= high <= 1
    assert set(found["probes"]["model"]) == set(PROBES)
    app(["eval-rm", "--model", "nano", str(labelled), "--no-probes", "--bf16", "--json"], standalone_mode=False)
    exact, rounded = (
        f["files"][str(labelled)]["judges"]["model"] for f in (found, json.loads(capsys.readouterr().out))
    )
    assert rounded["auroc"] == pytest.approx(exact["auroc"], abs=0.05)
    assert rounded["calibration_error"] == pytest.approx(exact["calibration_error"], abs=0.01)
    assert rounded["calibration_error"] != exact["calibration_error"]  # it really was in bfloat16
    app(["eval-rm", str(labelled), "--no-probes"], standalone_mode=False)
    assert "always wrong" in capsys.readouterr().out
    app(["eval-rm", str(labelled), "--no-probes", "--size", "9", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["files"][str(labelled)]["records"] == 9


def test_a_random_sample_of_a_file(labelled):
    triples = load_labelled(str(labelled))
    first, again, other = (draw(triples, EvalSettings(size=9, seed=seed)) for seed in (0, 0, 1))
    assert len(first) == 9 and first == again != other and all(t in triples for t in first + other)
    assert draw(triples, EvalSettings(size=99)) == draw(triples, EvalSettings()) == triples


@pytest.mark.parametrize(
    ("reference", "kind"),
    [("12", "number"), ("x^2", "expression"), ("Monday", "words"), ("1, 2", "group"), ("", "other")],
)
def test_answer_types(reference, kind):
    assert answer_type(reference) == kind


def test_published_sets_by_name(tmp_path, monkeypatch):
    """In the form of their authors: VerifyBench's human labels; HardVerify's two answers a question."""
    monkeypatch.setenv("COOPER_DATA_DIR", str(tmp_path))
    bench = {
        "question": "q",
        "answer": "4",
        "completion": "It is 5.",
        "gold_correct": False,
        "source": "s",
        "data_id": 1,
    }
    (tmp_path / "verify_bench_hard.jsonl").write_text(json.dumps(bench) + "\n")
    assert load_labelled("verifybench_hard") == [LabelledCompletion("q", "4", "It is 5.", False, "s")]
    hard = {"question": "q", "ground_truth": "1/2", "fn_output": "0.5", "tn_output": "2"}
    (tmp_path / "HardVerify-Math.json").write_text(json.dumps([hard]))
    assert [(t.completion, t.correct) for t in load_labelled("hardverify_math")] == [("0.5", True), ("2", False)]
    (tmp_path / "verify_bench.jsonl").write_text(json.dumps({"question": "q"}) + "\n")
    with pytest.raises(BadInputError, match=r"verify_bench.jsonl: record 1 has no field 'answer'"):
        load_labelled("verifybench")
    with pytest.raises(MissingFileError, match="by name: verifybench, verifybench_hard, hardverify_math"):
        check_labelled("verify-bench")
