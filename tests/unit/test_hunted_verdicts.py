"""Right answers are never called INCORRECT again, nor wrong ones CORRECT, in the writings in which they once were."""

import pytest
from verdict_hunted import KEPT, RIGHT, WRONG

from cooper_rl.records import Verdict
from cooper_rl.verifiers.auto import explain as explain_auto
from cooper_rl.verifiers.math.verifier import explain as explain_math
from cooper_rl.verifiers.prose.statement import explain as explain_text
from cooper_rl.verifiers.simple import explain_choice

EXPLAIN = {"math": explain_math, "text": explain_text, "choice": explain_choice, "auto": explain_auto}


@pytest.mark.parametrize(("verifier", "reference", "completion"), RIGHT)
def test_a_right_answer_is_not_called_incorrect(verifier, reference, completion):
    assert EXPLAIN[verifier](reference, completion).verdict is not Verdict.INCORRECT


@pytest.mark.parametrize(("verifier", "reference", "completion"), WRONG)
def test_a_wrong_answer_is_not_called_correct(verifier, reference, completion):
    assert EXPLAIN[verifier](reference, completion).verdict is not Verdict.CORRECT


@pytest.mark.parametrize(("verifier", "reference", "completion"), KEPT)
def test_a_right_answer_is_correct(verifier, reference, completion):
    assert EXPLAIN[verifier](reference, completion).verdict is Verdict.CORRECT
