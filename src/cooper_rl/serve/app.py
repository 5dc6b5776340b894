"""The server's paths. Each hands its call to the desk and waits for the answer."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from cooper_rl.serve.learner import Desk
from cooper_rl.serve.wire import (
    LearnAnswer,
    LearnBody,
    OpenRLHFAnswer,
    OpenRLHFBody,
    RefusedError,
    ScoreAnswer,
    ScoreBody,
    SlimeBody,
    check_call,
    of_openrlhf,
    of_slime,
    to_openrlhf,
)
from cooper_rl.settings.asking import ServerSettings

logger = logging.getLogger(__name__)
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"  # the type of the page of metrics


def make_app(desk: Desk, settings: ServerSettings, answers: Mapping[int, int] | None = None) -> FastAPI:
    """The application, without its gate.

    Args:
        answers: how many requests got each status; the gate counts them.
    """
    app = FastAPI(title="cooper serve", docs_url=None, redoc_url=None)
    counted = Counter[int]() if answers is None else answers
    calls = Calls(desk, settings)

    @app.post("/score")
    async def score(call: ScoreBody) -> ScoreAnswer:
        return await calls.score(call)

    @app.post("/learn")
    async def learn(call: LearnBody) -> LearnAnswer:
        return LearnAnswer.model_validate(await calls.answer(desk.learn(call.batch)))

    @app.post("/save")
    async def save() -> LearnAnswer:
        return LearnAnswer.model_validate(await calls.answer(desk.save()))

    @app.post("/openrlhf")
    async def openrlhf(call: OpenRLHFBody) -> OpenRLHFAnswer:
        return to_openrlhf(await calls.score(of_openrlhf(call)))

    @app.post("/slime")
    async def slime(call: SlimeBody) -> float:
        return (await calls.score(of_slime(call))).rewards[0] or 0.0  # it has no value for "not judged"

    @app.get("/health")
    async def health() -> dict[str, str | int]:
        stopped: dict[str, str | int] = {"error": desk.stopped} if desk.stopped else {}
        learner = desk.learner
        return {"status": "stopped" if stopped else "ok", "version": learner.version, "step": learner.step, **stopped}

    @app.get("/metrics")
    async def metrics() -> PlainTextResponse:
        page = "\n".join(metric_lines(desk, counted)) + "\n"
        return PlainTextResponse(page, media_type=PROMETHEUS)

    add_error_handlers(app)
    return app


@dataclass(frozen=True)
class Calls:
    """Waits for the desk's answers."""

    desk: Desk
    settings: ServerSettings

    async def score(self, call: ScoreBody) -> ScoreAnswer:
        """The answer to a call, which is checked first."""
        check_call(call, self.settings)
        found: ScoreAnswer = await self.answer(self.desk.score(call))
        return found

    async def answer(self, future: Future[Any]) -> Any:
        """What the desk answers.

        Raises:
            RefusedError: it took longer than `wait_seconds`, or the desk refuses.
        """
        seconds = self.settings.wait_seconds
        try:
            async with asyncio.timeout(seconds or None):
                return await asyncio.shield(asyncio.wrap_future(future))
        except TimeoutError:
            told = f"not done after {seconds:g} seconds; nothing is lost: send the same call again"
            raise RefusedError(503, told) from None


def add_error_handlers(app: FastAPI) -> None:
    """Makes every error an object with one line."""

    def answer(status: int, message: str) -> JSONResponse:
        headers = {"Retry-After": "1"} if status in (429, 503) else None
        return JSONResponse({"error": message}, status, headers)

    @app.exception_handler(RefusedError)
    async def on_refused(_: Request, error: RefusedError) -> JSONResponse:
        return answer(error.status, str(error))

    @app.exception_handler(RequestValidationError)
    async def on_invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return answer(400, f"the body is not JSON: {first['ctx']['error']} (character {first['loc'][-1]})")
        place = ".".join(str(part) for part in first["loc"] if part != "body")
        return answer(400, f"{place[:200] or 'body'}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def on_http(_: Request, error: HTTPException) -> JSONResponse:
        if error.status_code in (404, 405):
            return answer(404, "there is no such path; the paths are in docs/cooper-in-your-trainer.md")
        return answer(400 if error.status_code < 500 else 503, str(error.detail))

    @app.exception_handler(Exception)
    async def on_any(_: Request, error: Exception) -> JSONResponse:
        logger.error("a request failed", exc_info=error)
        return answer(503, f"{type(error).__name__}: the request failed; the server's log says more")


def metric_lines(desk: Desk, answers: Mapping[int, int]) -> Iterator[str]:
    """The page of `GET /metrics`: the server's and the last step's metrics in Prometheus's text format.

    Args:
        answers: how many requests got each status.
    """
    learner = desk.learner
    yield from metric("version", "gauge", "Updates that the reward model has had.", [("", learner.version)])
    yield from metric("steps", "gauge", "Batches that were learned from.", [("", learner.step)])
    yield from metric("waiting", "gauge", "Calls that wait.", [("", desk.waiting)])
    yield from metric("stopped", "gauge", "Whether the run has stopped.", [("", int(bool(desk.stopped)))])
    yield from metric("samples_total", "counter", "Samples asked for since the start.", [("", desk.samples)])
    yield from metric("rounds_total", "counter", "Times that waiting calls were scored.", [("", desk.rounds)])
    by_status = [(f'{{status="{status}"}}', count) for status, count in sorted(answers.items())]
    yield from metric("answers_total", "counter", "Requests answered since the start, by status.", by_status)
    of_step = [(f'{{name="{name}"}}', value) for name, value in learner.metrics.items() if value is not None]
    yield from metric("step_metric", "gauge", "The last step's line of metrics.jsonl.", of_step)


def metric(name: str, kind: str, help: str, values: Iterable[tuple[str, float]]) -> Iterator[str]:
    """One metric: its two comments, then a line for each (labels, value)."""
    yield f"# HELP cooper_{name} {help}"
    yield f"# TYPE cooper_{name} {kind}"
    for labels, value in values:
        yield f"cooper_{name}{labels} {value:.10g}"
