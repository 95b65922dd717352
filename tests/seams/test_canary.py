"""The alarm of a canary watches the metric that the query function writes for a failed answer."""

from __future__ import annotations

import json

import pytest

from gleaner.runtime.telemetry import count_failed_answer, make_metrics
from infra import criteria
from infra.environments import PROD
from tests.infra.synthesis import properties, synthesis


def test_the_alarm_watches_what_the_function_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", criteria.namespace(PROD))
    count_failed_answer(make_metrics(criteria.SERVICE), "7")
    written = json.loads(capsys.readouterr().out)
    [published] = written["_aws"]["CloudWatchMetrics"]
    alarms = properties(synthesis().service["prod"], "AWS::CloudWatch::Alarm")
    [alarm] = [one for one in alarms if one.get("MetricName") == criteria.FAILED_ANSWERS]
    [metric] = published["Metrics"]
    assert (published["Namespace"], metric["Name"]) == (alarm["Namespace"], alarm["MetricName"])
    # CloudWatch aggregates over no dimension: an alarm sees nothing if it lacks one or has one too many.
    [names] = published["Dimensions"]
    dimensions = {one["Name"]: one["Value"] for one in alarm["Dimensions"]}
    assert sorted(names) == sorted(dimensions)
    assert dimensions["service"] == written["service"]
    assert (dimensions["version"]["Fn::GetAtt"][1], written["version"]) == ("Version", "7")
