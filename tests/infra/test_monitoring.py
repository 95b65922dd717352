"""The dashboard and the alarms."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from infra.criteria import shares
from infra.environments import DEV, ENVIRONMENTS, Alarms, Bar, Environment
from infra.layer_build import ROOT
from infra.prices import AWS
from tests.infra.synthesis import EVERY, Synthesis, Template, one, properties, resources

COSTS = ROOT / "docs" / "11-costs-and-limits.md"
DAY = 24 * 60  # minutes
METRICS_OF_AN_ALARM = 10  # at most
BARS = [
    (name, value)
    for environment in ENVIRONMENTS
    for name in Alarms.__dataclass_fields__
    if isinstance(value := getattr(environment.alarms, name), Bar)
]


@EVERY
def test_every_criterion_has_a_widget_and_its_bar_an_alarm(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    dashboard = json.dumps(one(template, "AWS::CloudWatch::Dashboard"))
    assert all(f"SC-00{number}" in dashboard for number in range(1, 9))
    for share in shares(environment):
        alarms = _alarms(template, share.code)
        assert len(alarms) == (share.bar is not None)
        if share.bar is not None:
            assert alarms[0]["Threshold"] == share.bar.percent / 100
            assert alarms[0]["ComparisonOperator"] == "LessThanThreshold"
            assert f"at least {share.bar.percent:g} %" in alarms[0]["AlarmDescription"]


@EVERY
def test_a_share_of_too_few_questions_is_not_judged(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    shown = _shown_expressions(template)
    judged = [(share.code, share.metric, "Average", share.bar) for share in shares(environment) if share.bar]
    judged.append(("SC-005", "Latency", "p95", environment.alarms.fast_answers))
    for code, metric, statistic, bar in judged:
        (alarm,) = _alarms(template, code)
        assert (alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]) == (bar.periods, bar.misses)
        if bar.questions == 1:
            assert (alarm["MetricName"], alarm["Statistic"], alarm["Period"]) == (metric, statistic, bar.minutes * 60)
            continue
        expression, of = _expression(alarm)
        assert expression == f"IF(questions >= {bar.questions}, value)"  # nothing, which is no alarm, below that
        assert of == {
            "questions": (metric, "SampleCount", bar.minutes * 60),
            "value": (metric, statistic, bar.minutes * 60),
        }
        assert (metric, expression) in shown


@EVERY
def test_a_bar_below_100_percent_is_judged_over_a_sample(environment: Environment) -> None:
    for share in shares(environment):
        if share.bar is not None and share.bar.percent < 100:
            # So that one question that misses does not bring the share below the bar.
            assert 1 - 1 / share.bar.questions >= share.bar.percent / 100
            assert share.bar.questions >= 20


@pytest.mark.parametrize(("name", "bar"), BARS)
def test_cloudwatch_takes_the_periods_of_a_bar(name: str, bar: Bar) -> None:
    whole_hours = bar.minutes % 60 == 0
    assert whole_hours or bar.minutes < 60, name
    assert bar.minutes * bar.periods <= (7 * DAY if whole_hours else DAY), name
    assert 1 <= bar.misses <= bar.periods, name


def test_learned_keywords_are_judged_over_days() -> None:
    bar = DEV.alarms.helped_by_keywords
    assert (bar.percent, bar.minutes >= DAY) == (20, True)


def test_slow_answers_ring(synthesised: Synthesis) -> None:
    (alarm,) = _alarms(synthesised.service["prod"], "SC-005")
    assert alarm["Threshold"] == 10_000
    assert alarm["ComparisonOperator"] == "GreaterThanThreshold"


@EVERY
def test_failures_ring(synthesised: Synthesis, environment: Environment) -> None:
    alarms = properties(synthesised.service[environment.name], "AWS::CloudWatch::Alarm")
    watched = {alarm.get("MetricName"): alarm["Threshold"] for alarm in alarms}
    nothing = {"Throttles": 0, "Errors": 0, "ApproximateNumberOfMessagesVisible": 0}
    assert nothing.items() <= watched.items()


@EVERY
def test_a_service_that_is_down_rings_whoever_checks_its_health(
    synthesised: Synthesis, environment: Environment
) -> None:
    template, bar = synthesised.service[environment.name], environment.alarms.server_errors
    (alarm,) = _alarms(template, "More than")
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (bar.percent / 100, "GreaterThanThreshold")
    expression, of = _expression(alarm)
    share = "failed / (requests - FILL(checks, 0) + FILL(unhealthy, 0))"
    assert expression == f"IF(failed >= {bar.failures}, {share})"
    period = bar.minutes * 60
    assert of == {
        "failed": ("5XXError", "Sum", period),
        "requests": ("Count", "Sum", period),
        "checks": ("Count", "Sum", period),
        "unhealthy": ("5XXError", "Sum", period),
    }
    assert _routes(alarm) == {"failed": "", "requests": "", "checks": "/api/health", "unhealthy": "/api/health"}
    # API Gateway writes metrics of a method where its stage says so, and no others: each of them is paid for.
    settings = one(template, "AWS::ApiGateway::Stage")["MethodSettings"]
    measured = [setting["ResourcePath"] for setting in settings if setting.get("MetricsEnabled")]
    assert measured == ["/~1api~1health"]


def test_two_failures_are_enough_and_one_is_not() -> None:
    bar = DEV.alarms.server_errors
    assert bar.failures == 2
    assert 60 <= bar.minutes <= DAY  # of a service that is little used, two questions fall into it


@EVERY
def test_a_throttled_table_or_index_rings_and_stops_ringing(synthesised: Synthesis, environment: Environment) -> None:
    alarms = _alarms(synthesised.service[environment.name], "DynamoDB throttles")
    watched = []
    for alarm in alarms:
        assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (0, "GreaterThanThreshold")
        expression, of = _expression(alarm)
        assert len(of) <= METRICS_OF_AN_ALARM
        # DynamoDB writes no zeros, and CloudWatch leaves an alarm on its metrics as it is while data is missing.
        assert sorted(re.findall(r"FILL\((\w+), 0\)", expression)) == sorted(of)
        watched += [_throttled(query) for query in alarm["Metrics"] if not query["ReturnData"]]
    tables = resources(synthesised.data[environment.name], "AWS::DynamoDB::GlobalTable").values()
    throttled = [
        (metric, index)
        for table in tables
        for index in ("", *(one["IndexName"] for one in table["Properties"].get("GlobalSecondaryIndexes", ())))
        for metric in ("ReadThrottleEvents", "WriteThrottleEvents")
    ]
    assert sorted((metric, index) for metric, _, index in watched) == sorted(throttled)
    assert len(set(watched)) == len(watched)
    assert len({table for _, table, _ in watched}) == len(tables) == len(alarms)


@EVERY
def test_one_failed_run_of_pruning_rings(synthesised: Synthesis, environment: Environment) -> None:
    alarms = properties(synthesised.service[environment.name], "AWS::CloudWatch::Alarm")
    once = {alarm.get("MetricName") for alarm in alarms if alarm["EvaluationPeriods"] == 1}
    assert {"Errors", "ApproximateNumberOfMessagesVisible"} <= once


@EVERY
def test_silence_is_no_alarm(synthesised: Synthesis, environment: Environment) -> None:
    for alarm in properties(synthesised.service[environment.name], "AWS::CloudWatch::Alarm"):
        assert alarm["TreatMissingData"] == "notBreaching"


def test_the_handbook_prices_every_metric_under_an_alarm(synthesised: Synthesis) -> None:
    alarms = properties(synthesised.service["dev"], "AWS::CloudWatch::Alarm")
    metrics = sum(max(1, sum("MetricStat" in query for query in alarm.get("Metrics", ()))) for alarm in alarms)
    assert f"| {len(alarms)} alarms on {metrics} metrics: {metrics} × {AWS.alarm_month:.2f}" in COSTS.read_text()


def test_the_handbook_prices_the_snapshot() -> None:
    gigabytes = DEV.query.memory_mb / 1024
    kept = gigabytes * AWS.snap_start_gb_second * 30 * DAY * 60
    restored = 1_000 * gigabytes * AWS.snap_start_restored_gb
    text = COSTS.read_text()
    assert f" {kept:.2f} " in text
    assert f"1,000 starts cost {restored:.2f}" in text


def test_environments_of_two_regions_have_two_dashboards(synthesised: Synthesis) -> None:
    template, region = synthesised.service["dev"], {"Ref": "AWS::Region"}
    name = one(template, "AWS::CloudWatch::Dashboard")["DashboardName"]
    assert name == {"Fn::Join": ["", ["gleaner-dev-", region]]}
    (_, parts) = template["Outputs"]["DashboardUrl"]["Value"]["Fn::Join"]
    assert parts[-2:] == ["#dashboards/dashboard/gleaner-dev-", region]


def test_alarms_reach_the_address_of_the_record(synthesised: Synthesis) -> None:
    template = synthesised.service["email"]
    (topic,) = resources(template, "AWS::SNS::Topic")
    subscription = one(template, "AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "on-call@example.com")
    for alarm in properties(template, "AWS::CloudWatch::Alarm"):
        assert alarm["AlarmActions"] == [{"Ref": topic}]


def test_without_an_address_there_is_no_topic(synthesised: Synthesis) -> None:
    assert DEV.alarms.email is None
    assert not resources(synthesised.service["dev"], "AWS::SNS::Topic")


def _alarms(template: Template, begins: str) -> list[dict[str, Any]]:
    """The alarms whose description begins so."""
    found = properties(template, "AWS::CloudWatch::Alarm")
    return [alarm for alarm in found if alarm["AlarmDescription"].startswith(begins)]


def _expression(alarm: dict[str, Any]) -> tuple[str, dict[str, tuple[str, str, int]]]:
    """The expression that an alarm judges, and the metric, statistic and seconds behind each of its names."""
    (judged,) = [query["Expression"] for query in alarm["Metrics"] if query["ReturnData"]]
    stats = {query["Id"]: query["MetricStat"] for query in alarm["Metrics"] if not query["ReturnData"]}
    return judged, {id: (stat["Metric"]["MetricName"], stat["Stat"], stat["Period"]) for id, stat in stats.items()}


def _routes(alarm: dict[str, Any]) -> dict[str, str]:
    """The route whose metric stands behind each name of an expression; empty for the whole API."""
    stats = {query["Id"]: query["MetricStat"]["Metric"] for query in alarm["Metrics"] if not query["ReturnData"]}
    return {
        id: next((one["Value"] for one in metric["Dimensions"] if one["Name"] == "Resource"), "")
        for id, metric in stats.items()
    }


def _throttled(query: dict[str, Any]) -> tuple[str, str, str]:
    """Metric, table and index, which is empty for the table itself."""
    metric = query["MetricStat"]["Metric"]
    of = {one["Name"]: one["Value"] for one in metric["Dimensions"]}
    assert metric["Namespace"] == "AWS/DynamoDB"
    return metric["MetricName"], json.dumps(of["TableName"]), of.get("GlobalSecondaryIndexName", "")


def _shown_expressions(template: Template) -> set[tuple[str, str]]:
    """Label and expression of everything computed that the dashboard shows."""
    body = json.dumps(one(template, "AWS::CloudWatch::Dashboard")).replace("\\", "")
    return set(re.findall(r'\{"label":"(\w+)","expression":"([^"]+)"', body))
