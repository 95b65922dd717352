"""Reads the messages of a chat request: the question, the earlier turns, and the results of the tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gleaner_local.extractive._sentences import without_source_marks

# The service sends its feedback as user messages with this prefix; they are not questions.
FEEDBACK = "[gleaner]"

# Error codes of searches that a rewording of the query would not fix.
_UNFIXABLE_CODES = ("unavailable", "rejected", None)

# The scope of a search that did not search the knowledge base.
SELECTED_TEXT = "selected_text"

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the knowledge base or, if `external`, a stored web answer."""

    id: str
    content: str
    score: float
    external: bool
    title: str
    chapter: str
    keywords: tuple[str, ...]
    position: int = 0  # among the passages of its document
    answers: str = ""  # the question that a stored web answer was given to
    document: str = ""  # the path or address of its document, if it has one


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page that a web answer cites."""

    id: str
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """The result of a web search. A mark `[n]` in `text` cites the n-th page."""

    result_id: str
    text: str
    pages: tuple[WebPage, ...]


@dataclass(slots=True)
class Conversation:
    """The state of the conversation. `earlier` holds (role, text) of the turns before the question."""

    question: str = ""
    earlier: tuple[tuple[str, str], ...] = ()
    passages: dict[str, Passage] = field(default_factory=dict)
    web: WebAnswer | None = None
    searched: bool = False
    search_failed: bool = False
    searches: int = 0
    about_selection: bool = False  # whether a text that the user selected was searched
    refused: bool = False  # whether a search was refused for the wording of its query
    web_tried: bool = False
    indexed: bool = False


def read_conversation(messages: Sequence[Message]) -> Conversation:
    """The state that `messages` describe; results of unknown tools are ignored."""
    question_positions = [
        position
        for position, message in enumerate(messages)
        if message["role"] == "user" and not text_of(message).startswith(FEEDBACK)
    ]
    if not question_positions:
        return Conversation()
    last = question_positions[-1]
    state = Conversation(
        question=text_of(messages[last]).strip(),
        earlier=tuple(
            (message["role"], without_source_marks(text_of(message)))
            for message in messages[:last]
            if message["role"] in ("user", "assistant") and text_of(message)
        ),
    )
    names: dict[str, str] = {}
    for message in messages[last + 1 :]:
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        if message["role"] == "tool":
            _apply_result(state, names.get(message["tool_call_id"], ""), _parse_object(text_of(message)))
    return state


def text_of(message: Message) -> str:
    """The text of a message, whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return content or ""


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {"error": {"message": "not JSON"}}
    return value if isinstance(value, dict) else {"error": {"message": "not an object"}}


def _apply_result(state: Conversation, name: str, result: Mapping[str, Any]) -> None:
    failed = "error" in result
    if name in ("knowledge_base_search", "perplexity_search") and failed:
        state.refused |= result["error"].get("code") not in _UNFIXABLE_CODES
    if name == "knowledge_base_search":
        state.searched = True
        state.search_failed = failed
        state.searches += 1
        state.about_selection |= result.get("scope") == SELECTED_TEXT
        for chunk in result.get("chunks") or ():
            state.passages.setdefault(chunk["id"], _to_passage(chunk))
    elif name == "perplexity_search":
        state.web_tried = True
        if not failed:
            state.web = _to_web_answer(result)
            state.indexed = False
    elif name == "index_keywords" and not failed:
        state.indexed = True


def _to_passage(chunk: Mapping[str, Any]) -> Passage:
    return Passage(
        id=chunk["id"],
        content=chunk.get("content") or "",
        score=float(chunk.get("score") or 0.0),
        external=chunk.get("source_type") == "external",
        title=chunk.get("title") or "",
        chapter=chunk.get("chapter") or "",
        keywords=tuple(chunk.get("keywords") or ()),
        position=chunk.get("chunk_index") or 0,
        answers=chunk.get("answers") or "",
        document=chunk.get("source_file_path") or chunk.get("source_url") or "",
    )


def _to_web_answer(result: Mapping[str, Any]) -> WebAnswer:
    pages = [
        WebPage(id=page["id"], title=page.get("title") or "", snippet=page.get("snippet") or "")
        for page in result.get("citations") or ()
    ]
    return WebAnswer(result.get("perplexity_result_id") or "", result.get("answer") or "", tuple(pages))
