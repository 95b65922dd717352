"""Recognizes what chat clients ask a model beside the user's questions: a title, tags, follow-up questions, queries.

They send these to the model that the user chats with, as one message built from a template. The templates are those of
Open WebUI (`DEFAULT_*_PROMPT_TEMPLATE` in backend/open_webui/config.py, 2024-11 to 0.12.4 of 2026-11) and of LibreChat
(`defaultCompletionPrompt` and `defaultTitlePrompt` in src/utils/title.ts of danny-avila/agents, 2026-08; before that
`titleInstruction` in api/app/clients/prompts/titlePrompts.js). Other templates go through the loop like any question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Spoken = tuple[Literal["system", "user", "assistant"], str]  # who says what


class ClientTask(StrEnum):
    """What a client asks for."""

    TITLE = "title"
    TAGS = "tags"
    FOLLOW_UPS = "follow_ups"
    QUERIES = "queries"  # for a search
    CONTINUATION = "continuation"  # of what the user is typing


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """A task, the conversation that it is about, and the field of the JSON object that it wants; None: plain text.

    The conversation is text, in which each message follows the name of its role and a colon.
    """

    task: ClientTask
    conversation: str
    field: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Template:
    """How a message begins and ends that is built from it, and what stands before the conversation in it."""

    task: ClientTask
    opening: re.Pattern[str]
    before: str = "<chat_history>"
    after: str = "</chat_history>"
    field: str | None = None


_TASK = r"### Task:\s{1,3}"
# Only the openings are fixed: guidelines and examples changed often.
_TEMPLATES = (
    _Template(
        task=ClientTask.TITLE,
        opening=re.compile(rf"{_TASK}Generate a concise(?:, 3-5 word)? title [^\n]{{0,40}}summarizing the chat"),
        field="title",
    ),
    _Template(
        task=ClientTask.TITLE,
        opening=re.compile(r"Create a concise, 3-5 word title [^\n]{0,40}as a title for the chat"),
    ),
    _Template(
        task=ClientTask.TAGS,
        opening=re.compile(rf"{_TASK}Generate 1-3 broad tags categorizing the main themes"),
        field="tags",
    ),
    _Template(
        task=ClientTask.FOLLOW_UPS,
        opening=re.compile(
            rf"{_TASK}(?:Suggest 3-5 relevant follow-up questions or prompts|Predict 3-5 useful messages this user )"
        ),
        field="follow_ups",
    ),
    _Template(
        task=ClientTask.QUERIES,
        opening=re.compile(rf"{_TASK}Analyze the chat history to determine the necessity"),
        field="queries",
    ),
    _Template(
        task=ClientTask.CONTINUATION,
        opening=re.compile(rf"{_TASK}You are an autocompletion system\."),
        after="#### Output:",
        field="text",
    ),
    _Template(
        task=ClientTask.TITLE,
        opening=re.compile(r"Provide a concise, 5-word-or-less title for the conversation, using title case "),
        before="Only return the title itself.\n\nConversation:\n",
        after="",
    ),
    _Template(
        task=ClientTask.TITLE,
        opening=re.compile(r"Analyze this conversation and provide:\s{1,3}1\. The detected language "),
        before="no punctuation or quotation)\n\n",
        after="",
    ),
    _Template(
        task=ClientTask.TITLE,
        opening=re.compile(r"Please generate a concise, 5-word-or-less title for the conversation,"),
        before="||>User:",
        after="||>Title:",
    ),
)


def read_task(messages: Sequence[tuple[str, str]]) -> TaskRequest | None:
    """The task that messages of (role, text) ask for; None if they hold a conversation or a question.

    A client sends a task as its only message, perhaps after a system message that stands before all that it sends.
    """
    others = [text for role, text in messages if role not in ("system", "developer")]
    if not others and len(messages) == 1:  # LibreChat once sent it as a system message
        others = [messages[0][1]]
    if len(others) != 1 or any(role == "assistant" for role, _ in messages):
        return None
    return next(filter(None, (_match(template, others[0]) for template in _TEMPLATES)), None)


def _match(template: _Template, message: str) -> TaskRequest | None:
    message = message.strip()
    if not template.opening.match(message) or not message.endswith(template.after):
        return None
    prompt, before, rest = message.partition(template.before)  # the conversation may hold more of them
    if not before or (template.field is not None and f'"{template.field}"' not in prompt):
        return None
    return TaskRequest(task=template.task, conversation=rest.removesuffix(template.after).strip(), field=template.field)
