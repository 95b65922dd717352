"""The handbook's table of what an environment costs without questions is the one that the templates give."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from infra.environments import DEV, ENVIRONMENTS
from infra.layer_build import ROOT
from infra.prices import AWS, PINECONE_PLANS
from tests.infra.synthesis import Synthesis

sys.path.insert(0, str(ROOT / "benchmarks"))

from harness import handbook
from harness.idle_costs import Range, describe_idle_costs, idle_costs, read_templates

ALARM = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "Errors", "Period": 60}}
EXPRESSION = {
    "Type": "AWS::CloudWatch::Alarm",
    "Properties": {
        "Metrics": [
            {"Expression": "a / b"},
            {"MetricStat": {"Metric": {}, "Period": 300}},
            {"MetricStat": {"Metric": {}, "Period": 300}},
        ]
    },
}
FAST = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "Errors", "Period": 10}}
ACL = {"Type": "AWS::WAFv2::WebACL", "Properties": {"Rules": [{"Name": "rate"}, {"Name": "common"}]}}


def cost_of(word: str, *resources: dict[str, Any]) -> Range:
    """The price of the row that has `word`, for an environment of these resources in two stacks."""
    half = len(resources) // 2
    stacks = [dict(enumerate(resources[:half])), dict(enumerate(resources[half:]))]
    costs = idle_costs(DEV, [{"Resources": stack} for stack in stacks])
    (price,) = (price for row, price in costs.items() if word in row)
    return price


def test_the_handbook_says_what_the_templates_cost(synthesised: Synthesis) -> None:
    costs = {each.name: idle_costs(each, read_templates(synthesised.paths[0], each)) for each in ENVIRONMENTS}
    outdated = list(handbook.differences(describe_idle_costs(costs), tolerance=0.0))
    assert outdated == [], "Run benchmarks/idle_cost.py --write."


@pytest.mark.parametrize(
    ("resources", "low", "high"),
    [
        ([], 0, 0),
        ([ALARM], 0, 0.10),
        ([ALARM] * 12, 0.20, 1.20),
        ([EXPRESSION] * 6, 0.20, 1.20),
        ([FAST, FAST], 0.60, 0.60),  # no free ones
        ([FAST, *[ALARM] * 11], 0.40, 1.40),
    ],
)
def test_alarms_are_priced_by_their_metrics_and_resolution(
    resources: list[dict[str, Any]], low: float, high: float
) -> None:
    price = cost_of("alarms", *resources)
    assert (price.low, price.high) == (pytest.approx(low), pytest.approx(high))


def test_a_web_acl_is_priced_with_its_rules() -> None:
    assert cost_of("WAF", ACL) == Range(7.0, 7.0)
    assert cost_of("WAF", ALARM) == Range(0.0, 0.0)


def test_the_handbook_names_the_limits_of_each_plan() -> None:
    text = handbook.COSTS.read_text()
    for name, plan in PINECONE_PLANS.items():
        (row,) = (line for line in text.splitlines() if line.startswith(f"| {name} |"))
        cells = [
            f"{plan.month_usd:.0f}",
            *("as paid for" if limit is None else f"{limit:,}" for limit in (plan.embedding_tokens, plan.read_units)),
            "as paid for" if plan.write_units is None else f"{plan.write_units:,}",
            "as paid for" if plan.storage_gb is None else f"{plan.storage_gb} GB",
            f"{plan.passage_tokens_a_minute:,}",
            f"{plan.query_tokens_a_minute:,}",
        ]
        assert row == f"| {name} | {' | '.join(cells)} |"


def test_a_table_is_found_and_compared_by_its_numbers() -> None:
    table = handbook.Table(("USD", "a"), [("model × 0.5", "1.00")])
    text = f"Before.\n\n{table.render()}\n\nAfter."
    assert table.find(text) == "| USD | a |\n|---|---|\n| model × 0.5 | 1.00 |"
    sentence = handbook.Sentence("costs {} USD, {} %", ("1,000.50", "3"))
    assert sentence.find("It costs 900.25 USD, 12 %.") == "costs 900.25 USD, 12 %"
    with pytest.raises(ValueError, match="no table"):
        table.find("| USD | b |")


def test_prices_are_positive_or_free() -> None:
    assert AWS.deployment == 0
    assert all(getattr(AWS, name) > 0 for name in ("web_acl_month", "web_acl_rule_month", "web_acl_request_million"))
