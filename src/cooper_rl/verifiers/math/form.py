"""The contract of an answer form: a class that reads a text as an answer of its kind, and compares two answers.

Each form is one class of this package; `reader.READ_ORDER` lists them in the order in which they are tried.
A form of a user's own is a subclass of `AnswerForm`, named in the verifier's name: `math+my_package.forms:Chemical`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Self, TypeAlias, TypeVar

from cooper_rl.verifiers.math.markup import without_spaces
from cooper_rl.verifiers.math.phrases import changes_nothing

Part = TypeVar("Part")


class Comparison(Enum):
    """The result of comparing two answers."""

    EQUAL = "equal"
    DIFFERENT = "different"
    OPEN = "open"  # not equal as they are written, and not shown to be different: rounded, in other letters, in part
    NOT_KNOWN = "not known"  # the two could not be compared

    @classmethod
    def of(cls, same: bool | None) -> Comparison:
        """EQUAL or DIFFERENT; NOT_KNOWN for None."""
        return cls.NOT_KNOWN if same is None else cls.EQUAL if same else cls.DIFFERENT

    @property
    def unless_different(self) -> Comparison:
        """OPEN in place of DIFFERENT, where a difference would prove nothing."""
        return Comparison.OPEN if self is Comparison.DIFFERENT else self

    @property
    def unless_equal(self) -> Comparison:
        """OPEN in place of EQUAL, where being the same in value is not enough."""
        return Comparison.OPEN if self is Comparison.EQUAL else self


class AnswerForm(ABC):
    """One kind of answer. A subclass is a frozen dataclass, so that its values can be cached and counted.

    `kind` is its name in reports. `library_decides` says what happens where `compare` gives NOT_KNOWN: True asks
    math-verify, False gives the verdict UNPARSEABLE.
    """

    __slots__ = ()
    kind: ClassVar[str]
    library_decides: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def parse(cls, text: str, read: Read) -> AnswerForm | None:
        """Reads the whole text as an answer of this form; None if it is not of this form.

        Args:
            text: an answer without its markup (`markup.strip_markup`). The content of `\\text{...}` is between the
                marks `markup.OPEN` and `markup.CLOSE`.
            read: reads a part of the text in any form, and gives None if it has none. Forms that hold other answers,
                such as lists, call it.
        """

    @abstractmethod
    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares an answer with this one, the reference. NOT_KNOWN for a form that this one does not know."""

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        """Compares this answer with a reference of another form, where the reference's `compare` gives NOT_KNOWN."""
        return Comparison.NOT_KNOWN

    def beside(self, other: AnswerForm) -> AnswerForm:
        """This answer as it is compared with another one. A list of one item becomes the item, for example."""
        return self


Read: TypeAlias = Callable[[str], AnswerForm | None]


@dataclass(frozen=True, slots=True)
class Partial(AnswerForm):
    """An answer with a part that was not read, such as a condition. It is never DIFFERENT.

    It is EQUAL only where `left`, the part that was not read, changes nothing (`phrases.changes_nothing`).
    """

    kind: ClassVar[str] = "partial"
    library_decides: ClassVar[bool] = True
    answer: AnswerForm
    left: str = ""

    @classmethod
    def parse(cls, text: str, read: Read) -> Self | None:
        """None: other forms make it."""
        return None

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares what was read. Two sides with the same part left out are compared by the rest."""
        if isinstance(answer, Partial) and without_spaces(self.left) == without_spaces(answer.left):
            return compare(self.answer, answer.answer).unless_different
        return self._settle(compare(self.answer, answer))

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        return self._settle(compare(reference, self.answer))

    def _settle(self, found: Comparison) -> Comparison:
        found = found.unless_different
        return found if changes_nothing(self.left) else found.unless_equal


def compare(reference: AnswerForm, answer: AnswerForm) -> Comparison:
    """Compares an answer with the reference answer, whatever forms the two have.

    DIFFERENT is a proof: both were read whole, into forms that can be compared, and they differ. The result is
    symmetric except for rounding and parts of a date. A rounded reference accepts an exact answer, but an exact
    reference does not accept a rounded answer.
    """
    reference, answer = reference.beside(answer), answer.beside(reference)
    found = reference.compare(answer)
    if found is Comparison.NOT_KNOWN and type(reference) is not type(answer):
        return answer.compare_as_answer(reference)
    return found


def all_equal(comparisons: Iterable[Comparison]) -> Comparison:
    """EQUAL if all are EQUAL; otherwise DIFFERENT, OPEN or NOT_KNOWN, the first of these that occurs."""
    found = set(comparisons)
    order = (Comparison.DIFFERENT, Comparison.OPEN, Comparison.NOT_KNOWN)
    return next((each for each in order if each in found), Comparison.EQUAL)


def compare_unordered(
    reference: Sequence[Part], answer: Sequence[Part], one: Callable[[Part, Part], Comparison]
) -> Comparison:
    """EQUAL if the items of the two sides can be matched in pairs of equal ones, whatever their order.

    Args:
        one: compares an item of the reference with an item of the answer.
    """
    if len(reference) != len(answer):
        return Comparison.DIFFERENT
    left, undecided = list(answer), Comparison.EQUAL
    for item in reference:
        found = [one(item, other) for other in left]
        if Comparison.EQUAL in found:
            left.pop(found.index(Comparison.EQUAL))
        elif set(found) == {Comparison.DIFFERENT}:
            return Comparison.DIFFERENT
        elif undecided is not Comparison.OPEN:
            undecided = Comparison.OPEN if Comparison.OPEN in found else Comparison.NOT_KNOWN
    return undecided
