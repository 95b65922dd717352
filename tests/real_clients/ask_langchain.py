"""Asks with langchain-openai. The argument is the task, the output what its user sees."""

from __future__ import annotations

import json
import sys
from typing import Any

import openai
from failures import describe
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI

TASK = json.loads(sys.argv[1])


def connect(model: str = TASK["model"]) -> ChatOpenAI:
    return ChatOpenAI(model=model, base_url=TASK["base_url"], api_key=TASK["api_key"], stream_usage=True)


def show(message: Any) -> dict[str, Any]:
    return {
        "text": message.content,
        "finish_reason": message.response_metadata["finish_reason"],
        "usage": message.usage_metadata,
    }


def stream(text: str) -> dict[str, Any]:
    chunks = list(connect().stream(text))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return {"pieces": [chunk.content for chunk in chunks if chunk.content], **show(whole)}


def failure(call: Any, *arguments: Any) -> dict[str, Any]:
    try:
        list(call(*arguments))
    except openai.APIError as error:
        return describe(error)
    raise AssertionError("The question did not fail.")


model = connect()
asked = model.invoke(TASK["question"])
assert isinstance(asked, AIMessage)
history = [HumanMessage(TASK["question"]), asked, HumanMessage(TASK["follow_up"])]
shown = {
    "asked": show(asked),
    "streamed": stream(TASK["question"]),
    "followed_up": show(model.invoke(history)),
    "unknown_model": failure(connect("no-such-model").invoke, TASK["question"]),
    "empty": failure(model.invoke, ""),
    "failed": failure(model.invoke, TASK["failing"]),
    "failed_stream": failure(model.stream, TASK["failing"]),
}
print(json.dumps(shown))
