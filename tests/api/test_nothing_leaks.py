"""Secrets are planted in all inputs, and none must appear in a log line, a record, a problem, a metric or a trace.

The function runs as in Lambda: in its own process, with tracing on. Its output and traces are captured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from gleaner.clients import pinecone
from gleaner.model import Record
from gleaner.stores.tool_calls import ToolCallRecord
from gleaner_local.aws import ministack
from gleaner_local.aws.execution_environment import ExecutionEnvironments, HandlerFailed
from tests.conftest import proxy_event
from tests.doubles.planted_secrets import FORGED, FORMS, IN_CONTEXT
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search, web
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.doubles.xray_daemon import XrayDaemon
from tests.stored_items import read_item, read_records

KEYS = {
    "OPENAI_API_KEY": "of-no-known-form-a",
    "PINECONE_API_KEY": "of-no-known-form-b",
    "PERPLEXITY_API_KEY": "of-no-known-form-c",
}
OTHERS = {"POWERTOOLS_METRICS_NAMESPACE": "Gleaner", "OPENAI_LOG": "debug"}  # must not log request bodies
QUESTION = f"Why does {FORMS['openai key']} fail for {FORMS['e-mail address']}?\nMy password is Sesame-42-question"
PASSAGE = f"Call {FORMS['phone number']} or write to passage.owner@docs.example. password=Sesame-42-passage"
WEB_TEXT = f"The token is {FORMS['github token']} as web.owner@pages.example says. [1]"
DATABASE = "postgresql://app:Sesame-42-argument@db.example/x"  # pragma: allowlist secret
ARGUMENTS = f"merging keywords {FORMS['json web token']} {DATABASE}"

# The part of each planted text that must not appear anywhere.
PLANTED = [
    *KEYS.values(),
    *(FORMS[kind] for kind in ("openai key", "e-mail address", "phone number", "github token", "json web token")),
    *(FORMS[kind] for kind in ("slack token", "google key", "card number", "aws access key")),
    *(f"Sesame-42-{place}" for place in ("question", "passage", "argument", "model", "web", "field", "path")),
    "passage.owner@docs.example",
    "web.owner@pages.example",
    *(secret for _, secret in IN_CONTEXT),
]


@dataclass
class Run:
    """The output of a run."""

    answers: list[dict[str, Any]] = field(default_factory=list)
    log: str = ""
    traces: str = ""
    records: list[ToolCallRecord] = field(default_factory=list)
    keywords: str = ""
    messages: str = ""
    sent_to_model: str = ""

    def lines(self) -> list[Any]:
        """The lines of the log, decoded."""
        return [json.loads(line) for line in self.log.splitlines()]

    def problems(self) -> list[dict[str, Any]]:
        """The bodies of the responses that are problems."""
        return [json.loads(a["body"]) for a in self.answers if a["statusCode"] >= 400]


@pytest.fixture(scope="module")
def run(
    shared_settings: dict[str, str],
    scripted_model_server: tuple[ScriptedModel, str],
    scripted_web_server: tuple[ScriptedWeb, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Run]:
    """The output of one process of the function that received every planted secret."""
    tables = {name: f"leaks-{value}" for name, value in shared_settings.items() if name.endswith("_TABLE")}
    log_path = tmp_path_factory.mktemp("leaks") / "log"
    with closing(XrayDaemon()) as daemon:
        env = shared_settings | KEYS | tables | daemon.environment | OTHERS
        client = ministack.admin_client(env["AWS_ENDPOINT_URL_DYNAMODB"])
        ministack.create_tables(client, ministack.table_schemas(env))
        _plant_passage(env["PINECONE_INDEX_HOST"])
        function = _Function(env, log_path)
        run = Run()
        try:
            _play(function, scripted_model_server[0], scripted_web_server[0], run)
        finally:
            function.stop()
        run.traces = daemon.received()
    run.log = log_path.read_text()
    run.records = [call for item in _items(client, env["TOOL_CALLS_TABLE"]) for call in read_records(item)]
    run.keywords = str(_items(client, env["KEYWORDS_TABLE"]))
    run.messages = str(_items(client, env["CONVERSATIONS_TABLE"]))
    yield run


def _play(function: _Function, model: ScriptedModel, web_server: ScriptedWeb, run: Run) -> None:
    def ask(*replies: Any, body: dict[str, Any] | None = None, **event: Any) -> None:
        model.plays(*replies)
        request_body = json.dumps({"query": QUESTION, "kb_id": "planted"} | (body or {}))
        run.answers.append(
            function.invoke(proxy_event("POST", "/api/chat/query", "x") | {"body": request_body} | event)
        )
        run.sent_to_model += json.dumps(model.requests, ensure_ascii=False)

    web_server.finds(WEB_TEXT, result(1, "https://pages.example/a?token=Sesame-42-web", "T", snippet=WEB_TEXT))
    tool_name = f"drop\n{FORGED}\n{FORMS['slack token']}"
    ask(
        calls(search(ARGUMENTS), (tool_name, {"password": "Sesame-42-argument"}), ids=["a", FORMS["aws access key"]]),
        calls(web("release notes of starlette " + FORMS["json web token"])),
        calls(index("starlette", FORMS["card number"], "web.owner@pages.example"), answer("See. [web-1]", ("web-1",))),
    )
    all_texts = "\n".join(text for text, _ in IN_CONTEXT)
    cut_off = f'{{"query": "merging\\n{FORMS["google key"]}", "top_k"'
    ask(
        calls(("knowledge_base_search", cut_off)),
        calls(search(all_texts)),
        calls(answer("A.", (FORMS["slack token"],))),
    )
    for status in (400, 401, 403, 429, 500):
        error = {"message": f"Incorrect API key: {KEYS['OPENAI_API_KEY']}, Sesame-42-model, {QUESTION}"}
        ask(JSONResponse({"error": error}, status_code=status))
    for status in (401, 500):
        web_server.reply = JSONResponse(
            {"error": {"message": f"bad {KEYS['PERPLEXITY_API_KEY']} Sesame-42-web"}}, status_code=status
        )
        ask(calls(search()), calls(web()), calls(answer()))
    secret_header = {"headers": {"authorization": f"Bearer {FORMS['github token']}", "content-type": "text/plain"}}
    ask(calls(search()), **secret_header)
    ask(calls(search()), body={"password=Sesame-42-field": 1, FORMS["openai key"]: f"\n{FORGED}"})
    ask(calls(search()), body={"kb_id": FORMS["slack token"]})
    for path in (f"/api/sessions/x\n{FORGED}\npassword=Sesame-42-path", f"/api/keywords/{FORMS['google key']}"):
        run.answers.append(function.invoke(proxy_event("GET", path, "admin")))
    run.answers.append(function.invoke(proxy_event("GET", "/api/keywords", f"x\n{FORGED}")))
    with pytest.raises(HandlerFailed) as failed:
        function.invoke({"headers": {}, "requestContext": FORMS["openai key"], "path": f"\n{FORGED}"})
    run.answers.append({"statusCode": 500, "body": json.dumps({"lambda": str(failed.value)})})


class _Function:
    def __init__(self, env: dict[str, str], log_path: Path) -> None:
        handler = "functions.query.handler.lambda_handler"
        self._environments = ExecutionEnvironments(handler, env, log_path=log_path, timeout_seconds=60, concurrency=1)

    def invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        return self._environments.invoke(event, "request-1")

    def stop(self) -> None:
        self._environments.stop()


def _plant_passage(host: str) -> None:
    record = Record(
        id="planted#0",
        text=f"Merging keywords. {PASSAGE}",
        title="T",
        source_file_path="t.md",
        chunk_index=0,
        content_hash="h",
    )
    pinecone.connect(host=host, api_key=lambda: "k").upsert("planted", [record], timeout=20)


def _items(client: Any, table: str) -> list[dict[str, Any]]:
    return [read_item(item) for item in client.scan(TableName=table)["Items"]]


def _planted_in(text: str) -> list[str]:
    """The planted secrets in a text, including those escaped as JSON."""
    return [secret for secret in PLANTED if secret in text or json.dumps(secret)[1:-1] in text]


def test_the_secrets_really_passed_through_the_function(run: Run) -> None:
    assert run.answers[0]["statusCode"] == 200, run.answers[0]
    assert {FORMS["openai key"], FORMS["github token"], "Sesame-42-passage"} <= set(_planted_in(run.sent_to_model))
    assert {400, 404, 415, 500, 502, 503} <= {a["statusCode"] for a in run.answers}
    assert FORMS["openai key"] in run.messages  # the user's own text is stored unchanged


def test_every_line_of_the_output_is_one_json_object(run: Run) -> None:
    assert len(run.lines()) > 10
    assert all(isinstance(line, dict) for line in run.lines())
    assert not [line for line in run.lines() if line.get("message") == "forged"]
    assert {"query failed", "tool failed", "the function failed"} <= {str(line.get("message")) for line in run.lines()}


def test_no_log_line_and_no_metric_holds_a_secret(run: Run) -> None:
    assert [line for line in run.lines() if "_aws" in line]
    assert not _planted_in(run.log)


def test_no_debug_line_is_logged(run: Run) -> None:
    assert not [line for line in run.lines() if line.get("level") == "DEBUG"]


def test_no_record_of_a_tool_call_holds_a_secret(run: Run) -> None:
    names = {call.tool_name.split("\n")[0] for call in run.records}
    assert {"knowledge_base_search", "perplexity_search", "index_keywords", "generate_response", "drop"} <= names
    assert "[redacted: e-mail address]" in str(run.records)
    assert not _planted_in(str(run.records))


def test_no_problem_holds_a_secret(run: Run) -> None:
    assert len(run.problems()) > 10
    assert not _planted_in(json.dumps(run.problems(), ensure_ascii=False))
    assert "Traceback" not in str(run.problems())


def test_no_trace_holds_a_secret(run: Run) -> None:
    assert "## answer" in run.traces and "exceptions" in run.traces
    assert not _planted_in(run.traces)


def test_no_keyword_holds_a_secret(run: Run) -> None:
    assert "starlette" in run.keywords
    assert FORMS["card number"] not in run.keywords
