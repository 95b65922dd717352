"""Requests of the Responses API as the local model accepts them: stateless, with function tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gleaner_local.servers._json_api import ApiError, parse_body
from gleaner_local.servers._openai_requests import ChatRequest, check_request

MIN_OUTPUT_TOKENS = 16  # as OpenAI's


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ContentPart(_Strict):
    """A part of a message's content, of a user or of the model."""

    type: Literal["input_text", "output_text", "refusal"]
    text: str = ""
    refusal: str = ""
    annotations: list[Any] = []
    logprobs: list[Any] = []
    prompt_cache_breakpoint: dict[str, str] | None = None


class MessageItem(_Strict):
    """A message; one that the model wrote may come back as it was."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[ContentPart]
    id: str | None = None
    status: str | None = None
    phase: str | None = None


class FunctionCallItem(_Strict):
    """An earlier call."""

    type: Literal["function_call"]
    call_id: str = Field(min_length=1)
    name: str
    arguments: str
    id: str | None = None
    status: str | None = None


class FunctionCallOutputItem(_Strict):
    """The result of one call."""

    type: Literal["function_call_output"]
    call_id: str
    output: str
    id: str | None = None
    status: str | None = None


class FunctionTool(_Strict):
    """A function on offer."""

    type: Literal["function"]
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class NamedFunction(_Strict):
    """A function that tool_choice names."""

    type: Literal["function"]
    name: str


class AllowedTools(_Strict):
    """A tool_choice that narrows the tools."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: list[NamedFunction] = Field(min_length=1)


class ResponseStreamOptions(_Strict):
    """What is sent with a stream."""

    include_obfuscation: bool | None = None


class ResponsesRequest(_Strict):
    """A request for one response. The fields after `store` are accepted and change nothing here."""

    model: str
    input: str | list[FunctionCallItem | FunctionCallOutputItem | MessageItem]
    instructions: str | None = None
    tools: list[FunctionTool] = []
    tool_choice: Literal["none", "auto", "required"] | NamedFunction | AllowedTools | None = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: Annotated[int, Field(ge=MIN_OUTPUT_TOKENS)] | None = None
    stream: bool | None = None
    stream_options: ResponseStreamOptions | None = None
    store: bool | None = None
    include: list[str] = []
    reasoning: dict[str, Any] | None = None
    text: dict[str, Any] | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    metadata: dict[str, str] | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None


def read_responses_request(body: bytes, *, model: str) -> ChatRequest:
    """The valid request in `body` as the chat completion request that says the same.

    Raises ApiError (400; 404 for a model that is not `model`).
    """
    request = parse_body(ResponsesRequest, body)
    if request.store is not False:
        raise ApiError("Nothing is stored here: send store=false.", code="unsupported_value", param="store")
    tools, choice = _tools(request)
    chat = {
        "model": request.model,
        "messages": list(_messages(request)),
        "tools": tools or None,
        "tool_choice": choice,
        "parallel_tool_calls": request.parallel_tool_calls,
        "stream": request.stream,
    }
    return check_request(ChatRequest.model_validate(chat), model=model)


def _tools(request: ResponsesRequest) -> tuple[list[dict[str, Any]], Any]:
    """The tools that may be called, and how a call of them is asked for."""
    choice = request.tool_choice
    offered = {tool.name: tool for tool in request.tools}
    allowed = [tool.name for tool in choice.tools] if isinstance(choice, AllowedTools) else list(offered)
    if unknown := [name for name in allowed if name not in offered]:
        raise ApiError(f"tool_choice names {unknown[0]!r}, which is not among the tools.", param="tool_choice")
    tools = [
        {"type": "function", "function": offered[name].model_dump(exclude={"type"}, exclude_none=True)}
        for name in allowed
    ]
    if isinstance(choice, NamedFunction):
        return tools, {"type": "function", "function": {"name": choice.name}}
    return tools, choice.mode if isinstance(choice, AllowedTools) else choice


def _messages(request: ResponsesRequest) -> Iterator[dict[str, Any]]:
    if request.instructions:
        yield {"role": "system", "content": request.instructions}
    if isinstance(request.input, str):
        yield {"role": "user", "content": request.input}
        return
    calls: list[dict[str, Any]] = []
    for item in request.input:
        if isinstance(item, FunctionCallItem):
            function = {"name": item.name, "arguments": item.arguments}
            calls.append({"id": item.call_id, "type": "function", "function": function})
            continue
        if calls:
            yield {"role": "assistant", "tool_calls": calls}
            calls = []
        if isinstance(item, FunctionCallOutputItem):
            yield {"role": "tool", "tool_call_id": item.call_id, "content": item.output}
        else:
            yield {"role": item.role, "content": _text(item.content)}
    if calls:
        yield {"role": "assistant", "tool_calls": calls}


def _text(content: str | list[ContentPart]) -> str:
    return content if isinstance(content, str) else "".join(part.text or part.refusal for part in content)
