"""Answers the question with the OpenAI Agents SDK, which stops at the answer tool."""

# ruff: noqa: ARG001 - the parameters describe the tool to the model
from __future__ import annotations

import json

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from agents.agent import StopAtTools
from openai import AsyncOpenAI
from worker import DESCRIPTIONS, MODEL_URL, SYSTEM, search_result, web_result
from worker_loop import serve_async

set_tracing_disabled(True)


@function_tool(description_override=DESCRIPTIONS["knowledge_base_search"], strict_mode=False)
def knowledge_base_search(query: str, top_k: int = 5) -> str:
    return search_result()


@function_tool(description_override=DESCRIPTIONS["perplexity_search"], strict_mode=False)
def perplexity_search(query: str, context: str | None = None) -> str:
    return web_result()


@function_tool(description_override=DESCRIPTIONS["index_keywords"], strict_mode=False)
def index_keywords(keywords: list[str]) -> str:
    return json.dumps({"indexed": keywords})


@function_tool(description_override=DESCRIPTIONS["generate_response"], strict_mode=False)
def generate_response(
    answer: str,
    sources: list[str],
    confidence_score: float | None = None,
    used_internal_kb: bool | None = False,
    used_external_kb: bool | None = False,
) -> str:
    return answer


agent = Agent(
    name="answerer",
    instructions=SYSTEM,
    model=OpenAIChatCompletionsModel("m", AsyncOpenAI(api_key="k", base_url=MODEL_URL, max_retries=0)),
    model_settings=ModelSettings(tool_choice="required"),
    reset_tool_choice=False,
    tools=[knowledge_base_search, perplexity_search, index_keywords, generate_response],
    tool_use_behavior=StopAtTools(stop_at_tool_names=["generate_response"]),
)


async def ask(question: str) -> str:
    return str((await Runner.run(agent, question)).final_output)


serve_async(ask)
