"""Every alarm and dashboard keeps to what CloudWatch's documentation allows, and the rules refuse what it does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.session import get_session
from botocore.validate import ParamValidator

from infra.environment import Environment
from tests.infra.alarm_rules import breaches_of_alarm
from tests.infra.synthesis import ALL, ALL_NAMES, Synthesis, properties

EVERY_VARIANT = pytest.mark.parametrize("environment", ALL, ids=ALL_NAMES)
SINGLE: dict[str, Any] = {
    "AlarmDescription": "an alarm",
    "MetricName": "Errors",
    "Namespace": "AWS/Lambda",
    "Dimensions": [{"Name": "FunctionName", "Value": "f"}],
    "Period": 300,
    "Statistic": "Sum",
    "EvaluationPeriods": 3,
    "DatapointsToAlarm": 2,
    "Threshold": 0,
    "ComparisonOperator": "GreaterThanThreshold",
    "TreatMissingData": "notBreaching",
}


def metric(id: str, *, period: int = 300, stat: str = "Sum", **more: Any) -> dict[str, Any]:
    named = {"Namespace": "Gleaner/dev", "MetricName": id.title()}
    return {"Id": id, "ReturnData": False, "MetricStat": {"Metric": named, "Period": period, "Stat": stat} | more}


def computed(expression: str, *metrics: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An alarm on an expression."""
    kept = {
        name: SINGLE[name] for name in ("EvaluationPeriods", "DatapointsToAlarm", "Threshold", "ComparisonOperator")
    }
    query = {"Id": "e1", "Expression": expression, "ReturnData": True}
    return kept | {"Metrics": [query, *(metrics or (metric("m1"), metric("m2")))]} | more


def without(alarm: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in alarm.items() if name not in names}


@EVERY_VARIANT
def test_cloudwatch_should_take_every_alarm(synthesised: Synthesis, environment: Environment) -> None:
    name = environment.name
    templates = synthesised.of(name)
    alarms = [alarm for template in templates for alarm in properties(template, "AWS::CloudWatch::Alarm")]
    assert alarms
    for alarm in alarms:
        assert breaches_of_alarm(alarm) == [], alarm["AlarmDescription"]


@EVERY_VARIANT
def test_the_sdk_takes_every_alarm(synthesised: Synthesis, environment: Environment) -> None:
    operation = get_session().get_service_model("cloudwatch").operation_model("PutMetricAlarm")
    for alarm in properties(synthesised.watch[environment.name], "AWS::CloudWatch::Alarm"):
        report = ParamValidator().validate(_resolve(alarm) | {"AlarmName": "name"}, operation.input_shape)
        assert not report.has_errors(), report.generate_report()


@EVERY_VARIANT
def test_the_dashboard_keeps_to_the_quotas(synthesised: Synthesis, environment: Environment) -> None:
    # docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html: 500 widgets, 500 metrics in a
    # widget, 2,500 in a dashboard, also those that only expressions use. APIReference/CloudWatch-Dashboard-Body-
    # Structure.html: a grid of 24 columns.
    (dashboard,) = properties(synthesised.watch[environment.name], "AWS::CloudWatch::Dashboard")
    widgets = json.loads(_resolve(dashboard)["DashboardBody"])["widgets"]
    metrics = [len(widget["properties"]["metrics"]) for widget in widgets]
    assert 1 <= len(widgets) <= 500
    assert max(metrics) <= 500
    assert sum(metrics) <= 2500
    for widget in widgets:
        assert 0 <= widget["x"] <= widget["x"] + widget["width"] <= 24
        assert widget["properties"]["period"] % 60 == 0
    titles = [widget["properties"]["title"] for widget in widgets]
    assert len(set(titles)) == len(titles)


GOOD = {
    "single": SINGLE,
    "a percentile": without(SINGLE, "Statistic") | {"ExtendedStatistic": "p99.9"},
    "all points": without(SINGLE, "DatapointsToAlarm"),
    "a share": computed("m1 / m2"),
    "only enough": computed("IF(m1 >= 20, m2)"),
    "else": computed("IF(m1 > 5 AND m2 < 3, 1, 0)"),
    "filled": computed("FILL(m1, 0) + FILL(m2, REPEAT)"),
    "ten metrics": computed(" + ".join(f"m{i}" for i in range(10)), *(metric(f"m{i}") for i in range(10))),
    "a week": computed("m1", metric("m1", period=86_400), EvaluationPeriods=7),
    "a metric is returned": {"Metrics": [metric("m1") | {"ReturnData": True}]} | without(computed("m1"), "Metrics"),
}
BAD = {
    "no metric": (without(SINGLE, "MetricName"), "[alarm]: either MetricName or Metrics"),
    "both": (SINGLE | computed("m1"), "[alarm]: either MetricName or Metrics"),
    "a namespace beside": (computed("m1", Namespace="AWS/Lambda"), "[alarm]: Metrics excludes Namespace"),
    "a unit beside": (computed("m1", Unit="Count"), "[alarm]: Metrics excludes Unit"),
    "no period": (without(SINGLE, "Period"), "[alarm]: a metric needs Period"),
    "two statistics": (SINGLE | {"ExtendedStatistic": "p95"}, "[alarm]: either Statistic or"),
    "eleven metrics": (
        computed(" + ".join(f"m{i}" for i in range(11)), *(metric(f"m{i}") for i in range(11))),
        "[query]: 11 metrics, at most 10",
    ),
    "eleven expressions": (
        computed("m1", metric("m1"), *({"Id": f"x{i}", "Expression": "m1", "ReturnData": False} for i in range(10))),
        "[query]: 11 expressions, at most 10",
    ),
    "an id twice": (computed("m1", metric("m1"), metric("m1")), "[query]: ids are not unique"),
    "an upper-case id": (computed("M1", metric("M1")), "[query]: the id 'M1'"),
    "an id with a hyphen": (computed("m1", metric("m1"), metric("m-2")), "[query]: the id 'm-2'"),
    "metric and expression": (
        computed("m1", metric("m1") | {"Expression": "m1"}),
        "[query]: m1: either MetricStat or Expression",
    ),
    "nothing returned": (
        computed("m1", metric("m1"), metric("m2")) | {"Metrics": [metric("m1")]},
        "[query]: 0 results",
    ),
    "two returned": (computed("m1", without(metric("m1"), "ReturnData")), "[query]: 2 results"),
    "no expression": (computed(""), "[math]: e1: an expression has"),
    "too long": (computed("m1" + " + m1" * 500), "[math]: e1: an expression has"),
    "lower case": (computed("if(m1 > 1, m2)"), "[math]: e1: there is no function if"),
    "an unknown function": (computed("MEDIAN(m1)"), "[math]: e1: there is no function MEDIAN"),
    "an unknown id": (computed("m1 / m3"), "[math]: e1: there is no query m3"),
    "itself": (computed("m1 + e1"), "[math]: e1: there is no query e1"),
    "a number": (computed("5 + 3"), "[math]: e1: the result is no time series"),
    "a search": (computed("SEARCH('{AWS/Lambda} Errors', 'Sum')"), "[math]: e1: SEARCH returns several"),
    "all metrics": (computed("METRICS() * m1"), "[math]: e1: METRICS returns several"),
    "an array": (computed("[m1, m2]"), "[math]: e1: [ returns several series"),
    "a sum": (computed("SUM(m1) + m2"), "[math]: e1: SUM sees more points"),
    "filled without spare points": (
        computed("FILL(m1, 0)", EvaluationPeriods=2, DatapointsToAlarm=2),
        "[math]: e1: FILL may hide",
    ),
    "a wrong comparison": (computed("IF(m1 => 2, m2)"), "[math]: e1: => is no comparison"),
    "IF with four": (computed("IF(m1, m2, 0, 1)"), "[math]: e1: IF takes two or three"),
    "IF with one": (computed("IF(m1)"), "[math]: e1: IF takes two or three"),
    "an open parenthesis": (computed("(m1 + m2"), "[math]: e1: ( and ) do not match"),
    "other characters": (computed("m1 % m2"), "[math]: e1: it has characters"),
    "two periods": (computed("m1 + m2", metric("m1"), metric("m2", period=60)), "[data]: metrics of the periods [60,"),
    "half a minute": (SINGLE | {"Period": 30}, "[alarm]: a period of 30 s"),
    "a minute and a half": (computed("m1", metric("m1", period=90)), "[alarm]: a period of 90 s"),
    "more than a day": (SINGLE | {"EvaluationPeriods": 289}, "[alarm]: 289 periods of 300 s"),
    "more than a week": (computed("m1", metric("m1", period=86_400), EvaluationPeriods=8), "[alarm]: 8 periods"),
    "too many points": (SINGLE | {"DatapointsToAlarm": 4}, "[alarm]: DatapointsToAlarm"),
    "a band": (SINGLE | {"ComparisonOperator": "GreaterThanUpperThreshold"}, "[alarm]: GreaterThanUpperThreshold"),
    "no threshold": (without(SINGLE, "Threshold"), "[alarm]: there is no threshold"),
    "a threshold of a band": (SINGLE | {"ThresholdMetricId": "ad1"}, "[alarm]: ThresholdMetricId"),
    "an unknown statistic": (computed("m1", metric("m1", stat="Mean")), "[stats]: there is no statistic Mean"),
    "percentile 101": (computed("m1", metric("m1", stat="p101")), "[stats]: there is no statistic p101"),
    "a percentile as statistic": (SINGLE | {"Statistic": "p95"}, "[stats]: p95 is no Statistic"),
    "a statistic as percentile": (
        without(SINGLE, "Statistic") | {"ExtendedStatistic": "Sum"},
        "[stats]: Sum is no ExtendedStatistic",
    ),
    "few samples of a sum": (
        SINGLE | {"EvaluateLowSampleCountPercentile": "ignore"},
        "[stats]: EvaluateLowSampleCountPercentile",
    ),
    "a namespace with a colon": (SINGLE | {"Namespace": ":AWS"}, "[stat]: a metric has no name"),
    "a dimension twice": (SINGLE | {"Dimensions": SINGLE["Dimensions"] * 2}, "[stat]: dimensions are too many"),
    "an empty dimension": (
        SINGLE | {"Dimensions": [{"Name": "FunctionName", "Value": ""}]},
        "[stat]: a dimension has no value",
    ),
    "a unit": (SINGLE | {"Unit": "Seconds"}, "[stat]: a unit may hide"),
    "a unit of a metric": (computed("m1", metric("m1", Unit="Count")), "[stat]: a unit may hide"),
    "unknown treatment": (SINGLE | {"TreatMissingData": "zero"}, "[missing]: missing data cannot be zero"),
    "dynamodb": (SINGLE | {"Namespace": "AWS/DynamoDB"}, "[missing]: alarms on DynamoDB's metrics"),
    "six actions": (SINGLE | {"AlarmActions": ["arn:aws:sns:x"] * 6}, "[alarm]: more than 5 AlarmActions"),
    "stops a machine": (
        computed("m1", AlarmActions=["arn:aws:automate:us-east-1:ec2:stop"]),
        "[alarm]: alarms on expressions cannot act",
    ),
    "a long description": (SINGLE | {"AlarmDescription": "x" * 1025}, "[alarm]: the description"),
}


@pytest.mark.parametrize("alarm", GOOD.values(), ids=GOOD.keys())
def test_an_alarm_as_documented_is_allowed(alarm: dict[str, Any]) -> None:
    assert breaches_of_alarm(alarm) == []


def test_an_advice_that_is_not_taken_is_the_only_breach() -> None:
    (advice,) = breaches_of_alarm(
        computed("SUM(METRICS())")
    )  # public templates have such alarms, which CloudWatch takes
    assert advice == "[math]: e1: SUM sees more points than the alarm evaluates"


@pytest.mark.parametrize(("alarm", "breach"), BAD.values(), ids=BAD.keys())
def test_an_alarm_that_cloudwatch_would_refuse_or_misread_is_found(alarm: dict[str, Any], breach: str) -> None:
    assert [found for found in breaches_of_alarm(alarm) if found.startswith(breach)], breaches_of_alarm(alarm)


def _resolve(value: Any) -> Any:
    """Properties with a word in place of each reference."""
    if isinstance(value, list):
        return [_resolve(one) for one in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"Ref": str(name)}:
            return name.replace("::", "-")
        case {"Fn::Join": [str(separator), parts]}:
            return separator.join(_resolve(parts))
    return {name: _resolve(one) for name, one in value.items()}
