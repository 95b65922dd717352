"""What CloudWatch's documentation allows for an alarm: each rule with its source, as breaches of a template's alarm.

The emulator of the tests refuses alarms on expressions, so nothing but these rules looks at them before CloudWatch. A
rule may be stricter than the service where the documentation advises against something.

Sources, below docs.aws.amazon.com/AmazonCloudWatch/latest/:
  [alarm]   APIReference/API_PutMetricAlarm.html
  [query]   APIReference/API_MetricDataQuery.html
  [stat]    APIReference/API_MetricStat.html
  [data]    monitoring/alarm-data-queries.html
  [math]    monitoring/using-metric-math.html
  [missing] monitoring/alarms-and-missing-data.html
  [stats]   monitoring/Statistics-definitions.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.infra.expression_rules import breaches_of_expression

Alarm = Mapping[str, Any]  # the properties of an AWS::CloudWatch::Alarm
Breaches = Iterator[str]

_OF_SINGLE = ("MetricName", "Namespace", "Dimensions", "Period", "Unit", "Statistic", "ExtendedStatistic")
_STATIC = frozenset(f"{side}Than{end}" for side in ("Greater", "Less") for end in ("Threshold", "OrEqualToThreshold"))
_MISSING = frozenset(["breaching", "notBreaching", "ignore", "missing"])
_STATISTICS = frozenset(["SampleCount", "Average", "Sum", "Minimum", "Maximum"])
_PERCENTILE = re.compile(r"p(\d{1,2}(\.\d{1,10})?|100)")
_RANGE = re.compile(r"(tm|tc|ts|wm)\d{1,2}(\.\d{1,10})?|IQM|(PR|TM|TC|TS|WM)\([^)]+:[^)]*\)|(PR|TM|TC|TS|WM)\(:[^)]+\)")
_ID = re.compile(r"[a-z][A-Za-z0-9_]{0,254}")
_DAY, _WEEK, _HOUR = 86_400, 604_800, 3_600  # seconds
_MAX_QUERIES, _MAX_STATS, _MAX_EXPRESSIONS, _MAX_ACTIONS, _MAX_DIMENSIONS = 20, 10, 10, 5, 30
_MAX_DESCRIPTION = 1024


def breaches_of_alarm(alarm: Alarm) -> list[str]:
    """The rules that an alarm breaks, in words; none if CloudWatch should take it."""
    return [f"{source}: {text}" for source, rule in _RULES for text in rule(alarm)]


def _has_one_kind_of_metric(alarm: Alarm) -> Breaches:
    if ("MetricName" in alarm) == ("Metrics" in alarm):
        yield "either MetricName or Metrics"
    elif "Metrics" in alarm and (both := [name for name in _OF_SINGLE if name in alarm]):
        yield f"Metrics excludes {', '.join(both)}"


def _single_metric_is_whole(alarm: Alarm) -> Breaches:
    if "MetricName" in alarm:
        if missing := [name for name in ("Namespace", "Period") if name not in alarm]:
            yield f"a metric needs {', '.join(missing)}"
        if ("Statistic" in alarm) == ("ExtendedStatistic" in alarm):
            yield "either Statistic or ExtendedStatistic"


def _has_few_queries(alarm: Alarm) -> Breaches:
    queries = _queries(alarm)
    counts = (
        ("queries", len(queries), _MAX_QUERIES),
        ("metrics", sum("MetricStat" in query for query in queries), _MAX_STATS),
        ("expressions", sum("Expression" in query for query in queries), _MAX_EXPRESSIONS),
    )
    yield from (f"{count} {name}, at most {most}" for name, count, most in counts if count > most)


def _queries_are_well_formed(alarm: Alarm) -> Breaches:
    ids = [query.get("Id", "") for query in _queries(alarm)]
    if len(set(ids)) < len(ids):
        yield "ids are not unique"
    yield from (f"the id {id!r} does not begin with a lower-case letter" for id in ids if not _ID.fullmatch(id))
    for query in _queries(alarm):
        if ("MetricStat" in query) == ("Expression" in query):
            yield f"{query.get('Id')}: either MetricStat or Expression"


def _returns_one_series(alarm: Alarm) -> Breaches:
    if "Metrics" not in alarm:
        return
    # If ReturnData is omitted, it is true.
    returned = [query for query in _queries(alarm) if query.get("ReturnData", True) is not False]
    if len(returned) != 1:
        yield f"{len(returned)} results are returned, not one"


def _expressions_are_allowed(alarm: Alarm) -> Breaches:
    queries = _queries(alarm)
    ids = {query.get("Id", "") for query in queries}
    has_spare_points = alarm.get("DatapointsToAlarm", alarm["EvaluationPeriods"]) < alarm["EvaluationPeriods"]
    for query in queries:
        if "Expression" in query:
            others = ids - {query.get("Id")}
            for text in breaches_of_expression(query["Expression"], others, has_spare_points=has_spare_points):
                yield f"{query.get('Id')}: {text}"


def _metrics_share_a_period(alarm: Alarm) -> Breaches:
    periods = {stat["Period"] for stat in _stats(alarm)} | {q["Period"] for q in _queries(alarm) if "Period" in q}
    if len(periods) > 1:
        yield f"metrics of the periods {sorted(periods)}"


def _periods_are_allowed(alarm: Alarm) -> Breaches:
    for period in {stat.get("Period") for stat in _stats(alarm)} - {None}:
        # 10, 20 and 30 are for metrics that are stored in a high resolution, which none here is.
        if period <= 0 or period % 60:
            yield f"a period of {period} s is no multiple of a minute"
        window = period * alarm["EvaluationPeriods"]
        if window > (_WEEK if period >= _HOUR else _DAY):
            yield f"{alarm['EvaluationPeriods']} periods of {period} s are too long a time"


def _points_are_within_periods(alarm: Alarm) -> Breaches:
    if not 1 <= alarm.get("DatapointsToAlarm", 1) <= alarm["EvaluationPeriods"]:
        yield "DatapointsToAlarm is not between 1 and EvaluationPeriods"


def _compares_with_a_threshold(alarm: Alarm) -> Breaches:
    if alarm.get("ComparisonOperator") not in _STATIC:
        yield f"{alarm.get('ComparisonOperator')} does not compare with a threshold"
    if not isinstance(alarm.get("Threshold"), int | float):
        yield "there is no threshold"
    if "ThresholdMetricId" in alarm:
        yield "ThresholdMetricId is for bands of anomaly detection"


def _statistics_exist(alarm: Alarm) -> Breaches:
    for stat in _stats(alarm):
        name = stat["Stat"]
        if name not in _STATISTICS and not _PERCENTILE.fullmatch(name) and not _RANGE.fullmatch(name):
            yield f"there is no statistic {name}"
    if alarm.get("Statistic", "Sum") not in _STATISTICS:
        yield f"{alarm['Statistic']} is no Statistic"
    if alarm.get("ExtendedStatistic") in _STATISTICS:
        yield f"{alarm['ExtendedStatistic']} is no ExtendedStatistic"
    if "EvaluateLowSampleCountPercentile" in alarm and not _PERCENTILE.fullmatch(alarm.get("ExtendedStatistic", "")):
        yield "EvaluateLowSampleCountPercentile is for percentiles only"


def _metrics_are_named(alarm: Alarm) -> Breaches:
    for stat in _stats(alarm):
        metric, dimensions = stat["Metric"], stat["Metric"].get("Dimensions", ())
        if not metric.get("MetricName") or not re.fullmatch(r"[^:].{0,254}", str(metric.get("Namespace", ""))):
            yield "a metric has no name, or no valid namespace"
        names = [dimension["Name"] for dimension in dimensions]
        if len(names) > _MAX_DIMENSIONS or len(set(names)) < len(names):
            yield "dimensions are too many, or given twice"
        if any(not dimension.get("Value") for dimension in dimensions):
            yield "a dimension has no value"
        # "We recommend omitting Unit so that you don't inadvertently specify an incorrect unit."
        if "Unit" in stat:
            yield "a unit may hide the metric"


def _missing_data_is_treated(alarm: Alarm) -> Breaches:
    treatment = alarm.get("TreatMissingData", "missing")
    if treatment not in _MISSING:
        yield f"missing data cannot be {treatment}"
    is_single = "MetricName" in alarm
    if is_single and alarm.get("Namespace") == "AWS/DynamoDB" and treatment != "ignore":
        yield "alarms on DynamoDB's metrics always ignore missing data"


def _actions_are_few(alarm: Alarm) -> Breaches:
    for kind in ("AlarmActions", "OKActions", "InsufficientDataActions"):
        actions: Sequence[Any] = alarm.get(kind, ())
        if len(actions) > _MAX_ACTIONS:
            yield f"more than {_MAX_ACTIONS} {kind}"
        if "Metrics" in alarm and any(":ec2:" in str(action) for action in actions):
            yield "alarms on expressions cannot act on EC2"


def _description_is_short(alarm: Alarm) -> Breaches:
    if len(alarm.get("AlarmDescription", "")) > _MAX_DESCRIPTION:
        yield f"the description is longer than {_MAX_DESCRIPTION}"


def _queries(alarm: Alarm) -> Sequence[Mapping[str, Any]]:
    queries: Sequence[Mapping[str, Any]] = alarm.get("Metrics", ())
    return queries


def _stats(alarm: Alarm) -> list[Mapping[str, Any]]:
    """The metrics of an alarm, in the form of MetricStat."""
    if "MetricName" in alarm:
        statistic = alarm.get("Statistic") or alarm.get("ExtendedStatistic") or ""
        stat = {"Metric": alarm, "Period": alarm.get("Period"), "Stat": statistic}
        return [stat | ({"Unit": alarm["Unit"]} if "Unit" in alarm else {})]
    return [query["MetricStat"] for query in _queries(alarm) if "MetricStat" in query]


_RULES: Sequence[tuple[str, Callable[[Alarm], Breaches]]] = (
    ("[alarm]", _has_one_kind_of_metric),
    ("[alarm]", _single_metric_is_whole),
    ("[query]", _has_few_queries),
    ("[query]", _queries_are_well_formed),
    ("[query]", _returns_one_series),
    ("[math]", _expressions_are_allowed),
    ("[data]", _metrics_share_a_period),
    ("[alarm]", _periods_are_allowed),
    ("[alarm]", _points_are_within_periods),
    ("[alarm]", _compares_with_a_threshold),
    ("[stats]", _statistics_exist),
    ("[stat]", _metrics_are_named),
    ("[missing]", _missing_data_is_treated),
    ("[alarm]", _actions_are_few),
    ("[alarm]", _description_is_short),
)
