"""What an answer form is: a class that reads a text as an answer of its kind, and compares two answers.

Each form is one class in one file of this package; `reader.READ_ORDER` lists them in the order in which they are tried.
A form of a user's own is a subclass of `AnswerForm`, named in the verifier's name: `math+my_package.forms:Chemical`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import ClassVar, Self, TypeAlias, TypeVar

Part = TypeVar("Part")


class Comparison(Enum):
    """What two answers are to each other."""

    EQUAL = "equal"
    DIFFERENT = "different"
    NOT_KNOWN = "not known"

    @classmethod
    def of(cls, same: bool | None) -> Comparison:
        """EQUAL or DIFFERENT; NOT_KNOWN for None."""
        return cls.NOT_KNOWN if same is None else cls.EQUAL if same else cls.DIFFERENT


class AnswerForm(ABC):
    """One kind of answer. A subclass is a frozen dataclass, so that its values can be kept and counted.

    `kind`: its name in reports. `library_decides`: whether math-verify is asked where `compare` does not know; if not,
    the answer is left open (UNPARSEABLE).
    """

    __slots__ = ()
    kind: ClassVar[str]
    library_decides: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def parse(cls, text: str, read: Read) -> Self | None:
        """The answer that the whole of a text is, or None if it is not of this form.

        Args:
            text: an answer whose markup is off (`markup.strip_markup`). What stood in `\\text{...}` is between the
                marks `markup.OPEN` and `markup.CLOSE`.
            read: reads a part of the text in whatever form it has, None if in none. For an answer that holds others,
                as a list does.
        """

    @abstractmethod
    def compare(self, answer: AnswerForm) -> Comparison:
        """What an answer is to this one, the reference; NOT_KNOWN for a form that this one knows nothing of."""

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        """The same with the sides exchanged, asked where the reference is of another form and does not know."""
        return Comparison.NOT_KNOWN

    def beside(self, other: AnswerForm) -> AnswerForm:
        """What this answer amounts to beside another: a list of one is the one."""
        return self


Read: TypeAlias = Callable[[str], AnswerForm | None]


def compare(reference: AnswerForm, answer: AnswerForm) -> Comparison:
    """What an answer is to the reference answer, whatever forms the two have.

    Symmetric but for rounding and for parts of a date: a rounded reference accepts an exact answer, never the other
    way round.
    """
    reference, answer = reference.beside(answer), answer.beside(reference)
    found = reference.compare(answer)
    if found is Comparison.NOT_KNOWN and type(reference) is not type(answer):
        return answer.compare_as_answer(reference)
    return found


def all_equal(comparisons: Iterable[Comparison]) -> Comparison:
    """EQUAL if all are; DIFFERENT if one is; else NOT_KNOWN."""
    found = set(comparisons)
    if Comparison.DIFFERENT in found:
        return Comparison.DIFFERENT
    return Comparison.NOT_KNOWN if Comparison.NOT_KNOWN in found else Comparison.EQUAL


def compare_unordered(
    reference: Sequence[Part], answer: Sequence[Part], one: Callable[[Part, Part], Comparison]
) -> Comparison:
    """EQUAL if each of the one side equals another of the other side.

    Args:
        one: compares an item of the reference with one of the answer.
    """
    if len(reference) != len(answer):
        return Comparison.DIFFERENT
    left, not_known = list(answer), False
    for item in reference:
        found = [one(item, other) for other in left]
        if Comparison.EQUAL in found:
            left.pop(found.index(Comparison.EQUAL))
        elif Comparison.NOT_KNOWN in found:
            not_known = True
        else:
            return Comparison.DIFFERENT
    return Comparison.NOT_KNOWN if not_known else Comparison.EQUAL
