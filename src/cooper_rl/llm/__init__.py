"""Language models that write completions: in process, or behind any OpenAI-compatible server."""

from cooper_rl.llm.backends import load_generator
from cooper_rl.llm.generator import Generation, Generator, Messages, Sampling, conversation
from cooper_rl.llm.server import OpenAIServer

__all__ = ["Generation", "Generator", "Messages", "OpenAIServer", "Sampling", "conversation", "load_generator"]
