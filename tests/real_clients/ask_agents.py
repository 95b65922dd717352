"""Asks with an agent of openai-agents. The argument is the task, the output what its user sees."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import openai
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from failures import describe
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent

TASK = json.loads(sys.argv[1])

set_tracing_disabled(disabled=True)
client = AsyncOpenAI(base_url=TASK["base_url"], api_key=TASK["api_key"])


def build(model: str = TASK["model"]) -> Agent[Any]:
    chat_model = OpenAIChatCompletionsModel(model=model, openai_client=client)
    return Agent(name="Librarian", instructions="Answer in one sentence.", model=chat_model)


def show(result: Any) -> dict[str, Any]:
    [message] = result.new_items
    [part] = message.raw_item.content
    usage = result.context_wrapper.usage
    return {
        "text": result.final_output,
        "sources": [annotation.model_dump() for annotation in part.annotations],
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
    }


async def stream(text: str) -> dict[str, Any]:
    result = Runner.run_streamed(build(), text)
    pieces = [
        event.data.delta
        async for event in result.stream_events()
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent)
    ]
    return {"pieces": pieces, **show(result)}


async def failure(call: Callable[..., Awaitable[Any]], *arguments: Any) -> dict[str, Any]:
    try:
        await call(*arguments)
    except openai.APIError as error:
        return describe(error)
    raise AssertionError("The question did not fail.")


async def main() -> None:
    agent = build()
    asked = await Runner.run(agent, TASK["question"])
    history = [*asked.to_input_list(), {"role": "user", "content": TASK["follow_up"]}]
    shown = {
        "asked": show(asked),
        "streamed": await stream(TASK["question"]),
        "followed_up": show(await Runner.run(agent, history)),
        "unknown_model": await failure(Runner.run, build("no-such-model"), TASK["question"]),
        "empty": await failure(Runner.run, agent, ""),
        "failed": await failure(Runner.run, agent, TASK["failing"]),
        "failed_stream": await failure(stream, TASK["failing"]),
    }
    print(json.dumps(shown))


asyncio.run(main())
