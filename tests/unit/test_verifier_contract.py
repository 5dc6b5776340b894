"""Every verifier and every answer form holds to the contract; and the contract refuses what does not."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from cooper_rl.errors import BadInputError
from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.testing import check_form, check_verifier
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifiers.math.expression import Expression
from cooper_rl.verifiers.math.form import AnswerForm, Comparison
from cooper_rl.verifiers.math.group import AnswerList, AnswerSet, AnswerTuple, Matrix
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.reader import READ_ORDER
from cooper_rl.verifiers.math.relation import Chain, Congruence, Intervals, Ratio, Relation
from cooper_rl.verifiers.math.words import Date, Words

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def in_workers(monkeypatch):
    """Worker processes find the verifiers of this file."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


MATH = ["12", "1/3", r"\sqrt{2}", "(1, 2)", r"[1, 2)", "Monday", r"x^2 + 1", "no"]


@pytest.mark.parametrize(
    ("kind", "answers", "stated"),
    [
        ("math", MATH[::2], r"So \boxed{{{}}}."),
        pytest.param("math", MATH, r"So \boxed{{{}}}.", marks=pytest.mark.slow),
        pytest.param("math_verify", ["12", "1/3", r"\sqrt{2}", "(1, 2)"], r"So \boxed{{{}}}.", marks=pytest.mark.slow),
        ("exact", ["12", "New York", "Paris"], "The answer is {}."),
        ("choice", ["A", "B", "C"], "The answer is ({})."),
        ("gsm8k_strict", ["12", "13", "1000"], "#### {}"),
        ("gsm8k_flexible", ["12", "13", "1000"], "It is {}"),
        ("reasoning_gym:gcd", ["3", "4"], "The answer is {}."),
    ],
)
def test_every_verifier_holds_to_the_contract(kind, answers, stated):
    symmetric = kind != "math"  # it looks for the reference's number in the completion: 12 is not in (1, 2)
    check_verifier(kind, answers, stated=stated, symmetric=symmetric, deadline_seconds=2.0)


FORMS = [
    (Number, ["12", "1/3", "-2.5", r"7 \text{ m}", "1011_2", "45°"], [("1/2", r"\frac{2}{4}"), ("2 h", "120 min")]),
    (Date, ["March 3, 2024", "Sept. 5, 2024"], [("March 3, 2024", "2024-03-03")]),
    (Expression, [r"\sqrt{2}", "x + 1", r"3\pi"], [("(x+1)^2", "x^2 + 2x + 1")]),
    (Words, ["yes", "no", "Monday", "(B)", r"\text{blue}"], [("Yes", "True"), ("Tues", "Tuesday")]),
    (AnswerSet, [r"\{1, 2\}", r"\{1, 2, 3\}"], [(r"\{1, 2\}", r"\{2, 1\}")]),
    (AnswerList, ["1, 2", "x = 1 or x = 3", r"\pm 5"], [("1, 2", "2 and 1")]),
    (AnswerTuple, ["(1, 2)", "(2, 1)", "(1, 2, 3)"], [("(1, 1/2)", "(1, 0.5)")]),
    (Ratio, ["3:4:5", "1:2.5:3"], [("3:4:5", "6:8:10")]),
    (Congruence, [r"x \equiv 3 \pmod 7", r"5 \pmod{9}"], [(r"x \equiv 3 \pmod 7", r"x \equiv 10 \pmod{7}")]),
    (Chain, [r"a \to b \to c", "a < c < b < d"], [("a < b < c < d", "d > c > b > a")]),
    (Intervals, ["[1, 2)", "(1, 2]", "x > 5", r"[1, 2] \cup [3, 4]"], [("x > 5", r"(5, \infty)")]),
    (Relation, ["x + y = 2", r"x + 1 \neq 3"], [("x^2 + y^2 = 1", "2x^2 + 2y^2 = 2")]),
    (Matrix, [r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1 & 2 \end{pmatrix}"], []),
]


@pytest.mark.parametrize(("form", "texts", "equal"), FORMS, ids=lambda value: getattr(value, "__name__", ""))
def test_every_form_holds_to_the_contract(form, texts, equal):
    check_form(form, texts, equal=equal)


def test_no_form_is_left_out():
    assert {form for form, _, _ in FORMS} == {shape for shape in READ_ORDER if issubclass(shape, AnswerForm)}


def says_yes(reference, completion):
    return Verification(Verdict.CORRECT, Reason.MATCH)


def says_nothing(reference, completion):
    return None


def same_end(reference, completion):
    return Verification.compared(completion.endswith(f"{reference}."), reference, completion)


def one_way(reference, completion):
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    if reference > "2":
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM)
    return Verification.compared(completion.endswith(f"{reference}."), reference, completion)


@pytest.mark.parametrize(
    ("name", "answers", "message"),
    [
        ("says_yes", ["1", "2"], "says CORRECT of the answer '2' where the reference is '1'"),
        ("says_nothing", ["1"], "returned None, not a Verification"),
        ("same_end", ["1", "2"], "says CORRECT .match. where the reference is ''"),
        (
            "one_way",
            ["1", "3"],
            "says INCORRECT of the answer '3' where the reference is '1', and UNPARSEABLE",
        ),
    ],
)
def test_the_contract_refuses_a_verifier(name, answers, message):
    with pytest.raises(AssertionError, match=message):
        check_verifier(f"test_verifier_contract:{name}", answers)


def strict_on_brackets(reference, completion):
    if not reference.strip():
        return Verification(Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
    if "(((" in completion:
        raise ValueError(completion)
    return Verification.compared(completion == f"The answer is {reference}.", reference, completion)


def test_the_contract_refuses_a_verifier_that_raises():
    with pytest.raises(AssertionError, match=r"raised ValueError: \(+ on"):
        check_verifier("test_verifier_contract:strict_on_brackets", ["1", "2"])


@dataclass(frozen=True, slots=True)
class Colour(AnswerForm):
    """A form whose three ways to go wrong are told by its text."""

    kind: ClassVar[str] = "colour"
    text: str

    @classmethod
    def parse(cls, text, read):
        if text.startswith("x=x="):
            time.sleep(1.1)
        return cls(text) if text in ("red", "dark red", "blue", "light", "dark") else None

    def compare(self, answer):
        if self.text == "light":
            return Comparison.NOT_KNOWN
        if not isinstance(answer, Colour):
            return True if self.text == "dark" else Comparison.NOT_KNOWN
        return Comparison.of(answer.text.endswith(self.text))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["red", "green"], "Colour reads 'green' as None"),
        (["light"], "'light' is not EQUAL to itself"),
        (["red", "dark red"], "'red' is EQUAL to 'dark red', but DIFFERENT with the two exchanged"),
        (["dark"], "'dark' compared with '12' gives True, not a Comparison"),
        (["red", "blue"], "Colour takes over a second to read"),
    ],
)
def test_the_contract_refuses_a_form(texts, message):
    with pytest.raises(AssertionError, match=message):
        check_form(Colour, texts)


@pytest.fixture
def from_docs(tmp_path, monkeypatch):
    """The modules that docs/extending-forms.md shows, where Python and the workers find them."""
    for block in (DOCS / "extending-forms.md").read_text().split("```python\n# ")[1:]:
        name, code = block.partition("```")[0].split("\n", 1)
        (tmp_path / name).write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_example_of_the_docs_holds_to_the_contract(from_docs):
    __import__("test_chemistry").test_formulas()


def test_a_form_of_a_users_own_decides(from_docs):
    completions = [r"\boxed{\text{H}_2\text{O}}", "The answer is CO2.", r"\boxed{12}", r"\boxed{\{CO2, H2O\}}"]
    references = ["H2O", "H2O", "H2O", r"\{H2O, CO2\}"]
    with RuleVerifier("math+chemistry:Formula", workers=1) as verifier:
        found = verifier.explain_many(references, completions)
        assert verifier.verify("1/2", r"\boxed{0.5}") is Verdict.CORRECT
    assert [v.verdict for v in found] == ["CORRECT", "INCORRECT", "UNPARSEABLE", "CORRECT"]
    assert found[2].reason is Reason.UNKNOWN_FORM  # left open: neither form knows the other


def test_a_form_by_the_name_of_an_entry_point(from_docs):
    package = from_docs / "chemistry-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: chemistry\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[cooper_rl.answer_forms]\nformula = chemistry:Formula\n")
    with RuleVerifier("math+formula", workers=1) as verifier:
        assert verifier.verify("C2H5OH", r"\boxed{C2H6O}") is Verdict.CORRECT


def test_a_form_that_nobody_knows():
    with pytest.raises(BadInputError, match=r"no answer form named 'formulas'.*or give module:name"):
        RuleVerifier("math+formulas")
