"""Answers in words: a choice letter, yes or no, a name, a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.verifiers.math.day_names import ABBREVIATED, MONTHS, WEEKDAYS
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read
from cooper_rl.verifiers.math.markup import CHOICE_LABEL, CLOSE, OPEN, without_marks
from cooper_rl.verifiers.math.phrases import looks_mathematical

# Words of one family exclude each other: who answers "Monday" does not mean Tuesday.
_FAMILIES = tuple(
    frozenset(words)
    for words in (
        "abcdefghij",
        ("yes", "no", "true", "false"),
        ("even", "odd"),
        ("left", "right"),
        ("increasing", "decreasing"),
        WEEKDAYS,
        MONTHS,
    )
)
_OTHER_KINDS = ("number", "intervals", "matrix")
_KNOWN = frozenset().union(*_FAMILIES, ("none", "undefined", "infinity"))
_DECISION = re.compile(r"yes|no|true|false", re.IGNORECASE)
_MAX_REPEATED = 4  # words after a decision that say it again: "No, it is not"
_SAME_DECISION = {"true": "yes", "false": "no"}  # for questions whether a statement is true
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
    reason: str = ""

    @classmethod
    def parse(cls, text: str, read: Read) -> Words | None:
        """Reads a choice, a marked or known word, or a text without mathematics. "No, it is not" becomes "no"."""
        if is_decision(without_marks(text)):
            decision, _, rest = without_marks(text).partition(",")
            return cls(decision.strip().lower(), rest if len(rest.split()) > _MAX_REPEATED else "")
        words = without_marks(text)
        choice = _CHOICE.fullmatch(words)
        if choice:
            return cls(choice.group("letter").lower())
        marked = OPEN in text and re.fullmatch(rf"\s*{OPEN}[^{CLOSE}]*{CLOSE}\s*", text)
        known = words in ABBREVIATED or (words.lower() in _KNOWN and len(words) > 1)
        found = cls._of(words) if marked or known else None
        return found or (None if looks_mathematical(text) else cls._of(words))

    @classmethod
    def _of(cls, words: str) -> Words | None:
        words = _LEAD.sub("", words)
        words = ABBREVIATED.get(words, words).lower()
        return cls(re.sub(r"[^\w\s#@+|<>=]", "", words).strip()) if re.search(r"[a-z]", words) else None

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares with other words; "true" equals "yes". DIFFERENT only for two words of one family.

        A decision is open where the reference asks for its reason too: "No, string is an insulator".
        """
        if not isinstance(answer, Words):
            return self.compare_as_answer(answer)
        if self.reason and self.text == answer.text:
            return Comparison.OPEN
        if _SAME_DECISION.get(self.text, self.text) == _SAME_DECISION.get(answer.text, answer.text):
            return Comparison.EQUAL
        apart = any({self.text, answer.text} <= family for family in _FAMILIES)
        return Comparison.DIFFERENT if apart else Comparison.NOT_KNOWN

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        """OPEN between a single word and a number, say. NOT_KNOWN for words that may name a value, as "no solution"."""
        one_word = " " not in self.text and reference.kind in _OTHER_KINDS
        return Comparison.OPEN if one_word else Comparison.NOT_KNOWN


def is_decision(text: str) -> bool:
    """Whether a text begins with a decision, such as yes or no, and a comma: "No, it is not"."""
    decision, comma, _ = text.partition(",")
    return bool(comma and _DECISION.fullmatch(decision.strip()))
