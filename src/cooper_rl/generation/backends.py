"""A back end by the name of its model."""

from __future__ import annotations

from dataclasses import dataclass

from cooper_rl.errors import BadInputError
from cooper_rl.generation.generator import Generator
from cooper_rl.generation.server import OpenAIServer


@dataclass(kw_only=True)
class BackendSettings:
    """How a back end is asked; the first four are for servers."""

    concurrency: int = 16  # requests at a time
    timeout_seconds: float = 120.0  # of a request
    retries: int = 4  # of a request, with longer and longer pauses
    api_key_env: str = "OPENAI_API_KEY"  # the environment variable that holds the key
    batch_size: int = 32  # of a model in this process


def load_generator(name: str, settings: BackendSettings | None = None) -> Generator:
    """`MODEL@http://host:port/v1` is a server, `vllm:MODEL` vLLM in this process, anything else (a folder, a hub id,
    a .gguf file) transformers.

    Raises:
        BadInputError: it is none of them, or cannot be loaded.
    """
    settings = settings or BackendSettings()
    model, at, url = name.partition("@")
    if at:
        if not url.startswith(("http://", "https://")) or not model:
            raise BadInputError(f"model {name!r}: write a server as NAME@http://HOST:PORT/v1")
        return OpenAIServer(
            url,
            model,
            api_key_env=settings.api_key_env,
            concurrency=settings.concurrency,
            timeout_seconds=settings.timeout_seconds,
            retries=settings.retries,
        )
    if name.startswith("vllm:"):
        from cooper_rl.generation.in_vllm import VLLMGenerator

        return VLLMGenerator(name.removeprefix("vllm:"))
    from cooper_rl.generation.in_process import TransformersGenerator

    return TransformersGenerator.from_pretrained(name, settings.batch_size)
