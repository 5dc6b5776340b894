"""Takes out what a reader of a completion would not see, since a hidden answer is no answer.

Hidden are comments of LaTeX and HTML, `\\phantom`, white and transparent text, and elements that a style hides.
"""

from __future__ import annotations

import re

_HINTS = ("%", "<", "phantom", "white", "iffalse", "comment", "transparent")
_COMMENTS = (
    re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL),
    re.compile(r"\\iffalse\b.*?(?:\\fi\b|\Z)", re.DOTALL),
    re.compile(r"\\begin\{comment\}.*?(?:\\end\{comment\}|\Z)", re.DOTALL),
    re.compile(r"(?:(?<=\n)|\A)[ \t]*%(?![%\d])[^\n]*"),  # a line of its own
    re.compile(r"(?<=\s)%\s*\\(?:boxed|fbox)[^\n]*"),
    re.compile(r"(?<=[\s.;,:!?])(?<![\w})$*] )%[^\n]*\\(?:boxed|fbox)[^\n]*"),  # 50 % is no comment
)
_HIDING_ELEMENT = re.compile(
    r"<(?P<tag>[a-z]+)\b[^<>]{0,200}(?:display\s*:\s*none|visibility\s*:\s*hidden|\bhidden\b|font-size\s*:\s*0"
    r"|color\s*[:=]\s*[\"']?\s*(?:white|transparent|#fff))[^<>]{0,200}>.*?(?:</(?P=tag)>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_HIDING_COMMAND = re.compile(
    r"\\[hv]?phantom\s*\{|\\(?:text)?color\s*(?:\[\w+\])?\{\s*(?:white|transparent|1,\s*1,\s*1|FFFFFF|ffffff)\s*\}\s*\{?"
)
_BRACE = re.compile(r"[{}]")


def visible(text: str) -> str:
    """The text without what is hidden in it."""
    if not any(hint in text for hint in _HINTS):
        return text
    for pattern in _COMMENTS:
        text = pattern.sub("", text)
    text = _HIDING_ELEMENT.sub("", text)
    while found := _HIDING_COMMAND.search(text):
        text = text[: found.start()] + text[_end_of_group(text, found) :]
    return text


def _end_of_group(text: str, found: re.Match[str]) -> int:
    """Where the text ends that a command hides: at the brace that closes its own, or the one that it stands in."""
    depth = 1
    for brace in _BRACE.finditer(text, found.end()):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.end() if found.group().endswith("{") else brace.start()
    return len(text)
