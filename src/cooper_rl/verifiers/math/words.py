"""Answers in words: a choice letter, yes or no, a name, a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.verifiers.math.day_names import ABBREVIATED, MONTHS, WEEKDAYS
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read
from cooper_rl.verifiers.math.markup import CHOICE_LABEL, CLOSE, OPEN, without_marks
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.phrases import looks_mathematical

_CLOSED = re.compile(
    r"[a-j]|yes|no|true|false|even|odd|none|undefined|infinity|left|right|increasing|decreasing|"
    + "|".join((*WEEKDAYS, *MONTHS))
)
_DECISION = re.compile(r"yes|no|true|false", re.IGNORECASE)
_SAME_DECISION = {"true": "yes", "false": "no"}  # for questions whether a statement is true
_VALUES_IN_WORDS = {"none", "nothing", "undefined", "infinite", "infinity", "infinitely", "all", "any", "empty", "half"}
_CHOICE = re.compile(rf"{CHOICE_LABEL}\(?(?P<letter>[A-J])\)?(?:[.:)] .*)?")
_LEAD = re.compile(  # removed from the front: "It falls on a Tuesday" becomes "Tuesday"
    r"^(?:(?:it|this|that) )?(?:(?:is|was|falls|fell|will be) )?(?:on )?(?:(?:the|a|an) )?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Words(AnswerForm):
    """Words in lower case, without punctuation. A choice is kept as its letter."""

    kind: ClassVar[str] = "words"
    library_decides: ClassVar[bool] = True
    text: str

    @property
    def closed(self) -> bool:
        """Whether this is a choice letter, yes or no, a day or a month, so that a different one is another answer."""
        return bool(_CLOSED.fullmatch(self.text))

    @property
    def may_name_a_value(self) -> bool:
        """Whether another form may mean the same, as with "no solution" and "all real numbers", but not "Monday"."""
        return " " in self.text or self.text in _VALUES_IN_WORDS

    @classmethod
    def parse(cls, text: str, read: Read) -> Words | None:
        """Reads a choice, a marked or known word, or a text without mathematics. "No, it is not" becomes "no"."""
        if is_decision(text):
            return cls(text.partition(",")[0].strip().lower())
        words = without_marks(text)
        choice = _CHOICE.fullmatch(words)
        if choice:
            return cls(choice.group("letter").lower())
        marked = OPEN in text and re.fullmatch(rf"\s*{OPEN}[^{CLOSE}]*{CLOSE}\s*", text)
        known = words in ABBREVIATED or (_CLOSED.fullmatch(words.lower()) and len(words) > 1)
        found = cls._of(words) if marked or known else None
        return found or (None if looks_mathematical(text) else cls._of(words))

    @classmethod
    def _of(cls, words: str) -> Words | None:
        words = _LEAD.sub("", words)
        words = ABBREVIATED.get(words, words).lower()
        return cls(re.sub(r"[^\w\s]", "", words).strip()) if re.search(r"[a-z]", words) else None

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares the words; "true" equals "yes". Two words that differ are DIFFERENT only if both are `closed`."""
        if isinstance(answer, Words):
            if _SAME_DECISION.get(self.text, self.text) == _SAME_DECISION.get(answer.text, answer.text):
                return Comparison.EQUAL
            return Comparison.DIFFERENT if self.closed and answer.closed else Comparison.NOT_KNOWN
        return self.compare_with_value(answer) if isinstance(answer, Number) else Comparison.NOT_KNOWN

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        return self.compare_with_value(reference) if isinstance(reference, Number) else Comparison.NOT_KNOWN

    def compare_with_value(self, value: AnswerForm) -> Comparison:
        """Compares with a number, a list, intervals or a matrix: DIFFERENT unless the words may name such a value."""
        return Comparison.NOT_KNOWN if self.may_name_a_value else Comparison.DIFFERENT


def is_decision(text: str) -> bool:
    """Whether a text begins with a decision, such as yes or no, and a comma: "No, it is not"."""
    decision, comma, _ = text.partition(",")
    return bool(comma and _DECISION.fullmatch(decision.strip()))
