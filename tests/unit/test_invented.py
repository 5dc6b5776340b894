"""Answers made up for a reward model to compare; their labels are checked by others' reading of them."""

import random
import re

import pytest
from math_verify import parse

from cooper_rl.records import Verdict
from cooper_rl.synthesis import invented
from cooper_rl.synthesis.rewrite import closing
from cooper_rl.synthesis.same_answer import UNITS
from cooper_rl.verifiers import RuleVerifier

PAIRS = 80  # right ones, and as many wrong ones, of each kind


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


@pytest.fixture(scope="module")
def rule():
    with RuleVerifier() as verifier:
        yield verifier


def test_the_same_number_in_two_writings_is_the_same():
    rng = random.Random(1)
    for reference, answer in (invented.numbers(True, rng) for _ in range(300)):
        assert _value(answer) == pytest.approx(_value(reference), rel=0.011), (reference, answer)


@pytest.mark.parametrize("kind", invented.KINDS, ids=lambda kind: kind.__name__)
def test_the_rule_agrees_with_what_was_meant(kind, rule):
    """It never takes the wrong ones for right, and but for rounded numbers it reads the right ones."""
    rng = random.Random(2)
    pairs = [(right, *kind(right, rng)) for right in (True, False) for _ in range(PAIRS)]
    verdicts = rule.verify_many([reference for _, reference, _ in pairs], [answer for *_, answer in pairs])
    found = [verdict is Verdict.CORRECT for verdict in verdicts]
    assert not any(found[PAIRS:]), [pair for pair, right in zip(pairs, found, strict=True) if right != pair[0]]
    assert sum(found[:PAIRS]) >= PAIRS * (0.5 if kind is invented.numbers else 0.98)
    assert sum(reference != answer for _, reference, answer in pairs[:PAIRS]) > PAIRS * 2 / 3


def test_every_kind_is_drawn():
    rng = random.Random(5)
    references = [invented.answers(True, rng)[0] for _ in range(400)]
    for sign in (
        r"f\(",
        r"\\infty",
        r"\d, ?-?\d",
        r"\d\.\d",
        r"\\pi$|\\pi}\{\d\}",
        r"\d [a-z]+s,|=\d+, ",
        r"^.?\[\w+, .+, ",
        r"\\ln",
    ):
        assert any(re.search(sign, reference) for reference in references)


def _without_working(completion):
    """What a completion of a choice ends with: its words and letters."""
    sentence = re.split(r"(?:follow\.|No\.|fails\.|given\.|hold\.|cannot be \w+\.|so it is [A-K]\.) ", completion)[-1]
    return re.sub(r"\\\w+|\b(?:Hence|the|result|is|I|hope|it|correct)\b", " ", sentence)


@pytest.mark.parametrize("right", [True, False])
def test_a_choice_ends_with_what_it_chooses(right):
    rng = random.Random(3)
    texts = ["12 cats", "13 cats", "x + 1", "5"]
    as_good = {"yes": "true", "no": "false", "true": "yes", "false": "no"}
    kinds = set()
    for _ in range(400):
        question, reference, completion = invented.choices("How many?", texts, right, rng)
        end = _without_working(completion)
        if words := re.search(r"one of: (.*)\.$", question):
            names = words[1].split(", ")
            assert len(set(names)) == len(names)
            true = next(name for name in names if name in re.findall(r"\w+", reference.lower()))
            known = {*names, *(as_good[name] for name in names if name in as_good)}
            (said,) = {word for word in re.findall(r"\w+", end.lower()) if word in known}
            assert (said == true or said == as_good.get(true)) is right, (question, reference, completion)
            kinds.add("as good" if said not in names else "words")
            continue
        true = re.search(r"(?<![A-Za-z])[A-E]+(?![A-Za-z])", reference)[0]
        said = re.search(r"(?<![A-Za-z])[A-E]+(?![A-Za-z])", end)[0]
        assert (said == true) is right, (question, reference, completion)
        kinds |= {"together"} if len(true) > 1 else {"none"} if "E" in said else set()
        assert len(true) == 1 or "together" in question
    assert kinds == {"as good", "words", "together", "none"}


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
