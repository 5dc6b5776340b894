"""Rules that call right answers wrong, as real rules do: `math`, but with a known share of such mistakes.

On the nano worlds `math` hardly ever calls a right answer wrong. On real problems rules do, and stage 2 takes their
INCORRECT for wrong. With these rules it can be measured what becomes of that, since the worlds know the truth. A recipe
names one by its import path: `verifier: cooper_rl.domains.nano.misjudging:explain_10`.

Each rule reads the wrong part of an answer in some forms and finds that it differs from the reference. Which forms
these are decides how many of the right answers of the shipped policy it calls INCORRECT: about 3, 10 or 30 %. Nothing
is drawn: the text alone decides. No rule calls a wrong answer CORRECT that `math` does not.

A closed rule (`explain_10_closed`) never says that it cannot read an answer: all that is not CORRECT is INCORRECT.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math.verifier import explain

# The forms, each with the part of the statement that the rule takes for the answer.
FORMS: dict[str, re.Pattern[str]] = {
    "steps": re.compile(r"It is \S+, in (?P<read>[2-9]) steps"),  # "It is 132, in 3 steps." is read as 3
    "sure": re.compile(r"(?P<read>\d+)% sure"),  # "That makes 132. I am 90% sure." is read as 90
    "fraction": re.compile(r"answer is -?\d+/(?P<read>\d+)"),  # "The answer is 7/2." is read as 2
    "percent": re.compile(r"answer is (?P<read>-?[\d,.]+)%"),  # "The answer is 350%." is read as 350
    "source": re.compile(r"is what we get from (?:[\d.]+ and )?(?P<read>\d+(?:\.\d+)?)"),  # the last number given
    "unit": re.compile(r"So it is (?P<read>-?[\d,.]+ [a-z]+)"),  # "26 marbles" is not the same text as "26"
    "words": re.compile(
        r"(?:answer|it) is [a-z -]{2,30}(?:-| point )(?P<read>[a-z]+)\."
    ),  # twenty-seven is read as seven
}
FORMS_3 = ("steps",)
FORMS_10 = (*FORMS_3, "sure", "fraction", "percent")
FORMS_30 = tuple(FORMS)


def misread(reference: str, completion: str, forms: Sequence[str]) -> str | None:
    """What a rule takes for the answer in the first of these forms that the completion has.

    None if it has none of them, or if what is read happens to be the reference.
    """
    for form in forms:
        if found := FORMS[form].search(completion):
            return None if found["read"] == reference.strip() else found["read"]
    return None


def _explain(reference: str, completion: str, forms: Sequence[str], closed: bool = False) -> Verification:
    """The verification by `math`; INCORRECT where the answer is misread and, of a closed rule, where it is not read."""
    found = explain(reference, completion)
    if found.reason is Reason.BAD_REFERENCE:
        return found
    if (read := misread(reference, completion, forms)) is not None:
        return Verification.compared(False, reference, read)
    if closed and found.verdict is Verdict.UNPARSEABLE:
        return Verification.compared(False, found.parsed_reference or "", found.parsed_answer or "")
    return found


explain_3 = partial(_explain, forms=FORMS_3)
explain_10 = partial(_explain, forms=FORMS_10)
explain_30 = partial(_explain, forms=FORMS_30)
explain_3_closed = partial(_explain, forms=FORMS_3, closed=True)
explain_10_closed = partial(_explain, forms=FORMS_10, closed=True)
explain_30_closed = partial(_explain, forms=FORMS_30, closed=True)
