"""No right answer is called INCORRECT: references of public sets, each in other words, forms and settings.

An answer here is right, if not always in the form that was asked for. CORRECT and "not judged" are both allowed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

import pytest

from cooper_rl.domains import load_problems
from cooper_rl.records import Verdict
from cooper_rl.verifiers.math.form import AnswerForm
from cooper_rl.verifiers.math.group import Group
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.reader import form_of
from cooper_rl.verifiers.math.relation import Intervals
from cooper_rl.verifiers.math.verifier import explain

NAMED = [
    (r"\begin{pmatrix}-7165\end{pmatrix}", r"\boxed{(-7, 16, 5)}"),
    (r"\begin{pmatrix}-7\\16\\5\end{pmatrix}", r"\boxed{(-7,16,5)}"),
    ("(-7,16,5)", r"\boxed{\begin{pmatrix}-7\\16\\5\end{pmatrix}}"),
    ("xy = 6", r"\boxed{\frac{6}{x}}"),
    ("xy = 6", r"The answer is 6/x."),
    (r"\frac{[ABD]}{[CDE]} = \frac{1}{3}", r"\boxed{\frac{1}{3}}"),
    (r"\frac{1}{3}", r"\boxed{\frac{[ABD]}{[CDE]} = \frac{1}{3}}"),
    ("No", r"\boxed{\text{No such sets exist}}"),
    ("No such sets exist", "The answer is No."),
    (r"-2 \le x \le 1", r"\boxed{[-2, 1]}"),
    (r"x \ge -2 \text{ and } x \le 1", r"\boxed{[-2, 1]}"),
    ("[-2, 1]", r"\boxed{x \geq -2, x \leq 1}"),
    (r"\rho\sin\theta = \sqrt 3", r"\boxed{\sqrt{3}\csc\theta}"),
    (r"\sqrt{3}\csc\theta", r"\boxed{\rho\sin\theta = \sqrt 3}"),
    ("The sum is less than zero.", r"\boxed{f(x_1) + f(x_2) + f(x_3) < 0}"),
    ("The line through A and B is a tangent of the circle.", "The answer is that AB touches the circle."),
    ("infinitely many", r"\boxed{\infty}"),
    (r"1.27\%", r"\boxed{1.3\%}"),
    (r"\ln 2 + i\pi/3", r"\boxed{\log(2) + i\frac{\pi}{3}}"),
    ("(+5)(b+2)", r"\boxed{(a+5)(b+2)}"),
    ("9.\\overline{3}", r"Since 8.8 is no option, it is \boxed{C}."),
    ("03:22", "The conference lasted 3 hours and 22 minutes."),
    ("03:22", "The duration is 03:22."),
    ("03:22", "The answer is 202 minutes."),
    ("00:27", "The answer is 27."),
    ("00:27", "It took 27 minutes."),
    ("00:27", "The answer is 00:27 minutes."),
    ("01:27", "The answer is 00:87 minutes."),
    ("-37", "23 - 60 is negative 37."),
    ("2.78", r"AM: \boxed{566} meters. FM, with \( c = 300 \): \boxed{2.78} meters."),
]


@pytest.mark.parametrize(("reference", "completion"), NAMED)
def test_named_examples(reference, completion):
    assert explain(reference, completion).verdict is not Verdict.INCORRECT


@pytest.mark.parametrize(
    "completion",
    [
        "The answer is 00:87 minutes.",
        "The answer is 00 minutes.",
        "The answer is 00:19 minutes.",
        r"\boxed{00:00}",
        "0m",
        r"\boxed{0x}",
    ],
)
def test_a_duration_is_not_the_nought_that_math_verify_reads(completion):
    """A policy found the first three when it was trained against the rule: each was CORRECT for 00:31."""
    assert explain("00:31", completion).verdict is not Verdict.CORRECT


@cache
def references() -> dict[str, AnswerForm]:
    """The distinct references of several sets that have a form."""
    if "COOPER_DATA_DIR" not in os.environ:
        pytest.skip("needs the public sets in COOPER_DATA_DIR")
    sets = [("gsm8k", "train"), ("math", "train"), ("olympiadbench", "test"), ("odyssey", "test")]
    texts = {problem.reference_answer for name, split in sets for problem in load_problems(name, split=split)}
    forms = {text: form_of(text) for text in sorted(texts)}
    return {text: form for text, form in forms.items() if form is not None}


def numbers() -> list[tuple[str, Fraction]]:
    plain = r"-?\d+(?:,\d{3})*(?:\.\d+)?"
    return [
        (text, form.value)
        for text, form in references().items()
        if isinstance(form, Number) and re.fullmatch(plain, text)
    ]


def fractions() -> list[tuple[str, Fraction]]:
    found = ((text, form) for text, form in references().items() if "frac" in text)
    return [(text, form.value) for text, form in found if isinstance(form, Number) and not form.percent]


def matching(pattern: str) -> Iterator[tuple[str, re.Match[str]]]:
    for text in references():
        if found := re.fullmatch(pattern, text):
            yield text, found


def flat_lists() -> Iterator[tuple[str, list[str]]]:
    for text, form in references().items():
        if isinstance(form, Group) and re.fullmatch(r"[-\d, ]+", text) and len(set(form.items)) == len(form.items) > 1:
            yield text, re.split(", ?", text)


def points() -> Iterator[tuple[str, list[str]]]:
    for text, found in matching(r"\(([^()]+(?:,[^()]+)+)\)"):
        if isinstance(references()[text], Group):
            yield text, found[1].split(",")


def intervals() -> Iterator[tuple[str, list[str]]]:
    for text, form in references().items():
        if isinstance(form, Intervals) and (found := re.fullmatch(r"[\[(]([^,\[\]()]+),([^,\[\]()]+)[\])]", text)):
            yield text, [found[1].strip(), found[2].strip()]


def finite(ends: list[str]) -> bool:
    return not any("infty" in end for end in ends)


def polynomials() -> Iterator[str]:
    yield from (text for text in references() if re.fullmatch(r"(?=.*[a-z])(?=.*[+-])[-+\da-z^ ]+", text))


def equations() -> Iterator[tuple[str, str, str]]:
    for text in references():
        if text.count("=") == 1 and re.fullmatch(r"[-+=\da-z^ ]*[a-z^\d ]+[-+][-+=\da-z^ ]*", text):
            left, right = text.split("=")
            yield text, left.strip(), right.strip()


KINDS: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "with a noun": lambda: ((t, rf"\boxed{{{t} \text{{ stuffed goats}}}}") for t, _ in numbers()),
    "scientific": lambda: ((t, rf"\boxed{{{float(v):.9e}}}") for t, v in numbers() if abs(v) >= 1000),
    "not computed": lambda: ((t, rf"\boxed{{{v - 17} + 17}}") for t, v in numbers() if v.denominator == 1),
    "a product": lambda: ((t, rf"\boxed{{{v // 3} \cdot 3}}") for t, v in numbers() if v % 3 == 0),
    "a remark": lambda: ((t, f"That makes {t}. I am 90% sure.") for t, _ in numbers()),
    "counted steps": lambda: ((t, f"Adding up, it is {t}, which we found in 3 steps.") for t, _ in numbers()),
    "a last sentence": lambda: (
        (t, f"Altogether there are {t} of them.\nWith 2 more he could start.") for t, _ in numbers()
    ),
    "cut off": lambda: ((t, f"We get 5 + 8 and so on, in all {t}.\nTo check this, 40 -") for t, _ in numbers()),
    "earlier boxes": lambda: (
        (t, rf"First \boxed{{7.25}} is found. Then we double it. In the end it is \boxed{{{t}}}.")
        for t, _ in numbers()
    ),
    "later parts": lambda: (
        (t, rf"(a) \boxed{{{t}}} is the number. (b) As to the time, it is \boxed{{7.25}}.")
        for t, _ in numbers()
    ),
    "an option's letter": lambda: ((t, r"\boxed{\text{(C)}}") for t, _ in numbers()),
    "hundredths": lambda: ((t, rf"\boxed{{{float(v / 100)!r}}}") for t, v in numbers() if v % 100),
    "millions": lambda: ((t, rf"\boxed{{{float(v / 1000)!r}}} thousand") for t, v in numbers() if v >= 1000),
    "rounded fraction": lambda: ((t, rf"\boxed{{{float(v):.2f}}}") for t, v in fractions() if abs(v) > 1),
    "percent": lambda: ((t, rf"\boxed{{{float(100 * v):.6g}\%}}") for t, v in fractions()),
    "unreduced": lambda: ((t, rf"\boxed{{\frac{{{6 * v.numerator}}}{{{6 * v.denominator}}}}}") for t, v in fractions()),
    "rounded root": lambda: (
        (t, rf"\boxed{{{int(m[1] or 1) * int(m[2]) ** 0.5:.2f}}}") for t, m in matching(r"(\d*)\\sqrt\{(\d+)\}")
    ),
    "column vector": lambda: ((t, r"\boxed{\begin{pmatrix}" + r"\\".join(p) + r"\end{pmatrix}}") for t, p in points()),
    "list for a point": lambda: ((t, rf"\boxed{{{', '.join(p)}}}") for t, p in points()),
    "inequality": lambda: ((t, rf"\boxed{{{a} < x \le {b}}}") for t, (a, b) in intervals() if finite([a, b])),
    "other brackets": lambda: ((t, rf"\boxed{{\left[{a}, {b}\right]}}") for t, (a, b) in intervals() if finite([a, b])),
    "set of an interval": lambda: (
        (t, rf"\boxed{{\{{x \in \mathbb{{R}} : {a} < x < {b}\}}}}") for t, (a, b) in intervals() if finite([a, b])
    ),
    "in a sentence": lambda: ((t, f"The solutions are {' and '.join(p)}.") for t, p in flat_lists()),
    "by name": lambda: (
        (t, rf"\boxed{{{', '.join(f'x_{i} = {each}' for i, each in enumerate(p))}}}") for t, p in flat_lists()
    ),
    "a part": lambda: ((t, rf"\boxed{{{p[0]}}}") for t, p in flat_lists()),
    "one side": lambda: ((t, rf"\boxed{{{a} - ({b}) = 0}}") for t, a, b in equations()),
    "a constant added": lambda: ((t, rf"\boxed{{{t} + C}}") for t in polynomials()),
    "named": lambda: ((t, rf"\boxed{{P = {t}}}") for t in polynomials()),
    "with a condition": lambda: ((t, rf"\boxed{{{t} \text{{ for all }} x > 0}}") for t in polynomials()),
}  # fmt: skip
EACH, LEAST = 40, 300


@pytest.mark.parametrize("kind", KINDS)
def test_right_answers_of_a_kind(kind):
    items = list(KINDS[kind]())[:: max(1, len(list(KINDS[kind]())) // EACH)][:EACH]
    assert len(items) >= 5, f"{kind}: only {len(items)} references fit"
    wrong = [item for item in items if explain(*item).verdict is Verdict.INCORRECT]
    assert not wrong


def test_there_are_enough_right_answers():
    counts = [min(EACH, len(list(items()))) for items in KINDS.values()]
    assert len(counts) >= 20 and sum(counts) >= LEAST
