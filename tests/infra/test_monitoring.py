"""The dashboard and the alarms."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from infra.alarm_bars import Alarms, Bar, SpendingBar
from infra.criteria import shares
from infra.environment import Environment
from infra.environments import DEV, ENVIRONMENTS
from infra.layer_build import ROOT
from infra.prices import AWS
from tests.infra.synthesis import EVERY, UNPRICED, Synthesis, Template, one, properties, resources

COSTS = ROOT / "docs" / "11-costs-and-limits.md"
DAY = 24 * 60  # minutes
BARS = [
    (name, value)
    for environment in ENVIRONMENTS
    for name in Alarms.__dataclass_fields__
    if isinstance(value := getattr(environment.alarms, name), Bar)
]


@EVERY
def test_every_criterion_has_a_widget_and_every_bar_an_alarm(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.watch[environment.name]
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
def test_a_share_of_too_few_questions_is_not_evaluated(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.watch[environment.name]
    dashboard = _dashboard_expressions(template)
    criteria = [(share.code, share.metric, "Average", share.bar) for share in shares(environment) if share.bar]
    criteria.append(("SC-005", "Latency", "p95", environment.alarms.fast_answers))
    for code, metric, statistic, bar in criteria:
        (alarm,) = _alarms(template, code)
        assert (alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]) == (bar.periods, bar.misses)
        if bar.questions == 1:
            assert (alarm["MetricName"], alarm["Statistic"], alarm["Period"]) == (metric, statistic, bar.minutes * 60)
            continue
        expression, metrics = _expression(alarm)
        assert expression == f"IF(questions >= {bar.questions}, value)"  # no data, hence no alarm, below the minimum
        assert metrics == {
            "questions": (metric, "SampleCount", bar.minutes * 60),
            "value": (metric, statistic, bar.minutes * 60),
        }
        assert (metric, expression) in dashboard


@EVERY
def test_a_bar_below_100_percent_is_evaluated_over_a_sample(environment: Environment) -> None:
    for share in shares(environment):
        if share.bar is not None and share.bar.percent < 100:
            # One miss must not bring the share below the bar.
            assert 1 - 1 / share.bar.questions >= share.bar.percent / 100
            assert share.bar.questions >= 20


@pytest.mark.parametrize(("name", "bar"), BARS)
def test_cloudwatch_accepts_the_periods_of_a_bar(name: str, bar: Bar) -> None:
    whole_hours = bar.minutes % 60 == 0
    assert whole_hours or bar.minutes < 60, name
    assert bar.minutes * bar.periods <= (7 * DAY if whole_hours else DAY), name
    assert 1 <= bar.misses <= bar.periods, name


def test_learned_keywords_are_evaluated_over_days() -> None:
    bar = DEV.alarms.helped_by_keywords
    assert (bar.percent, bar.minutes >= DAY) == (20, True)


def test_slow_answers_trigger_an_alarm(synthesised: Synthesis) -> None:
    (alarm,) = _alarms(synthesised.watch["prod"], "SC-005")
    assert alarm["Threshold"] == 10_000
    assert alarm["ComparisonOperator"] == "GreaterThanThreshold"


@EVERY
def test_failures_trigger_alarms(synthesised: Synthesis, environment: Environment) -> None:
    alarms = properties(synthesised.watch[environment.name], "AWS::CloudWatch::Alarm")
    watched = {alarm.get("MetricName"): alarm["Threshold"] for alarm in alarms}
    thresholds = {"Throttles": 0, "Errors": 0, "ApproximateNumberOfMessagesVisible": 0}
    assert thresholds.items() <= watched.items()


@EVERY
def test_an_outage_triggers_an_alarm_despite_health_checks_and_visits(
    synthesised: Synthesis, environment: Environment
) -> None:
    template, bar = synthesised.watch[environment.name], environment.alarms.server_errors
    (alarm,) = _alarms(template, "More than")
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (bar.percent / 100, "GreaterThanThreshold")
    expression, metrics = _expression(alarm)
    assert expression == f"IF(failed >= {bar.failures}, failed / asked)"
    period = bar.minutes * 60
    assert metrics == {"failed": ("FailedRequests", "Sum", period), "asked": ("AskedRequests", "Sum", period)}


def test_one_failure_is_not_enough_for_an_alarm() -> None:
    bar = DEV.alarms.server_errors
    assert bar.failures == 2
    assert 60 <= bar.minutes <= DAY  # a little-used service gets two questions in this time


@EVERY
def test_throttling_by_dynamodb_triggers_an_alarm_that_recovers(
    synthesised: Synthesis, environment: Environment
) -> None:
    (alarm,) = _alarms(synthesised.watch[environment.name], "DynamoDB throttles")
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (0, "GreaterThanThreshold")
    assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (2, 3)
    # CloudWatch ignores how alarms on DynamoDB's own metrics treat missing data: they would never recover.
    assert (alarm["Namespace"], alarm["MetricName"]) == (f"Gleaner/{environment.name}", "StoreThrottles")


@EVERY
def test_the_dashboard_shows_which_table_or_index_is_throttled(
    synthesised: Synthesis, environment: Environment
) -> None:
    body = json.dumps(one(synthesised.watch[environment.name], "AWS::CloudWatch::Dashboard")).replace("\\", "")
    tables = resources(synthesised.data[environment.name], "AWS::DynamoDB::GlobalTable").values()
    indexes = [one["IndexName"] for table in tables for one in table["Properties"].get("GlobalSecondaryIndexes", ())]
    for metric in ("ReadThrottleEvents", "WriteThrottleEvents"):
        assert body.count(f'["AWS/DynamoDB","{metric}"') == len(tables) + len(indexes)
        for index in indexes:
            assert f'["AWS/DynamoDB","{metric}","GlobalSecondaryIndexName","{index}","TableName"' in body


@EVERY
def test_spending_triggers_an_alarm_in_an_hour_and_in_a_day(synthesised: Synthesis, environment: Environment) -> None:
    bar = environment.alarms.spending
    assert bar is not None
    for start, seconds, usd in (
        ("The answers of the last hour", 3_600, bar.usd_per_hour),
        ("The answers of the last day", 86_400, bar.usd_per_day),
    ):
        (alarm,) = _alarms(synthesised.watch[environment.name], start)
        assert (alarm["MetricName"], alarm["Statistic"], alarm["Period"]) == ("EstimatedCost", "Sum", seconds)
        assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (usd, "GreaterThanThreshold")
        assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (1, 1)
        assert f"more than {usd:g} USD" in alarm["AlarmDescription"]


def test_a_record_without_a_bar_has_no_alarm_on_spending(synthesised: Synthesis) -> None:
    assert UNPRICED.alarms.spending is None
    assert not _alarms(synthesised.watch["unpriced"], "The answers of the last")
    dashboard = json.dumps(one(synthesised.watch["unpriced"], "AWS::CloudWatch::Dashboard"))
    assert "Estimated cost (USD)" in dashboard


def test_a_bar_on_spending_needs_prices() -> None:
    with pytest.raises(ValueError, match="openai_prices"):
        replace(DEV, openai_prices=None)


@pytest.mark.parametrize(("day", "hour"), [(0, 0), (5, 6), (49, 2), (-1, -1)])
def test_a_bar_on_spending_that_would_never_or_always_be_reached_is_refused(day: float, hour: float) -> None:
    with pytest.raises(ValueError, match="usd_per_day"):
        SpendingBar(usd_per_day=day, usd_per_hour=hour)


@EVERY
def test_one_failed_pruning_run_triggers_an_alarm(synthesised: Synthesis, environment: Environment) -> None:
    alarms = properties(synthesised.watch[environment.name], "AWS::CloudWatch::Alarm")
    once = {alarm.get("MetricName") for alarm in alarms if alarm["EvaluationPeriods"] == 1}
    assert {"Errors", "ApproximateNumberOfMessagesVisible"} <= once


@EVERY
def test_missing_data_triggers_no_alarm(synthesised: Synthesis, environment: Environment) -> None:
    for alarm in properties(synthesised.watch[environment.name], "AWS::CloudWatch::Alarm"):
        assert alarm["TreatMissingData"] == "notBreaching"


def test_the_handbook_prices_the_snapshot() -> None:
    gigabytes = DEV.query.memory_mb / 1024
    storage = gigabytes * AWS.snap_start_gb_second * 30 * DAY * 60
    restored = 1_000 * gigabytes * AWS.snap_start_restored_gb
    text = COSTS.read_text()
    assert f" {storage:.2f} " in text
    assert f"1,000 starts cost {restored:.2f}" in text


def test_environments_of_two_regions_have_two_dashboards(synthesised: Synthesis) -> None:
    template, region = synthesised.watch["dev"], {"Ref": "AWS::Region"}
    name = one(template, "AWS::CloudWatch::Dashboard")["DashboardName"]
    assert name == {"Fn::Join": ["", ["gleaner-dev-", region]]}
    (_, parts) = template["Outputs"]["DashboardUrl"]["Value"]["Fn::Join"]
    assert parts[-2:] == ["#dashboards/dashboard/gleaner-dev-", region]


def test_alarms_notify_the_configured_address(synthesised: Synthesis) -> None:
    template = synthesised.watch["email"]
    (topic,) = resources(template, "AWS::SNS::Topic")
    subscription = one(template, "AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "on-call@example.com")
    for alarm in properties(template, "AWS::CloudWatch::Alarm"):
        assert alarm["AlarmActions"] == [{"Ref": topic}]


def test_alarms_may_publish_to_their_topic_over_tls_only(synthesised: Synthesis) -> None:
    # repost.aws/knowledge-center/cloudwatch-receive-sns-for-alarm-trigger: a topic's policy, once it has one, must let
    # CloudWatch publish, or the history of the alarm says "not authorized to perform: SNS:Publish".
    template = synthesised.watch["email"]
    (topic,) = resources(template, "AWS::SNS::Topic")
    policy = one(template, "AWS::SNS::TopicPolicy")
    assert policy["Topics"] == [{"Ref": topic}]
    statements = policy["PolicyDocument"]["Statement"]
    (allowed,) = [statement for statement in statements if statement["Effect"] == "Allow"]
    assert (allowed["Action"], allowed["Resource"]) == ("sns:Publish", {"Ref": topic})
    assert allowed["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allowed["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    (denied,) = [statement for statement in statements if statement["Effect"] == "Deny"]
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_without_an_address_there_is_no_topic(synthesised: Synthesis) -> None:
    assert DEV.alarms.email is None
    assert not resources(synthesised.watch["dev"], "AWS::SNS::Topic")


def _alarms(template: Template, start: str) -> list[dict[str, Any]]:
    """The alarms whose descriptions start like this."""
    alarms = properties(template, "AWS::CloudWatch::Alarm")
    return [alarm for alarm in alarms if alarm["AlarmDescription"].startswith(start)]


def _expression(alarm: dict[str, Any]) -> tuple[str, dict[str, tuple[str, str, int]]]:
    """The expression of an alarm, and the metric, statistic and period in seconds of each of its ids."""
    (expression,) = [query["Expression"] for query in alarm["Metrics"] if query["ReturnData"]]
    stats = {query["Id"]: query["MetricStat"] for query in alarm["Metrics"] if not query["ReturnData"]}
    return expression, {id: (stat["Metric"]["MetricName"], stat["Stat"], stat["Period"]) for id, stat in stats.items()}


def _dashboard_expressions(template: Template) -> set[tuple[str, str]]:
    """The labels and expressions of the computed metrics on the dashboard."""
    body = json.dumps(one(template, "AWS::CloudWatch::Dashboard")).replace("\\", "")
    return set(re.findall(r'\{"label":"(\w+)","expression":"([^"]+)"', body))
