"""Answers the question with the openai SDK alone, over the Responses API, in a handwritten loop without checks."""

from __future__ import annotations

import json
from typing import Any

import openai
from worker import DESCRIPTIONS, MATERIALS, MODEL_URL, SYSTEM, search_result, serve, web_result

client = openai.OpenAI(api_key="k", base_url=MODEL_URL, max_retries=0)
tools: list[Any] = [
    {
        "type": "function",
        "name": name,
        "description": text,
        "parameters": MATERIALS["parameters"][name],
        "strict": False,
    }
    for name, text in DESCRIPTIONS.items()
]


def ask(question: str) -> str:
    items: list[Any] = [{"role": "user", "content": question}]
    while True:
        response = client.responses.create(
            model="m",
            instructions=SYSTEM,
            input=items,
            tools=tools,
            tool_choice="required",
            store=False,
            include=["reasoning.encrypted_content"],
            max_output_tokens=4096,
        )
        items += [item.model_dump(exclude_none=True) for item in response.output]
        answer = ""
        for item in response.output:
            if item.type != "function_call":
                continue
            arguments = json.loads(item.arguments)
            if item.name == "knowledge_base_search":
                result = search_result()
            elif item.name == "perplexity_search":
                result = web_result()
            elif item.name == "index_keywords":
                result = json.dumps({"indexed": arguments["keywords"]})
            else:
                answer, result = arguments["answer"], "{}"
            items.append({"type": "function_call_output", "call_id": item.call_id, "output": result})
        if answer:
            return str(answer)


serve(ask)
