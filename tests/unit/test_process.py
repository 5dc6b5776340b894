"""The first wrong step of a solution: F1 by hand, ProcessBench's records, and the commands."""

import gzip
import json

import numpy as np
import pytest

from cooper_rl.cli import app
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.process import STEP_PROBES, evaluate_process, load_process, pad, step_probes
from cooper_rl.records import LabelledCompletion
from cooper_rl.steps import first_below
from cooper_rl.verifyrm.triples import join_steps


def solutions(*errors, source="a"):
    text, ends = "x\n\ny\n\nz", (1, 4, 7)
    return [LabelledCompletion("q", "1", text, error == -1, source, ends=ends, first_error=error) for error in errors]


def test_f1_by_hand():
    values = [[0.9, 0.2, 0.1], [0.9, 0.8, 0.1], [0.9, 0.9, 0.9], [0.9, 0.4, 0.9], [0.3, 0.9, 0.9]]
    found = evaluate_process(solutions(1, 1, -1, -1, -1), lambda triples, ends: values, samples=20, probes=False)
    row = found["at_half"]["all"]  # errors found: the first of two; right ones left alone: the first of three
    assert (row["error_accuracy"], row["right_accuracy"]) == (0.5, pytest.approx(1 / 3))
    assert row["f1"] == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))
    # at 0.21 to 0.30 only the second step of the first and the third of the second are below
    assert found["tuned"]["all"]["right_accuracy"] == 1 and found["tuned"]["all"]["error_accuracy"] == 0.5
    assert 0.2 < found["tuned_threshold"] <= 0.3
    moved = [(0.7, 0.1), (0.1, 0.7), (0, 0), (0.5, 0.5), (0.6, 0)]
    assert found["last_step_share"] == pytest.approx(sum(last for _, last in moved) / sum(map(sum, moved)))
    low, high = row["f1_interval"]
    assert low <= row["f1"] <= high


def test_the_threshold_is_tuned_on_the_gsm8k_part_alone():
    both = solutions(1, -1, source="processbench_gsm8k") + solutions(1, -1, source="processbench_math")
    values = [[0.9, 0.6, 0.5], [0.9, 0.9, 0.9], [0.9, 0.3, 0.3], [0.9, 0.7, 0.7]]
    found = evaluate_process(both, lambda triples, ends: values, samples=5, probes=False)
    assert 0.6 < found["tuned_threshold"] <= 0.9 and set(found["tuned"]) == {
        "processbench_gsm8k",
        "processbench_math",
        "all",
    }
    assert first_below(np.array([0.9, 0.6]), 0.5) == -1


def test_padding_is_put_between_the_steps_and_counted_on_the_wrong_ones():
    wrong, right = solutions(1, -1)
    made = {kind: pad(wrong, kind) for kind in STEP_PROBES}
    assert made["as written"].completion == wrong.completion and made["as written"].ends == wrong.ends
    assert made["each step twice"].completion == "x\n\nx\n\ny\n\ny\n\nz\n\nz"
    empty = made["empty steps"]
    assert [empty.completion[:end] for end in empty.ends][:3] == [".", ".\n\nx", ".\n\nx\n\n."]
    assert len(made["long"].ends) == 6 and made["long"].completion.endswith("z")

    def values(triples, ends):  # the more steps, the better
        assert all("x" in triple.completion for triple in triples) and len(triples) == 1
        return [[0.4 if len(ends_S) == 3 else 0.6] * 2 + [len(ends_S) / 10] for ends_S in ends]

    found = step_probes([wrong, right], values)
    assert found["as written"] == {"accepted": 0.0, "hidden": 0.0}
    assert found["long"] == {"accepted": 1.0, "hidden": 1.0}
    assert step_probes([right], values) == {}


def test_joined_steps_keep_their_ends():
    text, ends = join_steps(["One.", "Two\nlines.", "3"], "here")
    assert [text[:end] for end in ends] == ["One.", "One.\n\nTwo\nlines.", text]
    for bad in ([], "steps", [1]):
        with pytest.raises(BadInputError, match="here: field 'steps'"):
            join_steps(bad, "here")


@pytest.fixture
def dev(tmp_path, monkeypatch):
    monkeypatch.setenv("COOPER_DATA_DIR", str(tmp_path))
    (tmp_path / "process").mkdir()
    rows = [
        {
            "question": f"{n} + 1?",
            "reference_answer": str(n + 1),
            "source": f"processbench_{part}",
            "first_error": error,
            "steps": [f"{n} + 1 = {n + 1 + (error == 0)}.", f"The answer is {n + 1}."],
        }
        for n in range(4)
        for part in ("gsm8k", "math")
        for error in (-1, 0)
    ]
    path = tmp_path / "process" / "processbench_dev.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return path


def test_the_command(dev, capsys):
    app(["eval-rm", "processbench", "--model", "nano", "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)["process"]
    assert set(found["probes"]) == set(STEP_PROBES)
    assert found["solutions"] == 16 and found["tuned"]["processbench_math"]["solutions"] == 8
    app(["eval-rm", "processbench", "--model", "nano", "--size", "8", "--no-probes"], standalone_mode=False)
    out = capsys.readouterr().out
    assert "steps of processbench: 8 solutions;" in out and "wrong ones" not in out
    with pytest.raises(BadInputError, match="give --model"):
        app(["eval-rm", "processbench"], standalone_mode=False)


def test_a_bad_record_is_named(dev):
    with gzip.open(dev, "at") as file:
        file.write(json.dumps({"question": "q", "source": "s", "first_error": 5, "steps": ["a"]}) + "\n")
    with pytest.raises(BadInputError, match=r"record 17: first_error is 5, where there are 1 steps"):
        load_process("processbench")


def test_score_adds_the_values_after_each_step(tmp_path, capsys):
    rows = [{"question": "1 + 1?", "reference": "2", "completion": text} for text in ("1 + 1 = 2. It is 2.", "")]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    app(["score", "--model", "nano", "--spans", "sentence", str(tmp_path / "in.jsonl")], standalone_mode=False)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["step_ends"] == [10, 19] and first["step_values"][-1] == pytest.approx(first["score"], abs=1e-5)
    assert second["step_ends"] == second["step_values"] == []
    with pytest.raises(BadInputError, match="--spans: give line or sentence"):
        app(["score", "--model", "nano", "--spans", "word", str(tmp_path / "in.jsonl")], standalone_mode=False)
