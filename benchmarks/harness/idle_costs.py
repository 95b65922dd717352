"""What an environment costs while nobody asks anything, from its templates and the prices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.handbook import Sentence, Table
from infra.environment import Environment
from infra.prices import AWS, PINECONE_PLANS

Template = Mapping[str, Any]

_SECONDS_A_MONTH = 30 * 24 * 3_600
_MINUTE = 60
# Lambda asks the queue of documents by five long polls of 20 seconds, also while nothing is in it ("Configuring scaling
# behavior for SQS event source mappings" in its developer guide).
_POLLERS, _POLL_SECONDS = 5, 20
# Metrics that API Gateway writes for a route with settings of its own, and those that pruning writes in an hour a day.
_PRUNING_METRICS, _HOURS_A_DAY = 6, 24


@dataclass(frozen=True, slots=True)
class Range:
    """USD a month: at least, as in an account that has used no free tier, and at most."""

    low: float
    high: float

    def __str__(self) -> str:
        low, high = f"{self.low:.2f}", f"{self.high:.2f}"
        return low if low == high else f"{low} to {high}"


def exactly(usd: float) -> Range:
    """A price without a free tier."""
    return Range(usd, usd)


def idle_costs(environment: Environment, templates: Sequence[Template]) -> dict[str, Range]:
    """What costs how much a month, by the text of its row."""
    acls = _properties(templates, "AWS::WAFv2::WebACL")
    rules = sum(len(acl["Rules"]) for acl in acls)
    dashboards = len(_properties(templates, "AWS::CloudWatch::Dashboard"))
    secrets = len(_properties(templates, "AWS::SecretsManager::Secret"))
    memory = environment.query.memory_mb / 1024 if environment.query.snap_start else 0.0
    mappings = len(_properties(templates, "AWS::Lambda::EventSourceMapping"))
    polls = mappings * _POLLERS * _SECONDS_A_MONTH // _POLL_SECONDS
    snapshot = AWS.snap_start_gb_second * memory * _SECONDS_A_MONTH
    return {
        f"SnapStart keeps one version: {AWS.snap_start_gb_second:.10f} × GB × {_SECONDS_A_MONTH:,} s": exactly(
            snapshot
        ),
        f"secrets: {AWS.secret_month:.2f} each": exactly(secrets * AWS.secret_month),
        f"metrics under alarms: {AWS.alarm_month:.2f} each (an account's first ten are free)": _price_alarms(templates),
        f"AWS WAF: {AWS.web_acl_month:.2f} and {AWS.web_acl_rule_month:.2f} for each rule, where it is on": exactly(
            len(acls) * AWS.web_acl_month + rules * AWS.web_acl_rule_month
        ),
        "deployments by CodeDeploy: free for Lambda": exactly(AWS.deployment),
        f"dashboards: {AWS.dashboard_month:.2f} each (an account's first three are free)": Range(
            0, dashboards * AWS.dashboard_month
        ),
        f"pruning's {_PRUNING_METRICS} metrics, written in one hour a day (ten metrics are free): {_PRUNING_METRICS} × "
        f"{AWS.metric_month:.2f} ÷ {_HOURS_A_DAY}": Range(0, _PRUNING_METRICS * AWS.metric_month / _HOURS_A_DAY),
        f"Lambda asks the queue of documents: {_POLLERS} × {_SECONDS_A_MONTH:,} s ÷ {_POLL_SECONDS} s × "
        f"{AWS.queue_request_million:.2f} ÷ 1,000,000 (an account's first million is free)": Range(
            0, polls * AWS.queue_request_million / 1_000_000
        ),
        "empty tables, functions, API, schedules, queues, code in S3": Range(0, 0.05),
    }


def read_templates(assembly: Path, environment: Environment) -> list[Template]:
    """The templates of all stacks of an environment in a cloud assembly."""
    folder = assembly / f"assembly-gleaner-{environment.name}"
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*.template.json"))]


def describe_idle_costs(costs: Mapping[str, Mapping[str, Range]]) -> tuple[Table, Sentence]:
    """The table of the handbook, with a column for each environment, and its summary."""
    first = next(iter(costs.values()))
    rows = [(row, *(str(parts[row]) for parts in costs.values())) for row in first]
    sums = {
        name: Range(sum(part.low for part in parts.values()), sum(part.high for part in parts.values()))
        for name, parts in costs.items()
    }
    rows.append(("together, Pinecone apart", *map(str, sums.values())))
    plans = " / ".join(f"{plan.month_usd:.0f}" for plan in PINECONE_PLANS.values())
    rows.append((f"Pinecone, at least: {', '.join(PINECONE_PLANS)}", *[plans] * len(costs)))
    form = ", ".join(f"`{name}` costs between {{}} and {{}} USD" for name in costs)
    numbers = tuple(f"{usd:.2f}" for total in sums.values() for usd in (total.low, total.high))
    return Table(("USD a month", *costs), rows), Sentence(form, numbers)


def count_alarm_metrics(templates: Sequence[Template]) -> tuple[int, int]:
    """The number of alarms, and of the metrics under them, each of which is billed."""
    alarms = _properties(templates, "AWS::CloudWatch::Alarm")
    return len(alarms), sum(map(_count_metrics, alarms))


def _price_alarms(templates: Sequence[Template]) -> Range:
    alarms = _properties(templates, "AWS::CloudWatch::Alarm")
    fast = sum(_count_metrics(alarm) for alarm in alarms if _is_fast(alarm))
    standard = sum(map(_count_metrics, alarms)) - fast
    usd = standard * AWS.alarm_month + fast * AWS.fast_alarm_month
    return Range(usd - min(standard, AWS.free_alarm_metrics) * AWS.alarm_month, usd)


def _count_metrics(alarm: Mapping[str, Any]) -> int:
    """The metrics of an alarm: its single one, or those of its expression."""
    return max(1, sum("MetricStat" in query for query in alarm.get("Metrics", ())))


def _is_fast(alarm: Mapping[str, Any]) -> bool:
    return min(_periods(alarm)) < _MINUTE


def _periods(alarm: Mapping[str, Any]) -> Iterator[int]:
    yield alarm.get("Period", _MINUTE)
    for query in alarm.get("Metrics", ()):
        yield query.get("MetricStat", {}).get("Period", _MINUTE)


def _properties(templates: Sequence[Template], type: str) -> list[dict[str, Any]]:
    return [
        resource.get("Properties", {})
        for template in templates
        for resource in template["Resources"].values()
        if resource["Type"] == type
    ]
