"""`cooper serve`: puts the server together from a recipe, and runs it until a signal ends it."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from cooper_rl.engines.loading import load_assistant, load_heldout_triples, load_labelled, load_reward_model, placed
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.method.build import make_cooper
from cooper_rl.method.loop import Cooper
from cooper_rl.method.negatives import Assistant
from cooper_rl.serve.app import make_app
from cooper_rl.serve.desk import Desk
from cooper_rl.serve.gate import Gate
from cooper_rl.serve.learner import Learner
from cooper_rl.serve.protocol import impatient
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.serve import ServeSettings, check_server_settings
from cooper_rl.verifiers import RuleVerifier


def run_server(
    recipe: Mapping[str, Any], *, resume: bool = False, ready: Callable[[str], None] = lambda url: None
) -> None:
    """Serves until SIGTERM or SIGINT, which write a checkpoint.

    Args:
        ready: is told the server's address once it answers.

    Raises:
        BadInputError: a setting that a server cannot have, or an address that needs a token without one.
    """
    settings = ServeSettings.from_recipe(recipe)
    token = check_server_settings(settings)
    check_port(settings.host, settings.port)
    verifier = RuleVerifier(
        settings.verifier, workers=settings.verifier_workers, deadline_seconds=settings.verifier_deadline_seconds
    )
    with verifier:
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
        reward_model = placed(load_reward_model(settings, settings), settings, updates=settings.max_steps)
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
        http=impatient(settings.body_seconds or 3600.0),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=1024,
        timeout_graceful_shutdown=None,
    )
    server = Announced(config, ready)
    server.run()


class Announced(uvicorn.Server):
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
