"""Answers the question with Pydantic AI, which stops at its output tool."""

# ruff: noqa: ARG001 - the parameters describe the tool to the model
from __future__ import annotations

import json

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import Tool
from worker import DESCRIPTIONS, MODEL_URL, SYSTEM, search_result, web_result
from worker_loop import serve_async


class Answer(BaseModel):
    answer: str
    sources: list[str]
    confidence_score: float | None = None
    used_internal_kb: bool | None = False
    used_external_kb: bool | None = False


def knowledge_base_search(query: str, top_k: int = 5) -> str:
    return search_result()


def perplexity_search(query: str, context: str | None = None) -> str:
    return web_result()


def index_keywords(keywords: list[str]) -> str:
    return json.dumps({"indexed": keywords})


functions = (knowledge_base_search, perplexity_search, index_keywords)
client = AsyncOpenAI(api_key="k", base_url=MODEL_URL, max_retries=0)
agent = Agent(
    OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client)),
    system_prompt=SYSTEM,
    tools=[Tool(function, description=DESCRIPTIONS[function.__name__]) for function in functions],
    output_type=ToolOutput(Answer, name="generate_response", description=DESCRIPTIONS["generate_response"]),
    end_strategy="exhaustive",  # also run the keyword tool in the turn of the answer
)


async def ask(question: str) -> str:
    return (await agent.run(question)).output.answer


serve_async(ask)
