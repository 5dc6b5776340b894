"""HTTP for impatient servers: a client that does not finish its request's header in time is hung up on."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def impatient(seconds: float) -> type[H11Protocol]:
    """uvicorn's protocol with a limit on the time in which a new connection must send its first header.

    Later requests of the same connection fall under uvicorn's own limit on idle connections, or under this one again.
    """

    class Impatient(H11Protocol):
        """Closes a connection whose header does not come."""

        header_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            busy = self.cycle is not None and not self.cycle.response_complete
            if busy and self.header_timer:
                self.header_timer.cancel()
                self.header_timer = None
            elif not busy and self.header_timer is None:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            if self.header_timer:
                self.header_timer.cancel()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self.header_timer = self.loop.call_later(seconds, self._late)

        def _late(self) -> None:
            self.header_timer = None
            if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
                self.transport.close()

    return Impatient
