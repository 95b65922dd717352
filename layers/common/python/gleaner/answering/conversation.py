"""The conversation with the model: how a question reaches it, and how it is shortened."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gleaner.guards.untrusted import defuse_tokens
from gleaner.model import ChatMessage, Grounding, Mode
from gleaner.prompts import read_prompt
from gleaner.stores.conversation_items import Message
from gleaner.tools.workspace import Question

_HISTORY_TOKENS = 6_000  # that earlier turns may take
_CHARACTERS_PER_TOKEN = 4  # of English text; other scripts take more tokens, and fewer turns fit
_SHORT_RESULT = 4_000  # characters of a call's arguments or result once the conversation was found too long
_SHORTEST_STRING = 200  # characters of a string in it: less says nothing


def conversation(question: Question, history: Sequence[Message]) -> list[ChatMessage]:
    """System prompt, the newest earlier messages that fit the budget (oldest first), the question.

    Tool messages of earlier turns are not replayed: their passages belong to those turns' questions.
    """
    earlier: list[ChatMessage] = []
    left = _HISTORY_TOKENS
    for message in reversed(history):
        left -= _tokens(message.content)
        if left < 0:
            break
        role: Any = message.role
        earlier.insert(0, ChatMessage(role=role, content=defuse_tokens(message.content)))
    while earlier and earlier[0].role != "user":
        del earlier[0]  # an answer without its question
    return [
        ChatMessage(role="system", content=_system(question)),
        *earlier,
        ChatMessage(role="user", content=defuse_tokens(question.text)),
    ]


def shortened(messages: Sequence[ChatMessage], question: Question) -> list[ChatMessage]:
    """The conversation without earlier turns, and with long arguments and results of tools cut."""
    spoken = defuse_tokens(question.text)
    asked = next(
        place
        for place in range(len(messages) - 1, 0, -1)
        if messages[place].role == "user" and messages[place].content == spoken
    )
    return [messages[0], *(_cut(message) for message in messages[asked:])]


def _system(question: Question) -> str:
    parts = [read_prompt("system")]  # first and the same for every question, so that providers can cache it
    if question.mode is Mode.SELECTED_TEXT:
        parts.append(read_prompt("system_selected_text"))
    if question.grounding is Grounding.STRICT:
        parts.append(read_prompt("system_strict"))
    return "\n\n".join(parts)


def _tokens(content: str) -> int:
    return len(content.encode("utf-8")) // _CHARACTERS_PER_TOKEN + 1


def _cut(message: ChatMessage) -> ChatMessage:
    if message.role == "tool" and len(message.content) > _SHORT_RESULT:
        return replace(message, content=_cut_result(message.content))
    calls = tuple(
        call if len(call.arguments) <= _SHORT_RESULT else replace(call, arguments="{}") for call in message.tool_calls
    )
    return replace(message, tool_calls=calls)


def _cut_result(content: str) -> str:
    """A tool's result with its long strings cut, still JSON: it is the quotes that fence a text from outside."""
    result, longest = json.loads(content), _SHORT_RESULT
    while len(content) > _SHORT_RESULT and longest > _SHORTEST_STRING:
        longest //= 2
        content = json.dumps(_with_short_strings(result, longest), ensure_ascii=False)
    return content


def _with_short_strings(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]} (cut)"
    if isinstance(value, dict):
        return {key: _with_short_strings(inner, longest) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_short_strings(inner, longest) for inner in value]
    return value
