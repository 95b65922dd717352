"""Answers questions with the openai SDK and FAISS, in a handwritten loop without checks: the baseline."""

from __future__ import annotations

import json
from typing import Any

from openai import AsyncOpenAI
from passage_index import PassageIndex
from serving import DESCRIPTIONS, MAX_TOKENS, MODEL, MODEL_URL, PARAMETERS, SYSTEM, Answer, serve

MAX_TURNS = 10

client = AsyncOpenAI(api_key="k", base_url=MODEL_URL, max_retries=0)
index = PassageIndex()
tools: list[Any] = [
    {"type": "function", "function": {"name": name, "description": text, "parameters": PARAMETERS[name]}}
    for name, text in DESCRIPTIONS.items()
]


async def ask(question: str) -> Answer:
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    found: list[dict[str, Any]] = []
    for _ in range(MAX_TURNS):
        completion = await client.chat.completions.create(
            model=MODEL, messages=messages, tools=tools, tool_choice="required", max_completion_tokens=MAX_TOKENS
        )
        message: Any = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            arguments = json.loads(call.function.arguments)
            if call.function.name == "generate_response":
                return Answer(arguments["answer"], arguments["sources"], found)
            found, result = await index.search(arguments["query"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    raise RuntimeError("The model did not answer.")


serve(ask)
