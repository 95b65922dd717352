"""What the model behind every provider's stub decides: it depends on the conversation alone."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

WEB_WORD = "starlette"  # a question that holds it needs the web
PLAIN_ANSWER = "Duplicate keywords are merged, I would say."
_RESULT = re.compile(r"\[result of (\w+)\]")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the model makes."""

    name: str
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        """The arguments as the model writes them."""
        return json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The newest question, and the tools that gave a result for it."""

    question: str
    done: tuple[str, ...]

    @property
    def about_web(self) -> bool:
        """Whether the knowledge base cannot answer the question."""
        return WEB_WORD in self.question.lower()


def read_chat(messages: Sequence[dict[str, Any]]) -> Conversation:
    """The conversation in messages of chat completions; results may also be messages of the user."""
    names: dict[str, str] = {}
    question, done = "", []
    for message in messages:
        names |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls") or ()}
        content = message.get("content") or ""
        if message["role"] == "tool":
            done += _succeeded(names.get(message["tool_call_id"], ""), content)
        elif message["role"] == "user" and (result := _RESULT.match(content)):
            done += _succeeded(result[1], content)
        elif message["role"] == "user" and not content.startswith("[gleaner]"):
            question = content
    return Conversation(question, tuple(done))


def _succeeded(name: str, result: str) -> list[str]:
    return [] if '"error": {' in result else [name]


def next_calls(conversation: Conversation, names: Collection[str]) -> list[Call]:
    """The calls that are due, of the tools that may be called."""
    query = {"query": conversation.question}
    if "knowledge_base_search" not in conversation.done:
        calls = [Call("knowledge_base_search", query)]
    elif not conversation.about_web:
        calls = [_answer("Merged by a conditional write. [kb-1]", "kb-1")]
    elif "perplexity_search" not in conversation.done:
        calls = [Call("perplexity_search", query)]
    else:
        keywords = Call("index_keywords", {"keywords": ["Starlette release", "ASGI frameworks"]})
        answer = _answer("Starlette 1.0 came out in 2026. [web-1]", "web-1")
        calls = [answer] if "index_keywords" in conversation.done else [keywords, answer]
    return [call for call in calls if call.name in names]


def _answer(text: str, source: str) -> Call:
    return Call("generate_response", {"answer": text, "sources": [source], "confidence_score": 0.9})


def branches_of(schema: dict[str, Any]) -> dict[str, Any]:
    """The schemas of the calls that a schema lets pass, by the name of the tool."""
    return {branch["properties"]["tool"]["enum"][0]: branch for branch in schema.get("anyOf", [schema])}


def written_under(schema: dict[str, Any], conversation: Conversation) -> str:
    """The call that is due as a decoder writes it that lets only text pass that matches the schema."""
    branches = branches_of(schema)
    call = next_calls(conversation, branches)[0]
    offered = branches[call.name]["properties"]["arguments"]["properties"]
    value = {"tool": call.name, "arguments": {name: call.arguments[name] for name in offered}}
    jsonschema_rs.validate(schema, value)
    return json.dumps(value)
