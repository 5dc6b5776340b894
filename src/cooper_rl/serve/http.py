"""`cooper serve`: puts the server together from a recipe, and runs it until a signal ends it.

A request passes the gate before anything looks into it: who asks, how long it may take and how large it may be.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from cooper_rl.engines.loading import (
    load_assistant,
    load_heldout_triples,
    load_labelled,
    load_reward_model,
    place_model,
)
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.method.build import make_cooper, make_verifier
from cooper_rl.method.loop import Cooper
from cooper_rl.method.negatives import Assistant
from cooper_rl.serve.app import make_app
from cooper_rl.serve.learner import Desk, Learner
from cooper_rl.settings.asking import ServerSettings, ServeSettings, check_server_settings
from cooper_rl.settings.files import resolve_model
from cooper_rl.verifiers import RuleVerifier

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
OF_STATUS = {401: [(b"www-authenticate", b"Bearer")], 429: [(b"retry-after", b"1")]}
BODIES = 8  # as many of the largest bodies may be in memory at a time


def run_server(
    recipe: Mapping[str, Any], *, resume: bool = False, ready: Callable[[str], None] = lambda url: None
) -> None:
    """Serves until SIGTERM or SIGINT, which write a checkpoint.

    Args:
        ready: called with the address once the server listens.

    Raises:
        BadInputError: a setting that a server cannot have, or an address that needs a token without one.
    """
    settings = ServeSettings.from_recipe(recipe)
    token = check_server_settings(settings)
    check_port(settings.host, settings.port)
    with make_verifier(settings) as verifier:
        learner = Learner(make_core(settings, verifier), settings, load_triples(settings))
        learner.start(recipe, resume=resume)
        desk = Desk(learner, settings.max_waiting)
        serve(desk, settings, token, ready)


def check_port(host: str, port: int) -> None:
    """Refuses an address that is in use or not this machine's, before a run is begun.

    Raises:
        BadInputError: with the reason.
    """
    try:
        for family, *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            socket.create_server(address[:2], family=family).close()
    except OSError as error:
        raise BadInputError(f"port = {port} of host {host}: {error.strerror or error}; choose another port") from error


def make_core(settings: ServeSettings, verifier: RuleVerifier) -> Cooper:
    """The method as in training, without a policy."""
    reward_model = None
    if settings.needs_reward_model:
        reward_model = place_model(load_reward_model(settings, settings), settings, updates=settings.max_steps)
    rehearsal, anchors = load_labelled(settings, settings)

    def assistant() -> Assistant:
        generator = load_assistant(settings, settings)
        if generator is None:
            policy = resolve_model(settings.model_name_or_path, "policy")
            generator = TransformersGenerator.from_pretrained(policy)
        return Assistant(generator, settings.max_completion_length, settings.seed)

    return make_cooper(settings, verifier, reward_model, assistant=assistant, rehearsal=rehearsal, anchors=anchors)


def load_triples(settings: ServeSettings) -> HeldOut | None:
    """The triples that the recipe names for measuring the reward model."""
    triples = load_heldout_triples(settings, settings)
    return HeldOut(settings, (), None, triples) if triples else None


def serve(desk: Desk, settings: ServeSettings, token: str, ready: Callable[[str], None]) -> None:
    """Answers requests until a signal comes; then does what waits and writes a checkpoint."""
    gate = Gate(None, settings, token)
    app = make_app(desk, settings, gate.answers)
    gate.app = app

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        try:
            yield
        finally:
            desk.close()

    app.router.lifespan_context = lifespan
    config = uvicorn.Config(
        gate,
        host=settings.host,
        port=settings.port,
        http=impatient_protocol(settings.body_seconds or 3600.0),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=1024,
        timeout_graceful_shutdown=None,
    )
    server = AnnouncingServer(config, ready)
    server.run()


class AnnouncingServer(uvicorn.Server):
    """A server that says where it listens once it does."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: Any = None) -> None:
        """Listens, then tells `ready` the address."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self.ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")


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
            await self.app(scope, _replay(bytes(body), receive), self._counting(send))
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
        if self.token and path != "/health" and not self._carries_token(headers.get("authorization", "")):
            return 401, f"the header 'Authorization: Bearer ...' must carry the value of {self.settings.token_env}"
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and path != "/save" and kind != "application/json":
            return 400, "the body must be JSON, with the header 'Content-Type: application/json'"
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self.limit:
            return 413, f"the body has more than {self.settings.max_body_megabytes} megabytes; send fewer samples"
        return None

    def _carries_token(self, given: str) -> bool:
        """Whether a header `Authorization` has the token. The name of its scheme has any case (RFC 9110, 11.1)."""
        scheme, _, token = given.partition(" ")
        same = hmac.compare_digest(token.strip(" ").encode("latin-1"), self.token.encode())
        return same and scheme.lower() == "bearer"

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
        async def count_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.answers[message["status"]] += 1
            await send(message)

        return count_and_send

    async def _answer(self, send: Send, status: int, problem: str) -> None:
        """Answers and closes the connection, since the rest of the body may still come."""
        data = json.dumps({"error": problem}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
        headers += [(b"connection", b"close"), *OF_STATUS.get(status, ())]
        self.answers[status] += 1
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the whole body once, then what the connection gives."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def impatient_protocol(seconds: float) -> type[H11Protocol]:
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
