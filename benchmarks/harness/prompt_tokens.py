"""Counts the tokens of a model's requests and replies, and how much of a request the provider can have cached.

The encoding is o200k_base. OpenAI does not publish how it writes tools and messages into a prompt: here a tool is its
JSON, and a message is its role and text between three marks. In the order of the cache, tools come first, then the
system prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import takewhile
from typing import Any

import bpe_openai

_MIN_CACHED = 1024  # tokens of the shortest prefix that OpenAI caches
_CACHED_STEP = 128  # tokens by which cached prefixes grow
_MARKS = (-1, -2, -3)  # the start, text and end of a message

_encoding = bpe_openai.get_encoding("o200k_base")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The tokens of one request."""

    tools: tuple[int, ...]
    system: tuple[int, ...]
    rest: tuple[int, ...]

    def tokens(self) -> tuple[int, ...]:
        """All tokens, in order."""
        return self.tools + self.system + self.rest

    def with_tools(self, functions: Sequence[Mapping[str, Any]]) -> Prompt:
        """The same request with other tools."""
        return replace(self, tools=_functions(functions))


@dataclass(slots=True)
class PromptCache:
    """The provider's cache of the prompts that it received."""

    _prompts: list[tuple[int, ...]] = field(default_factory=list)

    def send(self, prompt: Prompt) -> int:
        """Add `prompt` to the cache; the number of its tokens that were cached before."""
        tokens = prompt.tokens()
        longest = max((shared(tokens, earlier) for earlier in self._prompts), default=0)
        self._prompts.append(tokens)
        return longest // _CACHED_STEP * _CACHED_STEP if longest >= _MIN_CACHED else 0


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """The number of tokens that both start with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def prompt(request: Mapping[str, Any]) -> Prompt:
    """The tokens of the body of a request."""
    system, *rest = (_message(message) for message in request["messages"])
    reply = (_MARKS[0], *_tokens("assistant"), _MARKS[1])
    return Prompt(
        tools=_functions([tool["function"] for tool in request["tools"]]),
        system=system,
        rest=(*(token for part in rest for token in part), *reply),
    )


def reply_tokens(completion: Mapping[str, Any]) -> int:
    """Tokens that the model wrote, without the tokens of its reasoning."""
    return sum(len(_call(call)) for call in completion["choices"][0]["message"]["tool_calls"])


def count(text: str) -> int:
    """Tokens of a text."""
    return len(_tokens(text))


def _functions(functions: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    texts = (json.dumps(function, ensure_ascii=False, separators=(",", ":")) for function in functions)
    return tuple(token for text in texts for token in _tokens(text))


def _message(message: Mapping[str, Any]) -> tuple[int, ...]:
    start, middle, end = _MARKS
    calls = (token for call in message.get("tool_calls", ()) for token in _call(call))
    return (start, *_tokens(message["role"]), middle, *_tokens(message["content"] or ""), *calls, end)


def _call(call: Mapping[str, Any]) -> tuple[int, ...]:
    function = call["function"]
    return (_MARKS[0], *_tokens(function["name"]), _MARKS[1], *_tokens(function["arguments"]), _MARKS[2])


@cache
def _tokens(text: str) -> tuple[int, ...]:
    return tuple(_encoding.encode(text))
