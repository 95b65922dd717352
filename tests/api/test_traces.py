"""The trace of a question shows each call of a remote service, without anything that was sent or received.

The functions run in their own processes, with tracing on, and send their traces to a double of X-Ray's daemon.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from gleaner_local.aws.execution_environment import ExecutionEnvironments
from tests.conftest import MERGING, proxy_event
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search, web
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.doubles.xray_daemon import XrayDaemon

QUESTION = "Which turquoise zebra merges keywords?"
WEB_TEXT = "Marmalade was released in 2026 [1]."
CONTENT = ("turquoise", "zebra", "Marmalade", MERGING[:20], "starlette", "Merged", "https://", "secret-", "default_kb")
COSTS = {"input_tokens": 10, "output_tokens": 20, "cost": {"currency": "USD", "total_cost": 0.006}}
KEYS = ("OPENAI_API_KEY", "PINECONE_API_KEY", "PERPLEXITY_API_KEY")


@dataclass(frozen=True, slots=True)
class Trace:
    """The segments of one trace, and their text as it was sent."""

    text: str
    segments: list[dict[str, Any]]

    def answers(self) -> list[dict[str, Any]]:
        return [segment for segment in self.segments if segment["name"] == "## answer"]

    def tools(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        """The tool calls of an answer, in order of time."""
        children = [
            one for one in self.segments if one["parent_id"] == answer["id"] and one["name"].startswith("tool ")
        ]
        return sorted(children, key=lambda child: float(child["start_time"]))

    def calls(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        """The remote calls directly under the segment of an answer, in order of time."""
        children = [
            one for one in self.segments if one["parent_id"] == answer["id"] and one.get("namespace") == "remote"
        ]
        return sorted(children, key=lambda child: float(child["start_time"]))


class TracedFunction:
    """One process of a function, with a daemon that receives its traces."""

    def __init__(self, handler: str, env: dict[str, str], log_path: Path) -> None:
        self._daemon = XrayDaemon()
        env = env | self._daemon.environment | {"POWERTOOLS_METRICS_NAMESPACE": "Gleaner"}
        self._environments = ExecutionEnvironments(handler, env, log_path=log_path, timeout_seconds=60, concurrency=1)

    def invoke(self, event: dict[str, Any]) -> Any:
        return self._environments.invoke(event, "request-1")

    def ask(self, query: str = QUESTION) -> tuple[int, Any]:
        event = proxy_event("POST", "/api/chat/query", "local") | {"body": json.dumps({"query": query})}
        response = self.invoke(event)
        return response["statusCode"], json.loads(response["body"])

    def trace(self) -> Trace:
        """What was traced since the last call."""
        text = self._daemon.received()
        documents = [json.loads(line) for line in text.splitlines() if '"trace_id"' in line]
        return Trace(text, [segment for document in documents for segment in _with_children(document)])

    def close(self) -> None:
        self._environments.stop()
        self._daemon.close()


def _with_children(segment: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield segment
    for child in segment.get("subsegments", ()):
        yield from _with_children(child)


@pytest.fixture
def function(settings: dict[str, str], web: ScriptedWeb, tmp_path: Path) -> Iterator[TracedFunction]:
    web.finds(WEB_TEXT, result(1, "https://starlette.dev/release", "Release notes"))
    assert isinstance(web.reply, dict)
    web.reply["usage"] = COSTS
    handler = "functions.query.handler.lambda_handler"
    with closing(TracedFunction(handler, settings, tmp_path / "log")) as function:
        yield function


def facts(call: dict[str, Any]) -> dict[str, Any]:
    """All that the segment of a call says, except for ids and times."""
    return (
        {"name": call["name"]}
        | call.get("annotations", {})
        | call.get("metadata", {}).get("gleaner", {})
        | call.get("http", {}).get("response", {})
        | {flag: True for flag in ("fault", "error", "throttle") if call.get(flag)}
    )


MODEL_CALL = {
    "name": "language model",
    "model": "gpt-6-luna",
    "api": "responses",
    "outcome": "ok",
    "input_tokens": 100,
    "cached_input_tokens": 0,
    "output_tokens": 10,
    "reasoning_tokens": 0,
}
INDEX_SEARCH = {"name": "knowledge base", "operation": "search", "outcome": "ok"}
INDEX_WRITE = {"name": "knowledge base", "operation": "upsert", "outcome": "ok"}
WEB_SEARCH = {
    "name": "web search",
    "model": "perplexity/sonar",
    "outcome": "ok",
    "status": 200,
    "input_tokens": 10,
    "output_tokens": 20,
    "cost_usd": 0.006,
}


def test_each_remote_call_of_a_question_is_a_subsegment_of_its_answer(
    function: TracedFunction, model: ScriptedModel
) -> None:
    model.plays(
        calls(search("turquoise zebra merging keywords")),
        calls(web("release of starlette")),
        calls(index("starlette"), answer("Merged. [kb-1]")),
    )
    status, body = function.ask()
    assert (status, body["status"]) == (200, "success")
    trace = function.trace()
    (answer_segment,) = trace.answers()
    made = trace.calls(answer_segment)
    assert [facts(call) for call in made] == [
        MODEL_CALL,
        INDEX_SEARCH,
        INDEX_SEARCH,
        MODEL_CALL,
        WEB_SEARCH,
        MODEL_CALL,
        INDEX_WRITE,
    ]
    for call in made:
        assert answer_segment["start_time"] <= call["start_time"] <= call["end_time"] <= answer_segment["end_time"]
    assert not [text for text in CONTENT if text in trace.text]
    assert "dynamodb" in {segment["name"] for segment in trace.segments}  # requests to AWS are traced as before


def test_the_tool_calls_of_a_question_are_subsegments_that_contain_their_calls(
    function: TracedFunction, model: ScriptedModel, web: ScriptedWeb
) -> None:
    model.plays(
        calls(search("turquoise zebra merging keywords")),
        calls(("perplexity_search", {"query": "starlette"})),
        calls(answer("Unknown. [web-1]", ("web-1",))),
        calls(answer("Unknown.", (), answered="not_found")),
    )
    web.fails(403)
    status, body = function.ask()
    assert status == 200, body
    trace = function.trace()
    (answer_segment,) = trace.answers()
    assert answer_segment["annotations"]["query_id"] == body["query_id"]
    tools = trace.tools(answer_segment)
    assert [(tool["name"], tool["annotations"]["outcome"]) for tool in tools] == [
        ("tool knowledge_base_search", "ok"),
        ("tool perplexity_search", "unavailable"),
        ("tool generate_response", "rejected"),
        ("tool generate_response", "ok"),
    ]
    for name, tool in (("knowledge base", tools[0]), ("web search", tools[1])):
        (call, *_) = [one for one in trace.calls(answer_segment) if one["name"] == name]
        assert tool["start_time"] <= call["start_time"] <= call["end_time"] <= tool["end_time"]
    assert not [text for text in CONTENT if text in trace.text]


@pytest.mark.slow  # quick tests: each of the parallel questions has a segment of its own
def test_a_second_question_has_a_segment_of_its_own(function: TracedFunction, model: ScriptedModel) -> None:
    for _ in range(2):
        model.plays(calls(search()), calls(answer()))
        assert function.ask()[0] == 200
    trace = function.trace()
    names = [[call["name"] for call in trace.calls(one)] for one in trace.answers()]
    assert names == [["language model", "knowledge base", "knowledge base", "language model"]] * 2  # two namespaces


@pytest.mark.slow
def test_failed_calls_are_traced_with_their_status(
    function: TracedFunction, model: ScriptedModel, web: ScriptedWeb
) -> None:
    error = {"error": {"message": f"no turquoise {QUESTION}", "type": "t", "code": "c"}}
    model.plays(
        JSONResponse(error, status_code=503),
        calls(search()),
        calls(("perplexity_search", {"query": "starlette"})),
        JSONResponse(error, status_code=401),
    )
    web.fails(403)
    status, body = function.ask()
    assert (status, body["type"]) == (503, "urn:gleaner:problem:model-unavailable")
    trace = function.trace()
    (answer_segment,) = trace.answers()
    failed = {"model": "gpt-6-luna", "api": "responses", "name": "language model"}
    assert [facts(call) for call in trace.calls(answer_segment)] == [
        failed | {"outcome": "InternalServerError", "status": 503, "fault": True},
        MODEL_CALL,
        INDEX_SEARCH,
        INDEX_SEARCH,
        MODEL_CALL,
        {"name": "web search", "model": "perplexity/sonar", "outcome": "KeyRefused", "status": 403, "error": True},
        failed | {"outcome": "AuthenticationError", "status": 401, "error": True},
    ]
    assert not [text for text in CONTENT if text in trace.text]


@pytest.mark.parametrize(
    "service",
    [
        "PINECONE_INDEX_HOST",  # quick, as the two others fail in a quick test above
        pytest.param("PERPLEXITY_BASE_URL", marks=pytest.mark.slow),
        pytest.param("OPENAI_BASE_URL", marks=pytest.mark.slow),
    ],
)
def test_a_service_that_cannot_be_reached_is_traced(
    settings: dict[str, str], model: ScriptedModel, tmp_path: Path, service: str
) -> None:
    model.plays(
        calls(search()),
        calls(("perplexity_search", {"query": "starlette"})),
        calls(answer("Unknown.", (), answered="not_found")),
    )
    env = settings | {service: "http://localhost:9"}
    handler = "functions.query.handler.lambda_handler"
    with closing(TracedFunction(handler, env, tmp_path / "log")) as function:
        function.ask()
        trace = function.trace()
    (answer_segment,) = trace.answers()
    made = [facts(call) for call in trace.calls(answer_segment)]
    expected = {
        "PINECONE_INDEX_HOST": {"name": "knowledge base", "outcome": "KnowledgeBaseUnavailable"},
        "PERPLEXITY_BASE_URL": {"name": "web search", "outcome": "WebSearchUnavailable"},
        "OPENAI_BASE_URL": {"name": "language model", "outcome": "APIConnectionError"},
    }[service]
    (first, *_) = [call for call in made if call["name"] == expected["name"]]
    assert first | expected | {"fault": True} == first
    assert not [text for text in CONTENT if text in trace.text]


@pytest.mark.slow
def test_parallel_questions_do_not_mix_their_calls(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb, tmp_path: Path
) -> None:
    web.finds(WEB_TEXT, result(1, "https://starlette.dev/release", "Release notes"))
    model.plays(_turn_of_either_question)
    questions = ["plain", "with the web"] * 4
    handler = "tests.doubles.parallel_questions.lambda_handler"
    with closing(TracedFunction(handler, settings, tmp_path / "log")) as function:
        statuses = function.invoke({"questions": questions})
        trace = function.trace()
    assert statuses == ["success"] * len(questions)
    made = sorted(tuple(call["name"] for call in trace.calls(one)) for one in trace.answers())
    search = ("language model", "knowledge base", "knowledge base", "language model")
    assert [names[: len(search)] for names in made] == [search] * 8
    rest = [names[len(search) :] for names in made]
    assert rest.count(()) == 4
    assert {names[-2:] for names in rest} == {(), ("language model", "knowledge base")}
    assert "web search" in {names[0] for names in rest if names}  # equal searches at the same time are one


def _turn_of_either_question(request: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.05)  # so that the questions overlap
    called = [call["function"]["name"] for message in request["messages"] for call in message.get("tool_calls", ())]
    if not called:
        return calls(search())
    if "with the web" in str(request["messages"][1]["content"]) and "perplexity_search" not in called:
        return calls(("perplexity_search", {"query": "starlette"}))
    if "perplexity_search" in called:
        return calls(index("starlette"), answer())
    return calls(answer())
