"""The messages of a chat completion: which is the question, what was said before, and what the client wishes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, ModelWrapValidatorHandler, PrivateAttr, model_validator

from gleaner import text
from gleaner.answering import guidance
from gleaner.answering.exchange import EarlierMessage
from gleaner.api.protocols.footnotes import cut_footnotes
from gleaner.api.schemas import MAX_QUERY
from gleaner.client_tasks import Spoken, TaskRequest, read_task

_MAX_EARLIER = 50_000  # characters of earlier messages; fewer reach the model
_PARTS_WITH_TEXT = ("text", "refusal")  # each has its text in a field of its own name
# Why a question is refused that has parts of other types. In earlier messages they are left out, because a client sends
# those again with each question.
_REFUSALS = {
    "image_url": "holds no images, because they are not read; say in words what the question is about",
    "input_audio": "holds no audio, because it is not heard; send the question as text",
    "file": "holds no files, because they are not read here; load documents into a knowledge base",
}


def _read_content(value: object) -> object:
    """The text of a message: a string, parts of text, or nothing."""
    if isinstance(value, list):
        value = "\n\n".join(words for part in value if (words := _read_part(part)) is not None)
    return text.replace_surrogates(value) if isinstance(value, str) else "" if value is None else value


def _read_part(part: object) -> str | None:
    """The text of a part; None if it has none."""
    kind = part.get("type") if isinstance(part, dict) else None
    words = part.get(kind) if isinstance(part, dict) and kind in _PARTS_WITH_TEXT else None
    return words if isinstance(words, str) else None


def _describe_refusal(part: object) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return _REFUSALS.get(str(kind), "is a string, or parts of the type text with their text")


class TextPart(BaseModel):
    """A part of a message: a text, or why a model refused to write one."""

    type: Literal["text", "refusal"]
    text: str = ""
    refusal: str = ""


Content = Annotated[
    str,
    BeforeValidator(_read_content, json_schema_input_type=str | list[TextPart] | None),
    Field(description="A text, or parts of text. A question with images, audio or files is refused."),
]


class ChatMessageParam(BaseModel):
    """A message of the conversation. Its other fields, such as calls of tools, are ignored."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content = ""
    _refusal: str | None = PrivateAttr(None)

    @model_validator(mode="wrap")
    @classmethod
    def _note_refusal(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        message = handler(value)
        content = value.get("content") if isinstance(value, dict) else None
        parts = content if isinstance(content, list) else ()
        message._refusal = next((_describe_refusal(part) for part in parts if _read_part(part) is None), None)
        return message

    @property
    def refusal(self) -> str | None:
        """What a question is like that has no such parts as this message; None if it has text alone."""
        return self._refusal

    @property
    def is_guidance(self) -> bool:
        """Whether it is the client's, not the user's."""
        return self.role in ("system", "developer")


def check_messages(messages: list[ChatMessageParam]) -> list[ChatMessageParam]:
    """Raises ValueError unless they end with a question."""
    position = _find_question(messages)
    if position is None and read_client_task(messages):  # which some clients send as a system message
        return messages
    if position is None:
        raise ValueError(
            "must end with the question, a message of the role user; an answer that was begun is not continued"
        )
    if refusal := messages[position].refusal:
        raise ValueError(f"must end with a question that {refusal}")
    if len(messages[position].content) > MAX_QUERY:
        raise ValueError(f"must end with a question of at most {MAX_QUERY:,} characters")
    if not read_question(messages):
        raise ValueError("must end with a question that is not empty")
    return messages


def _find_question(messages: Sequence[ChatMessageParam]) -> int | None:
    """Where the question is. Guidance may follow it, and an empty answer, which some clients send."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.role == "user":
            return position
        if not (message.is_guidance or (message.role == "assistant" and not message.content.strip())):
            return None
    return None


def read_question(messages: Sequence[ChatMessageParam]) -> str:
    """The question of checked messages."""
    position = _find_question(messages)
    return "" if position is None else _clean(messages[position].content)


def read_earlier(messages: Sequence[ChatMessageParam]) -> tuple[EarlierMessage, ...]:
    """What user and assistant said before the question of checked messages, oldest first, as far as it is read."""
    earlier: list[EarlierMessage] = []
    characters_left = _MAX_EARLIER
    for message in reversed(messages[: _find_question(messages)]):
        if message.role not in ("user", "assistant"):
            continue
        characters_left -= len(message.content)
        if characters_left < 0:
            break
        content = cut_footnotes(_clean(message.content)) if message.role == "assistant" else _clean(message.content)
        if content:
            earlier.append(EarlierMessage(role=message.role, content=content))
    return tuple(reversed(earlier))


def read_guidance(messages: Sequence[ChatMessageParam]) -> str | None:
    """What the client's own messages wish; None if there are none. What is too long to be read stays as it is."""
    parts = [message.content for message in messages if message.is_guidance]
    if sum(map(len, parts)) <= guidance.MAX_CHARS:
        parts = list(map(_clean, parts))
    return "\n\n".join(part for part in parts if part) or None


def read_client_task(messages: Sequence[ChatMessageParam]) -> TaskRequest | None:
    """What a chat client asks for beside the user's questions, such as a title; None for a question."""
    return read_task(read_spoken(messages))


def read_spoken(messages: Sequence[ChatMessageParam]) -> list[Spoken]:
    """Role and text of all messages but those of tools."""
    spoken: list[Spoken] = []
    for message in messages:
        if message.is_guidance:
            spoken.append(("system", message.content))
        elif message.role in ("user", "assistant"):
            spoken.append((message.role, message.content))
    return spoken


def _clean(content: str) -> str:
    return text.clean(content).strip()
