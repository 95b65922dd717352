"""Chat completions in the form of the Responses API, and requests of that API in the form of chat completions.

Scripts of tests are written as chat completions. So one script serves both APIs.
"""

from __future__ import annotations

from typing import Any

_COMPLETED = (None, "stop", "tool_calls", "error")  # finish reasons of an answer that came to its end


def as_chat_request(body: dict[str, Any]) -> dict[str, Any]:
    """A Responses request as the chat completion request that says the same.

    `tools` holds those that may be called; `tool_choice` is "required", "auto" or the one function. A request without
    tools has neither.
    """
    plain = {
        "model": body["model"],
        "messages": [{"role": "system", "content": body["instructions"]}, *_messages(body["input"])],
        "max_completion_tokens": body["max_output_tokens"],
    }
    if "tools" not in body:
        return plain
    choice = body["tool_choice"]
    names = {tool["name"] for tool in body["tools"]}
    if isinstance(choice, dict):
        names = {tool["name"] for tool in choice["tools"]} if choice["type"] == "allowed_tools" else {choice["name"]}
        forced = {"type": "function", "function": {"name": choice.get("name")}}
        choice = choice["mode"] if choice["type"] == "allowed_tools" else forced
    offered = [_chat_tool(tool) for tool in body["tools"] if tool["name"] in names]
    return plain | {"tools": offered, "tool_choice": choice}


def as_response(completion: Any) -> Any:
    """A chat completion as a response. What is no completion stays as it is."""
    if not (isinstance(completion, dict) and isinstance(completion.get("choices"), list)):
        return completion
    choice = completion["choices"][0] if completion["choices"] else {}
    message = choice.get("message") if isinstance(choice, dict) else None
    message = message if isinstance(message, dict) else {}
    reason = choice.get("finish_reason") if isinstance(choice, dict) else None
    reason = None if reason in _COMPLETED else "max_output_tokens" if reason == "length" else reason
    usage = completion.get("usage")
    response = {
        "id": "resp_1",
        "object": "response",
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": completion.get("error") or choice.get("error"),
        "model": completion.get("model"),
        "output": [*_text_items(message), *_call_items(message)],
    }
    return response | ({"usage": _usage(usage)} if usage is not None else {})


def _messages(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            call = {"id": item["call_id"], "type": "function", "function": function}
            if messages and messages[-1]["role"] == "assistant":
                messages[-1].setdefault("tool_calls", []).append(call)
            else:
                messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        elif kind == "function_call_output":
            messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
        elif kind == "message" and item["role"] != "developer":
            messages.append({"role": item["role"], "content": _plain(item["content"])})
    return messages


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or part.get("refusal") or "" for part in content)


def _chat_tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {name: tool[name] for name in ("name", "description", "parameters")}}


def _text_items(message: dict[str, Any]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if isinstance(message.get("content"), list):
        parts += message["content"]
    elif message.get("content") is not None:
        parts.append({"type": "output_text", "text": message["content"], "annotations": []})
    if message.get("refusal"):
        parts.append({"type": "refusal", "refusal": message["refusal"]})
    item = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": parts}
    return [item] if parts else []


def _call_items(message: dict[str, Any]) -> list[Any]:
    calls = message.get("tool_calls")
    return [_call_item(call) for call in calls] if isinstance(calls, list) else []


def _call_item(call: Any) -> Any:
    if not isinstance(call, dict) or (call.get("type") or "function") != "function":
        return call
    function = call.get("function")
    fields = {name: function[name] for name in ("name", "arguments") if name in function} if function else {}
    ids = {"call_id": call["id"]} if "id" in call else {}
    return {"type": "function_call", "id": f"fc_{call.get('id')}", "status": "completed"} | ids | fields


def _usage(usage: Any) -> Any:
    if not isinstance(usage, dict):
        return usage
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
    details = {"prompt_tokens_details": "input_tokens_details", "completion_tokens_details": "output_tokens_details"}
    return {(names | details).get(name, name): value for name, value in usage.items()}
