"""The metrics that the dashboard and the alarms watch are those that the deployed functions write."""

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

COSTS = ROOT / "docs" / "11-costs-and-limits.md"
PAGE = result(1, "https://starlette.dev/release", "Starlette release notes", "Starlette 1.0 was released in 2026.")
PRICES = {"OPENAI_PRICES": '{"input": 1, "cached_input": 0.1, "output": 10}', "WEB_SEARCH_PRICE": "0.005"}

Named = set[tuple[str, str]]  # service and metric


def test_what_is_watched_is_written(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb, tmp_path: Path
) -> None:
    environment = settings | PRICES | {"POWERTOOLS_METRICS_NAMESPACE": criteria.namespace(DEV)}
    log = tmp_path / "log"
    web.finds("Starlette 1.0 was released in 2026 [1].", PAGE)
    for handler, use in ((QUERY_HANDLER, lambda made: _turns(made, model)), (PRUNE_HANDLER, _prune)):
        made = ExecutionEnvironments(handler, environment, log_path=log, timeout_seconds=29, concurrency=1)
        try:
            use(made)
        finally:
            made.stop()
    watched = _watched(synthesis().service["dev"])
    assert {(criteria.SERVICE, share.metric) for share in criteria.shares(DEV)} < watched
    written = _written(log)
    assert watched - written == set()
    # Each of them is paid for by the month.
    of_service = Counter(service for service, _ in written)
    assert f"the function's {of_service[criteria.SERVICE]} metrics" in COSTS.read_text()
    assert f"pruning's {of_service[criteria.PRUNE_SERVICE]} metrics" in COSTS.read_text()


def _turns(made: ExecutionEnvironments, model: ScriptedModel) -> None:
    """A question that takes the web and a retry, one that goes on with its session by what it taught, and a rating."""
    model.plays(
        calls(search()),
        calls(("perplexity_search", {"query": "Starlette"})),
        calls(index("Starlette release", "ASGI framework")),
        says("In 2026."),
        calls(answer("In 2026. [web-1]", ("web-1",))),
    )
    first = _post(made, "/api/chat/query", {"query": "When was Starlette 1.0 released?"})
    model.plays(calls(search("Starlette release")), calls(answer("In 2026. [web-1]", ("web-1",))))
    _post(made, "/api/chat/query", {"query": "Which year was that?", "session_id": first["session_id"]})
    _post(made, f"/api/queries/{first['query_id']}/feedback", {"rating": 4})


def _prune(made: ExecutionEnvironments) -> None:
    assert made.invoke({}, "request-p")["finished"]


def _post(made: ExecutionEnvironments, path: str, body: Any) -> Any:
    answered = made.invoke(proxy_event("POST", path, "local") | {"body": json.dumps(body)}, "request-q")
    assert answered["statusCode"] == 200, answered
    return json.loads(answered["body"])


def _written(log: Path) -> Named:
    """The metrics in the embedded metric format (EMF) of CloudWatch."""
    named: Named = set()
    for line in log.read_text().splitlines():
        if '"_aws"' not in line:
            continue
        entry = json.loads(line)
        for metrics in entry["_aws"]["CloudWatchMetrics"]:
            assert metrics["Namespace"] == criteria.namespace(DEV)
            named |= {(entry["service"], metric["Name"]) for metric in metrics["Metrics"]}
    return named


def _watched(template: Template) -> Named:
    alarms = [alarm["Properties"] for alarm in resources(template, "AWS::CloudWatch::Alarm").values()]
    judged = [metric for alarm in alarms for metric in _judged(alarm)]
    own = [metric for metric in judged if metric["Namespace"] == criteria.namespace(DEV)]
    (dashboard,) = resources(template, "AWS::CloudWatch::Dashboard").values()
    body = json.dumps(dashboard).replace("\\", "")
    shown = re.findall(rf'\["{criteria.namespace(DEV)}","(\w+)","service","([\w-]+)"', body)
    return {(metric["Dimensions"][0]["Value"], metric["MetricName"]) for metric in own} | {
        (service, name) for name, service in shown
    }


def _judged(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that an alarm judges: its own one, or those of its expression."""
    queries = [query["MetricStat"]["Metric"] for query in alarm.get("Metrics", ()) if "MetricStat" in query]
    return queries or [alarm]
