"""Language models that write completions: in this process, or on any OpenAI-compatible server."""

from cooper_rl.generation.backends import load_generator
from cooper_rl.generation.generator import Generation, Generator, Messages, Sampling, conversation
from cooper_rl.generation.server import OpenAIServer

__all__ = ["Generation", "Generator", "Messages", "OpenAIServer", "Sampling", "conversation", "load_generator"]
