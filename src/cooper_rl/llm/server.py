"""Any OpenAI-compatible server (vLLM, llama.cpp, Ollama, a vendor), asked many prompts at a time."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from typing import Any

import httpx

from cooper_rl.errors import BackendError
from cooper_rl.llm.generator import Messages

RETRIED = {408, 409, 425, 429, 500, 502, 503, 504}


class OpenAIServer:
    """`POST {base_url}/chat/completions` with a limit on requests in flight, retries and back-off.

    The key is read from the environment variable `api_key_env` and never logged.
    """

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
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.model = model
        self.concurrency = concurrency
        self.timeout_seconds = timeout_seconds
        self.retries = retries
        self.backoff_seconds = backoff_seconds
        key = os.environ.get(api_key_env)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def generate_or_none(
        self,
        prompts: Sequence[Messages],
        *,
        max_new_tokens: int,
        temperature: float,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> list[str | None]:
        """One completion a prompt, in order; None where the server failed in spite of the retries."""
        settings = {"max_tokens": max_new_tokens, "temperature": temperature, "top_p": top_p}
        results: list[str | BackendError] = []

        def run() -> None:  # a thread of its own, so that a caller inside a running event loop can use it too
            results.extend(asyncio.run(self._all(prompts, settings, seed)))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return [result if isinstance(result, str) else None for result in results]

    async def _all(self, prompts: Sequence[Messages], settings: dict[str, Any], seed: int) -> list[str | BackendError]:
        limit = asyncio.Semaphore(self.concurrency)
        async with httpx.AsyncClient(timeout=self.timeout_seconds, headers=self._headers) as client:

            async def one(index: int, prompt: Messages) -> str | BackendError:
                body = {"model": self.model, "messages": list(prompt), "seed": seed + index, **settings}
                async with limit:
                    try:
                        return await self._ask(client, body)
                    except BackendError as error:
                        return error

            return list(await asyncio.gather(*(one(i, prompt) for i, prompt in enumerate(prompts))))

    async def _ask(self, client: httpx.AsyncClient, body: dict[str, Any]) -> str:
        """One request with its retries.

        Raises:
            BackendError: no usable answer after the last try.
        """
        problem = ""
        for attempt in range(self.retries + 1):
            if attempt:
                await asyncio.sleep(self.backoff_seconds * 2 ** (attempt - 1))
            try:
                response = await client.post(f"{self.base_url}/chat/completions", json=body)
                if response.status_code in RETRIED:
                    problem = f"status {response.status_code}"
                    continue
                response.raise_for_status()
                text = response.json()["choices"][0]["message"]["content"]
                if isinstance(text, str):
                    return text
                problem = "an answer without text"
            except httpx.HTTPStatusError as error:
                raise BackendError(f"{self.base_url}: status {error.response.status_code}") from error
            except (httpx.HTTPError, ValueError, KeyError, IndexError, TypeError) as error:
                problem = f"{type(error).__name__}"
        raise BackendError(f"{self.base_url}: {problem} after {self.retries + 1} tries")
