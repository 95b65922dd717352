"""Reads the names of tools that a model calls, and repairs those that no API would take back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gleaner.model import ToolSpec

_MAX_CHARS = 64  # OpenAI and Azure refuse more, and other characters than these (microsoft/semantic-kernel#4447)
_MAX_READ_CHARS = 1_000
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_NO_NAME = "unnamed"  # for a name without any usable character


def read_name(name: str, tools: Sequence[ToolSpec]) -> str:
    """The tool that a name means, or else the name as it is.

    Models surround names by parts of their templates: `functions.search`, `default_api:search`, and
    `search<|channel|>commentary` (openai/harmony). A name in which exactly one tool is named means that one.
    """
    words = _words(name)
    by_identity = {_identity(tool.name): tool.name for tool in tools}
    candidates = map(_identity, (*words, "_".join(words)))
    meant = {by_identity[candidate] for candidate in candidates if candidate in by_identity}
    return meant.pop() if len(meant) == 1 else name


def replayed_name(name: str) -> str:
    """A name for the model to see again: one that means no tool, in a form that every API takes back."""
    repaired = "_".join(_words(name))[:_MAX_CHARS] or _NO_NAME
    # Gemini demands a letter or an underscore first.
    return repaired if repaired[0].isalpha() or repaired[0] == "_" else f"_{repaired}"[:_MAX_CHARS]


def _words(name: str) -> list[str]:
    return _WORD.findall(name[:_MAX_READ_CHARS])


def _identity(name: str) -> str:
    return name.lower().replace("-", "_")
