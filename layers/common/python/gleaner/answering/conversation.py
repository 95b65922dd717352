"""Builds the conversation with the model, and shortens it when it is too long."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gleaner.answering.exchange import EarlierMessage
from gleaner.answering.guidance import describe
from gleaner.guards.answer_text import drop_marks
from gleaner.guards.untrusted import defuse_tokens
from gleaner.model import ChatMessage, Grounding, LearningMode, Mode, utc_now
from gleaner.prompts import read_prompt
from gleaner.stores.conversation_items import Message
from gleaner.tools.workspace import Question

_MAX_HISTORY_TOKENS = 6_000  # for earlier turns
_BYTES_PER_TOKEN = 4  # in English; other scripts have more bytes per character, so fewer turns fit
_MAX_SHORT_RESULT = 4_000  # characters of arguments or a result in a shortened conversation
_MIN_STRING = 200  # characters of a string in a shortened result; less would be useless


def build_conversation(question: Question, history: Sequence[Message | EarlierMessage]) -> list[ChatMessage]:
    """The system prompt, the newest earlier messages that fit the budget (oldest first), and the question.

    Tool messages of earlier turns are not replayed: their passages belong to the questions of those turns. So do their
    citation marks, which are left out: the same ids name other passages now. What a client sent is treated alike.
    """
    earlier: list[ChatMessage] = []
    tokens_left = _MAX_HISTORY_TOKENS
    for message in reversed(history):
        content = drop_marks(message.content) if message.role == "assistant" else message.content
        if not content.strip():  # which some providers refuse
            continue
        tokens_left -= estimate_tokens(content)
        if tokens_left < 0:
            break
        role: Any = message.role
        earlier.insert(0, ChatMessage(role=role, content=defuse_tokens(content)))
    while earlier and earlier[0].role != "user":
        del earlier[0]  # an answer whose question does not fit
    return [
        ChatMessage(role="system", content=_system_prompt(question)),
        *earlier,
        ChatMessage(role="user", content=defuse_tokens(question.text)),
    ]


def shorten(messages: Sequence[ChatMessage], question: Question) -> list[ChatMessage]:
    """The conversation without earlier turns, and with long tool arguments and results cut."""
    content = defuse_tokens(question.text)
    question_index = next(
        index
        for index in range(len(messages) - 1, 0, -1)
        if messages[index].role == "user" and messages[index].content == content
    )
    return [messages[0], *(_cut(message) for message in messages[question_index:])]


def _system_prompt(question: Question) -> str:
    parts = [read_prompt("system")]  # first, and identical for every question, so that providers can cache it
    if question.mode is Mode.SELECTED_TEXT:
        parts.append(read_prompt("system_selected_text"))
    if question.learning is LearningMode.OFF:
        parts.append(read_prompt("system_no_learning"))
    if question.grounding is Grounding.STRICT:
        parts.append(read_prompt("system_strict"))
    parts.append(read_prompt("today").format(date=utc_now().date().isoformat()))
    if question.has_sent_history:
        parts.append(read_prompt("system_sent_history"))
    if guidance := describe(question.guidance):
        parts.append(guidance)  # last, so that all before it is the same for every client
    return "\n\n".join(parts)


def estimate_tokens(content: str) -> int:
    """The tokens of a text, by its length alone."""
    return len(content.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN + 1


def _cut(message: ChatMessage) -> ChatMessage:
    if message.role == "tool" and len(message.content) > _MAX_SHORT_RESULT:
        return replace(message, content=_cut_result(message.content))
    calls = tuple(
        call if len(call.arguments) <= _MAX_SHORT_RESULT else replace(call, arguments="{}")
        for call in message.tool_calls
    )
    return replace(message, tool_calls=calls)


def _cut_result(content: str) -> str:
    """A tool result with long strings cut. It must stay JSON, whose quotes delimit untrusted text."""
    result, max_length = json.loads(content), _MAX_SHORT_RESULT
    while len(content) > _MAX_SHORT_RESULT and max_length > _MIN_STRING:
        max_length //= 2
        content = json.dumps(_cut_strings(result, max_length), ensure_ascii=False)
    return content


def _cut_strings(value: Any, max_length: int) -> Any:
    if isinstance(value, str) and len(value) > max_length:
        return f"{value[:max_length]} (cut)"
    if isinstance(value, dict):
        return {key: _cut_strings(inner, max_length) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cut_strings(inner, max_length) for inner in value]
    return value
