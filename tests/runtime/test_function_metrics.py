"""The metrics that a function publishes."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from aws_lambda_powertools.metrics import MetricUnit

from gleaner.runtime.telemetry import make_metrics


def test_metrics_are_published_and_an_invocation_without_metrics_publishes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Gleaner")
    metrics = make_metrics("query")

    @metrics.log_metrics
    def handle(event: dict[str, Any], _context: Any) -> None:
        for name in event["counts"]:
            metrics.add_metric(name, MetricUnit.Count, 1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for counts in ([], ["ToolCalls"], []):
            handle({"counts": counts}, None)
    (line,) = capsys.readouterr().out.splitlines()
    published = json.loads(line)
    assert (published["ToolCalls"], published["service"]) == ([1.0], "query")
    assert published["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Gleaner"
