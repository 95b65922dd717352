"""A small model behind llama.cpp's server: plain text in place of calls, and poor calls under a schema.

Each of its questions brings out another habit. The habits are those of models of 1 to 3 billion parameters, among them
the 1.5B model whose calls with invented ids ended 4 of 7 questions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.doubles.providers.brain import Call, Conversation, branches_of, next_calls, written_under
from tests.doubles.providers.front import Json
from tests.doubles.providers.llama_cpp import WeakModel

Habit = Callable[[Call], str]


def _written(call: Call, **arguments: Any) -> str:
    return json.dumps({"tool": call.name, "arguments": call.arguments | arguments})


def _with(tool: str, **arguments: Any) -> Habit:
    """Odd arguments in the calls of one tool."""
    return lambda call: _written(call, **(arguments if call.name == tool else {}))


def _search(**arguments: Any) -> Habit:
    return _with("knowledge_base_search", **arguments)


def _answer(**arguments: Any) -> Habit:
    return _with("generate_response", **arguments)


HABITS: dict[str, Habit] = {
    "How are duplicate keywords merged?": _written,
    "When are keywords pruned?": lambda call: f"```json\n{_written(call)}\n```",
    "What raises the usage count?": lambda call: f"Sure! I will call the tool {{now}}:\n{_written(call)}\nIs that OK?",
    "Who prunes keywords?": _search(kb_id="kb-1"),
    "Which write merges keywords?": _search(kb_id="null"),
    "How long are keywords kept?": _search(kb_id=7, top_k="three"),
    "What is a conditional write?": _search(top_k="50", kb_id=None),
    "What happens to the second keyword?": _answer(sources="kb-1"),
    "Why are keywords pruned after ninety days?": _answer(sources="[kb-1, kb-2]", confidence_score="95 %"),
    "What counts the usage of a keyword?": _answer(confidence_score="0.9", used_internal_kb="yes"),
    "What do ninety days mean for keywords?": _answer(confidence_score=[1], used_external_kb="null", title="None"),
    "Are keywords ever merged?": _answer(sources=["kb-1", "kb-99", "handbook"], answer="Yes. [kb-1] [kb-99]"),
    "Is the usage count raised?": lambda call: json.dumps({"name": call.name, "parameters": call.arguments}),
    "Is merging atomic?": lambda call: json.dumps({"function": {"name": call.name, "arguments": call.text}}),
    "Does pruning delete keywords?": lambda call: f"<tool_call>\n{_written(call)}\n</tool_call>",
    "Do duplicates cost anything?": lambda call: json.dumps({"tool": call.name} | call.arguments),
    "Where are keywords stored?": lambda call: json.dumps(
        {"tool_calls": [{"name": call.name, "arguments": call.text}]}
    ),
    "When was Starlette 1.0 released?": _with("index_keywords", keywords="Starlette release", perplexity_result_id="1"),
    "What is new in Starlette?": _with("perplexity_search", context="null", query="Starlette 1.0?"),
    "Which Python does Starlette need?": _with("index_keywords", keywords=[1, None, {"keyword": "Starlette release"}]),
}


class PoorCalls(WeakModel):
    """Answers the questions of `HABITS`, each in its own way; every third turn of a question is cut short."""

    def __init__(self) -> None:
        super().__init__()
        self._turns: Counter[str] = Counter()

    def write(self, schema: Json, conversation: Conversation) -> str:
        question = conversation.question
        written_under(schema, conversation)  # what is due can be written under the schema
        call = next_calls(conversation, branches_of(schema))[0]
        self._turns[question] += 1
        text = HABITS[question](call)
        return text[: len(text) // 2] if self._turns[question] % 3 == 0 else text
