"""Tokens of a model's requests and replies, and how much of a request a provider can have in its cache.

Counted with the encoding o200k_base. How OpenAI writes tools and messages into a prompt is not published: here a tool
is the JSON that is sent, and a message its role and text between three marks. The order is that of the cache: tools
first, then the system prompt, then the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import takewhile
from typing import Any

import bpe_openai

_CACHED_FROM = 1024  # tokens of the shortest beginning that OpenAI caches,
_CACHED_STEP = 128  # and by how many it grows
_MARKS = (-1, -2, -3)  # of a message's start, text and end

_encoding = bpe_openai.get_encoding("o200k_base")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The tokens of one request."""

    tools: tuple[int, ...]
    system: tuple[int, ...]
    rest: tuple[int, ...]

    def tokens(self) -> tuple[int, ...]:
        """All of them, in order."""
        return self.tools + self.system + self.rest

    def with_tools(self, functions: Sequence[Mapping[str, Any]]) -> Prompt:
        """The same request with other tools."""
        return replace(self, tools=_functions(functions))


@dataclass(slots=True)
class PromptCache:
    """What a provider remembers of the prompts that it was sent."""

    _seen: list[tuple[int, ...]] = field(default_factory=list)

    def send(self, prompt: Prompt) -> int:
        """How many tokens of `prompt` earlier ones began with; it is remembered then."""
        tokens = prompt.tokens()
        longest = max((shared(tokens, earlier) for earlier in self._seen), default=0)
        self._seen.append(tokens)
        return longest // _CACHED_STEP * _CACHED_STEP if longest >= _CACHED_FROM else 0


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Tokens that both begin with."""
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
    """Tokens that the model wrote. Those of reasoning, which a model may add, are not among them."""
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
