"""Asks with the openai package, as its README shows. The argument is the task, the output what its user sees."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import openai
from failures import describe
from openai.types.chat import ChatCompletionChunk

TASK = json.loads(sys.argv[1])

client = openai.OpenAI(base_url=TASK["base_url"], api_key=TASK["api_key"])


def question(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def sources(annotations: Iterable[Any] | None) -> list[dict[str, Any]]:
    """The package knows the field in messages, and hands it on as plain dictionaries in deltas."""
    plain = (item if isinstance(item, dict) else item.model_dump() for item in annotations or ())
    return [item["url_citation"] for item in plain]


def ask(*messages: dict[str, Any], model: str = TASK["model"]) -> dict[str, Any]:
    completion = client.chat.completions.create(model=model, messages=list(messages))
    [choice] = completion.choices
    return {
        "text": choice.message.content,
        "sources": sources(choice.message.annotations),
        "finish_reason": choice.finish_reason,
        "usage": completion.usage.model_dump() if completion.usage else None,
        "gleaner": completion.model_extra["gleaner"],
        "model": completion.model,
    }


def stream(*messages: dict[str, Any]) -> dict[str, Any]:
    chunks: list[ChatCompletionChunk] = list(
        client.chat.completions.create(
            model=TASK["model"],
            messages=list(messages),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    choices = [choice for chunk in chunks for choice in chunk.choices]
    pieces = [choice.delta.content for choice in choices if choice.delta.content]
    annotations = [item for choice in choices for item in getattr(choice.delta, "annotations", None) or ()]
    return {
        "pieces": pieces,
        "text": "".join(pieces),
        "sources": sources(annotations),
        "finish_reason": choices[-1].finish_reason,
        "usage": chunks[-1].usage.model_dump() if chunks[-1].usage else None,
        "gleaner": next(chunk.model_extra["gleaner"] for chunk in chunks if "gleaner" in (chunk.model_extra or {})),
    }


def accumulate(*messages: dict[str, Any]) -> dict[str, Any]:
    """The package's helper, which puts the chunks together itself and is stricter about them."""
    with client.chat.completions.stream(model=TASK["model"], messages=list(messages)) as events:
        pieces = [event.delta for event in events if event.type == "content.delta"]
        completion = events.get_final_completion()
    return {"pieces": pieces, "text": completion.choices[0].message.content}


def failure(call: Callable[..., Any], *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    try:
        call(*messages, **more)
    except openai.APIError as error:
        return describe(error)
    raise AssertionError("The question did not fail.")


first = question(TASK["question"])
asked = ask(first)
shown = {
    "models": [model.id for model in client.models.list()],
    "asked": asked,
    "streamed": stream(first),
    "accumulated": accumulate(first),
    "followed_up": ask(first, {"role": "assistant", "content": asked["text"]}, question(TASK["follow_up"])),
    "unknown_model": failure(ask, first, model="no-such-model"),
    "empty": failure(ask, question("")),
    "failed": failure(ask, question(TASK["failing"])),
    "failed_stream": failure(stream, question(TASK["failing"])),
}
print(json.dumps(shown))
