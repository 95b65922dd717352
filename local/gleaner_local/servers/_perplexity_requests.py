"""Requests of the Agent API, and errors for those that the service would reject."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gleaner_local.servers._json_api import ApiError, parse_body


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TextPart(_Strict):
    """A part of an input message."""

    type: Literal["input_text"]
    text: str


class InputMessage(_Strict):
    """A message of the input."""

    type: Literal["message"]
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[TextPart]

    def text(self) -> str:
        """The text of all parts."""
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class WebSearchTool(_Strict):
    """The web search; its limits are accepted but ignored."""

    type: Literal["web_search"]
    filters: dict[str, Any] | None = None
    max_tokens: int | None = None
    max_tokens_per_page: int | None = None
    user_location: dict[str, Any] | None = None


class ForcedTool(_Strict):
    """A tool_choice that forces the search."""

    type: Literal["web_search"]


class AgentRequest(_Strict):
    """A request for one answer."""

    input: Annotated[str, Field(min_length=1)] | Annotated[list[InputMessage], Field(min_length=1)]
    model: str | None = None
    models: Annotated[list[str], Field(min_length=1, max_length=5)] | None = None
    preset: str | None = None
    instructions: str | None = None
    tools: list[WebSearchTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ForcedTool | None = None
    max_output_tokens: int | None = Field(None, ge=1)
    max_steps: int | None = Field(None, ge=1, le=10)
    language_preference: str | None = None
    stream: bool | None = None

    def question(self) -> str:
        """The question: the last message of the user."""
        if isinstance(self.input, str):
            return self.input
        return next((message.text() for message in reversed(self.input) if message.role == "user"), "")

    def wants_search(self) -> bool:
        """Whether to search: never unless the tool is offered, and then always unless tool_choice forbids it."""
        return bool(self.tools) and self.tool_choice != "none"


def read_request(body: bytes) -> AgentRequest:
    """Parse and check the request in `body`. Raises ApiError (400)."""
    request = parse_body(AgentRequest, body)
    if not (request.model or request.models or request.preset):
        raise ApiError("One of model, models and preset is required.", param="model")
    if request.stream:
        raise ApiError("Streaming is not supported here.", param="stream")
    if isinstance(request.tool_choice, ForcedTool) and not request.tools:
        raise ApiError("tool_choice names a tool that is not among the tools.", param="tool_choice")
    return request
