"""Language models that write completions: in this process, or on any OpenAI-compatible server."""

from __future__ import annotations

from cooper_rl.errors import BadInputError
from cooper_rl.generation.generator import Generation, Generator, Messages, Sampling, conversation
from cooper_rl.generation.server import OpenAIServer
from cooper_rl.settings.asking import BackendSettings

__all__ = ["Generation", "Generator", "Messages", "OpenAIServer", "Sampling", "conversation", "load_generator"]


def load_generator(name: str, settings: BackendSettings | None = None) -> Generator:
    """The back end for a model's name.

    `MODEL@http://host:port/v1` is a server, and `vllm:MODEL` is vLLM in this process. Any other name (a folder, a hub
    id or a .gguf file) is loaded with transformers.

    Raises:
        BadInputError: the name has another form, or the model cannot be loaded.
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
        from cooper_rl.generation.in_process import VLLMGenerator

        return VLLMGenerator(name.removeprefix("vllm:"))
    from cooper_rl.generation.in_process import TransformersGenerator

    return TransformersGenerator.from_pretrained(name, settings.batch_size)
