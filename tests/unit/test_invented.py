"""Answers made up for a reward model to compare; their labels are checked by others' reading of them."""

import random
import re

import pytest
from math_verify import parse

from cooper_rl.records import Verdict
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm import invented
from cooper_rl.verifyrm.same_answer import UNITS
from cooper_rl.verifyrm.writings import closing


def _value(text):
    """What a number says, by math-verify's reading of it without its unit; mixed numbers and ratios by hand."""
    text = re.sub(rf"\\approx|≈|\\text\{{.*\}}| (?:{'|'.join(map(re.escape, UNITS))})$", "", text)
    text = text.replace("dfrac", "frac").strip()
    if mixed := re.fullmatch(r"(\d+) ?\\frac\{(\d+)\}\{(\d+)\}", text):
        return int(mixed[1]) + int(mixed[2]) / int(mixed[3])
    if ratio := re.fullmatch(r"([\d,]+)[:/](\d+)", text):
        return int(ratio[1].replace(",", "")) / int(ratio[2])
    text = re.sub(r"(?<![a-z])e(?![a-z])", "2.718281828", text)
    text = re.sub(r"(\d)2\.718281828", r"\1 \\cdot 2.718281828", text)
    if text.endswith(r"\%"):
        return float(text[:-2]) / 100
    return float(parse(f"${text}$")[0].evalf())


def test_the_same_number_in_two_writings_is_the_same():
    rng = random.Random(1)
    for reference, answer in (invented.numbers(True, rng) for _ in range(300)):
        assert _value(answer) == pytest.approx(_value(reference), rel=0.011), (reference, answer)


@pytest.mark.parametrize(
    "kind",
    [invented.numbers, invented.lists, invented.intervals, invented.functions, invented.counts, invented.periodic],
)
def test_the_rule_agrees_with_what_was_meant(kind):
    """It never takes the wrong ones for right, and but for rounded numbers it reads the right ones."""
    rng = random.Random(2)
    pairs = [(right, *kind(right, rng)) for right in (True, False) for _ in range(300)]
    with RuleVerifier() as rule:
        verdicts = rule.verify_many([reference for _, reference, _ in pairs], [answer for *_, answer in pairs])
    found = [verdict is Verdict.CORRECT for verdict in verdicts]
    assert not any(found[300:]), [pair for pair, right in zip(pairs, found, strict=True) if right != pair[0]]
    assert sum(found[:300]) >= (150 if kind is invented.numbers else 295)
    assert sum(reference != answer for _, reference, answer in pairs[:300]) > 200


def test_every_kind_is_drawn():
    rng = random.Random(5)
    references = [invented.answers(True, rng)[0] for _ in range(200)]
    for sign in (r"f\(", r"\\infty", r"\d, ?-?\d", r"\d\.\d", r"\\pi$|\\pi}\{\d\}", r"\d [a-z]+s,|=\d+, "):
        assert any(re.search(sign, reference) for reference in references)


@pytest.mark.parametrize("right", [True, False])
def test_a_choice_ends_with_what_it_chooses(right):
    rng = random.Random(3)
    texts = ["12 cats", "13 cats", "x + 1", "none"]
    for _ in range(200):
        question, reference, completion = invented.choices("How many?", texts, right, rng)
        words = re.search(r"one of: (.*)\.$", question)
        names = words[1].split(", ") if words else list("ABCD")
        assert len(set(names)) == len(names)
        asked = {name for name in names if re.search(rf"(?<![A-Za-z]){name}(?![A-Za-z])", reference, re.IGNORECASE)}
        said = [
            (found.end(), name)
            for name in names
            for found in re.finditer(rf"(?<![A-Za-z]){name}(?![A-Za-z])", completion, 0 if not words else re.IGNORECASE)
        ]
        assert asked and (max(said)[1] in asked) is right, (question, reference, completion)


def test_working_comes_before_the_answer_and_states_none_itself():
    solution = "There are 3 rows of 4, and 3 * 4 = 12. Therefore the answer is 12."
    assert invented.without_answer(solution) == "There are 3 rows of 4, and 3 * 4 = 12."
    assert invented.without_answer("\\boxed{3}") == ""
    rng = random.Random(4)
    text = invented.after_working("\\boxed{7}", ["one two three four five six seven eight nine ten"], rng)
    assert text.endswith(" \\boxed{7}") and len(text) > 20
    closings = {closing("$x = 3$", rng) for _ in range(200)}
    assert len(closings) > 10 and all("x = 3" in text and "$$" not in text for text in closings)
    assert all(r"\$18" in closing(r"\$18", rng) for _ in range(200))
