"""Wrong references: answers of other questions, of the same kind, that exclude the right one."""

import random

import pytest

from cooper_rl.synthesis.exclusion import excludes, kind_of, states
from cooper_rl.synthesis.near_reference import draw_near
from cooper_rl.synthesis.other_reference import CAPACITY, AnswerPool

POOL = ["Paris", "Rome", "7", "85", "1999", "5 km", "8 km", "United States", "The Hague", "1/2", "2/3", "-4", "12.5"]


def draw(reference, *aliases, count=3, answers=POOL, seed=0, question=""):
    return AnswerPool(answers).draw([reference, *aliases], random.Random(seed), count, question)


@pytest.mark.parametrize(
    ("reference", "others"),
    [
        ("London", {"Paris", "Rome", "The Hague"}),
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


def test_options_are_those_of_the_question():
    assert draw("B", question="Which?\nA) one\nB) two", count=9) == ["A"]
    assert set(draw("B", question="Is it (A) red, (B) blue or (E) green?", count=9)) == {"A", "E"}
    assert set(draw("B", answers=["A", "C"], count=9)) == {"A", "C"}


@pytest.mark.parametrize(
    ("reference", "others"),
    [
        ("12 February", {"15 February", "12 March", "11 February"}),
        ("44", {"40", "74"}),
        ("5 km", {"8 km", "5 miles"}),
        ("1/2", {"3/2", "1/4"}),
        *(("Paris", set()), ("7", set()), ("Yes", set()), ("(B)", set()), ("a town by the sea", set())),
    ],
)
def test_a_near_reference_has_one_part_of_another_answer(reference, others):
    answers = [*("15 March", "11 February", "70", "8 miles", "3/4", "Rome", "9", "No", "(A)", "February 12"), reference]
    pool = AnswerPool(answers)
    made = {near for seed in range(40) for near in draw_near(pool, reference, random.Random(seed), 4)}
    assert made == others and pool.answers == []
    assert draw_near(pool, reference, random.Random(1), 0) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("1/2", "2/4"), ("5", "5.0"), ("5 km", "5 m"), ("1,000", "1000"), ("0.5", ".50"), ("500 cm", "5 m")),
        *(("60 minutes", "1 hour"), ("2, 3", "3, 2"), ("2:3", "4:6"), ("noon", "12:00"), ("XII", "12"), ("50%", "1/2")),
        *(("cat", "cats"), ("colour", "color"), ("Moscow", "Москва"), ("北京", "北京市")),
        *(("NYC", "New York City"), ("WWII", "World War II"), ("Paris", "paris, France"), ("Ja", "yes"), ("", "x")),
        *(("United States", "the United States of America"), ("1 000 m", "1 km"), ("A", "apple"), ("x" * 300, "y")),
    ],
)
def test_what_may_be_one_answer_in_two_writings_excludes_nothing(one, other):
    assert not excludes([one], other) and not excludes([other], one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("34", "44"), ("5 km", "7 km"), ("1/2", "2/3"), ("Paris", "Rome"), ("Marie Curie", "Alan Turing")),
        *(("3 March 1990", "7 March 1991"), ("yes", "no"), ("A", "B"), ("uncle", "sister"), ("北京", "上海")),
    ],
)
def test_different_answers_exclude_each_other(one, other):
    assert excludes([one], other) and excludes([other], one)


def test_it_shares_no_word_with_an_alias():
    assert draw("Holland", "The Hague", answers=["Hague", "Rome"]) == ["Rome"]


def test_another_kind_is_drawn_only_where_it_is_asked_for():
    pool = AnswerPool(["Paris", "a long way from home"])
    assert pool.draw(["44"], random.Random(0), 1) == [] == pool.draw_any(["44"], random.Random(0), 1)
    assert pool.draw(["the red house on a hill"], random.Random(0), 2) == ["a long way from home"]
    assert len(pool.draw_any(["uncle"], random.Random(0), 2)) == 2


def test_without_an_answer_there_is_none():
    assert draw("44", answers=[]) == []
    assert draw("44", answers=["44", " 44. "]) == []


def test_the_same_seed_draws_the_same():
    assert draw("London", seed=3) == draw("London", seed=3)


def test_the_pool_forgets_the_oldest_but_not_what_it_began_with():
    pool = AnswerPool(["Paris", "Rome"])
    pool.add(str(number) for number in range(CAPACITY + 5))
    assert len(pool.answers) == CAPACITY and pool.answers[0] == "5"
    assert list(pool.known.values())[:2] == ["Paris", "Rome"]
    assert sum(map(len, pool.by_kind.values())) == CAPACITY + 2


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("I have 34 apples.", "34", True),
        ("I have 134 apples.", "34", False),
        ("It was in PARIS, then.", "Paris", True),
        ("A man took option B.", "B", True),
        ("i took option b.", "B", True),
        ("it's a man", "A", False),
        ("Café Müller", "cafe muller", True),
        ("It is 3000.", "3,000", True),
        ("It is \u22124.", "-4", True),
        ("\\frac{1}{2}", "1/2", True),
        ("_Paris_", "Paris", True),
        ("on Mondays", "Monday", True),
        ("答案是北京。", "北京", True),
        ("It is 12.5.", "12", False),
    ],
)
def test_an_answer_is_stated_as_whole_words(text, answer, found):
    assert states(text, answer) is found


def test_it_finds_the_answers_that_a_text_mentions():
    text = "It is Paris, or Rome, or the Hague, 85 km or 12.5 from here."
    assert AnswerPool(POOL).find_mentioned(text, 9) == ["Paris", "Rome", "The Hague", "85", "12.5"]


def test_words_with_which_no_answer_begins_are_not_looked_at_further(calls_of):
    pool = AnswerPool(POOL)
    text = "we add two numbers and carry one, which gives another digit of a sum " * 3
    assert calls_of("join", pool.find_mentioned, text, 9) <= 2 and pool.find_mentioned(text, 9) == []


def test_an_answer_that_is_forgotten_is_not_mentioned():
    pool = AnswerPool()
    pool.add(["New York", "New Orleans", *map(str, range(CAPACITY - 1))])
    assert pool.find_mentioned("From New York to New Orleans", 9) == ["New Orleans"]
    copied = pool.copy()
    copied.add(["Rome"])
    assert copied.find_mentioned("From Rome to New Orleans", 9) == ["Rome"]
    assert pool.find_mentioned("From Rome to New Orleans", 9) == ["New Orleans"]


def test_kinds_tell_years_names_and_sentences_apart():
    texts = ("85", "1999", "Rome", "rome", "5 km", "a small town in France", "(C)", "no")
    assert len({kind_of(text) for text in texts}) == len(texts)
    assert kind_of("The Beatles") == kind_of("Beatles")
