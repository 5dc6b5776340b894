"""The server's paths. Each hands its call to the desk and waits for the answer."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from cooper_rl.serve.learner import Desk
from cooper_rl.serve.wire import (
    Health,
    LearnAnswer,
    LearnBody,
    OpenRLHFAnswer,
    OpenRLHFBody,
    Refusal,
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
AGAIN = {"Retry-After": "1"}
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"  # the type of the page of metrics


STATUSES = {
    400: "The body is no valid call, or did not arrive in time.",
    401: "The token is missing, or this asker may not ask.",
    404: "There is no such batch.",
    409: "It contradicts what was recorded.",
    413: "It is over a limit on sizes.",
    429: "Too much waits already: send the call again later.",
    503: "The run has stopped, or the call was not done in time; with Retry-After, send it again.",
}
ANYWHERE = (400, 401, 413, 429, 503)  # what any path may answer
STOPPED = "The run has stopped."


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a path may answer besides its own, for its description."""
    return {status: {"model": Refusal, "description": STATUSES[status]} for status in statuses}


class App(FastAPI):
    """An application whose description has no 422: a body that is no valid call gets 400 from it."""

    def openapi(self) -> dict[str, Any]:
        page = super().openapi()
        for operations in page["paths"].values():
            for operation in operations.values():
                operation["responses"].pop("422", None)
        for unused in ("HTTPValidationError", "ValidationError"):
            page["components"]["schemas"].pop(unused, None)
        return page


def make_app(desk: Desk, settings: ServerSettings, answers: Mapping[int, int] | None = None) -> FastAPI:
    """The application, without its gate.

    Args:
        answers: how many requests got each status; the gate counts them.
    """
    app = App(title="cooper serve", docs_url=None, redoc_url=None, responses=refusals(*ANYWHERE))
    counted = Counter[int]() if answers is None else answers
    calls = Calls(desk, settings)

    @app.post("/score", responses=refusals(409))
    async def score(call: ScoreBody) -> ScoreAnswer:
        return await calls.score(call)

    @app.post("/learn", responses=refusals(404, 409))
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

    @app.get("/health", response_model_exclude_none=True, responses={503: {"model": Health, "description": STOPPED}})
    async def health(response: Response) -> Health:
        learner, error = desk.learner, desk.stopped or None
        response.status_code = 503 if error else 200
        return Health(status="stopped" if error else "ok", version=learner.version, step=learner.step, error=error)

    @app.get("/metrics", response_class=PlainTextResponse)
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
            raise RefusedError(503, told, again=True) from None


def add_error_handlers(app: FastAPI) -> None:
    """Makes every error an object with one line."""

    def answer(status: int, message: str, again: bool = False) -> JSONResponse:
        return JSONResponse({"error": message}, status, AGAIN if again else None)

    @app.exception_handler(RefusedError)
    async def on_refused(_: Request, error: RefusedError) -> JSONResponse:
        return answer(error.status, str(error), error.again)

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
