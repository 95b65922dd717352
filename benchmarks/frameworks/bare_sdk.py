"""Answers the question with the openai SDK alone, in a handwritten loop without checks."""

from __future__ import annotations

import json
from typing import Any

import openai
from worker import DESCRIPTIONS, MATERIALS, MODEL_URL, SYSTEM, search_result, serve, web_result

client = openai.OpenAI(api_key="k", base_url=MODEL_URL, max_retries=0)
tools: list[Any] = [
    {
        "type": "function",
        "function": {"name": name, "description": text, "parameters": MATERIALS["parameters"][name]},
    }
    for name, text in DESCRIPTIONS.items()
]


def ask(question: str) -> str:
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        completion = client.chat.completions.create(model="m", messages=messages, tools=tools, tool_choice="required")
        message: Any = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        answer = ""
        for call in message.tool_calls:
            arguments = json.loads(call.function.arguments)
            if call.function.name == "knowledge_base_search":
                result = search_result()
            elif call.function.name == "perplexity_search":
                result = web_result()
            elif call.function.name == "index_keywords":
                result = json.dumps({"indexed": arguments["keywords"]})
            else:
                answer, result = arguments["answer"], "{}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if answer:
            return str(answer)


serve(ask)
