"""Rules that say less than they know, as in domains where a rule proves little.

A rule that proves right answers only: `positive_math` and `positive_math_verify` say CORRECT where `math` and
`math_verify` do. Where those say INCORRECT or find no answer, these say that they cannot read the answer.

A rule that reads a known share of what is right: `weekdays_100` reads every right answer of `nano-weekdays` that is
stated in a form of the demonstrations. `weekdays_75`, `weekdays_50` and `weekdays_25` read so many percent of the
wordings and leave the others open, whether right or wrong. The wording is the completion without its numbers and
weekdays. Nothing is drawn: a hash of it decides.
"""

from __future__ import annotations

import re
import zlib
from functools import partial

from cooper_rl.domains.nano.weekdays import Weekdays
from cooper_rl.records import Reason, Verdict, Verification
from cooper_rl.verifiers.math.library import explain as explain_by_library
from cooper_rl.verifiers.math.numerals import NUMBER_WORDS
from cooper_rl.verifiers.math.verifier import explain
from cooper_rl.verifiers.math.words import WEEKDAYS

_WORLD = Weekdays()
_VALUE = re.compile(rf"[-\d.,/]*\d%?|\b(?:{'|'.join((*WEEKDAYS, *NUMBER_WORDS))})\b", re.IGNORECASE)


def _positive(found: Verification) -> Verification:
    """The verification without its INCORRECT, and without "no answer": both become an answer that cannot be read."""
    if found.verdict is Verdict.INCORRECT or found.reason is Reason.NO_ANSWER:
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, found.parsed_reference)
    return found


def positive_math(reference: str, completion: str) -> Verification:
    """`math` without its INCORRECT, and without "no answer"."""
    return _positive(explain(reference, completion))


def positive_math_verify(reference: str, completion: str) -> Verification:
    """`math_verify` without its INCORRECT, and without "no answer"."""
    return _positive(explain_by_library(reference, completion))


def wording(completion: str) -> str:
    """A completion without its values, in lower case."""
    return " ".join(_VALUE.sub("_", completion).casefold().split())


def _weekdays(reference: str, completion: str, percent: int) -> Verification:
    """The verification by the world's own reading, of this share of the wordings."""
    if zlib.crc32(wording(completion).encode()) % 100 >= percent:
        return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, reference)
    stated = _WORLD.read_answer(completion)
    return explain(reference, completion) if stated is None else explain(reference, stated)


weekdays_100 = partial(_weekdays, percent=100)
weekdays_75 = partial(_weekdays, percent=75)
weekdays_50 = partial(_weekdays, percent=50)
weekdays_25 = partial(_weekdays, percent=25)
