"""Values of a record as texts: numbers are written out, arrays become lists, and tensors are refused.

No array library is imported here. Their values are known by their attributes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from cooper_rl.errors import BadInputError

MARKER = "####"  # GSM8K writes the answer behind it, in the last line of a worked solution
OF_TENSORS = ("torch", "jax", "jaxlib", "tensorflow")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ANNOTATION = re.compile(r"<<.*?>>")


def value_at(record: Mapping[str, Any], name: str) -> Any:
    """The value of a column; None where there is none. A dotted name goes into a nested dict."""
    if name in record:
        return record[name]
    top, _, rest = name.partition(".")
    inner = record.get(top) if rest else None
    return value_at(inner, rest) if isinstance(inner, Mapping) else None


def plain(value: Any, place: str, name: str) -> Any:
    """A value without its array: a list of an array's items, any other value as it is.

    Raises:
        BadInputError: it is a tensor.
    """
    if hasattr(value, "detach") or type(value).__module__.partition(".")[0] in OF_TENSORS:
        raise BadInputError(
            f"{place}: column {name!r} holds a tensor; call dataset.reset_format(), so that it holds texts or numbers"
        )
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        return list(value) if value.ndim else value[()]
    return value


def texts_of(value: Any, place: str, name: str) -> list[str]:
    """The texts of a value: one of a text or a number, several of a list.

    Raises:
        BadInputError: it is something else, or a text is blank.
    """
    value = plain(value, place, name)
    items = value if isinstance(value, list | tuple) else [value]
    return [_text_of(plain(item, place, name), place, name) for item in items]


def _text_of(value: Any, place: str, name: str) -> str:
    if isinstance(value, str):
        text: str | None = after_marker(value) if is_marked(value) else str(value)
    else:
        text = number_text(value, place, name)
    if text is None:
        what = "null" if value is None else f"a {type(value).__name__}"
        raise BadInputError(
            f"{place}: column {name!r} holds {what}; a reference answer is a text, a number or a list of these"
        )
    if not text.strip():
        raise BadInputError(f"{place}: column {name!r} is blank; leave the record out or fill it in")
    return text


def number_text(value: Any, place: str, name: str) -> str | None:
    """A number or a truth value, written out; None for anything else.

    Raises:
        BadInputError: it is nan or infinite.
    """
    if hasattr(value, "dtype"):  # a float of few bits has more decimals as Python's float than it is written with
        value = float(str(value)) if value.dtype.kind == "f" else value.item()
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            raise BadInputError(
                f"{place}: column {name!r} is {value}, which is no number; leave the record out or correct it"
            )
        return decimal_of(value)
    return str(value) if isinstance(value, int) else None


def decimal_of(value: float | Decimal) -> str:
    """A finite number as people write it: `2` for 2.0, and no exponent."""
    exact = Decimal(repr(float(value))) if isinstance(value, float) else value
    return str(int(exact)) if exact == exact.to_integral_value() else f"{exact:f}".rstrip("0")


def is_marked(text: str) -> bool:
    """Whether a text is a worked solution of GSM8K's form, whose last line holds the answer."""
    return text.rstrip().rpartition("\n")[2].lstrip().startswith(MARKER)


def after_marker(text: str) -> str:
    """The answer of a worked solution of GSM8K's form, without the commas of thousands."""
    return _THOUSANDS.sub("", text.rpartition(MARKER)[2].strip())


def without_annotations(text: str) -> str:
    """A worked solution of GSM8K's form without its calculator annotations."""
    return _ANNOTATION.sub("", text).strip()
