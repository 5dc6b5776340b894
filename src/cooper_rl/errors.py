"""The errors that are shown to users. Each is also the standard library's error of its kind."""

import difflib
from collections.abc import Iterable


class CooperError(Exception):
    """Base class of this package's errors. The message is one line: what is wrong, where, and what to do."""


class BadInputError(CooperError, ValueError):
    """The user's input cannot be used: a file, a field, a setting. The command line exits with 2."""


class MissingFileError(BadInputError, FileNotFoundError):
    """A file or folder that was named does not exist."""


class BackendError(CooperError, RuntimeError):
    """A server or model that should have answered did not."""


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that is not known: `; did you mean 'arm'?`, or nothing where none is near."""
    near = difflib.get_close_matches(name, [*known], 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def how_to_install(extra: str = "", folder: str = ".") -> str:
    """How this project is installed with an extra, as the end of a message. It is on no package index.

    Args:
        folder: of the distribution in a clone: the whole project, or `./packaging/verifier`.
    """
    return f"in a clone of cooper-rl, pip install '{folder}{f'[{extra}]' if extra else ''}'"
