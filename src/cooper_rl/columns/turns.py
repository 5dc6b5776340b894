"""The turns of a conversation, as messages or as the text that a chat template made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cooper_rl.errors import BadInputError

Turn = tuple[str, str]  # role, text

SYSTEM = ("system", "developer")
# How chat templates begin a turn. A text is read by the one whose mark comes first in it.
MARKS = (
    re.compile(r"<\|im_start\|>(?P<role>\w+)(?:<\|im_sep\|>)?"),  # ChatML; Phi-4 has <|im_sep|>
    re.compile(r"<\|start_header_id\|>(?P<role>\w+)<\|end_header_id\|>"),  # Llama 3
    re.compile(r"<\|header_start\|>(?P<role>\w+)<\|header_end\|>"),  # Llama 4
    re.compile(r"<\|(?P<role>system|user|assistant|tool|observation)\|>"),  # Zephyr, Phi-3, Tulu, and our nano models
    re.compile(r"<start_of_turn>(?P<role>\w+)"),  # Gemma
    re.compile(r"(?P<role>\[/?INST\])"),  # Mistral and Llama 2
    re.compile("<｜(?P<role>User|Assistant)｜>"),  # DeepSeek, with wide bars
    re.compile(r"<\|start_of_role\|>(?P<role>\w+)<\|end_of_role\|>"),  # Granite
)
ROLES = {"model": "assistant", "[INST]": "user", "[/INST]": "assistant"}
_LLAMA_2_SYSTEM = re.compile(r"<<SYS>>.*?<</SYS>>", re.DOTALL)
_BEGINNING = r"<s>|<bos>|<\|begin_of_text\|>|<\|startoftext\|>|<｜begin▁of▁sentence｜>"
_END = (
    r"<\|im_end\|>|<\|eot_id\|>|<\|eom_id\|>|<\|eot\|>|<\|end\|>|</s>|<end_of_turn>|<eos>|<\|endoftext\|>"
    r"|<\|end_of_text\|>|<｜end▁of▁sentence｜>"
)
_BEFORE = re.compile(rf"\s*(?:(?:{_BEGINNING})\s*)*")
_LAST = re.compile(rf"(?:{_BEGINNING}|{_END})\Z")


def user_text(prompt: str | Sequence[Mapping[str, Any]]) -> str:
    """What the user says in a prompt: messages, a text that a chat template wrote, or a plain text as it is.

    System messages are left out, and so is the beginning of an answer at the end of the prompt. One user message is its
    text alone. Of several turns each is headed by its role, so that it is known who said what.

    Raises:
        BadInputError: the prompt is no text and no messages, or has parts that are not text.
    """
    turns = _written_turns(prompt) if isinstance(prompt, str) else _turns(prompt, "prompt")
    if turns is None:
        return str(prompt)
    said = [(role, text) for role, text in turns if role not in SYSTEM]
    while said and said[-1][0] == "assistant":
        said.pop()
    if len(said) == 1:
        return said[0][1]
    return "\n\n".join(f"{role.capitalize()}: {text}" for role, text in said)


def assistant_text(completion: str | Sequence[Mapping[str, Any]]) -> str:
    """The text of a completion: of messages the assistant's last that has a content; "" where none has.

    Messages of tools may come between the assistant's, and after them.

    Raises:
        BadInputError: the completion is no text and no messages, or has parts that are not text.
    """
    if isinstance(completion, str):
        return completion
    said = [text for role, text in _turns(completion, "completion") if role == "assistant" and text]
    return said[-1] if said else ""


def _turns(messages: Any, what: str) -> list[Turn]:
    found = []
    for message in messages if isinstance(messages, Iterable) else [messages]:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise BadInputError(f"a {what} must be a text, or messages with role and content")
        found.append((message["role"].lower(), _content(message.get("content"), what)))
    return found


def _content(content: Any, what: str) -> str:
    """The text of a message: its text parts joined by newlines, where it has parts."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, Iterable) and not isinstance(content, Mapping) else [content]
    kinds = ["text" if isinstance(part, str) else part.get("type") for part in parts if isinstance(part, str | Mapping)]
    others = sorted({str(kind) for kind in kinds} - {"text"})
    if others:
        raise BadInputError(f"a {what} has a part of type {others[0]}; the reward model reads text alone")
    if len(kinds) < len(list(parts)):
        raise BadInputError(f"a {what} must be a text, or messages whose content is text")
    return "\n".join(part if isinstance(part, str) else str(part.get("text") or "") for part in parts)


def _written_turns(text: str) -> list[Turn] | None:
    """The turns of a text that a chat template wrote; None for any other text.

    It begins with a mark of a turn, or has one of the user's and later one of the assistant's. What comes before the
    first mark is a system prompt.
    """
    firsts = [(first.start(), mark) for mark in MARKS if (first := mark.search(text))]
    if not firsts:
        return None
    start, mark = min(firsts, key=lambda each: each[0])
    begun = list(mark.finditer(text))
    roles = [ROLES.get(each["role"], each["role"].lower()) for each in begun]
    beginning = _BEFORE.match(text)
    answered = "user" in roles and "assistant" in roles[roles.index("user") :]
    if not answered and not (beginning and beginning.end() == start):
        return None
    ends = [each.start() for each in begun[1:]] + [len(text)]
    said = [_without_ends(text[each.end() : end]) for each, end in zip(begun, ends, strict=True)]
    return list(zip(roles, said, strict=True))


def _without_ends(text: str) -> str:
    """A turn without the marks behind it, and without the system prompt that Llama 2 writes into it."""
    text = _LLAMA_2_SYSTEM.sub("", text).strip()
    while found := _LAST.search(text):
        text = text[: found.start()].rstrip()
    return text
