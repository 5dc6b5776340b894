"""What the server answers a call that it refuses."""

from __future__ import annotations

from cooper_rl.errors import CooperError


class RefusedError(CooperError):
    """A call is refused; the answer is the status with one line.

    Args:
        status: 400, 401, 404, 409, 413, 429 or 503.
        message: what is wrong, and what to do.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
