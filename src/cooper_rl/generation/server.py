"""Any OpenAI-compatible server (vLLM, llama.cpp, Ollama, a vendor), which gets many prompts at a time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx

from cooper_rl.errors import BackendError
from cooper_rl.generation.generator import REFUSED, Generation, Generator, Messages, Sampling

MAX_ANSWER_BYTES = 4_000_000
MAX_WAIT_SECONDS = 60.0  # the longest wait before a retry, even if the server's retry-after asks for more
RETRIED = {408, 409, 425, 429, 500, 502, 503, 504}
OF_THE_PROMPT = {400, 413, 422}  # too long, or otherwise refused; another prompt may pass


class RefusedError(BackendError):
    """The server refused this prompt, and would do so again: a status in `OF_THE_PROMPT`."""


class OpenAIServer(Generator):
    """`POST {base_url}/chat/completions` with a limit on requests in flight, retries and back-off.

    A request takes at most `timeout_seconds`. All prompts of a call together take at most `batch_seconds`, if that is
    given. An answer may have at most `MAX_ANSWER_BYTES` bytes.

    The key is read from the environment variable `api_key_env` and never logged.
    """

    elsewhere = True

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        concurrency: int = 16,
        timeout_seconds: float = 60.0,
        retries: int = 3,
        backoff_seconds: float = 0.5,
        batch_seconds: float | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.model = model
        self.concurrency = concurrency
        self.timeout_seconds = timeout_seconds
        self.retries = retries
        self.backoff_seconds = backoff_seconds
        self.batch_seconds = batch_seconds
        key = os.environ.get(api_key_env)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def stream(
        self,
        prompts: Sequence[Messages],
        sampling: Sampling,
        seeds: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, Generation]]:
        """(index, generation) of each prompt, as answers arrive. The text is None if all retries of a prompt failed."""
        settings = {
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
        }
        bodies = [
            {"model": self.model, "messages": list(prompt), **settings, **({"seed": seeds[i]} if seeds else {})}
            for i, prompt in enumerate(prompts)
        ]
        answers: queue.SimpleQueue[tuple[int, Generation] | Exception] = queue.SimpleQueue()
        loop = asyncio.new_event_loop()
        asking = loop.create_task(self._ask_all(bodies, answers.put))

        def run() -> None:  # runs in a thread, so that a caller inside a running event loop can use it too
            try:
                loop.run_until_complete(asking)
            except asyncio.CancelledError:
                pass
            except Exception as error:  # the client could not be made: a proxy or a key that it does not take
                answers.put(error)
            loop.close()

        thread = threading.Thread(target=run)
        thread.start()
        missing = set(range(len(bodies)))
        end = None if self.batch_seconds is None else time.monotonic() + self.batch_seconds
        try:
            while missing:
                answer = answers.get(timeout=None if end is None else max(0.0, end - time.monotonic()))
                if isinstance(answer, Exception):
                    raise BackendError(f"{self.base_url}: {type(answer).__name__}: {answer}") from answer
                index, generation = answer
                missing.remove(index)
                yield index, generation
        except queue.Empty:
            for index in sorted(missing):
                yield index, Generation(None, f"no answer within {self.batch_seconds} seconds")
        finally:  # cancels the requests in flight, also if the caller stops early
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(asking.cancel)
            thread.join()

    async def _ask_all(self, bodies: Sequence[dict[str, Any]], put: Callable[[tuple[int, Generation]], None]) -> None:
        waiting = iter(enumerate(bodies))
        async with httpx.AsyncClient(timeout=self.timeout_seconds, headers=self._headers) as client:

            async def worker() -> None:
                for index, body in waiting:
                    try:
                        put((index, await self._ask(client, body)))
                    except RefusedError as error:
                        put((index, Generation(None, f"{REFUSED}: {error}")))
                    except Exception as error:  # on any error, since the caller waits for an answer to this prompt
                        put((index, Generation(None, f"{type(error).__name__}: {error}")))

            await asyncio.gather(*(worker() for _ in range(min(self.concurrency, len(bodies)))))

    async def _ask(self, client: httpx.AsyncClient, body: dict[str, Any]) -> Generation:
        """Sends one request, with retries.

        Raises:
            BackendError: there is no usable answer after the last try.
        """
        problem, wait_seconds = "", 0.0
        for attempt in range(self.retries + 1):
            if attempt:
                await asyncio.sleep(max(self.backoff_seconds * 2 ** (attempt - 1), wait_seconds))
            try:
                async with asyncio.timeout(self.timeout_seconds):
                    response = await self._post(client, body)
                if response.status_code in RETRIED:
                    problem = f"status {response.status_code}"
                    asked = response.headers.get("retry-after", "")
                    wait_seconds = min(float(asked), MAX_WAIT_SECONDS) if asked.isdigit() else 0.0
                    continue
                response.raise_for_status()
                choice = response.json()["choices"][0]
                text = choice["message"]["content"]
                if isinstance(text, str):
                    text = text.encode("utf-8", "replace").decode()  # half of a character could not be written
                    return Generation(text, str(choice.get("finish_reason") or "stop"))
                problem = "an answer without text"
            except httpx.HTTPStatusError as error:
                said = " ".join(error.response.text.split())[:200]
                kind = RefusedError if error.response.status_code in OF_THE_PROMPT else BackendError
                raise kind(f"{self.base_url}: status {error.response.status_code}: {said}") from error
            except (httpx.HTTPError, TimeoutError, ValueError, KeyError, IndexError, TypeError) as error:
                problem = f"{type(error).__name__}"
        raise BackendError(f"{self.base_url}: {problem} after {self.retries + 1} tries")

    async def _post(self, client: httpx.AsyncClient, body: dict[str, Any]) -> httpx.Response:
        """Sends one request and reads the whole response.

        Raises:
            BackendError: the answer is longer than `MAX_ANSWER_BYTES`.
        """
        async with client.stream("POST", f"{self.base_url}/chat/completions", json=body) as response:
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > MAX_ANSWER_BYTES:
                    raise BackendError(f"{self.base_url}: an answer of more than {MAX_ANSWER_BYTES} bytes")
        return httpx.Response(
            response.status_code, headers=response.headers, content=bytes(content), request=response.request
        )
