"""Answers the question with LangGraph and LangChain's model and tools. The graph ends at the answer tool."""

# ruff: noqa: ARG001 - the parameters describe the tool to the model
from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from worker import DESCRIPTIONS, MODEL_URL, SYSTEM, search_result, serve, web_result


def knowledge_base_search(query: str, top_k: int = 5) -> str:
    return search_result()


def perplexity_search(query: str, context: str | None = None) -> str:
    return web_result()


def index_keywords(keywords: list[str]) -> str:
    return json.dumps({"indexed": keywords})


def generate_response(
    answer: str,
    sources: list[str],
    confidence_score: float | None = None,
    used_internal_kb: bool | None = False,
    used_external_kb: bool | None = False,
) -> str:
    return answer


functions = (knowledge_base_search, perplexity_search, index_keywords, generate_response)
tools = [StructuredTool.from_function(function, description=DESCRIPTIONS[function.__name__]) for function in functions]
model = ChatOpenAI(model="m", api_key="k", base_url=MODEL_URL, max_retries=0).bind_tools(tools, tool_choice="required")


def think(state: MessagesState) -> dict[str, Any]:
    return {"messages": [model.invoke([SystemMessage(SYSTEM), *state["messages"]])]}


def after_tools(state: MessagesState) -> str:
    last = next(message for message in reversed(state["messages"]) if isinstance(message, AIMessage))
    return END if any(call["name"] == "generate_response" for call in last.tool_calls) else "think"


graph = StateGraph(MessagesState)
graph.add_node("think", think)
graph.add_node("tools", ToolNode(tools))
graph.add_edge(START, "think")
graph.add_edge("think", "tools")
graph.add_conditional_edges("tools", after_tools)
agent = graph.compile()


def ask(question: str) -> str:
    return str(agent.invoke({"messages": [HumanMessage(question)]})["messages"][-1].content)


serve(ask)
