"""Triples under other reference answers, and what eval-rm makes of a set's references."""

import json
import random

import numpy as np
import pytest

from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.eval_rm import EvalSettings, as_lines, evaluate_files, select_heldout
from cooper_rl.evaluation.judges import (
    best_of_references,
    measure_twice,
    under_near_wrong_references,
    under_wrong_references,
)
from cooper_rl.records import LabelledCompletion, Problem
from cooper_rl.settings.reward_model import RewardModelTrainConfig
from cooper_rl.synthesis.augment import probe_triples
from cooper_rl.synthesis.exclusion import states
from cooper_rl.synthesis.near_reference import near_counterfactuals
from cooper_rl.synthesis.other_reference import (
    AnswerPool,
    counterfactual,
    counterfactuals,
    mentioning_two,
    under_aliases,
)
from cooper_rl.verifyrm.train_rm import draw_share, split_by_question, training_data
from cooper_rl.verifyrm.triples import read_triples

TOWNS = {
    "France": ("Paris", ("City of Light",)),
    "Italy": ("Rome", ("Roma",)),
    "Spain": ("Madrid", ()),
    "Norway": ("Oslo", ("Christiania",)),
}


PROBLEMS = [Problem(f"What is the capital of {land}?", town) for land, (town, _) in TOWNS.items()]


def triple_of(land, said, right):
    town, aliases = TOWNS[land]
    return LabelledCompletion(f"What is the capital of {land}?", town, said, right, aliases=aliases)


TRIPLES = [
    triple_of(land, said, right)
    for land, (town, aliases) in TOWNS.items()
    for said, right in ((f"It is {town}.", True), ((aliases or (town,))[0], True), ("Bonn", False))
]


def reads_reference(triples):
    """A judge that looks for the reference answer."""
    return np.array([float(states(t.completion, t.reference_answer)) for t in triples])


def test_a_wrong_reference_is_another_questions_answer_and_makes_a_triple_wrong():
    pool = AnswerPool(town for town, _ in TOWNS.values())
    for triple in TRIPLES:
        made = counterfactual(triple, pool, random.Random(0))
        assert made.reference_answer in {town for town, _ in TOWNS.values()} - {triple.reference_answer}
        assert (made.question, made.completion, made.correct, made.aliases) == (*_said(triple), False, ())
    both = triple_of("France", "It is Paris, Rome, Madrid or Oslo.", False)
    assert counterfactual(both, pool, random.Random(0)) is None  # it states every other answer
    assert counterfactual(TRIPLES[0], AnswerPool(["Paris", "Roma Paris"]), random.Random(0)) is None


def _said(triple):
    return triple.question, triple.completion


def test_right_completions_come_first_and_the_seed_decides():
    made = counterfactuals(TRIPLES, 0.5, seed=0)
    assert len(made) == 6 and not any(triple.correct for triple in made)
    right = {_said(triple) for triple in TRIPLES if triple.correct}
    assert all(_said(triple) in right for triple in made)
    assert made == counterfactuals(TRIPLES, 0.5, seed=0) != counterfactuals(TRIPLES, 0.5, seed=1)
    everything = counterfactuals(TRIPLES, 1.0, seed=0)
    assert [_said(triple) in right for triple in everything] == [True] * 8 + [False] * 4
    assert counterfactuals(TRIPLES, 0.0, seed=0) == []


def test_an_alias_keeps_the_label_and_a_right_completion_gets_what_it_states():
    found = list(under_aliases(TRIPLES, 1.0, seed=0))
    assert [triple.correct for triple in found] == [True, True, False] * 3  # Spain has no alias
    assert all(triple.reference_answer in TOWNS[triple.question[23:-1]][1] for triple in found)
    several = LabelledCompletion("Who?", "Twain", "It was Samuel Clemens.", True, aliases=("M T", "Samuel Clemens"))
    drawn_ones = {next(iter(under_aliases([several], 1.0, seed))).reference_answer for seed in range(9)}
    assert drawn_ones == {"Samuel Clemens"}


def write_triples(path, triples):
    rows = [
        {
            "question": t.question,
            "response": t.completion,
            "reference_answer": t.reference_answer,
            "aliases": list(t.aliases),
            "label": int(t.correct),
        }
        for t in triples
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def towns_file(tmp_path):
    write_triples(path := tmp_path / "towns.jsonl", TRIPLES)
    return str(path)


def test_records_with_response_label_and_aliases_are_read(towns_file):
    assert read_triples(towns_file) == TRIPLES


def test_a_completion_is_scored_under_the_reference_that_it_fits_best():
    assert reads_reference(TRIPLES).tolist() == [1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0]
    assert best_of_references(reads_reference)(TRIPLES).tolist() == [1, 1, 0] * 4
    asked = []
    same = LabelledCompletion("Who?", "The Beatles", "them", True, aliases=("the  beatles.", "Fab Four"))
    best_of_references(lambda rows: asked.extend(t.reference_answer for t in rows) or np.zeros(len(rows)))([same])
    assert sorted(asked) == ["Fab Four", "The Beatles"]


def test_acceptance_under_a_wrong_reference_by_hand():
    scores, correct = np.array([0.9, 0.9, 0.2, 0.9, 0.1]), np.array([True, True, True, False, False])
    found = measure_twice(scores, {0: 0.8, 1: 0.1, 3: 0.7}, correct)
    assert (found["right"], found["accepted"]) == (2, 0.5)
    assert found["accepted_interval"] == pytest.approx([0.0945, 0.9055], abs=1e-3)
    assert found["asked_twice"] == pytest.approx((1 / 3 + 1) / 2)  # the wrong one and a right one are refused
    assert np.isnan(measure_twice(scores, {3: 0.7}, correct)["accepted"])


def test_the_wrong_references_are_of_the_set_and_the_same_each_time():
    found = under_wrong_references(TRIPLES, seed=0)
    assert found == under_wrong_references(TRIPLES, seed=0) and list(found) == list(range(12))
    assert under_wrong_references([TRIPLES[0]], seed=0) == {}


def test_eval_rm_shows_acceptance_under_a_wrong_reference(towns_file):
    judges = {
        "reads": reads_reference,
        "blind": lambda triples: np.array([float(len(t.completion) > 4) for t in triples]),
    }
    settings = EvalSettings(verifier=None, probes=False, bootstrap_samples=20, judges=judges)
    found = evaluate_files([towns_file], settings)
    part = found["files"][towns_file]
    assert part["with_aliases"] == 9 and part["judges"]["reads"]["balanced_accuracy"] == 1.0
    reads, blind = part["wrong_reference"]["reads"], part["wrong_reference"]["blind"]
    assert (reads["right"], reads["accepted"], reads["asked_twice"]) == (8, 0.0, 1.0)
    assert blind["accepted"] > 0.5 and blind["asked_twice"] < 0.5 + 1e-9
    text = "\n".join(as_lines(found))
    assert "counterfactual acceptance by reads: 0.000 (0.000 to 0.324) of 8 right" in text
    alone = evaluate_files([towns_file], EvalSettings(**{**vars(settings), "aliases": False}))["files"][towns_file]
    assert alone["judges"]["reads"]["balanced_accuracy"] == pytest.approx(0.5 + 5 / 16) and not alone["with_aliases"]


DATES = ("12 February", "7 March", "6 May", "4 June")
DATED = [
    LabelledCompletion("When?", date, said, right)
    for date in DATES
    for said, right in ((f"It was {date}.", True), (f"It was {date.split()[0]}.", False))
]


def test_under_a_near_reference_a_completion_with_some_parts_is_tested():
    found = under_near_wrong_references(DATED, seed=0)
    assert found == under_near_wrong_references(DATED, seed=0) and list(found) == list(range(8))
    for place, other in found.items():
        day, month = other.reference_answer.split()
        assert not other.correct and other.reference_answer not in DATES and other.completion == DATED[place].completion
        assert day == DATED[place].reference_answer.split()[0] or DATED[place].correct  # a bare day meets its own day
        assert f"{day} " in str(DATES) and month in str(DATES)
    assert under_near_wrong_references(TRIPLES, seed=0) == {}  # a town has one part


def test_eval_rm_shows_acceptance_under_near_references(tmp_path):
    def one_part_is_enough(triples):
        return np.array([float(any(f" {p}" in t.completion for p in t.reference_answer.split())) for t in triples])

    write_triples(path := tmp_path / "dates.jsonl", DATED)
    judges = {"reads": reads_reference, "lenient": one_part_is_enough}
    settings = EvalSettings(verifier=None, probes=False, bootstrap_samples=20, judges=judges)
    found = evaluate_files([str(path)], settings)
    part = found["files"][str(path)]
    assert part["near_reference"]["lenient"]["accepted"] == 1.0 and part["near_reference"]["reads"]["accepted"] == 0.0
    assert part["wrong_reference"] == {}  # no two of these dates are alike but for a number
    text = "\n".join(as_lines(found))
    assert (
        "counterfactual acceptance by lenient: 1.000 (0.510 to 1.000) of 4 right completions under a near wrong" in text
    )


def test_near_counterfactuals_are_made_of_right_completions():
    made = near_counterfactuals(DATED, 0.25, 0)
    assert len(made) == 2 and made == near_counterfactuals(DATED, 0.25, 0)
    assert all(" " in t.completion[7:] and not t.correct and t.reference_answer not in DATES for t in made)
    assert len(near_counterfactuals(DATED, 1.0, 0)) == 4 and near_counterfactuals(DATED, 0.0, 0) == []
    assert near_counterfactuals(DATED[1::2], 1.0, 0) == []


def test_the_questions_that_training_holds_out_can_be_measured_alone(towns_file):
    kept = select_heldout(TRIPLES, EvalSettings(heldout=0.5, seed=3))
    assert kept == split_by_question(TRIPLES, 0.5, 3)[1] and 0 < len(kept) < len(TRIPLES)
    assert select_heldout(TRIPLES, EvalSettings()) == TRIPLES


def test_training_data_has_what_the_settings_ask_for(towns_file, tmp_path):
    def data(**settings):
        given = {"heldout_fraction": 0.0, **settings}
        return training_data(RewardModelTrainConfig("nano", [towns_file] * 2, str(tmp_path), **given))

    assert data() == (TRIPLES * 2, [])
    train, _ = data(train_sizes=[4, 0], augment_counterfactual=0.5, augment_aliases=1.0)
    assert len(train) > 16 and train[4:16] == TRIPLES and sum(t.correct for t in train[:4]) == 2
    wrong = [t for t in train[16:] if not t.correct]
    assert len([t for t in wrong if t.completion != "Bonn"]) == 2 + 6
    write_triples(path := tmp_path / "dates.jsonl", DATED)
    dated, _ = training_data(
        RewardModelTrainConfig(
            "nano", [str(path)], str(tmp_path), heldout_fraction=0.0, augment_counterfactual_near=0.5
        )
    )
    assert dated[:8] == DATED and [t.correct for t in dated[8:]] == [False] * 4
    _, some = data(heldout_fraction=0.5, heldout_size=3, seed=3)
    assert len(some) == 3
    with pytest.raises(BadInputError, match="train_sizes has 1 numbers for 2 train_files"):
        data(train_sizes=[4])


def test_half_of_what_is_drawn_is_right():
    assert draw_share(TRIPLES, 0, 0) == TRIPLES
    some = draw_share(TRIPLES, 6, 0)
    assert [t.correct for t in some].count(True) == 3 and some == [t for t in TRIPLES if t in some]
    assert len(draw_share(TRIPLES, 10, 0)) == 5 + 4  # there are four wrong ones
    assert [t.correct for t in draw_share(TRIPLES, 5, 0, 0.2)].count(True) == 1


def test_of_two_answers_only_a_settled_right_one_is_right():
    found = [triple for seed in range(20) for triple in mentioning_two(TRIPLES, 1.0, seed)]
    assert {triple.source for triple in found} == {"two answers"} and len(found) == 20 * 12
    assert all(states(triple.completion, triple.reference_answer) for triple in found)
    right = [triple for triple in found if triple.correct]
    assert 0.15 < len(right) / len(found) < 0.35
    assert all(f"Not {t.reference_answer}" not in t.completion and " or " not in t.completion for t in right)
    assert list(mentioning_two(TRIPLES, 0.0, 0)) == [] == list(mentioning_two(TRIPLES[:1], 1.0, 0))
    assert not {probe.completion for kind in probe_triples(PROBLEMS).values() for probe in kind} & {
        triple.completion for triple in found
    }
