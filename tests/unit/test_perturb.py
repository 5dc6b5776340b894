"""A number changed in the reasoning and carried to the answer."""

import random

from cooper_rl.synthesis.wrong_numbers import Numeral, move, near_miss, perturb

SOLUTION = "14 - 3 = 11 toys. 14 + 11 = 25 toys. The answer is 25."


def test_a_slip_is_carried_to_the_answer():
    carried = 0
    for seed in range(200):
        text = perturb(SOLUTION, random.Random(seed))
        assert text != SOLUTION
        first, second, answer = text.split(". ")
        stated = answer.removeprefix("The answer is ").removesuffix(".")
        assert stated != "25"
        assert second.split(" = ")[1].split(" ")[0] == stated
        slip = first.split(" = ")[1].split(" ")[0]
        if slip != "11":
            assert second == f"14 + {slip} = {14 + int(slip)} toys"
            carried += 1
    assert carried > 30


def test_an_answer_alone_is_changed():
    for text in ("\\boxed{1,234}", "The answer is 2.5.", "So it is 7 apples."):
        assert all(perturb(text, random.Random(seed)) not in (text, None) for seed in range(50))


def test_nothing_to_change():
    assert perturb("The answer is twelve.", random.Random(0)) is None
    assert perturb("", random.Random(0)) is None


def test_a_number_is_taken_apart_and_written_alike():
    assert Numeral.read("2.50") == Numeral(250, 2) and Numeral.read("-1,234") == Numeral(-1234, 0, commas=True)
    assert Numeral(250, 2).with_units(-5) == "-0.05" and Numeral(0, 0, commas=True).with_units(1234567) == "1,234,567"
    rng = random.Random(1)
    assert {abs(int(near_miss("100", rng)) - 100) for _ in range(300)} == {1, 2, 3, 5, 9, 10, 11, 20}


def test_moved_keeps_the_look_of_a_number():
    rng = random.Random(1)
    for _ in range(100):
        assert move("7", rng) != "7"
        assert len(move("2.50", rng).split(".")[1]) == 2
        assert "," in move("12,345", rng) or abs(int(move("12,345", rng).replace(",", ""))) > 1000
