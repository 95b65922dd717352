"""The REST API: who gets in, at what rate, and what it answers by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.environments import ENVIRONMENTS, Environment
from tests.infra.synthesis import EVERY, Synthesis, one, properties

HEALTH = "/api/health"
DOCS = {"/openapi.json", "/swagger"}
QUESTION = "/api/chat/query"
PATHS = {"", "/{proxy+}", "/api", "/api/{proxy+}", HEALTH, "/api/chat", QUESTION}
GUARDED = {(QUESTION, "POST"), *((path, "ANY") for path in PATHS)}


@EVERY
def test_only_health_and_described_docs_are_open(synthesised: Synthesis, environment: Environment) -> None:
    methods = _methods(synthesised.service[environment.name])
    open_to_all = {route for route, method in methods.items() if _is_open(method)}
    docs = {(path, "GET") for path in DOCS} if environment.docs_routes else set()
    assert open_to_all == {(HEALTH, "GET"), *docs}
    # Every path has a method for whatever method comes: the function answers it, and to callers only.
    assert set(methods) - open_to_all == GUARDED | {(path, "ANY") for path, _ in docs}


def test_docs_are_described_in_dev_alone() -> None:
    assert [environment.name for environment in ENVIRONMENTS if environment.docs_routes] == ["dev"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("dev", {"ApiKeyRequired": True, "AuthorizationType": "NONE"}),
        ("prod", {"AuthorizationType": "COGNITO_USER_POOLS"}),
        ("iam", {"AuthorizationType": "AWS_IAM"}),
    ],
)
def test_the_authorizer_is_the_records(synthesised: Synthesis, name: str, wanted: dict[str, Any]) -> None:
    methods = _methods(synthesised.service[name])
    for route in GUARDED:
        assert wanted.items() <= methods[route].items()


@EVERY
def test_the_stage_is_throttled_and_logged(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    assert one(template, "AWS::ApiGateway::RestApi")["EndpointConfiguration"] == {"Types": ["REGIONAL"]}
    stage = one(template, "AWS::ApiGateway::Stage")
    (every,) = [setting for setting in stage["MethodSettings"] if setting["ResourcePath"] == "/*"]
    assert every["ThrottlingRateLimit"] == environment.throttle.rate_per_second
    assert every["ThrottlingBurstLimit"] == environment.throttle.burst
    opened = {
        "/" + setting["ResourcePath"].strip("/").replace("~1", "/").lstrip("/"): setting
        for setting in stage["MethodSettings"]
        if setting is not every
    }
    assert set(opened) == {HEALTH, *(DOCS if environment.docs_routes else ())}
    for setting in opened.values():
        assert setting["ThrottlingRateLimit"] == environment.throttle.open_rate_per_second
    assert stage["TracingEnabled"] is True
    logged = json.loads(stage["AccessLogSetting"]["Format"])
    assert logged["status"] == "$context.status"
    # Free text with quotes would make of a line what is no JSON.
    assert not [value for value in logged.values() if "message" in value.lower()]


def test_pages_of_the_origins_may_send_keys_and_idempotency_keys(synthesised: Synthesis) -> None:
    preflights = _preflights(synthesised.service["dev"])
    assert preflights
    for method in preflights:
        text = json.dumps(method["Integration"])
        assert "http://localhost:3000" in text
        assert "X-Api-Key" in text
        assert "Idempotency-Key" in text
    assert not _preflights(synthesised.service["prod"])


@EVERY
def test_outputs_say_where_everything_is(synthesised: Synthesis, environment: Environment) -> None:
    by_authorizer = {
        "api_key": {"ApiKeyId", "AdminApiKeyId"},
        "cognito": {"UserPoolId", "UserPoolClientId"},
        "iam": set(),
    }
    wanted = {"ApiUrl", "DashboardUrl", "QueryFunctionName", "PruneFunctionName"}
    assert wanted <= set(synthesised.service[environment.name]["Outputs"])
    kept = {"KeywordsTable", "ConversationsTable", "ToolCallsTable", "IdempotencyTable", "ApiKeysSecretArn"}
    kept |= by_authorizer[environment.authorizer.value]
    assert kept <= set(synthesised.data[environment.name]["Outputs"])


def _methods(template: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Methods but the preflights', by path and HTTP method."""
    found = properties(template, "AWS::ApiGateway::Method")
    return {
        (_path(template, method["ResourceId"]), method["HttpMethod"]): method
        for method in found
        if method["HttpMethod"] != "OPTIONS"
    }


def _preflights(template: dict[str, Any]) -> list[dict[str, Any]]:
    found = properties(template, "AWS::ApiGateway::Method")
    return [method for method in found if method["HttpMethod"] == "OPTIONS"]


def _is_open(method: dict[str, Any]) -> bool:
    return method["AuthorizationType"] == "NONE" and not method.get("ApiKeyRequired")


def _path(template: dict[str, Any], resource_id: dict[str, Any]) -> str:
    if "Ref" not in resource_id:
        return ""
    resource = template["Resources"][resource_id["Ref"]]["Properties"]
    return f"{_path(template, resource['ParentId'])}/{resource['PathPart']}"
