"""What a service said to one question: its answer, and what the stream showed of the way to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field

_SEARCH = "knowledge_base_search"
_DONE = ("tool-output-available", "tool-output-error")


class Source(BaseModel):
    """A source of an answer, as far as cases ask about it."""

    id: str
    source_type: str
    title: str = ""
    chapter: str | None = None
    source_file_path: str | None = None
    source_url: str | None = None
    support: str = ""


class Cost(BaseModel):
    """What an answer used."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    web_searches: int = 0
    estimated_usd: float | None = None


class Metadata(BaseModel):
    """What produced an answer."""

    model: str = ""


class Answer(BaseModel):
    """The answer of the API; a service of another version may have more fields, or lack those with a default."""

    query_id: str
    session_id: str | None = None
    status: str
    answer: str
    answered: str | None = None
    sources: list[Source]
    used_external_kb: bool = False
    used_tools: list[str] = Field(default_factory=list)
    keyword_count: int = 0
    latency_ms: float = 0.0
    cost: Cost = Field(default_factory=Cost)
    metadata: Metadata = Field(default_factory=Metadata)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that was called, its arguments, and whether it failed or was refused."""

    tool: str
    arguments: dict[str, Any]
    failed: bool = False


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A question and what came of it: an answer or a problem.

    `passages` are those that searches of the knowledge base found, in the order of their ranks, those of a first search
    before those of a second. `model_calls` counts the turns of the model that called tools: the stream shows no others.
    `text` is what a reader of the stream has before the answer comes as a whole.
    """

    answer: Answer | None = None
    problem: dict[str, Any] = field(default_factory=dict)
    passages: list[Source] = field(default_factory=list)
    uses: list[ToolUse] = field(default_factory=list)
    model_calls: int = 0
    text: str = ""
    milliseconds: float = 0.0

    @property
    def tools(self) -> list[str]:
        """The tools that were called and did not fail, in order."""
        return [use.tool for use in self.uses if not use.failed]


def read_parts(parts: Iterable[dict[str, Any]]) -> Exchange:
    """Collect the parts of a stream. Raises pydantic's ValidationError for an answer of another form."""
    exchange = Exchange()
    calls: dict[str, dict[str, Any]] = {}
    waiting: list[Source] = []
    is_turn_open = False
    for part in parts:
        kind = part.get("type")
        if kind == "tool-input-available":
            exchange.model_calls += not is_turn_open
            is_turn_open = True
            calls[part["toolCallId"]] = part
        elif kind == "data-gleaner-passages":
            waiting += map(Source.model_validate, part["data"])
        elif kind in _DONE:
            is_turn_open = False  # a turn tells all its calls before the outcome of the first
            call = calls.pop(part["toolCallId"], None)
            if call is not None:
                failed = kind == "tool-output-error"
                exchange.uses.append(ToolUse(call["toolName"], call.get("input") or {}, failed))
                if call["toolName"] == _SEARCH:
                    exchange.passages += waiting
            waiting = []
        else:
            _take_text(part, exchange)
    return exchange


def _take_text(part: dict[str, Any], exchange: Exchange) -> None:
    match part.get("type"):
        case "text-start":
            exchange.text = ""
        case "text-delta":
            exchange.text += part["delta"]
        case "text-end" if part.get("providerMetadata", {}).get("gleaner", {}).get("withdrawn"):
            exchange.text = ""
        case "data-gleaner-answer":
            exchange.answer = Answer.model_validate(part["data"])
        case "data-gleaner-problem":
            exchange.problem = part["data"]


def differences(streamed: Answer, buffered: Answer) -> Iterator[str]:
    """In what two answers to the same question differ, apart from ids, times and costs."""
    for name in ("status", "answer", "answered", "used_tools"):
        if getattr(streamed, name) != getattr(buffered, name):
            yield name
    if [source.model_dump() for source in streamed.sources] != [source.model_dump() for source in buffered.sources]:
        yield "sources"
