"""The contract of verifiers and answer forms, as checks that you can run on your own. `cooper_rl.testing` has them too.

    from cooper_rl.testing import check_verifier

    def test_my_rules():
        check_verifier("my_rules:explain", ["12", "Paris"])

A check that fails raises an AssertionError that says what happened.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.kinds import import_path, load
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, compare
from cooper_rl.verifiers.math.markup import strip_markup
from cooper_rl.verifiers.math.reader import Reader
from cooper_rl.verifiers.pool import RuleVerifier

FORM_SECONDS = 1.0  # a form must read any text within this time
GRACE_SECONDS = 2.0  # allowed past the deadline, since ending a worker takes time
HOSTILE = (
    *("", " \x00\n", "\u202e21\u200b\ufeff", "𝟏𝟑 १३ XIII", "(" * 5000, "{" * 300 + "12" + "}" * 300, "\\boxed{" * 50),
    *("\\frac{1}{", "\\text{" * 50 + "12" + "}" * 50, "\\begin{pmatrix} 1 & 2", "^{".join(["9"] * 6) + "}" * 5),
    *("1" * 5000, "0." + "3" * 5000, "1e400", "nan", "\\frac{12}{0}", ", ".join(map(str, range(500)))),
    *("x=" * 500 + "13", "a<" * 200 + "b", "\\pm" * 60 + "1", "The answer is " * 500, "#### " * 500),
    *("().__class__.__base__.__subclasses__()", "12 or maybe 13, " * 500),
)
OTHER_FORMS = (
    *("12", "0.5 m", "March 3, 2024", "Monday", "no solution", "x^2 + 1", "x + y = 2", "1, 2", "\\{1, 2\\}", "(1, 2)"),
    *("a \\to b \\to c", "[1, 2)", "x > 2", "\\begin{pmatrix} 1 & 2 \\end{pmatrix}"),
)


def check_verifier(
    kind: str,
    answers: Sequence[str],
    *,
    stated: str = "The answer is {}.",
    symmetric: bool = True,
    deadline_seconds: float = 5.0,
) -> None:
    """Checks a verifier in worker processes, as in real use.

    Args:
        kind: the verifier's name, as `RuleVerifier` takes it.
        answers: reference answers that all differ from one another.
        stated: how a completion states an answer; `{}` stands for the answer.
        symmetric: whether exchanging reference and answer must keep the verdict. Set False for a rule that treats the
            two differently, such as one that rounds, or that looks for the reference's number in the completion.
        deadline_seconds: for one item, as `RuleVerifier` takes it.
    """
    found = load(import_path(kind))(answers[0], stated.format(answers[0]))
    require(isinstance(found, Verification), f"{kind} returned {found!r}, not a Verification")
    with RuleVerifier(kind, workers=1, deadline_seconds=deadline_seconds) as verifier:
        _check_verdicts(verifier, answers, stated, symmetric)
        for reference in ("", " \n"):
            empty = verifier.explain(reference, stated.format(answers[0]))
            bad = (empty.verdict, empty.reason) == (Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
            require(bad, f"{kind} says {empty.verdict} ({empty.reason}) where the reference is {reference!r}")
        for text in HOSTILE:
            _check_hostile(verifier, answers[0], text)
            _check_hostile(verifier, answers[0], stated.format(text))


def require(kept: bool, broken: str) -> None:
    """As the statement `assert`, but also active under `python -O`."""
    if not kept:
        raise AssertionError(broken)


def _check_verdicts(verifier: RuleVerifier, answers: Sequence[str], stated: str, symmetric: bool) -> None:
    pairs = [(reference, answer) for reference in answers for answer in answers]
    references, completions = [a for a, _ in pairs], [stated.format(b) for _, b in pairs]
    found = verifier.explain_many(references, completions)
    again = verifier.explain_many(references, completions)
    require(found == again, f"{verifier.kind} gives other verdicts when asked again")
    verdicts = {pair: verification.verdict for pair, verification in zip(pairs, found, strict=True)}
    for (reference, answer), verdict in verdicts.items():
        says = f"{verifier.kind} says {verdict} of the answer {answer!r} where the reference is {reference!r}"
        require((verdict is Verdict.CORRECT) == (reference == answer), says)
        other_way = verdicts[answer, reference]
        require(not symmetric or verdict is other_way, f"{says}, and {other_way} with the two exchanged")


def _check_hostile(verifier: RuleVerifier, reference: str, completion: str) -> None:
    """A text that is hard to judge: no exception, a verdict in time, and no CORRECT without the answer.

    TIMEOUT is a verdict in time. Running out of memory is allowed.
    """
    verifier.verify(reference, "")  # if the last text ended the worker, a new one starts here, which takes seconds
    started = time.monotonic()
    found = verifier.explain(reference, completion)
    seconds, text = time.monotonic() - started, completion[:60]
    raised = found.parsed_answer if found.verdict is Verdict.ERROR else None
    require(raised is None or raised.startswith("MemoryError"), f"{verifier.kind} raised {raised} on {text!r}")
    wrongly = found.verdict is Verdict.CORRECT and reference not in completion
    require(not wrongly, f"{verifier.kind} says CORRECT of {text!r} where the reference is {reference!r}")
    in_time = seconds < verifier.deadline_seconds + GRACE_SECONDS
    require(in_time, f"{verifier.kind} took {seconds:.1f} s on {text!r}: past its deadline and not ended")


def check_form(form: type[AnswerForm], texts: Sequence[str], *, equal: Sequence[tuple[str, str]] = ()) -> None:
    """Checks an answer form.

    Args:
        texts: answers in this form, with or without markup, that all differ from one another.
        equal: pairs of texts that are the same answer.
    """
    reader = Reader((form,))
    values = [(text, _read_form(form, reader, text)) for text in texts]
    for text, value in values:
        require(compare(value, value) is Comparison.EQUAL, f"{text!r} is not EQUAL to itself")
        for other_text, other in values:
            _check_symmetric(text, value, other_text, other)
            equals = other is not value and compare(value, other) is Comparison.EQUAL
            require(not equals, f"{text!r} is EQUAL to {other_text!r}")
        for other_text in OTHER_FORMS:
            stranger = Reader().form_of(other_text)
            require(stranger is not None, f"{other_text!r} is not read")
            for ask, one, to, another in ((text, value, other_text, stranger), (other_text, stranger, text, value)):
                found: object = compare(one, another)  # type: ignore[arg-type]
                told = f"{ask!r} compared with {to!r} gives {found!r}, not a Comparison"
                require(isinstance(found, Comparison), told)
    for text, other_text in equal:
        value, other = _read_form(form, reader, text), _read_form(form, reader, other_text)
        require(compare(value, other) is Comparison.EQUAL, f"{text!r} is not EQUAL to {other_text!r}")
        _check_symmetric(text, value, other_text, other)
    for text in HOSTILE:
        started = time.monotonic()
        reader.form_of(text)
        in_time = time.monotonic() - started < FORM_SECONDS
        require(in_time, f"{form.__name__} takes over a second to read {text[:60]!r}")


def _read_form(form: type[AnswerForm], reader: Reader, text: str) -> AnswerForm:
    """The form's value of a text, which is read in the same way alone and among the other forms."""
    value, again = (form.parse(strip_markup(text), reader.form_of) for _ in range(2))
    assert isinstance(value, form), f"{form.__name__} reads {text!r} as {value!r}"
    require(isinstance(reader.form_of(text), form), f"{text!r} is read as {reader.form_of(text)!r}")
    require((value, hash(value)) == (again, hash(again)), f"{form.__name__} reads {text!r} in two ways")
    return value


def _check_symmetric(text: str, value: AnswerForm, other_text: str, other: AnswerForm) -> None:
    there, back = compare(value, other), compare(other, value)
    same = there is back or {there, back} <= {Comparison.DIFFERENT, Comparison.OPEN}  # a part of an answer is open
    require(same, f"{text!r} is {there.name} to {other_text!r}, but {back.name} with the two exchanged")
