"""What is logged, for how long, and which metrics are made of the lines."""

from __future__ import annotations

import re

import pytest

from infra.environment import Environment
from infra.environments import ENVIRONMENTS
from tests.infra.filter_pattern import matches
from tests.infra.synthesis import ALL, ALL_NAMES, EVERY, Synthesis, Template, access_line, one, properties, resources

THROTTLED = {"level": "WARNING", "message": "DynamoDB throttled a request", "table": "t"}


@pytest.mark.parametrize("environment", ALL, ids=ALL_NAMES)
def test_every_log_expires(synthesised: Synthesis, environment: Environment) -> None:
    for template in _templates(synthesised, environment):
        groups = resources(template, "AWS::Logs::LogGroup")
        days = {group["Properties"]["RetentionInDays"] for group in groups.values()}
        assert days <= {environment.log_retention_days}
        # A function without a group of its own would write to one that Lambda creates and that never expires. This
        # covers functions of custom resources, too.
        functions = properties(template, "AWS::Lambda::Function")
        assert all(function["LoggingConfig"]["LogGroup"]["Ref"] in groups for function in functions)
    template = synthesised.service[environment.name]
    groups = resources(template, "AWS::Logs::LogGroup")
    (destination,) = one(template, "AWS::ApiGateway::Stage")["AccessLogSetting"]["DestinationArn"].values()
    assert destination[0] in groups


@EVERY
def test_api_gateway_writes_no_execution_log(synthesised: Synthesis, environment: Environment) -> None:
    # It would never expire: API Gateway creates its group, API-Gateway-Execution-Logs_ID/STAGE, by itself.
    settings = one(synthesised.service[environment.name], "AWS::ApiGateway::Stage")["MethodSettings"]
    assert all("LoggingLevel" not in setting and not setting.get("DataTraceEnabled") for setting in settings)


@EVERY
def test_no_method_has_billed_metrics_of_its_own(synthesised: Synthesis, environment: Environment) -> None:
    settings = one(synthesised.service[environment.name], "AWS::ApiGateway::Stage")["MethodSettings"]
    assert not any(setting.get("MetricsEnabled") for setting in settings)


@EVERY
def test_the_access_log_leads_to_the_functions_log_and_to_the_trace(
    synthesised: Synthesis, environment: Environment
) -> None:
    line = access_line(synthesised.service[environment.name])
    assert line["requestId"] == "$context.requestId"  # X-Request-Id, and `request_id` of the function's lines
    assert line["functionRequestId"] == "$context.integration.requestId"  # `function_request_id`
    assert line["xrayTraceId"] == "$context.xrayTraceId"


@pytest.mark.parametrize(
    ("path", "status", "is_asked", "is_failed"),
    [
        ("/api/chat/query", "200", True, False),
        ("/api/chat/query", "429", True, False),
        ("/api/chat/query", "502", True, True),
        ("/v1/{proxy+}", "504", True, True),
        ("/api/healthy", "200", True, False),
        ("/api/health", "200", False, False),
        ("/api/health", "500", True, True),  # a failure counts, whatever was asked for
        ("/", "200", False, False),
        ("/page/{name}", "200", False, False),
        ("/page/{name}", "502", True, True),
        ("-", "500", True, True),  # API Gateway writes a hyphen for what it does not know
    ],
)
def test_requests_that_ask_and_that_fail_are_counted(
    synthesised: Synthesis, path: str, status: str, is_asked: bool, is_failed: bool
) -> None:
    patterns = _patterns(synthesised.watch["dev"], "AccessLog")
    line = access_line(synthesised.service["dev"]) | {"resourcePath": path, "status": status}
    assert matches(patterns["AskedRequests"], line) is is_asked
    assert matches(patterns["FailedRequests"], line) is is_failed


@pytest.mark.parametrize("log", ["QueryLog", "PruneLog", "IngestLog"])
def test_requests_that_dynamodb_throttled_are_counted_in_each_log(synthesised: Synthesis, log: str) -> None:
    pattern = _patterns(synthesised.watch["dev"], log)["StoreThrottles"]
    assert matches(pattern, THROTTLED)
    assert not matches(pattern, THROTTLED | {"message": "query failed"})
    assert not matches(pattern, {"type": "platform.report"})


@EVERY
def test_metric_filters_keep_to_the_limits(synthesised: Synthesis, environment: Environment) -> None:
    # docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference: API_PutMetricFilter, API_MetricTransformation
    filters = properties(synthesised.watch[environment.name], "AWS::Logs::MetricFilter")
    assert len(filters) <= 100  # for each group
    for one_filter in filters:
        assert len(one_filter["FilterPattern"]) <= 1024
        (transformation,) = one_filter["MetricTransformations"]
        for name in ("MetricNamespace", "MetricName"):
            assert re.fullmatch(r"[^:*$]{1,255}", transformation[name])
        assert not transformation["MetricNamespace"].startswith("AWS/")
        assert not ("DefaultValue" in transformation and transformation.get("Dimensions"))


def _patterns(template: Template, log: str) -> dict[str, str]:
    filters = properties(template, "AWS::Logs::MetricFilter")
    return {
        one["MetricTransformations"][0]["MetricName"]: one["FilterPattern"]
        for one in filters
        if one["LogGroupName"] == {"Ref": log}
    }


def _templates(synthesised: Synthesis, environment: Environment) -> list[Template]:
    name = environment.name
    return list(synthesised.of(name))


def test_the_records_keep_logs_for_as_long_as_the_handbook_says() -> None:
    assert [one.log_retention_days for one in ENVIRONMENTS] == [7, 30, 365]
