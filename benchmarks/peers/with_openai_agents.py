"""Answers questions with the OpenAI Agents SDK and FAISS.

As its documentation shows it: function tools, a context object for what a run collects, a tool that ends the run, and
the SDK's default API, which is the Responses API. Tracing is off.
"""

# ruff: noqa: ARG001 - the parameters describe the tool to the model
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agents import (
    Agent,
    ModelSettings,
    RunContextWrapper,
    Runner,
    function_tool,
    set_default_openai_client,
    set_tracing_disabled,
)
from agents.agent import StopAtTools
from openai import AsyncOpenAI
from passage_index import PassageIndex
from serving import DESCRIPTIONS, MAX_TOKENS, MODEL, MODEL_URL, SYSTEM, TOP_K, Answer, serve

set_tracing_disabled(True)
set_default_openai_client(AsyncOpenAI(api_key="k", base_url=MODEL_URL, max_retries=0), use_for_tracing=False)
index = PassageIndex()


@dataclass
class Collected:
    """What a run has found and cited."""

    found: list[dict[str, Any]] = field(default_factory=list)
    cited: list[str] = field(default_factory=list)


@function_tool(description_override=DESCRIPTIONS["knowledge_base_search"], strict_mode=False)
async def knowledge_base_search(context: RunContextWrapper[Collected], query: str, top_k: int = TOP_K) -> str:
    context.context.found, result = await index.search(query, top_k)
    return result


@function_tool(description_override=DESCRIPTIONS["generate_response"], strict_mode=False)
def generate_response(
    context: RunContextWrapper[Collected],
    sources: list[str],
    answer: str,
    answered: str | None = None,
    confidence_score: float | None = None,
    used_internal_kb: bool | None = False,
    used_external_kb: bool | None = False,
) -> str:
    context.context.cited = sources
    return answer


agent = Agent[Collected](
    name="answerer",
    instructions=SYSTEM,
    model=MODEL,
    model_settings=ModelSettings(tool_choice="required", max_tokens=MAX_TOKENS),
    reset_tool_choice=False,
    tools=[knowledge_base_search, generate_response],
    tool_use_behavior=StopAtTools(stop_at_tool_names=["generate_response"]),
)


async def ask(question: str) -> Answer:
    collected = Collected()
    result = await Runner.run(agent, question, context=collected)
    return Answer(str(result.final_output), collected.cited, collected.found)


serve(ask)
