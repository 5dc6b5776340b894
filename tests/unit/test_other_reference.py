"""Wrong references: answers of other questions, of the same kind, that exclude the right one."""

import random

import pytest

from cooper_rl.synthesis.other_reference import CAPACITY, AnswerPool, differing_numbers, excludes, kind_of, states

POOL = ["Paris", "Rome", "7", "85", "1999", "5 km", "8 km", "United States", "The Hague", "1/2", "2/3", "-4", "12.5"]


def draw(reference, *aliases, count=3, answers=POOL, seed=0):
    return AnswerPool(answers).draw([reference, *aliases], random.Random(seed), count)


@pytest.mark.parametrize(
    ("reference", "others"),
    [
        ("London", {"Paris", "Rome"}),
        ("44", {"7", "85"}),
        ("1984", {"1999"}),
        ("6 km", {"5 km", "8 km"}),
        ("3/4", {"1/2", "2/3"}),
        ("-7", {"-4"}),
        ("Yes", {"No"}),
        ("false", {"true"}),
        ("(B)", {"(A)", "(C)", "(D)"}),
    ],
)
def test_a_wrong_reference_is_of_the_same_kind(reference, others):
    assert set(draw(reference)) == others


@pytest.mark.parametrize("reference", ["United Kingdom", "the United States of America", "united states"])
def test_it_shares_no_word_with_the_right_one(reference):
    assert "United States" not in draw(reference, answers=["United States", "The Hague", "New York"])


def test_it_shares_no_word_with_an_alias():
    assert draw("Holland", "The Hague", answers=["Hague", "Rome"]) == ["Rome"]


@pytest.mark.parametrize(
    ("reference", "other"), [("1/2", "2/4"), ("5", "5.0"), ("5 km", "5 m"), ("1,000", "1000"), ("0.5", ".50")]
)
def test_one_value_in_two_writings_is_not_taken_for_two(reference, other):
    assert not differing_numbers([reference], other)
    assert not excludes([reference], other)


def test_where_the_pool_has_none_of_the_kind_it_takes_another():
    assert draw("44", answers=["Paris", "Rome"], count=1)[0] in ("Paris", "Rome")


def test_without_an_answer_there_is_none():
    assert draw("44", answers=[]) == []
    assert draw("44", answers=["44", " 44. "]) == []


def test_the_same_seed_draws_the_same():
    assert draw("London", seed=3) == draw("London", seed=3)


def test_the_pool_forgets_the_oldest():
    pool = AnswerPool(str(number) for number in range(CAPACITY + 5))
    assert len(pool.answers) == CAPACITY
    assert pool.answers[0] == "5"
    assert sum(map(len, pool.by_kind.values())) == CAPACITY


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("I have 34 apples.", "34", True),
        ("I have 134 apples.", "34", False),
        ("It was in PARIS, then.", "Paris", True),
        ("A man took option B.", "B", True),
        ("it's a man", "A", False),
        ("Café Müller", "cafe muller", True),
    ],
)
def test_an_answer_is_stated_as_whole_words(text, answer, found):
    assert states(text, answer) is found


def test_it_finds_the_answers_that_a_text_mentions():
    text = "It is Paris, or Rome, or the Hague, 85 km from here."
    assert AnswerPool(POOL).mentioned(text, 9) == ["Paris", "Rome", "The Hague", "85"]


def test_kinds_tell_years_names_and_sentences_apart():
    texts = ("85", "1999", "Rome", "rome", "5 km", "a small town in France", "(C)", "no")
    assert len({kind_of(text) for text in texts}) == len(texts)
