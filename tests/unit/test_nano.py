"""The nano world, and that the shipped weights are those of the committed recipes."""

import hashlib
import json
import random
import re
from pathlib import Path

import pytest
import yaml

from cooper_rl.data.problems import NANO
from cooper_rl.nano.kinship import FORMS as KINSHIP_FORMS
from cooper_rl.nano.kinship import another_relation, is_true_relation, kinship_problems, state_relation, write_kinship
from cooper_rl.nano.triples import written_triples
from cooper_rl.nano.truth import canonical, is_true, stated_value
from cooper_rl.nano.world import SPLITS, nano_problems, split_of
from cooper_rl.nano.worlds import WORLDS
from cooper_rl.nano.writer import FORMS, near_miss, reference_value, state_answer, write_demonstration
from cooper_rl.recipe import EMBEDDED
from cooper_rl.records import Verdict
from cooper_rl.verifiers import RuleVerifier

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.mark.parametrize(("part", "recipe"), [("policy", "nano-policy"), ("reward_model", "nano-reward-model")])
def test_shipped_weights_belong_to_their_recipe(part, recipe):
    record = json.loads((EMBEDDED[part] / "recipe.json").read_text())
    weights = EMBEDDED[part] / "model.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == record["sha256"]
    assert weights.stat().st_size <= 8_000_000
    settings = yaml.safe_load((RECIPES / f"{recipe}.yaml").read_text())
    settings.pop("output_dir")
    settings.pop("model_name_or_path", None)
    for key, value in settings.items():
        assert record["recipe"][key] == value, key


def test_the_worlds_are_the_data_sets_of_that_name():
    assert tuple(WORLDS) == NANO


def test_splits_are_disjoint_and_reproducible():
    sets = {split: {p.question for p in nano_problems(split, 300, 0)} for split in SPLITS}
    assert all(len(questions) == 300 for questions in sets.values())
    assert all(split_of(q) == split for split, questions in sets.items() for q in questions)
    assert [p.question for p in nano_problems("train", 20, 7)] == [p.question for p in nano_problems("train", 20, 7)]


@pytest.mark.parametrize("form", FORMS)
def test_truth_understands_every_form(form):
    rng = random.Random(form)
    for problem in nano_problems("train", 150, 1):
        value = reference_value(problem)
        assert is_true(problem, state_answer(problem, value, form, rng)), state_answer(problem, value, form, rng)
        wrong = near_miss(value, rng)
        assert not is_true(problem, state_answer(problem, wrong, form, rng))
        steps = " ".join(problem.metadata["steps"])
        assert is_true(problem, f"{steps} {state_answer(problem, value, form, rng)}")


def test_truth_refuses_hedges_and_nonsense():
    for text in ("The answer is 3 or 4.", r"\boxed{3} or \boxed{4}", "", "The answer is minus almonds.", "3"):
        assert stated_value(text) is None
    assert stated_value("The answer is 3/0.") == "undefined" == stated_value("The answer is 6.1/1.")


def test_a_completion_that_names_several_answers_is_wrong_for_truth_and_rule():
    rng = random.Random(0)
    problems = nano_problems("train", 60, 1)
    texts = [write_demonstration(p, rng, "hedged") for p in problems]
    with RuleVerifier("math_verify", workers=1) as verifier:
        assert set(verifier.verify_many([p.reference_answer for p in problems], texts)) == {Verdict.INCORRECT}
    assert not any(is_true(p, text) for p, text in zip(problems, texts, strict=True))


def test_the_label_of_a_written_triple_is_whether_statement_and_reference_agree():
    triples = written_triples("train", 400, 5)
    for triple in triples:
        agree = canonical(triple["reference"]) == stated_value(triple["completion"])
        assert agree == triple["correct"], triple
    assert 0.4 < sum(t["correct"] for t in triples) / 400 < 0.6
    assert 0.3 < sum(not t["question"] for t in triples) / 400 < 0.6
    assert triples == written_triples("train", 400, 5)
    assert all(split_of(t["question"]) == "train" for t in triples if t["question"])


def test_triples_with_the_problems_own_reference_can_be_told_from_question_and_solution():
    triples = written_triples("train", 400, 5, own_reference=True)
    references = {problem.question: problem.reference_answer for problem in nano_problems("train", 100, 5)}
    for triple in triples:
        assert triple["reference"] == references[triple["question"]]
        assert triple["correct"] == (canonical(triple["reference"]) == stated_value(triple["completion"]))
    assert 0.4 < sum(t["correct"] for t in triples) / 400 < 0.6


def test_kinship_follows_from_the_worked_steps():
    """The steps name the two persons of the question in the story's own words, and the answer follows."""
    for problem in kinship_problems("train", 300, 2):
        *steps, last = problem.metadata["steps"]
        about = problem.metadata["entry"]["metadata"]
        assert last == f"{about['person1']} is the {problem.reference_answer} of {about['person2']}."
        assert len(steps) == (2 if problem.reference_answer.startswith("grand") else 1)
        named = {name for step in steps for name in re.findall(r"[A-Z]\w+", step)}
        assert {about["person1"], about["person2"]} <= named <= set(re.findall(r"\w+", problem.question))


@pytest.mark.parametrize("form", KINSHIP_FORMS)
def test_truth_understands_every_form_of_a_relation(form):
    rng = random.Random(form)
    for problem in kinship_problems("heldout", 100, 1):
        right = problem.reference_answer
        steps = " ".join(problem.metadata["steps"])
        said = state_relation(problem, right, form, rng)
        assert is_true_relation(problem, said) and is_true_relation(problem, f"{steps} {said}"), said
        assert not is_true_relation(problem, state_relation(problem, another_relation(right, rng), form, rng))
        assert not is_true_relation(problem, write_kinship(problem, rng, "hedged"))
        assert not is_true_relation(problem, write_kinship(problem, rng, "blank"))


def test_the_rule_is_weak_where_answers_are_words_and_never_calls_a_right_one_wrong():
    problems = kinship_problems("train", 200, 3)
    rng = random.Random(0)
    texts = [write_kinship(problem, rng, "direct") for problem in problems]
    with RuleVerifier("math_verify", workers=1) as verifier:
        verdicts = verifier.verify_many([p.reference_answer for p in problems], texts)
    assert 0.1 < sum(verdict is Verdict.CORRECT for verdict in verdicts) / len(verdicts) < 0.4
    assert Verdict.INCORRECT not in verdicts


def test_kinship_triples_say_whether_statement_and_reference_agree():
    triples = written_triples("train", 200, 5, world=WORLDS["nano-kinship"])
    world = WORLDS["nano-kinship"]
    assert all(t["correct"] == (t["reference"] == world.stated(t["completion"])) for t in triples)
    assert 0.4 < sum(t["correct"] for t in triples) / 200 < 0.7
