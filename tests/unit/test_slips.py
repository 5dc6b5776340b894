"""The nano world whose steps have a known truth: slips at a known step, and the first wrong step of any completion."""

import json
import random

import pytest

from cooper_rl.domains.nano.arithmetic import STEP, Steps
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.eval_rm import EvalSettings, as_lines, evaluate_files
from cooper_rl.steps import step_ends
from cooper_rl.testing import check_domain
from cooper_rl.verifyrm.triples import read_labelled, read_triples
from studies.nano.slips import process_triple, process_triples

WORLD = Steps()
PROBLEMS = WORLD.problems("train", 60, 0)


def problem_with(expression):
    return next(p for p in WORLD.problems("train", 3000, 0) if expression(p.metadata["steps"]))


def test_it_is_a_domain_of_two_steps():
    check_domain(WORLD)
    assert all(len(problem.metadata["steps"]) == 2 for problem in PROBLEMS)


def test_a_slip_is_the_first_error_wherever_it_is():
    rng = random.Random(0)
    for problem in PROBLEMS:
        assert WORLD.first_error(problem, WORLD.write(problem, rng, "steps")) == -1
        for place in range(3):
            told = WORLD.slip_at(problem, place, rng)
            text = WORLD.write(told, rng, "steps")
            assert WORLD.first_error(problem, text) == place, (problem, text)
            assert not WORLD.is_true(problem, text)


def test_what_follows_a_slip_goes_on_from_it():
    problem = problem_with(lambda steps: steps[0].startswith("9 + "))
    told = WORLD.slip_at(problem, 0, random.Random(0))
    first, second = told.metadata["steps"]
    wrong = first.rstrip(".").split(" = ")[1]
    left, sign, right, _, result = second.rstrip(".").split(" ")
    assert left == wrong and float(result) == float(left) + (1 if sign == "+" else -1) * float(right)
    assert told.reference_answer == result


@pytest.mark.parametrize(
    ("completion", "index"),
    [
        ("{0} {1} The answer is {a}.", -1),
        ("{1} The answer is {a}.", -1),
        ("The answer is {a}.", -1),
        ("{1} That makes {a}. I am 80% sure.", -1),
        ("{0} 1 + 1 = 3. The answer is {a}.", 1),
        ("{0} 1 + 1 = 2. The answer is {a}.", 1),  # true, but no step of this problem
        ("{0} {1} The answer is 1{a}.", 2),
        ("{0} {1}", 1),  # no answer
        ("The answer is 3 or {a}.", 0),
        ("", 0),
    ],
)
def test_the_first_error_of_any_completion(completion, index):
    problem = problem_with(lambda steps: not steps[1].endswith(("= 2.", "= 3.")) and "-" not in steps[1].split("=")[1])
    steps = problem.metadata["steps"]
    assert WORLD.first_error(problem, completion.format(*steps, a=WORLD.answer(problem))) == index


def test_triples_have_their_steps_and_their_first_error(tmp_path):
    records = process_triples("train", 200, 0, plain=0.3)
    known = [record for record in records if "first_error" in record]
    assert (
        100 < len(known) < 170
        and any(len(record["step_ends"]) < 2 for record in known)
        and len({record["first_error"] for record in known}) == 4
    )
    file = tmp_path / "triples.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    for triple, record in zip(read_triples(file), records, strict=True):
        assert triple.correct == record["correct"] and triple.first_error == record.get("first_error")
        assert list(triple.ends) == record.get("step_ends", [])
        assert not triple.ends or list(triple.ends) == step_ends(triple.completion, STEP)


@pytest.mark.parametrize("ends", [[3, 2], [3, "x"], "3", [2, 3], [0, 8], [True, 8]])
def test_ends_that_are_none_are_refused(ends):
    record = {"question": "?", "reference": "1", "completion": "It is 1.", "correct": True, "step_ends": ends}
    with pytest.raises(BadInputError, match="file:1: field 'step_ends' must be rising offsets"):
        read_labelled(record, "file:1")


def test_a_file_whose_first_errors_are_known_is_measured_by_steps_too(tmp_path):
    rng, file = random.Random(0), tmp_path / "triples.jsonl"
    file.write_text("".join(json.dumps(process_triple(WORLD, p, rng)) + "\n" for p in PROBLEMS[:30]))
    settings = EvalSettings(model="nano", verifier=None, probes=False, bootstrap_samples=10)
    found = evaluate_files([str(file)], settings)
    process = found["files"][str(file)]["process"]
    assert process["solutions"] == 30 and 0 <= process["tuned"]["all"]["f1"] <= 1
    assert any("first error found" in line for line in as_lines(found))
