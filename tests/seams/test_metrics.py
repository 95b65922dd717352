"""The deployed functions emit the metrics that the dashboard and the alarms watch."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from gleaner_local.aws.execution_environment import ExecutionEnvironments
from gleaner_local.service.run import PRUNE_HANDLER, QUERY_HANDLER
from infra import criteria
from infra.environments import DEV
from infra.layer_build import ROOT
from tests.conftest import proxy_event
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, says, search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.infra.synthesis import Template, resources, synthesis
from tests.seams.ingesting import load_documents

COSTS = ROOT / "docs" / "11-costs-and-limits.md"
PAGE = result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette 1.0 was released in 2026.")
PRICES = {"OPENAI_PRICES": '{"input": 1, "cached_input": 0.1, "output": 10}', "WEB_SEARCH_PRICE": "0.005"}
_FILTER = "AWS::Logs::MetricFilter"

MetricNames = set[tuple[str, str]]  # service and metric


def test_watched_metrics_are_emitted(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb, tmp_path: Path
) -> None:
    environment = settings | PRICES | {"POWERTOOLS_METRICS_NAMESPACE": criteria.namespace(DEV)}
    log = tmp_path / "log"
    web.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    for handler, use in (
        (QUERY_HANDLER, lambda environments: _run_turns(environments, model)),
        (PRUNE_HANDLER, _prune),
    ):
        environments = ExecutionEnvironments(handler, environment, log_path=log, timeout_seconds=29, concurrency=1)
        try:
            use(environments)
        finally:
            environments.stop()
    load_documents(tmp_path / "bucket", environment, log)
    watched = _watched_metrics(synthesis().watch["dev"])
    assert {(criteria.SERVICE, share.metric) for share in criteria.shares(DEV)} < watched
    emitted = _emitted_metrics(log)
    assert watched - emitted == set()
    # Each of them is billed in the hours in which it is written.
    counts = Counter(service for service, _ in emitted)
    costs = " ".join(COSTS.read_text().split())
    assert f"the function's {counts[criteria.SERVICE]} metrics" in costs
    assert f"pruning's {counts[criteria.PRUNE_SERVICE]} metrics" in costs
    assert f"the {counts[criteria.INGEST_SERVICE]} metrics of loading" in costs


def _run_turns(environments: ExecutionEnvironments, model: ScriptedModel) -> None:
    """Ask a question that needs the web and a retry, one that uses the learned answer, and one that it does not answer.

    Then rate an answer.
    """
    model.plays(
        calls(search()),
        calls(("perplexity_search", {"query": "Starlette"})),
        calls(index("Starlette release", "ASGI framework")),
        says("In 2026."),
        calls(answer("In 2026. [web-1]", ("web-1",))),
    )
    first = _post(environments, "/api/chat/query", {"query": "When was Starlette 1.0 released?"})
    model.plays(calls(search("Starlette release")), calls(answer("In 2026. [web-1]", ("web-1",))))
    _post(environments, "/api/chat/query", {"query": "Which year was that?", "session_id": first["session_id"]})
    model.plays(calls(search("When was Starlette 2.0 released?")), calls(answer("The passages do not say.", ())))
    _post(environments, "/api/chat/query", {"query": "When was Starlette 2.0 released?"})
    _post(environments, f"/api/queries/{first['query_id']}/feedback", {"rating": 4})


def _prune(environments: ExecutionEnvironments) -> None:
    assert environments.invoke({}, "request-p")["finished"]


def _post(environments: ExecutionEnvironments, path: str, body: Any) -> Any:
    response = environments.invoke(proxy_event("POST", path, "local") | {"body": json.dumps(body)}, "request-q")
    assert response["statusCode"] == 200, response
    return json.loads(response["body"])


def _emitted_metrics(log: Path) -> MetricNames:
    """The metrics of the log, which are in CloudWatch's embedded metric format (EMF)."""
    names: MetricNames = set()
    for line in log.read_text().splitlines():
        if '"_aws"' not in line:
            continue
        entry = json.loads(line)
        for metrics in entry["_aws"]["CloudWatchMetrics"]:
            assert metrics["Namespace"] == criteria.namespace(DEV)
            names |= {(entry["service"], metric["Name"]) for metric in metrics["Metrics"]}
    return names


def _watched_metrics(template: Template) -> MetricNames:
    alarms = [alarm["Properties"] for alarm in resources(template, "AWS::CloudWatch::Alarm").values()]
    alarm_metrics = [metric for alarm in alarms for metric in _metrics_of(alarm)]
    own = [metric for metric in alarm_metrics if metric["Namespace"] == criteria.namespace(DEV)]
    written = [metric for metric in own if "Dimensions" in metric]
    # The others are made of log lines.
    filters = [one["Properties"]["MetricTransformations"][0] for one in resources(template, _FILTER).values()]
    made = {(one["MetricNamespace"], one["MetricName"]) for one in filters}
    assert {(one["Namespace"], one["MetricName"]) for one in own if "Dimensions" not in one} == made
    (dashboard,) = resources(template, "AWS::CloudWatch::Dashboard").values()
    body = json.dumps(dashboard).replace("\\", "")
    widget_metrics = re.findall(rf'\["{criteria.namespace(DEV)}","(\w+)","service","([\w-]+)"', body)
    return {(metric["Dimensions"][0]["Value"], metric["MetricName"]) for metric in written} | {
        (service, name) for name, service in widget_metrics
    }


def _metrics_of(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics of an alarm: its single one or those of its expression."""
    queries = [query["MetricStat"]["Metric"] for query in alarm.get("Metrics", ()) if "MetricStat" in query]
    return queries or [alarm]
