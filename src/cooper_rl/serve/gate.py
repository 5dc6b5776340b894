"""What a request must pass before anything looks into it: who asks, how long it may take and how large it may be."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from cooper_rl.settings.serve import ServerSettings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
BODIES = 8  # as many of the largest bodies may be in memory at a time


class Gate:
    """ASGI middleware. It reads the whole body, so that the application never waits for a client.

    Args:
        token: what requests must carry; empty where the server is for this machine alone and has none.
    """

    def __init__(self, app: Any, settings: ServerSettings, token: str = "") -> None:
        self.app, self.settings, self.token = app, settings, token
        self.limit = settings.max_body_megabytes * 1_000_000
        self.held = 0  # bytes of bodies in memory
        self.answers: Counter[int] = Counter()  # by status, for /metrics

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        problem = self._refusal(scope, headers)
        if problem:
            await self._answer(send, *problem)
            return
        body = bytearray()
        try:
            problem = await self._read(receive, body)
            if problem:
                await self._answer(send, *problem)
                return
            await self.app(scope, _replayed(bytes(body), receive), self._counting(send))
        except ConnectionError:  # the client hung up
            return
        finally:
            self.held -= len(body)

    def _refusal(self, scope: Message, headers: dict[str, str]) -> tuple[int, str] | None:
        """Why a request is refused by its header alone."""
        host, path = headers.get("host", ""), scope["path"]
        local = {*LOCAL_NAMES, self.settings.host}
        if not self.token and host not in local and host.rpartition(":")[0] not in local:
            return 401, "this server is for its own machine: ask it as 127.0.0.1 or localhost"
        if not self.token and ("origin" in headers or headers.get("sec-fetch-site", "none") != "none"):
            return 401, "a web page may not ask this server: set a token in the variable that token_env names"
        given = headers.get("authorization", "")
        if (
            self.token
            and path != "/health"
            and not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode())
        ):
            return 401, f"the header 'Authorization: Bearer ...' must carry the value of {self.settings.token_env}"
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and path != "/save" and kind != "application/json":
            return 400, "the body must be JSON, with the header 'Content-Type: application/json'"
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self.limit:
            return 413, f"the body has more than {self.settings.max_body_megabytes} megabytes; send fewer samples"
        return None

    async def _read(self, receive: Receive, body: bytearray) -> tuple[int, str] | None:
        """Reads the body into `body`. Returns why it is refused."""
        try:
            async with asyncio.timeout(self.settings.body_seconds or None):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionError
                    piece = message.get("body", b"")
                    if len(body) + len(piece) > self.limit:
                        return 413, f"the body has more than {self.settings.max_body_megabytes} megabytes"
                    if self.held + len(piece) > BODIES * self.limit:
                        return 429, "too much waits in memory already; send the call again a little later"
                    body += piece
                    self.held += len(piece)
                    more = message.get("more_body", False)
        except TimeoutError:
            return 400, f"the body did not arrive within {self.settings.body_seconds:g} seconds"
        return None

    def _counting(self, send: Send) -> Send:
        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.answers[message["status"]] += 1
            await send(message)

        return counted

    async def _answer(self, send: Send, status: int, problem: str) -> None:
        """Answers and closes the connection, since the rest of the body may still come."""
        data = json.dumps({"error": problem}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
        self.answers[status] += 1
        await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
        await send({"type": "http.response.body", "body": data})


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the whole body once, then what the connection gives."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
