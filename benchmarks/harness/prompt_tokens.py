"""Counts the tokens of a model's requests and replies, and simulates the provider's cache of prompts.

The encoding is o200k_base. OpenAI does not publish how it writes tools and messages into a prompt: here a tool is its
JSON, and a message is its role and text between three marks. In the order of the cache, tools come first, then the
instructions, then the input.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import takewhile
from typing import Any

import bpe_openai

_MIN_CACHED = 1024  # tokens of the shortest prefix that OpenAI caches
_MARKS = (-1, -2, -3)  # the start, text and end of a message

_encoding = bpe_openai.get_encoding("o200k_base")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The tokens of one request by the Responses API."""

    tools: Mapping[str, tuple[int, ...]]  # by name
    system: tuple[int, ...]  # the instructions and the message with the cache breakpoint
    rest: tuple[int, ...]
    callable_tools: frozenset[str]

    def prefix(self) -> tuple[int, ...]:
        """The tokens up to the explicit cache breakpoint."""
        return *(token for tool in self.tools.values() for token in tool), *self.system

    def tokens(self) -> tuple[int, ...]:
        """All tokens, in order."""
        return self.prefix() + self.rest

    def with_callable_tools_only(self) -> Prompt:
        """The same request with a list of the tools that may be called in place of all."""
        tools = {name: tokens for name, tokens in self.tools.items() if name in self.callable_tools}
        return replace(self, tools=tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputTokens:
    """Input tokens by their price."""

    read: int = 0  # from the provider's cache
    written: int = 0  # to that cache
    other: int = 0

    def __add__(self, more: InputTokens) -> InputTokens:
        return InputTokens(
            read=self.read + more.read, written=self.written + more.written, other=self.other + more.other
        )

    def total(self) -> int:
        """All tokens."""
        return self.read + self.written + self.other


@dataclass(slots=True)
class PromptCache:
    """The provider's cache of the prompts that it received, with the rules of gpt-5.6 and later models.

    A request is cached up to its explicit breakpoint and up to its last message. What it has in common with an earlier
    request is read from the cache up to such a place only, and what lies behind is written to it.
    """

    _prefixes: set[tuple[int, ...]] = field(default_factory=set)

    def send(self, prompt: Prompt) -> InputTokens:
        """Add `prompt` to the cache."""
        tokens = prompt.tokens()
        read = max((len(prefix) for prefix in self._prefixes if tokens[: len(prefix)] == prefix), default=0)
        self._prefixes |= {prefix for prefix in (prompt.prefix(), tokens) if len(prefix) >= _MIN_CACHED}
        unread = len(tokens) - read
        return InputTokens(read=read, written=unread) if len(tokens) >= _MIN_CACHED else InputTokens(other=unread)


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """The number of tokens that both start with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def prompt(body: Mapping[str, Any]) -> Prompt:
    """The tokens of the body of a request by the Responses API."""
    mark, *rest = map(_item, body["input"])
    return Prompt(
        tools={tool["name"]: _tool(tool) for tool in body["tools"]},
        system=_message("system", body["instructions"]) + mark,
        rest=tuple(token for item in rest for token in item),
        callable_tools=frozenset(_callable_tools(body["tool_choice"])),
    )


def reply_tokens(completion: Mapping[str, Any]) -> int:
    """Tokens that the model wrote, without the tokens of its reasoning."""
    return sum(len(_call(call["function"])) for call in completion["choices"][0]["message"]["tool_calls"])


def count(text: str) -> int:
    """Tokens of a text."""
    return len(_tokens(text))


def _callable_tools(tool_choice: Mapping[str, Any]) -> Collection[str]:
    named = tool_choice["tools"] if tool_choice["type"] == "allowed_tools" else [tool_choice]
    return [tool["name"] for tool in named]


def _tool(tool: Mapping[str, Any]) -> tuple[int, ...]:
    function = {name: tool[name] for name in ("name", "description", "parameters")}
    return _tokens(json.dumps(function, ensure_ascii=False, separators=(",", ":")))


def _item(item: Mapping[str, Any]) -> tuple[int, ...]:
    match item.get("type", "message"):
        case "message":
            content = item["content"]
            text = content if isinstance(content, str) else "".join(part["text"] for part in content)
            return _message(item["role"], text)
        case "function_call":
            return _call(item)
        case "function_call_output":
            return _message("tool", item["output"])
        case kind:
            raise ValueError(f"The tokens of an item of the type {kind} cannot be counted.")


def _message(role: str, text: str) -> tuple[int, ...]:
    start, middle, end = _MARKS
    return (start, *_tokens(role), middle, *_tokens(text), end)


def _call(function: Mapping[str, Any]) -> tuple[int, ...]:
    return _message(function["name"], function["arguments"])


@cache
def _tokens(text: str) -> tuple[int, ...]:
    return tuple(_encoding.encode(text))
