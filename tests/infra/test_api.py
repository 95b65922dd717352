"""The REST API: authentication, throttling, CORS, logs and outputs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra import layer_build
from infra.environment import Environment
from infra.environments import DEV, ENVIRONMENTS
from tests.infra.synthesis import EVERY, Synthesis, functions, one, properties

HEALTH = "/api/health"
DOCS = {"/openapi.json", "/swagger"}
PAGE, PAGE_FILE = "", "/page/{name}"
QUESTION = "/api/chat/query"
IN_SESSION = "/api/sessions/{session_id}"
QUESTIONS = {"/api/chat/stream", f"{IN_SESSION}/chat/stream"}  # whose answers stream
STREAMED = QUESTIONS | {"/v1/chat/completions"}
PATHS = {"", "/{proxy+}", "/api", "/api/{proxy+}", HEALTH, "/api/chat", QUESTION}
PATHS |= {"/api/sessions", IN_SESSION, f"{IN_SESSION}/chat"} | STREAMED
METADATA = {
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
}
DOORS = {
    "/v1",
    "/v1/{proxy+}",
    "/v1/chat",
    "/v1/chat/completions",
    "/mcp",
}  # where clients of OpenAI's and MCP's protocols knock
PATHS |= DOORS
GUARDED = {(path, "POST") for path in (QUESTION, *STREAMED)} | {(path, "ANY") for path in PATHS}


@EVERY
def test_only_health_docs_page_and_metadata_are_open(synthesised: Synthesis, environment: Environment) -> None:
    methods = methods_of(synthesised.service[environment.name])
    open_to_all = {route for route, method in methods.items() if is_open(method)}
    paths = set(_open_rates(environment))
    assert open_to_all == {(path, method) for path in paths for method in ("GET", "HEAD")}
    # Every path forwards all other methods to the function, for authenticated callers only.
    between = {("/page", "ANY")} if environment.chat_page else set()
    between |= {("/.well-known", "ANY")} if environment.signs_in_to_mcp else set()
    assert set(methods) - open_to_all == GUARDED | between | {(path, "ANY") for path in paths}


def test_only_dev_serves_docs_and_the_page() -> None:
    assert [environment.name for environment in ENVIRONMENTS if environment.docs_routes] == ["dev"]
    assert [environment.name for environment in ENVIRONMENTS if environment.chat_page] == ["dev"]


def test_two_browsers_may_fetch_all_files_of_the_page_at_once() -> None:
    files = list((layer_build.PACKAGE / "page" / "static").iterdir())
    assert 2 * len(files) <= 2 * DEV.throttle.page_rate_per_second  # the burst is twice the rate


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dev", {"ApiKeyRequired": True, "AuthorizationType": "CUSTOM"}),
        ("prod", {"AuthorizationType": "COGNITO_USER_POOLS"}),
        ("iam", {"AuthorizationType": "AWS_IAM"}),
    ],
)
def test_guarded_routes_use_the_authorizer_of_the_environment(
    synthesised: Synthesis, name: str, expected: dict[str, Any]
) -> None:
    methods = methods_of(synthesised.service[name])
    for route in GUARDED:
        assert expected.items() <= methods[route].items()


@EVERY
def test_only_streamed_questions_are_streamed(synthesised: Synthesis, environment: Environment) -> None:
    methods = methods_of(synthesised.service[environment.name])
    for (path, method), deployed in methods.items():
        integration, uri = deployed["Integration"], json.dumps(deployed["Integration"]["Uri"])
        is_streamed = path in STREAMED and method == "POST"
        assert integration.get("ResponseTransferMode", "BUFFERED") == ("STREAM" if is_streamed else "BUFFERED")
        assert ("lambda:path/2021-11-15/functions/" in uri) == is_streamed
        assert ("/response-streaming-invocations" in uri) == is_streamed
        seconds = environment.query.timeout_seconds if is_streamed else environment.integration_timeout_seconds
        assert integration["TimeoutInMillis"] == seconds * 1000


def test_the_gateway_waits_for_whole_answers_as_long_as_the_record_says(synthesised: Synthesis) -> None:
    integrations = [method["Integration"] for method in methods_of(synthesised.service["patient"]).values()]
    whole = [one for one in integrations if one.get("ResponseTransferMode") != "STREAM"]
    assert {one["TimeoutInMillis"] for one in whole} == {120_000}
    variables = functions(synthesised.service["patient"])["query"]["Environment"]["Variables"]
    assert variables["QUERY_DEADLINE_SECONDS"] == "110"


@EVERY
def test_streamed_questions_are_checked_as_others_are(synthesised: Synthesis, environment: Environment) -> None:
    methods = methods_of(synthesised.service[environment.name])
    expected = methods[(QUESTION, "POST")]
    for path in QUESTIONS:
        method = methods[(path, "POST")]
        assert {name: method[name] for name in ("RequestModels", "RequestValidatorId")} == {
            name: expected[name] for name in ("RequestModels", "RequestValidatorId")
        }


@EVERY
def test_the_stage_is_throttled_and_logged(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    assert one(template, "AWS::ApiGateway::RestApi")["EndpointConfiguration"] == {"Types": ["REGIONAL"]}
    stage = one(template, "AWS::ApiGateway::Stage")
    (every,) = [setting for setting in stage["MethodSettings"] if setting["ResourcePath"] == "/*"]
    assert every["ThrottlingRateLimit"] == environment.throttle.rate_per_second
    assert every["ThrottlingBurstLimit"] == environment.throttle.burst
    open_routes = {
        (setting["ResourcePath"].rstrip("/").replace("/~1", "/").replace("~1", "/"), setting["HttpMethod"]): setting
        for setting in stage["MethodSettings"]
        if setting is not every
    }
    assert {route: setting["ThrottlingRateLimit"] for route, setting in open_routes.items()} == {
        (path, method): rate for path, rate in _open_rates(environment).items() for method in ("GET", "HEAD")
    }
    assert stage["TracingEnabled"] is True
    log_fields = json.loads(stage["AccessLogSetting"]["Format"])
    assert log_fields["status"] == "$context.status"
    # Quotes in free text would make the line invalid JSON.
    assert not [value for value in log_fields.values() if "message" in value.lower()]


def test_pages_of_allowed_origins_may_send_api_keys_and_idempotency_keys(synthesised: Synthesis) -> None:
    preflights = _preflights(synthesised.service["dev"])
    assert preflights
    for method in preflights:
        text = json.dumps(method["Integration"])
        assert "http://localhost:3000" in text
        assert "X-Api-Key" in text
        assert "Idempotency-Key" in text
        assert "OpenAI-Organization" in text and "X-Stainless-Retry-Count" in text
    assert not _preflights(synthesised.service["prod"])


@EVERY
def test_outputs_name_every_resource_that_operators_need(synthesised: Synthesis, environment: Environment) -> None:
    by_authorizer = {
        "api_key": {"ApiKeyId", "AdminApiKeyId"},
        "cognito": {"UserPoolId", "UserPoolClientId"},
        "iam": set(),
    }
    service_outputs = {"ApiUrl", "QueryFunctionName", "PruneFunctionName", "DeadLettersUrl"}
    assert service_outputs <= set(synthesised.service[environment.name]["Outputs"])
    assert set(synthesised.watch[environment.name]["Outputs"]) == {"DashboardUrl"}
    data_outputs = {
        "KeywordsTable",
        "ConversationsTable",
        "ToolCallsTable",
        "IdempotencyTable",
        "AccessTable",
        "UsageTable",
        "ApiKeysSecretArn",
    }
    data_outputs |= by_authorizer[environment.authorizer.value]
    assert data_outputs <= set(synthesised.data[environment.name]["Outputs"])


def _open_rates(environment: Environment) -> dict[str, float]:
    """The paths that are open to everybody, and how many requests a second each takes."""
    throttle = environment.throttle
    paths = {HEALTH, *(DOCS if environment.docs_routes else ()), *([PAGE] if environment.chat_page else ())}
    paths |= METADATA if environment.signs_in_to_mcp else set()
    rates: dict[str, float] = dict.fromkeys(paths, throttle.open_rate_per_second)
    return rates | ({PAGE_FILE: throttle.page_rate_per_second} if environment.chat_page else {})


def methods_of(template: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """All methods but the preflights, by path and HTTP method."""
    methods = properties(template, "AWS::ApiGateway::Method")
    return {
        (_path(template, method["ResourceId"]), method["HttpMethod"]): method
        for method in methods
        if method["HttpMethod"] != "OPTIONS"
    }


def _preflights(template: dict[str, Any]) -> list[dict[str, Any]]:
    methods = properties(template, "AWS::ApiGateway::Method")
    return [method for method in methods if method["HttpMethod"] == "OPTIONS"]


def is_open(method: dict[str, Any]) -> bool:
    return method["AuthorizationType"] == "NONE" and not method.get("ApiKeyRequired")


def _path(template: dict[str, Any], resource_id: dict[str, Any]) -> str:
    if "Ref" not in resource_id:
        return ""
    resource = template["Resources"][resource_id["Ref"]]["Properties"]
    return f"{_path(template, resource['ParentId'])}/{resource['PathPart']}"
