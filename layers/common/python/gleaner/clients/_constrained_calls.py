"""Tool calls by constrained decoding: the model writes one JSON object that must match a schema of all calls.

For models and servers that take tools but answer in plain text. llama.cpp, Ollama, LM Studio and vLLM enforce a
`response_format` of the type json_schema while the model writes, so that even a small model makes a valid call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from gleaner.clients._json_values import arguments_text, as_list, as_object, as_string
from gleaner.clients._model_request import ModelRequest
from gleaner.clients._tool_names import read_name
from gleaner.model import ChatMessage, JsonObject, ToolCall, ToolSpec

CONSTRAINED = "constrained"  # the opaque part of a turn whose call was made so

_HOW = (
    "You act only by calling a tool. Reply with exactly one JSON object and nothing else: "
    '{{"tool": "<name>", "arguments": {{...}}}}. These tools can be called now:\n\n{tools}'
)
_RESULT = "[result of {name}]\n{content}"
_NAMES, _ARGUMENTS = ("tool", "name", "function"), ("arguments", "parameters")  # keys in a call
_MAX_OBJECTS = 20  # places in a text where an object is looked for


def response_format(tools: Sequence[ToolSpec]) -> JsonObject:
    """The `response_format` that leaves only a call of one of `tools`."""
    calls = [_call_schema(tool) for tool in tools]
    schema = calls[0] if len(calls) == 1 else {"anyOf": calls}
    return {"type": "json_schema", "json_schema": {"name": "tool_call", "strict": True, "schema": schema}}


def as_plain_messages(request: ModelRequest) -> list[ChatMessage]:
    """The conversation without tool messages: chat templates of small models know none.

    Calls become the JSON objects that the model would have written, results become messages of the user.
    """
    how = _HOW.format(tools="\n\n".join(map(_description, request.callable_tools)))
    names: dict[str, str] = {}
    messages = []
    for message in request.messages:
        names |= {call.id: call.name for call in message.tool_calls}  # some ids are those of another turn, too
        messages.append(_plain(message, names, how))
    return messages


def read_call(text: str, tools: Sequence[ToolSpec], *, call_id: str) -> ToolCall | None:
    """The call of one of `tools` in what the model wrote, or None. It may stand in a code fence or between words.

    Arguments alone, without the name of a tool, are a call if only one tool can be called.
    """
    names = [tool.name for tool in tools]
    required = as_list(tools[0].parameters.get("required"))
    for value in _objects(text):
        name, arguments = _name_and_arguments(value)
        if not name and len(tools) == 1 and required and all(field in as_object(arguments) for field in required):
            name = names[0]
        if name and (meant := read_name(name, tools)) in names:
            return ToolCall(id=call_id, name=meant, arguments=arguments_text(arguments))
    return None


def _call_schema(tool: ToolSpec) -> JsonObject:
    """Of the arguments only those that are required: a small model fills in whatever it is offered."""
    properties = as_object(tool.parameters.get("properties"))
    required = [name for name in properties if name in as_list(tool.parameters.get("required"))]
    arguments = {name: _property_schema(properties[name], tool.choices.get(name)) for name in required}
    return _object_schema({"tool": {"type": "string", "enum": [tool.name]}, "arguments": _object_schema(arguments)})


def _object_schema(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _property_schema(value: Any, choices: Sequence[str] | None) -> JsonObject:
    schema = as_object(value)
    if not choices:
        return schema
    if schema.get("type") == "array":
        return schema | {"items": as_object(schema.get("items")) | {"enum": list(choices)}}
    return schema | {"enum": list(choices)}


def _plain(message: ChatMessage, names: dict[str, str], how: str) -> ChatMessage:
    if message.role == "system":
        return ChatMessage(role="system", content=f"{message.content}\n\n{how}")
    if message.role == "tool":
        name = names.get(message.tool_call_id or "", "the tool")
        return ChatMessage(role="user", content=_RESULT.format(name=name, content=message.content))
    if message.tool_calls:
        calls = (f'{{"tool": {json.dumps(call.name)}, "arguments": {call.arguments}}}' for call in message.tool_calls)
        return ChatMessage(role="assistant", content="\n".join(calls))
    return ChatMessage(role=message.role, content=message.content)


def _description(tool: ToolSpec) -> str:
    schema = _call_schema(tool)["properties"]["arguments"]
    return f"{tool.name}: {tool.description}\nArguments: {json.dumps(schema, ensure_ascii=False)}"


def _objects(text: str) -> Iterator[JsonObject]:
    """The JSON objects in a text, outermost first, in their order."""
    decoder = json.JSONDecoder(strict=False)
    start = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except (RecursionError, ValueError):
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def _name_and_arguments(value: JsonObject) -> tuple[str, Any]:
    """In the form that was asked for, in one of those that models are trained on, or the arguments beside the name."""
    call = as_object(next(iter(as_list(value.get("tool_calls"))), value))
    function = as_object(call.get("function")) or call
    name = next(filter(None, (as_string(function.get(key)) for key in _NAMES)), "")
    beside = {key: field for key, field in function.items() if key not in _NAMES}
    return name, next((function[key] for key in _ARGUMENTS if key in function), beside)
