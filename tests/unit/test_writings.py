"""Answers in other writings stay right, changed ones become wrong; the rule verifier is the judge of both."""

import random
import re

import pytest

from cooper_rl.records import Verdict
from cooper_rl.synthesis.rewrite import change, rewrite, round_off, state
from cooper_rl.synthesis.same_answer import UNITS
from cooper_rl.verifiers import RuleVerifier

ANSWERS = [
    *(
        "12",
        "-7",
        "1234",
        "0.25",
        "3/4",
        r"\frac{3}{4}",
        r"\dfrac{22}{7}",
        r"-\frac 12",
        r"\$750",
        r"40^\circ",
        r"4\text{ units}",
    ),
    *("x^2", "x = 3", r"8\sqrt{2}", r"100+75\pi", r"\frac{-1 + \sqrt{5}}{2}", "3-i", "-3x^2 +9x -11"),
    *(
        "1, 5, 7",
        r"\{-1, 0, 1\}",
        "(3,0),(-3,1)",
        r"\left[0,\frac{343}{27}\right]",
        r"(-\infty,1]",
        r"-4 < m \leq 0",
        r"k < -5",
    ),
    *(r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", "(0,3)", r"\text{(B)}", "Monday", "Yes", r"\text{odd}"),
]


def written(answer: str, tries: int) -> list[str]:
    """The different writings found in so many tries, in an order that does not depend on the process."""
    found = (rewrite(answer, random.Random(seed)) for seed in range(tries))
    return list(dict.fromkeys(text for text in found if text is not None))


@pytest.fixture(scope="module")
def rule():
    with RuleVerifier(workers=2) as verifier:
        yield verifier


@pytest.mark.parametrize("answer", ANSWERS)
def test_another_writing_is_the_same_answer(rule, answer):
    writings = written(answer, 30)
    assert len(writings) > 2 and answer not in writings
    said = [state(text, random.Random(seed)) for seed, text in enumerate(writings)]
    wrong = [text for text in writings + said if rule.verify(answer, text) is not Verdict.CORRECT]
    assert len(wrong) <= 3, wrong  # what the rule cannot read or follow is dropped by `cooper annotate`


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_changed_answer_is_another(rule, answer):
    writings = [text for seed in range(30) if (text := change(answer, random.Random(seed))) is not None]
    assert len(set(writings)) > 2 or answer in ("Yes", r"\text{odd}", r"\text{(B)}")
    right = [text for text in writings if rule.verify(answer, text) is Verdict.CORRECT]
    assert len(right) <= len(writings) // 10 + 1, right


def test_what_a_few_ways_write():
    forms = written(r"-4 < m \leq 0", 60)
    assert any("(-4, 0]" in form for form in forms)
    forms = written(r"(-\infty, 3)", 60)
    assert any(form.replace(" ", "").strip("$") == "x<3" for form in forms)
    forms = written("1, 5, 7", 60)
    assert any(form.startswith(("7", r"\{7", "$7")) for form in forms)


@pytest.mark.parametrize(
    ("answer", "writing"),
    [
        ("(3, 0.2)", r"\frac{1}{5}"),
        (r"(3, \frac{1}{5})", "0.2"),
        (r"\begin{pmatrix} 1/5 \\ -18/5 \end{pmatrix}", "-3.6"),
        (r"3\sqrt{2}", r"\sqrt{18}"),
        ("-2, 3", "x_2"),
        ("-2, 2", r"\pm 2"),
        ("(-2, 3]", r"\{x | -2 <"),
        (r"-\frac{1}{2} < k \leq 3", r"\{k | -"),
        (r"\frac{3\pi}{4}", "135^"),
        (r"135^\circ", r"\frac{3"),
        (r"\{-1, 4\}", r"\text{ or}"),
        (r"2 \pm \sqrt{3}", r"2 - \sqrt"),
        ("(2, -3)", "y = -3"),
        ("[2, 5)", r"\in [2"),
        ("f(z) = z^2", "f(x)"),
        ("f(x) = x + 1", r"\text{ for all}"),
        ("10^4", "10000"),
        ("(x+1)(x-2)", "x^{2}"),
        ("x**3/3 - 2*x + C", "x^3"),
    ],
)
def test_ways_that_real_graders_meet(rule, answer, writing):
    forms = written(answer, 200)
    plain = [re.sub(r"\\d?frac", r"\\frac", form).replace("≤", "<=") for form in forms]
    assert any(writing in form for form in plain), forms
    wrong = [form for form in forms if rule.verify(answer, form) is not Verdict.CORRECT]
    assert len(wrong) <= len(forms) // 10, wrong


@pytest.mark.parametrize(("answer", "near"), [(r"\frac{600}{7}", 85.714), (r"\sqrt{2} - 1", 0.414), ("3/8", 0.375)])
def test_a_rounded_reference_accepts_the_exact_answer(rule, answer, near):
    decimals = {round_off(answer, random.Random(seed)) for seed in range(20)}
    assert len(decimals) > 1 and all(abs(float(decimal) - near) < 0.01 for decimal in decimals - {None})
    written = [decimal for decimal in decimals - {None} if len(decimal.replace(".", "").strip("0-")) >= 3]
    assert written and all(rule.verify(decimal, answer) is Verdict.CORRECT for decimal in written)


@pytest.mark.parametrize("answer", ["12", "x + 1/3", "Monday", "(1, 2)", "", "10^{400}", "1, 2"])
def test_what_has_no_decimal_near_it_is_not_rounded(answer):
    assert round_off(answer, random.Random(0)) is None


@pytest.mark.parametrize(
    ("answer", "question", "unit"),
    [
        ("12.5", "How many grams of flour are left?", "grams"),
        ("84", "How long does it take, in minutes?", "minutes"),
        ("84", "Each eats 100 grams in 3 days. How many people eat?", ""),
        (r"\$12.50", "How many dollars has he left?", ""),
        ("$12", "How many points are there?", ""),
        (r"40\%", "How many points are there?", ""),
        ("3", "How many days and how many hours is it?", ""),
        ("3", "", ""),
    ],
)
def test_a_number_gets_the_unit_that_its_question_asks_for_and_no_other(answer, question, unit):
    forms = [str(rewrite(answer, random.Random(seed), question)) for seed in range(80)]
    added = {
        known for known in UNITS for form in forms if re.search(rf"\d\}}* ?(\\text\{{ )?{re.escape(known)}\b", form)
    }
    assert added == ({unit} if unit else set())


@pytest.mark.parametrize("answer", ["1 + 5i", "e^2", "-i", r"(-\infty, 0)"])
def test_numbers_are_no_variables_and_an_interval_is_no_point(answer):
    forms = [form.replace(" ", "") for form in written(answer, 80)]
    assert not [form for form in forms if re.search(r"f\([ei]\)|\([A-Za-z],[A-Za-z]\)=|^\$?[A-Za-z]_?\d?=.*,", form)]


@pytest.mark.parametrize(
    "answer",
    ["0", "0.0", "0, 1", r"\pm 3", r"\frac{2}{2}", "1, 2", "a, b", "( H )", r"\begin{pmatrix} 0 \\ 0 \end{pmatrix}"],
)
def test_what_is_made_as_another_answer_is_not_the_same(rule, answer):
    made = dict.fromkeys(change(answer, random.Random(seed)) for seed in range(80))
    assert [text for text in made if text is not None and rule.verify(answer, text) is Verdict.CORRECT] == []


@pytest.mark.parametrize("answer", ["", "   ", "word " * 80, "∮" * 3, r"\frac{", "}{", "$$", "((((", "1" * 200])
def test_nothing_breaks_on_strange_answers(answer):
    for seed in range(20):
        for write in (rewrite, change):
            text = write(answer, random.Random(seed))
            assert text is None or text != answer
