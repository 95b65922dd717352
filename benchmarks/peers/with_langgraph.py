"""Answers questions with LangGraph, LangChain's model and tools, and FAISS.

As their documentation shows it: a graph of a model node and a tool node over the messages, and tools whose artifacts
are the passages that they found. The graph ends at the answer tool. FAISS is used without LangChain's store for it,
which is in langchain-community, a package that is no longer maintained.
"""

# ruff: noqa: ARG001 - the parameters describe the tool to the model
from __future__ import annotations

from typing import Any

from langchain.tools import tool
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from passage_index import PassageIndex
from serving import DESCRIPTIONS, MAX_TOKENS, MODEL, MODEL_URL, SYSTEM, TOP_K, Answer, serve

index = PassageIndex()


@tool(
    "knowledge_base_search",
    description=DESCRIPTIONS["knowledge_base_search"],
    response_format="content_and_artifact",
)
async def search(query: str, top_k: int = TOP_K) -> tuple[str, list[dict[str, Any]]]:
    found, result = await index.search(query, top_k)
    return result, found


@tool("generate_response", description=DESCRIPTIONS["generate_response"], response_format="content_and_artifact")
def respond(
    sources: list[str],
    answer: str,
    answered: str | None = None,
    confidence_score: float | None = None,
    used_internal_kb: bool | None = False,
    used_external_kb: bool | None = False,
) -> tuple[str, list[str]]:
    return answer, sources


tools = [search, respond]
model = ChatOpenAI(
    model=MODEL, api_key="k", base_url=MODEL_URL, max_retries=0, max_completion_tokens=MAX_TOKENS
).bind_tools(tools, tool_choice="required")


async def think(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await model.ainvoke([SystemMessage(SYSTEM), *state["messages"]])]}


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


async def ask(question: str) -> Answer:
    messages = (await agent.ainvoke({"messages": [HumanMessage(question)]}))["messages"]
    results = {message.name: message for message in messages if isinstance(message, ToolMessage)}
    answer = results["generate_response"]
    return Answer(str(answer.content), answer.artifact, results["knowledge_base_search"].artifact)


serve(ask)
