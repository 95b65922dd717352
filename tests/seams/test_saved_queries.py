"""Each saved query names fields, and looks for values, that the logs which it reads really have.

The lines are those of the functions, which run in processes of their own, and of the access log. Lambda's own lines are
as docs.aws.amazon.com/lambda/latest/dg/telemetry-schema-reference.html describes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from gleaner_local.aws.execution_environment import ExecutionEnvironments, HandlerFailed
from gleaner_local.service.run import PRUNE_HANDLER, QUERY_HANDLER
from infra.constructs.saved_queries import saved_queries
from infra.environments import DEV
from tests.conftest import TablePool, proxy_event
from tests.doubles.faulty_store import FaultyStore
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, says, search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.infra.synthesis import ALL, ALL_NAMES, access_line, properties, synthesis
from tests.seams.ingesting import load_documents
from tests.seams.insights_query import read_query

Lines = Mapping[str, list[dict[str, Any]]]  # by log, as the fields of `Watched` name them

PRICES = {"OPENAI_PRICES": '{"input": 1, "cached_input": 0.1, "output": 10}', "WEB_SEARCH_PRICE": "0.005"}
PAGE = result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette 1.0 was released in 2026.")
PLACEHOLDER = "PUT THE ID HERE"
REPORT = {
    "type": "platform.report",
    "record": {
        "requestId": "8286a188",
        "status": "timeout",
        "errorType": "Sandbox.Timedout",
        "metrics": {"durationMs": 300_000.0, "billedDurationMs": 300_000, "memorySizeMB": 256, "maxMemoryUsedMB": 84},
    },
}


@pytest.fixture(scope="module")
def lines(
    shared_settings: dict[str, str],
    table_pool: TablePool,
    scripted_model_server: tuple[ScriptedModel, str],
    scripted_web_server: tuple[ScriptedWeb, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Lines]:
    """The lines of the logs, after questions that succeed and that fail in several ways, and runs of pruning."""
    logs, tables = tmp_path_factory.mktemp("logs"), table_pool.borrow()
    settings = shared_settings | tables
    store = FaultyStore(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    store.start()
    # The records of tool calls are lost, which is logged with its exception.
    variables = (
        settings
        | PRICES
        | {
            "AWS_ENDPOINT_URL_DYNAMODB": store.url,
            "POWERTOOLS_METRICS_NAMESPACE": "Gleaner/dev",
            "TOOL_CALLS_TABLE": "gone",
        }
    )
    try:
        with _function(QUERY_HANDLER, variables, logs / "query") as invoke:
            _ask_questions(invoke, scripted_model_server[0], scripted_web_server[0], store)
        with _function(PRUNE_HANDLER, variables, logs / "prune") as invoke:
            invoke({})
        load_documents(logs / "bucket", settings | {"POWERTOOLS_METRICS_NAMESPACE": "Gleaner/dev"}, logs / "ingest")
        broken = variables | {"KEYWORDS_TABLE": "gone"}
        with _function(PRUNE_HANDLER, broken, logs / "prune") as invoke, pytest.raises(HandlerFailed):
            invoke({})
    finally:
        store.stop()
    yield {
        "query_log": [*_read(logs / "query"), REPORT],
        "prune_log": [*_read(logs / "prune"), REPORT],
        "ingest_log": [*_read(logs / "ingest"), REPORT],
        "access_log": [access_line(synthesis().service["dev"])],
    }
    table_pool.give_back(tables)


def _ask_questions(
    invoke: Callable[[dict[str, Any]], Any], model: ScriptedModel, web: ScriptedWeb, store: FaultyStore
) -> None:
    """Ask what needs the web; what meets an outage of the web, of the model, of the store."""
    web.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    model.plays(
        calls(search()),
        calls(("perplexity_search", {"query": "Starlette"})),
        calls(index("Starlette release", "ASGI framework")),
        says("In 2026."),
        calls(answer("In 2026. [web-1]", ("web-1",))),
    )
    store.fails("throttled", lambda _, number: number == 1)
    first = json.loads(invoke(_question("When was Starlette 1.0 released?"))["body"])
    store.heals()
    model.plays(calls(search("Starlette release")), calls(answer("In 2026. [web-1]", ("web-1",))))
    invoke(_question("Which year was that?", session_id=first["session_id"]))
    web.fails(403)
    model.plays(
        calls(search()),
        calls(("perplexity_search", {"query": "x"})),
        calls(answer("Unknown.", (), answered="not_found")),
    )
    invoke(_question("When was Uvicorn 1.0 released?"))
    model.plays(JSONResponse({"error": {"message": "no", "type": "t", "code": "c"}}, status_code=401))
    invoke(_question("When was Hypercorn 1.0 released?"))


def _question(query: str, **more: str) -> dict[str, Any]:
    return proxy_event("POST", "/api/chat/query", "local") | {"body": json.dumps({"query": query, **more})}


@contextmanager
def _function(handler: str, variables: dict[str, str], log: Path) -> Iterator[Callable[[dict[str, Any]], Any]]:
    environments = ExecutionEnvironments(handler, variables, log_path=log, timeout_seconds=29, concurrency=1)
    try:
        yield lambda event: environments.invoke(event, "request-1")
    finally:
        environments.stop()


def _read(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def _flatten(line: Mapping[str, Any] | list[Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The fields as Insights discovers them: members of objects by a dot, items of arrays by their number.

    docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_AnalyzeLogData-discoverable-fields.html
    """
    for name, value in line.items() if isinstance(line, Mapping) else enumerate(line):
        if isinstance(value, Mapping | list):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


@pytest.mark.slow
def test_the_queries_name_fields_and_values_that_are_logged(lines: Lines) -> None:
    for name, query in saved_queries(DEV).items():
        flat = [dict(_flatten(line)) for log in query.logs for line in lines[log]]
        wanted, found = read_query(query.text), {field for line in flat for field in line}
        assert wanted.fields <= found, f"{name}: nobody writes {sorted(wanted.fields - found)}"
        for field, value in wanted.compared:
            if value == PLACEHOLDER or field in ("status", "httpMethod"):  # values of API Gateway
                continue
            values = {str(line[field]) for line in flat if field in line}
            pattern = value.strip("/") if value.startswith("/") else re.escape(value) + "$"
            assert [one for one in values if re.match(pattern, one)], f"{name}: {field} is never {value}"


@pytest.mark.slow
def test_the_lines_of_a_question_lead_from_the_gateway_to_its_tool_calls(lines: Lines) -> None:
    gateway_id = proxy_event("POST", "/", "local")["requestContext"]["requestId"]
    of_questions = [line for line in lines["query_log"] if line.get("query_id")]
    assert {line["request_id"] for line in of_questions} == {gateway_id}
    # Each question has one line of its metrics, so that even one without a fault can be found by either id.
    with_metrics = [line["query_id"] for line in of_questions if "Latency" in line]
    assert len(set(with_metrics)) == len(with_metrics) == 4
    assert {line["query_id"] for line in of_questions} == set(with_metrics)


@pytest.mark.parametrize("environment", ALL_NAMES)
def test_saved_queries_keep_to_the_limits(environment: str) -> None:
    # docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference: API_PutQueryDefinition, API_StartQuery
    definitions = properties(synthesis().watch[environment], "AWS::Logs::QueryDefinition")
    names = [definition["Name"] for definition in definitions]
    assert len(set(names)) == len(names)
    for definition in definitions:
        assert re.fullmatch(r"([^:*/]+/?)*[^:*/]+", definition["Name"])
        assert definition["Name"].startswith(f"gleaner-{environment}/")
        assert 1 <= len(definition["Name"]) <= 255
        assert 1 <= len(definition["QueryString"]) <= 10_000
        assert 1 <= len(definition["LogGroupNames"]) <= 50


def test_slow_answers_are_those_that_the_alarm_means() -> None:
    for environment in ALL:
        milliseconds = environment.alarms.fast_answer_seconds * 1000
        assert f"Latency.0 > {milliseconds:g}\n" in saved_queries(environment)["SlowAnswers"].text


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("fields @timestamp, a.0 as b\n| sort b desc", {"a.0"}),
        ('filter a = "x y" and b like /^(1|2)/ or ispresent(c.d)\n| limit 5', {"a", "b", "c.d"}),
        ("stats count(*) as n, avg(a) by bin(5m), b\n| sort n desc", {"a", "b"}),
        ("fields coalesce(a, b) as c\n| filter c in ['x', 'y']", {"a", "b"}),
    ],
)
def test_the_fields_of_a_query_are_found(text: str, fields: set[str]) -> None:
    assert read_query(text).fields == fields


@pytest.mark.parametrize("text", ["select a", "filter nosuch(a) = 1", "fields a; b", "stats count(*) by `a`"])
def test_a_query_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no command|no functions|not understood"):
        read_query(text)
