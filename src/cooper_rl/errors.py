"""Every error a user can cause or must hear of. Each is also the standard library's error of that kind."""


class CooperError(Exception):
    """Root of this package's errors. Its message is one line: what, where, and the way out."""


class BadInputError(CooperError, ValueError):
    """The user's input cannot be used: a file, a field, a setting. The command line exits with 2."""


class MissingFileError(BadInputError, FileNotFoundError):
    """A named file or folder is not there."""


class BackendError(CooperError, RuntimeError):
    """A server or model that should have answered did not."""
