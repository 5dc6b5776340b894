"""Language models that write completions: in process, or behind any OpenAI-compatible server."""

from cooper_rl.llm.generator import Generator
from cooper_rl.llm.in_process import TransformersGenerator
from cooper_rl.llm.server import OpenAIServer

__all__ = ["Generator", "OpenAIServer", "TransformersGenerator"]
